package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Several searchers as one.
//
// Each part has its own scale: BM25 has no upper end, and most cosines lie between 0.2 and 0.6. What can be compared
// is how far a tool stands out among the others: in standard deviations from a mean, once over the part's best 1000
// hits and once over the whole catalog, where all tools but the hits score 0. A part adds to the score of a tool that
// it finds
//
//	weight · ( ln(1 + e^h) + ln(1 + e^c) ) / 2    h = (score - mean) / deviation, of the hits
//	                                              c = the same, of the catalog
//
// ln(1 + e^z) is nearly z for tools that stand out, and nearly 0 for the many others. So a tool that both parts find
// middling does not outrank a tool that one part is sure of. With the mean of the hits alone, a word search that
// finds three tools would count too little, because each is near their mean. With the mean of the catalog alone, a
// sentence encoder would, because every tool is a hit.
//
// Ranks do not say how much better the first tool is than the second, and they let a weak part override a strong one.
// docs/searchers.md says what other formulas find.

const (
	hybridDepth          = 1000
	defaultHybridTimeout = 15 * time.Second
	maxPartSearches      = 64 // of one part at a time; more wait, within their timeouts
)

// HybridOptions configures Hybrid. Only Parts is required.
type HybridOptions struct {
	// Parts are the searchers to combine, at least one.
	Parts []Indexer

	// Weights say how much each part counts, in the order of Parts, from 0. Nil means 0.3 for LSA, and 1 for every
	// other part.
	Weights []float64

	// Depth is how many of a part's best hits count, whatever the query's limit. Further hits are dropped, unless
	// another part finds them. Zero means 1000. Negative means all.
	Depth int

	// Timeout is how long a search waits for a part before the part counts as failed. Zero means 15 s. Negative means
	// as long as the context allows.
	Timeout time.Duration
}

// Hybrid is the Indexer that combines others, such as Hybrid(BM25, Embedding(e)), or Hybrid(BM25, LSA) where there is
// no embedder. It uses the defaults of HybridOptions. A tool's score is the sum over the parts of how far the tool
// stands out in the part's scores. A tool whose name the query spells out comes first. Ties go by the order of the
// documents.
//
// Parts are built and searched at the same time. If a part fails, panics or does not answer in time, the hits come
// from the others, and Hits.Partial says what failed. The search fails only if no part answers. A part that cannot
// search by the query is left out; if no part can, the search returns its QueryError. A part that fails when the
// catalog is built fails the build.
//
// Result.Total is the number of tools that any part has among its best 1000. A part that returns fewer hits than a
// limit asks for, as Fuzzy does, is asked again without a limit. A searcher of your own around BM25 or LSA gets the
// weight 1, and does not tell the Hybrid which tools a query names; the Hybrid then indexes the names itself.
//
// The searcher is a Restricter, which restricts the parts that are Restricters and asks the others with
// Query.Allowed. It is a Rebuilder, which rebuilds the parts that are Rebuilders and builds the others anew.
func Hybrid(parts ...Indexer) Indexer { return HybridOptions{Parts: parts}.Index }

// hybrid implements Searcher. It is immutable.
type hybrid struct {
	options HybridOptions // with the defaults
	docs    []Document
	within  docset.Set // the documents that are searched; nil means all
	count   int        // how many documents are searched
	names   *bm25      // knows the names of the tools
	parts   []hybridPart
	lift    float64 // multiplies the bonus of a tool that the query names; no sum exceeds it
}

type hybridPart struct {
	name     string // in Explain
	searcher Searcher
	weight   float64
	gate     foreign.Gate
}

// Index is an Indexer. See Hybrid.
func (o HybridOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	return o.index(ctx, docs, make([]hybridPart, len(o.Parts)))
}

func (h *hybrid) Rebuild(ctx context.Context, docs []Document) (Searcher, error) {
	return h.options.index(ctx, docs, h.parts)
}

// index builds a searcher. last are the parts of the searcher that it replaces; an empty part means none.
func (o HybridOptions) index(ctx context.Context, docs []Document, last []hybridPart) (Searcher, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Parts, o.Weights = slices.Clone(o.Parts), slices.Clone(o.Weights) // Rebuild uses them again
	o.Depth, o.Timeout = cmp.Or(o.Depth, hybridDepth), cmp.Or(o.Timeout, defaultHybridTimeout)
	h := &hybrid{options: o, docs: docs, count: len(docs), parts: make([]hybridPart, len(o.Parts))}
	err := h.eachPart(ctx, "", func(ctx context.Context, part *hybridPart, i int) error {
		index := o.Parts[i]
		if rebuilder, ok := last[i].searcher.(Rebuilder); ok {
			index = rebuilder.Rebuild
		}
		*part = hybridPart{weight: 1, gate: make(foreign.Gate, maxPartSearches)}
		own := slices.Clone(docs) // a part may write to its slice
		if err := part.become(ctx, func(ctx context.Context) (Searcher, error) { return index(ctx, own) }); err != nil {
			return err
		}
		part.name = fmt.Sprintf("part %d", i+1)
		if named, ok := part.searcher.(fmt.Stringer); ok {
			part.name = naming.OneLine(named.String(), 64)
		}
		if o.Weights != nil {
			part.weight = o.Weights[i]
		} else if _, isLSA := part.searcher.(*lsa); isLSA {
			part.weight = lsaWeight
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	h.lift = 1 // plus the weights: a part of weight 1 adds less than the root of the number of tools
	for i := range h.parts {
		h.lift += math.Ceil(h.parts[i].weight) // as in a score of BM25, the bonus is a multiple of docset.Named
	}
	return asSearcher(h, h.findNames(func() (*bm25, error) { return BM25Options{}.index(ctx, docs) }))
}

// eachPart calls f for all parts at the same time. Its error names the part and what was done with it.
func (h *hybrid) eachPart(ctx context.Context, doing string, f func(ctx context.Context, part *hybridPart, i int) error) error {
	return foreign.InParallel(ctx, len(h.parts), len(h.parts), func(ctx context.Context, i int) error {
		if err := f(ctx, &h.parts[i], i); err != nil {
			return fmt.Errorf("toolsearch: %spart %d of the hybrid: %w", doing, i+1, err)
		}
		return nil
	})
}

// become sets the searcher of a part to one that code from outside the library makes.
func (p *hybridPart) become(ctx context.Context, build func(ctx context.Context) (Searcher, error)) (err error) {
	p.searcher, err = foreign.Through(ctx, p.gate, build)
	if err == nil && foreign.IsNil(p.searcher) {
		err = errors.New("there is no Searcher")
	}
	return err
}

// findNames borrows the index of a part that is BM25, or builds one.
func (h *hybrid) findNames(index func() (*bm25, error)) (err error) {
	h.names, err = borrow([]Searcher{h}, func(*bm25) bool { return true }, index)
	return err
}

// ByWords returns the searcher that knows the names of the tools. See bm25.ByWords.
func (h *hybrid) ByWords() Searcher { return h.names }

// borrow returns the first index that willDo accepts among searchers and the parts of hybrids, or builds one. An
// Indexer may leave out documents or add words before it calls another Indexer.
func borrow[T keywordIndex | bm25](searchers []Searcher, willDo func(*T) bool, build func() (*T, error)) (*T, error) {
	searchers = slices.Clone(searchers)
	for i := 0; i < len(searchers); i++ {
		if index, ok := any(searchers[i]).(*T); ok && willDo(index) {
			return index, nil
		}
		if h, ok := searchers[i].(*hybrid); ok {
			for _, part := range h.parts {
				searchers = append(searchers, part.searcher)
			}
		}
	}
	return build()
}

// Restrict implements Restricter. The means and deviations of the parts are those over these documents.
func (h *hybrid) Restrict(ctx context.Context, docs []int) (Searcher, error) {
	within, err := setOf(h.docs, docs)
	if err != nil {
		return nil, err
	}
	r := *h
	r.within, r.count, r.parts = within, len(docs), slices.Clone(h.parts)
	err = r.eachPart(ctx, "restricting ", func(ctx context.Context, part *hybridPart, _ int) error {
		restricter, ok := part.searcher.(Restricter)
		if !ok {
			return nil
		}
		own := slices.Clone(docs)
		return part.become(ctx, func(ctx context.Context) (Searcher, error) { return restricter.Restrict(ctx, own) })
	})
	if err != nil {
		return nil, err
	}
	return asSearcher(&r, r.findNames(func() (*bm25, error) { return BM25Options{}.restricted(ctx, h.docs, docs) }))
}

func (o *HybridOptions) check() error {
	if len(o.Parts) == 0 {
		return errors.New("toolsearch: the hybrid has no parts")
	}
	if o.Weights != nil && len(o.Weights) != len(o.Parts) {
		return fmt.Errorf("toolsearch: a hybrid of %d parts has %d weights", len(o.Parts), len(o.Weights))
	}
	for i, part := range o.Parts {
		if part == nil {
			return fmt.Errorf("toolsearch: part %d of the hybrid is nil", i+1)
		}
		if o.Weights != nil && (!(o.Weights[i] >= 0) || math.IsInf(o.Weights[i], 0)) {
			return fmt.Errorf("toolsearch: part %d of the hybrid: the weight %v is invalid", i+1, o.Weights[i])
		}
	}
	return nil
}

func (h *hybrid) String() string { return "Hybrid" }

func (h *hybrid) Search(ctx context.Context, q Query) (Hits, error) {
	named := h.names.named(q)
	lists, partial, err := h.ask(ctx, q, named)
	if err != nil {
		return Hits{}, err
	}
	sums := make(map[int]float64)
	for _, list := range lists {
		for _, hit := range list.hits {
			sums[hit.Doc] += list.adds(hit.Score)
		}
	}
	for doc, tier := range named {
		if q.Allows(doc) {
			sums[doc] += float64(h.lift * tierBonus[tier])
		}
	}
	best := docset.NewTop(q.Limit, len(sums), nil)
	for doc, score := range sums {
		if score > 0 { // parts of weight 0 add nothing
			best.Add(score, int32(doc))
		}
	}
	hits := hitsOf(&best, nil)
	hits.Partial = partial
	return hits, nil
}

// partHits is the answer of one part.
type partHits struct {
	part    *hybridPart
	hits    []Hit // the hits that count, best first
	partial error // a partial failure: there are hits
	err     error

	// Of the best hits without the tools that the query names, whose scores may be far higher.
	highest float64
	among   spread // of the scores
	in      spread // of the whole catalog; all tools but those with a score have 0
}

// adds is what the part adds to a tool that it gave this score. It is more than 0.
func (p *partHits) adds(score float64) float64 {
	among, in := p.deviations(score)
	return float64(p.part.weight * ((soft(among) + soft(in)) / 2))
}

// deviations returns how far a score stands out among the hits and in the catalog; at most as far as the highest.
func (p *partHits) deviations(score float64) (among, in float64) {
	score = min(score, p.highest)
	return p.among.standard(score), p.in.standard(score)
}

// ask searches all parts at the same time. It fails if no part answers.
func (h *hybrid) ask(ctx context.Context, q Query, named map[int]letters.Tier) (lists []partHits, partial, err error) {
	allowed := q.Allowed
	if q.Limit = max(h.options.Depth, 0); q.Allowed != nil {
		q.Limit = 0 // the filter may drop all of a part's best hits
	}
	q.Allowed = nil // a score stands out equally far, whatever tools the query allows
	if h.within != nil {
		q.Allowed = h.within.Has
	}
	lists = make([]partHits, len(h.parts))
	err = foreign.InParallel(ctx, len(h.parts), len(h.parts), func(ctx context.Context, i int) error {
		answer, err := h.askPart(ctx, &h.parts[i], q)
		lists[i] = partHits{part: &h.parts[i], partial: answer.Partial, err: err}
		lists[i].read(answer.Hits, h, allowed, named)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	partial, err = failure(lists)
	return lists, partial, err
}

func (h *hybrid) askPart(ctx context.Context, part *hybridPart, q Query) (Hits, error) {
	ctx, cancel := foreign.WithTimeout(ctx, h.options.Timeout)
	defer cancel()
	ask := func() (Hits, error) {
		return foreign.Through(ctx, part.gate, func(ctx context.Context) (Hits, error) { return part.searcher.Search(ctx, q) })
	}
	hits, err := ask()
	if err == nil && len(hits.Hits) < min(q.Limit, hits.Total) {
		// A limit made the part return fewer hits than it was asked for, as Fuzzy does. A query that
		// does not allow every tool is asked without a limit, and must rank as this query does.
		q.Limit = 0
		if all, err := ask(); err == nil {
			hits = all
		}
	}
	if err != nil {
		return Hits{}, fmt.Errorf("%s: %w", part.name, err)
	}
	if hits.Partial != nil {
		hits.Partial = fmt.Errorf("%s: %w", part.name, hits.Partial)
	}
	return hits, nil
}

// maxPartScore keeps sums of squares within what a float64 holds.
const maxPartScore = 1e100

// read keeps the first hits that are allowed, and the scores of the first hits of all. It drops hits outside the
// searched documents, repeated hits and hits with invalid scores. Parts are not trusted.
func (p *partHits) read(hits []Hit, h *hybrid, allowed func(doc int) bool, named map[int]letters.Tier) {
	depth, first := cmp.Or(max(h.options.Depth, 0), len(h.docs)), 0
	var scores []float64
	seen := docset.New(len(h.docs))
	for _, hit := range hits {
		if hit.Doc < 0 || hit.Doc >= len(h.docs) || !(hit.Score > 0) || h.within != nil && !h.within.Has(hit.Doc) || !seen.Add(hit.Doc) {
			continue
		}
		hit.Score = min(hit.Score, maxPartScore)
		if first++; first <= depth && named[hit.Doc] == letters.NotNamed {
			scores = append(scores, hit.Score)
			p.highest = max(p.highest, hit.Score)
		}
		if len(p.hits) < depth && (allowed == nil || allowed(hit.Doc)) {
			p.hits = append(p.hits, hit)
		}
	}
	p.among, p.in = spreadOf(scores, len(scores)), spreadOf(scores, h.count)
}

// failure joins the errors of the parts. A part that cannot search by the query has not failed.
func failure(lists []partHits) (partial, err error) {
	answered := false
	var wrong *QueryError
	var failures []error
	for _, list := range lists {
		switch mistake := (*QueryError)(nil); {
		case list.err == nil:
			answered = true
			failures = append(failures, list.partial)
		case errors.As(list.err, &mistake):
			wrong = cmp.Or(wrong, mistake)
		default:
			failures = append(failures, list.err)
		}
	}
	switch err := errors.Join(failures...); {
	case answered && err != nil:
		return fmt.Errorf("toolsearch: failed in part: %w", err), nil
	case !answered && err == nil:
		return nil, wrong
	default:
		return nil, err
	}
}

func (h *hybrid) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(h.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	q.Allowed = nil
	named := h.names.named(q)
	lists, _, err := h.ask(ctx, q, named)
	if err != nil {
		return Explanation{}, err
	}
	var e Explanation
	for _, list := range lists {
		e.add(list.explain(q.text(), doc))
	}
	if tier := named[doc]; tier > letters.NotNamed {
		e.add(Contribution{q.text(), "name", h.lift * tierBonus[tier], tierDetail[tier]})
	}
	return e, nil
}

func (p *partHits) explain(text string, doc int) Contribution {
	c := Contribution{Term: text, Field: p.part.name, Detail: "not among its hits"}
	if p.err != nil {
		c.Detail = "it failed: " + p.err.Error()
	}
	if i := slices.IndexFunc(p.hits, func(hit Hit) bool { return hit.Doc == doc }); i >= 0 {
		score := p.hits[i].Score
		among, in := p.deviations(score)
		c.Score = p.adds(score)
		c.Detail = fmt.Sprintf("hit %d of %d with a score of %.4g, %.2f deviations above the mean of the hits and %.2f of the catalog; "+
			"weight %g", i+1, len(p.hits), score, among, in, p.part.weight)
	}
	if p.partial != nil {
		c.Detail += "; it failed in part: " + p.partial.Error()
	}
	return c
}

// soft is ln(1 + e^z), written so that it does not overflow.
func soft(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// spread is a mean and the standard deviation from it.
type spread struct{ mean, deviation float64 }

// spreadOf returns the spread of n scores. Scores that are not given are 0.
func spreadOf(scores []float64, n int) spread {
	if len(scores) == 0 {
		return spread{}
	}
	sum, squares := 0.0, 0.0
	for _, score := range scores {
		sum += score
	}
	mean := sum / float64(n)
	for _, score := range scores {
		squares += float64((score - mean) * (score - mean))
	}
	squares += float64(float64(n-len(scores)) * float64(mean*mean))
	return spread{mean, math.Sqrt(squares / float64(n))}
}

// standard returns how far a score is above the mean, or 0 if all scores are equal.
func (s spread) standard(score float64) float64 {
	if s.deviation <= 1e-9*s.mean { // equal but for rounding
		return 0
	}
	return (score - s.mean) / s.deviation
}
