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

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/top"
)

// Several searchers as one.
//
// Parts score by scales of their own: BM25 has no upper end, a cosine lies between 0.2 and
// 0.6 for most tools and most models. What they have in common is how far a tool stands out
// among the others, so a score is measured in standard deviations from the mean over the
// part's best 1000 hits, and again over the whole catalog, where what is no hit has 0. What
// a part adds to a tool is
//
//	weight · ( ln(1 + e^h) + ln(1 + e^c) ) / 2    h = (score - mean) / deviation, of the hits
//	                                              c = the same, of the catalog
//
// ln(1 + e^z) is z for what stands out, and nearly nothing for the many that do not: a tool
// that both parts find middling does not outrank one that a single part is sure of. A tool
// that a part does not find gets nothing from it. The mean of the hits alone would make
// little of a word search that finds three tools, each of which is near their mean; that of
// the catalog alone makes little of a sentence encoder, for which everything is a hit. Above
// all sums stands a tool whose name the query spells out, whatever the parts say, as in BM25.
//
// How this was chosen: BM25 and Universal Sentence Encoder Lite (512 dimensions, English)
// over the eight sets that bm25.go tells of, seven English and one Chinese, and over
// testdata/ranking. Mean recall at 5 and MRR, in percent:
//
//	                               all eight    English    testdata/ranking
//	BM25 alone                     81.5 77.0    82.2 76.6    95.0 89.1
//	Embedding alone                57.9 48.6    65.5 54.7    71.5 56.5
//	as above                       84.4 78.8    85.6 78.9    95.5 90.5
//	  weight of the embedding 0.5  83.5 78.5    84.4 78.3    95.5 90.9
//	  1.5                          84.3 78.8    85.9 79.1    95.0 89.4
//	of the hits alone              84.6 78.9    85.7 78.9    92.0 84.2
//	  max(0, z), not ln(1 + e^z)   84.3 78.7    85.7 78.8    87.5 81.7
//	  max(0, z + 3)                83.7 78.2    85.2 78.6    95.5 89.3
//	of the catalog alone           83.8 78.7    84.9 78.7    95.5 91.0
//	  max(0, z), not ln(1 + e^z)   83.8 78.6    85.1 78.8    95.5 90.8
//	minimum to 0, maximum to 1     83.0 77.1    84.9 77.8    91.5 86.5
//	  weight 0.5                   83.5 78.0    84.5 77.9    91.5 86.0
//	score / maximum, weight 0.5    83.5 78.4    84.4 78.3    95.5 91.2
//	rank: 1 / (60 + rank)          73.3 65.5    79.3 70.1    91.5 78.9
//	  1 / (5 + rank)               81.4 71.7    84.0 73.1    95.0 81.2
//	  1 / (5 + rank), weight 0.5   83.2 77.6    84.2 77.2    95.5 86.0
//	  1 / (2 + rank), weight 0.5   82.8 78.0    84.3 77.8    95.0 87.4
//
// Ranks forget how much better the first is than the second, and let a weak part undo what
// a strong one is sure of. The best 200 hits of a part instead of 1000 cost 0.8 points of
// MRR and more.
//
// The table was computed from stored vectors; run as a whole, as examples/hybrid does with
// -public, it comes to 84.3 and 78.7 over all eight, BM25 to 81.4 and 77.1, the embedding to
// 57.8 and 48.2. Where the hybrid is not better than BM25: on long requests over noisy API
// docs it loses 1.5 points of recall and 1.6 of MRR, on long tasks in English 0.5 of MRR, and
// in Chinese, of which that encoder knows nothing, 0.6 and 1.5. It is better than the
// embedding on every set.

const (
	hybridDepth          = 1000
	defaultHybridTimeout = 15 * time.Second
	maxPartSearches      = 64 // of one part at a time; more wait, within their timeouts
)

// HybridOptions configures Hybrid. All but Parts have good defaults.
type HybridOptions struct {
	// Parts are the searchers to combine, at least one.
	Parts []Indexer

	// Weights say how much each part counts, in the order of Parts: 0 or more. Nil: 1 each.
	Weights []float64

	// Depth is how many of a part's best hits count. The others are not found, unless
	// another part finds them. It does not depend on the query's limit, so that a limit
	// only ever cuts the end off a list. Zero: 1000. Negative: all.
	Depth int

	// Timeout is how long a search waits for a part, which has failed then. Zero: 15 s.
	// Negative: as long as the context.
	Timeout time.Duration
}

// Hybrid is the Indexer that combines others, Hybrid(BM25, Embedding(e)): HybridOptions with
// all defaults but the Parts. A tool's score is the sum over the parts of how far it stands
// out in the part's scores; a tool whose name the query spells out comes first; ties go by
// the order of the documents.
//
// Parts are built and asked at the same time. One that fails, panics or does not answer
// makes the search no failure: the hits are those of the others, and Hits.Partial, which the
// catalog reports as SearchEvent.Err, says what failed. Only if none answers does the search fail. A part
// that cannot search by the query (QueryError) is left out; the error is passed on if that
// is so for every part. A part that fails when the catalog is built fails the build.
//
// Result.Total is the number of tools that any part has among its best 1000.
func Hybrid(parts ...Indexer) Indexer { return HybridOptions{Parts: parts}.Index }

// hybrid implements Searcher. It is immutable.
type hybrid struct {
	docs    []Document
	names   func() namer
	parts   []hybridPart
	depth   int
	timeout time.Duration
	lift    float64 // of the bonus of a tool that the query names, so that no sum is above it
}

// A namer knows the names of the tools.
type namer interface {
	// named returns the tools whose names a query spells out, whether or not the query allows
	// them.
	named(q Query) []bm25Named
}

type hybridPart struct {
	name     string // in Explain
	searcher Searcher
	weight   float64
	gate     foreign.Gate
}

// Index is an Indexer. See Hybrid.
func (o HybridOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	h := &hybrid{
		docs: docs, parts: make([]hybridPart, len(o.Parts)),
		depth: cmp.Or(o.Depth, hybridDepth), timeout: cmp.Or(o.Timeout, defaultHybridTimeout),
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wait sync.WaitGroup
	for i, index := range o.Parts {
		wait.Add(1)
		go func() {
			defer wait.Done()
			own := slices.Clone(docs) // nothing stops a part from writing to what it is given
			part, err := foreign.Through(ctx, make(foreign.Gate, 1), func(ctx context.Context) (part hybridPart, err error) {
				if part.searcher, err = index(ctx, own); err == nil && foreign.IsNil(part.searcher) {
					err = errors.New("the Indexer returned no Searcher")
				}
				if err == nil {
					part.name = partName(part.searcher, i)
				}
				return part, err
			})
			if err != nil {
				stop(fmt.Errorf("toolsearch: part %d of the hybrid: %w", i+1, err))
				return
			}
			part.weight = 1
			if o.Weights != nil {
				part.weight = o.Weights[i]
			}
			part.gate = make(foreign.Gate, maxPartSearches)
			h.parts[i] = part
		}()
	}
	wait.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h.names = sync.OnceValue(func() namer {
		for i := range h.parts {
			if names, ok := h.parts[i].searcher.(namer); ok {
				return names
			}
		}
		names, _ := BM25Options{}.index(context.Background(), docs) // only a context fails it
		return names
	})
	weights := 1.0
	for i := range h.parts {
		weights += h.parts[i].weight
	}
	h.lift = weights // what a part adds for one is below the root of the number of tools
	return h, nil
}

func (o *HybridOptions) check() error {
	if len(o.Parts) == 0 {
		return errors.New("toolsearch: a hybrid of no parts")
	}
	if o.Weights != nil && len(o.Weights) != len(o.Parts) {
		return fmt.Errorf("toolsearch: a hybrid of %d parts has %d weights", len(o.Parts), len(o.Weights))
	}
	for i, part := range o.Parts {
		if part == nil {
			return fmt.Errorf("toolsearch: part %d of the hybrid is nil", i+1)
		}
		if o.Weights != nil && (!(o.Weights[i] >= 0) || math.IsInf(o.Weights[i], 0)) {
			return fmt.Errorf("toolsearch: part %d of the hybrid has the weight %v", i+1, o.Weights[i])
		}
	}
	return nil
}

// partName is what a part calls itself, or else its number.
func partName(s Searcher, i int) string {
	if named, ok := s.(fmt.Stringer); ok {
		return naming.OneLine(named.String(), 64)
	}
	return fmt.Sprintf("part %d", i+1)
}

// String names the searcher.
func (h *hybrid) String() string { return "Hybrid" }

// searchers implements compound.
func (h *hybrid) searchers() (searchers []Searcher) {
	for i := range h.parts {
		searchers = append(searchers, h.parts[i].searcher)
	}
	return searchers
}

// named implements namer.
func (h *hybrid) named(q Query) []bm25Named { return h.names().named(q) }

// Search implements Searcher.
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
	for _, n := range named {
		if doc := int(n.doc); q.Allows(doc) {
			sums[doc] += float64(h.lift * tierBonus[n.tier])
		}
	}
	best := top.New(q.Limit, len(sums), nil)
	total := 0
	for doc, score := range sums {
		if score > 0 { // of parts without weight, it is not
			total++
			best.Add(score, int32(doc))
		}
	}
	return Hits{Hits: hitsOf(&best, nil), Total: total, Partial: partial}, nil
}
