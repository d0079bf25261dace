package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Several searchers as one.
//
// Each part has its own scale: BM25 has no upper end, a cosine lies between 0.2 and 0.6 for
// most tools and most models. What can be compared is how far a tool stands out among the
// others. So a score is measured in standard deviations from a mean, once over the part's
// best 1000 hits and once over the whole catalog, where all tools but the hits score 0. A
// part adds to a tool's score
//
//	weight · ( ln(1 + e^h) + ln(1 + e^c) ) / 2    h = (score - mean) / deviation, of the hits
//	                                              c = the same, of the catalog
//
// ln(1 + e^z) is nearly z for tools that stand out, and nearly 0 for the many others. So a
// tool that both parts find middling does not outrank a tool that one part is sure of. A
// part adds nothing to a tool that it does not find. With the mean of the hits alone, a word
// search that finds three tools would count too little, because each is near their mean.
// With the mean of the catalog alone, a sentence encoder would count too little, because
// every tool is a hit. A tool whose name the query spells out comes first, whatever the
// parts score, as in BM25.
//
// The formula was chosen over the eight sets of docs/searchers.md, which has what others find.
// Ranks do not say how much better the first tool is than the second, and they let a weak
// part override a strong one. examples/hybrid -public measures it again.

const (
	hybridDepth          = 1000
	defaultHybridTimeout = 15 * time.Second
	maxPartSearches      = 64 // of one part at a time; more wait, within their timeouts
)

// HybridOptions configures Hybrid. Only Parts is required.
type HybridOptions struct {
	// Parts are the searchers to combine, at least one.
	Parts []Indexer

	// Weights say how much each part counts, in the order of Parts. A weight is 0 or more.
	// Nil means 0.3 for LSA, and 1 for every other part.
	Weights []float64

	// Depth is how many of a part's best hits count. Further hits are dropped, unless
	// another part finds them. Depth does not depend on the query's limit: a limit only
	// shortens the list. Zero means 1000. Negative means all.
	Depth int

	// Timeout is how long a search waits for a part. A slower part counts as failed. Zero
	// means 15 s. Negative means as long as the context allows.
	Timeout time.Duration
}

// Hybrid is the Indexer that combines others, such as Hybrid(BM25, Embedding(e)), or
// Hybrid(BM25, LSA) where there is no embedder. It uses the defaults of HybridOptions. A
// tool's score is the sum over the parts of how far the tool stands out in the part's scores.
// A tool whose name the query spells out comes first. Ties go by the order of the documents.
//
// Parts are built and searched at the same time. If a part fails, panics or does not answer
// in time, the hits come from the others. Hits.Partial then says what failed, and the
// catalog reports it as SearchEvent.Err. The search fails only if no part answers. A part
// that cannot search by the query (QueryError) is left out. If that applies to every part,
// the search returns the QueryError. A part that fails when the catalog is built fails the
// build.
//
// Result.Total is the number of tools that any part has among its best 1000.
//
// A part that returns fewer hits than a limit asks for, as Fuzzy does, is asked again without a
// limit. A searcher of your own around BM25 or LSA has the weight 1, and does not tell the Hybrid
// which tools a query names; the Hybrid then indexes the names itself.
//
// The searcher is a Restricter. It restricts the parts that are Restricters, and asks the other
// parts with Query.Allowed. It is a Rebuilder, which rebuilds the parts that are Rebuilders and
// builds the others anew.
func Hybrid(parts ...Indexer) Indexer { return HybridOptions{Parts: parts}.Index }

// hybrid implements Searcher. It is immutable.
type hybrid struct {
	options HybridOptions // with the defaults
	docs    []Document
	within  docset.Set // the documents that are searched; nil means all
	count   int        // how many documents are searched
	names   func() namer
	parts   []hybridPart
	lift    float64 // multiplies the bonus of a tool that the query names; no sum exceeds it
}

// A namer knows the names of the tools.
type namer interface {
	// named returns the tools whose names a query spells out or begins. It ignores Allowed.
	named(q Query) map[int]letters.Tier
}

type hybridPart struct {
	name     string // in Explain
	searcher Searcher
	weight   float64
	gate     foreign.Gate
}

// Index is an Indexer. See Hybrid.
func (o HybridOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	return o.index(ctx, docs, nil)
}

// Rebuild implements Rebuilder.
func (h *hybrid) Rebuild(ctx context.Context, docs []Document) (Searcher, error) {
	return h.options.index(ctx, docs, h.parts)
}

// index builds a searcher. last are the parts of the searcher that it replaces; nil means none.
func (o HybridOptions) index(ctx context.Context, docs []Document, last []hybridPart) (Searcher, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.Parts, o.Weights = slices.Clone(o.Parts), slices.Clone(o.Weights) // Rebuild uses them again
	o.Depth, o.Timeout = cmp.Or(o.Depth, hybridDepth), cmp.Or(o.Timeout, defaultHybridTimeout)
	h := &hybrid{options: o, docs: docs, count: len(docs), parts: make([]hybridPart, len(o.Parts))}
	h.lift = 1 // plus the weights: a part of weight 1 adds less than the root of the number of tools
	err := h.eachPart(ctx, "", func(ctx context.Context, part *hybridPart, i int) (err error) {
		own := slices.Clone(docs) // a part may write to its slice
		index := o.Parts[i]
		if last != nil {
			if rebuilder, ok := last[i].searcher.(Rebuilder); ok {
				index = rebuilder.Rebuild
			}
		}
		built := hybridPart{weight: 1, gate: make(foreign.Gate, maxPartSearches)}
		*part, err = foreign.Through(ctx, built.gate, func(ctx context.Context) (_ hybridPart, err error) {
			if built.searcher, err = index(ctx, own); err == nil && foreign.IsNil(built.searcher) {
				err = errors.New("the Indexer returned no Searcher")
			}
			if err != nil {
				return built, err
			}
			built.name = partName(built.searcher, i)
			if o.Weights != nil {
				built.weight = o.Weights[i]
			} else if _, isLSA := built.searcher.(*lsa); isLSA {
				built.weight = lsaWeight
			}
			return built, nil
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for i := range h.parts {
		h.lift += h.parts[i].weight
	}
	h.names = sync.OnceValue(h.namer)
	return h, nil
}

// eachPart calls f for all parts at the same time. The first error, which names the part and what was
// done with it, is the result.
func (h *hybrid) eachPart(ctx context.Context, doing string, f func(ctx context.Context, part *hybridPart, i int) error) error {
	return foreign.InParallel(ctx, len(h.parts), len(h.parts), func(ctx context.Context, i int) error {
		if err := f(ctx, &h.parts[i], i); err != nil {
			return fmt.Errorf("toolsearch: %spart %d of the hybrid: %w", doing, i+1, err)
		}
		return nil
	})
}

// namer returns the first part that knows the names of the tools, or an index of its own.
func (h *hybrid) namer() namer {
	for i := range h.parts {
		if names, ok := h.parts[i].searcher.(namer); ok {
			return names
		}
	}
	// Building an index fails only if its context is done.
	if h.within != nil {
		names, _ := BM25Options{}.restricted(context.Background(), h.docs, slices.Collect(h.within.All()))
		return names
	}
	names, _ := BM25Options{}.index(context.Background(), h.docs)
	return names
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
		searcher, err := foreign.Through(ctx, part.gate, func(ctx context.Context) (Searcher, error) { return restricter.Restrict(ctx, own) })
		if err == nil && foreign.IsNil(searcher) {
			err = errors.New("there is no Searcher")
		}
		part.searcher = searcher
		return err
	})
	if err != nil {
		return nil, err
	}
	r.names = sync.OnceValue(r.namer)
	return &r, nil
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

// partName is the part's own name, or its number if it has none.
func partName(s Searcher, i int) string {
	if named, ok := s.(fmt.Stringer); ok {
		return naming.OneLine(named.String(), 64)
	}
	return fmt.Sprintf("part %d", i+1)
}

func (h *hybrid) String() string { return "Hybrid" }

// named tells the tools that a query names also to a hybrid of this one.
func (h *hybrid) named(q Query) map[int]letters.Tier { return h.names().named(q) }

func (h *hybrid) Search(ctx context.Context, q Query) (Hits, error) {
	named := h.named(q)
	lists, partial, err := h.ask(ctx, q, named)
	if err != nil {
		return Hits{}, err
	}
	sums := make(map[int]float64)
	for i := range lists {
		for _, hit := range lists[i].hits {
			sums[hit.Doc] += lists[i].adds(hit.Score)
		}
	}
	for doc, tier := range named {
		if q.Allows(doc) {
			sums[doc] += float64(h.lift * tierBonus[tier])
		}
	}
	best := docset.NewTop(q.Limit, len(sums), nil)
	total := 0
	for doc, score := range sums {
		if score > 0 { // parts of weight 0 add nothing
			total++
			best.Add(score, int32(doc))
		}
	}
	return Hits{Hits: hitsOf(&best, nil), Total: total, Partial: partial}, nil
}
