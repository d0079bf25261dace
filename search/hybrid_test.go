package search_test

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func TestHybridSearcher(t *testing.T) {
	for _, index := range []search.Indexer{
		search.Hybrid(search.BM25, search.Embedding(&wordEmbedder{})),
		search.HybridOptions{
			Parts:   []search.Indexer{search.Keyword, search.Hybrid(search.BM25), search.Similarity},
			Weights: []float64{1, 0.3, 0.7}, Depth: -1,
		}.Index,
	} {
		checkSearcher(t, index, nameOrWords)
		checkHostile(t, index)
	}
}

// part returns an Indexer whose searcher always gives each document its score.
func part(scores ...float64) search.Indexer {
	return testtools.Canned{Hits: scoredHits(scores...)}.Index
}

// scoredHits returns a hit for each document's score, the best first. The score 0 means that there
// is no hit.
func scoredHits(scores ...float64) (hits []search.Hit) {
	for i, score := range scores {
		if score != 0 {
			hits = append(hits, search.Hit{Doc: i, Score: score})
		}
	}
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	return hits
}

// addedBy returns what a part adds to a tool with that score. It is the mean of two ln(1 + e^z),
// where z is the score in standard deviations: once among the hits, and once among the scores of all
// tools, in which a tool without a hit has 0.
func addedBy(score float64, all ...float64) float64 {
	z := func(scores []float64) float64 {
		mean, squares := 0.0, 0.0
		for _, s := range scores {
			mean += s / float64(len(scores))
		}
		for _, s := range scores {
			squares += (s - mean) * (s - mean) / float64(len(scores))
		}
		if squares == 0 {
			return 0
		}
		return (score - mean) / math.Sqrt(squares)
	}
	hits := slices.DeleteFunc(slices.Clone(all), func(s float64) bool { return s == 0 })
	return (math.Log(1+math.Exp(z(hits))) + math.Log(1+math.Exp(z(all)))) / 2
}

func TestHybridScores(t *testing.T) {
	two := []search.Indexer{part(3, 1, 0), part(0, 40, 20)}
	for _, test := range []struct {
		name    string
		options search.HybridOptions
		want    []float64 // by document
	}{
		{"one part", search.HybridOptions{Parts: two[:1]}, []float64{addedBy(3, 3, 1, 0), addedBy(1, 3, 1, 0), 0}},
		{"two parts are added", search.HybridOptions{Parts: two},
			[]float64{addedBy(3, 3, 1, 0), addedBy(1, 3, 1, 0) + addedBy(40, 40, 20, 0), addedBy(20, 40, 20, 0)}},
		{"weights", search.HybridOptions{Parts: two, Weights: []float64{0.5, 3}},
			[]float64{0.5 * addedBy(3, 3, 1, 0), 0.5*addedBy(1, 3, 1, 0) + 3*addedBy(40, 40, 20, 0), 3 * addedBy(20, 40, 20, 0)}},
		{"no weight", search.HybridOptions{Parts: two, Weights: []float64{1, 0}}, []float64{addedBy(3, 3, 1, 0), addedBy(1, 3, 1, 0), 0}},
		{"depth", search.HybridOptions{Parts: []search.Indexer{part(1, 2, 4), part(5, 0, 0)}, Depth: 2},
			[]float64{addedBy(5, 5, 0, 0), addedBy(2, 4, 2, 0), addedBy(4, 4, 2, 0)}},
		{"equal scores", search.HybridOptions{Parts: []search.Indexer{part(7, 7, 7)}}, []float64{math.Log(2), math.Log(2), math.Log(2)}},
		{"scores that are not positive numbers", search.HybridOptions{Parts: []search.Indexer{part(math.NaN(), -1, 2)}}, []float64{0, 0, addedBy(2, 2, 0, 0)}},
		{"an infinite score", search.HybridOptions{Parts: []search.Indexer{part(0, 0, math.Inf(1))}}, []float64{0, 0, addedBy(2, 2, 0, 0)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			docs := numbered(3)
			want := make(map[string]float64)
			for i, score := range test.want {
				if score > 0 {
					want[docs[i].Name] = score
				}
			}
			checkScores(t, test.options.Index, docs, "anything", want)
		})
	}
}

// A tool that a query names comes first, even if no part finds it. Its score in a part does not
// change the scores of the other tools.
func TestHybridExactName(t *testing.T) {
	docs := append(numbered(3), doc("mcp__git__open_issue", ""))
	docs[0].Aliases = []string{"first"}
	for query, want := range map[string]int{"tool_2": 2, "Tool 2": 2, "first": 0, "open_issue": 3, "mcp__git__open_issue": 3} {
		for name, index := range map[string]search.Indexer{
			"found by no part":      search.Hybrid(part(0, 9, 0), part(0, 8, 0)),
			"the last of each part": search.Hybrid(part(1, 9, 1, 1), part(1, 8, 1, 1)),
			"found by BM25":         search.Hybrid(part(1, 9, 1, 1), part(1, 8, 1, 1), search.BM25),
		} {
			hits := hitsOf(t, searcherOf(t, index, docs...), search.ParseQuery(query))
			require.NotEmpty(t, hits, "%q, %s", query, name)
			assert.Equal(t, want, hits[0].Doc, "%q, %s: found %v", query, name, hits)
		}
	}
	// The 1e6 that BM25 adds to tool_2 does not change the other scores.
	scores := func(third float64) map[int]float64 {
		return scoresOf(t, searcherOf(t, search.Hybrid(part(3, 1, third)), docs...), search.ParseQuery("tool_2"))
	}
	assert.Equal(t, scores(3), scores(1e6+3), "without and with the bonus for tool_2")
}

// When some parts fail, the hybrid answers with the hits of the others.
func TestHybridFailures(t *testing.T) {
	down, alsoDown := errors.New("down"), errors.New("also down")
	wrong := &search.QueryError{Message: "no pattern"}
	var release chan struct{} // made where the time is that of the test
	good := part(0, 0, 1)
	failing := func(err error) search.Indexer { return testtools.Canned{Err: err}.Index }
	during := func(f func()) search.Indexer { return testtools.Canned{During: f}.Index }
	for _, test := range []struct {
		name           string
		parts          []search.Indexer
		found, partial bool
		want           []error
	}{
		{"one fails", []search.Indexer{failing(down), good}, true, true, []error{down}},
		{"one panics", []search.Indexer{good, during(func() { panic("oh") })}, true, true, nil},
		{"one hangs", []search.Indexer{good, during(func() { <-release })}, true, true, []error{context.DeadlineExceeded}},
		{"two fail", []search.Indexer{failing(down), good, failing(alsoDown)}, true, true, []error{down, alsoDown}},
		{"one fails in part", []search.Indexer{search.Hybrid(good, failing(down)), part(0, 0, 2)}, true, true, []error{down}},
		{"one cannot search by the query", []search.Indexer{failing(wrong), good}, true, false, nil},
		{"one cannot search by the query, one fails, one finds", []search.Indexer{failing(wrong), failing(down), good}, true, true, []error{down}},
		{"none can search by the query", []search.Indexer{failing(wrong), failing(&search.QueryError{})}, false, false, []error{wrong}},
		{"one fails, and one cannot search by the query", []search.Indexer{failing(wrong), failing(down)}, false, false, []error{down}},
		{"all fail", []search.Indexer{failing(down), failing(alsoDown)}, false, false, []error{down, alsoDown}},
		{"one fails, one finds nothing", []search.Indexer{failing(down), part()}, false, true, []error{down}},
	} {
		check := func(t *testing.T) {
			if test.name == "one hangs" {
				release = make(chan struct{})
				defer close(release)
			}
			s := searcherOf(t, search.HybridOptions{Parts: test.parts, Timeout: time.Second}.Index, numbered(3)...)
			answer, err := s.Search(context.Background(), search.ParseQuery("anything"))
			assert.Equal(t, test.partial, answer.Partial != nil)
			assert.Equal(t, !test.partial && !test.found, err != nil)
			for _, want := range test.want {
				assert.ErrorIs(t, errors.Join(err, answer.Partial), want)
			}
			if !test.found {
				assert.Empty(t, answer.Hits)
				_, failure := s.(search.Explainer).Explain(t.Context(), search.ParseQuery("anything"), 2)
				assert.Equal(t, err, failure)
				return
			}
			require.Len(t, answer.Hits, 1)
			e := explained(t, s, search.ParseQuery("anything"), 2)
			assert.Equal(t, search.Hit{Doc: 2, Score: e.Score}, answer.Hits[0], "explained as %v", e)
			if test.partial {
				assert.Contains(t, e.String(), "failed")
			}
		}
		t.Run(test.name, func(t *testing.T) { synctest.Test(t, check) })
	}
}

// A restricted hybrid measures its parts by what they say of its documents. The parts that are no
// Restricters are asked with Allowed, and what they find beyond is dropped.
func TestHybridRestricts(t *testing.T) {
	docs := numbered(4)
	s := searcherOf(t, search.Hybrid(part(9, 3, 1, 0)), docs...)
	some := testtools.Must(s.(search.Restricter).Restrict(t.Context(), []int{1, 2, 3}))(t)
	require.Equal(t, []int{1, 2}, bestOf(t, some, search.ParseQuery("anything")))
	for i, hit := range hitsOf(t, some, search.ParseQuery("anything")) {
		assert.InDelta(t, addedBy([]float64{3, 1}[i], 3, 1, 0), hit.Score, 1e-9)
	}
	assert.Len(t, hitsOf(t, some, search.ParseQuery("tool_0")), 2, "asked for a hidden tool by its name")
}

// A hybrid cannot be restricted if one of its parts cannot.
func TestHybridRestrictFails(t *testing.T) {
	down := errors.New("down")
	for what, restrict := range map[string]func() (search.Searcher, error){
		"down":                              func() (search.Searcher, error) { return nil, down },
		"panic: oh":                         func() (search.Searcher, error) { panic("oh") },
		"there is no Searcher":              func() (search.Searcher, error) { return nil, nil },
		"restricting part 2 of the hybrid:": func() (search.Searcher, error) { return nil, down },
	} {
		index := func(context.Context, []search.Document) (search.Searcher, error) {
			return restricter{testtools.Canned{Hits: scoredHits(1)}, restrict}, nil
		}
		_, err := searcherOf(t, search.Hybrid(search.BM25, index), numbered(2)...).(search.Restricter).Restrict(t.Context(), []int{1})
		assert.ErrorContains(t, err, what)
	}
}

type restricter struct {
	search.Searcher
	restrict func() (search.Searcher, error)
}

func (r restricter) Restrict(context.Context, []int) (search.Searcher, error) { return r.restrict() }

// Parts are built at the same time and asked at the same time. These parts wait for each other.
func TestHybridAtOnce(t *testing.T) {
	var building, searching sync.WaitGroup
	building.Add(3)
	searching.Add(3)
	meet := func(w *sync.WaitGroup) { w.Done(); w.Wait() }
	index := func(ctx context.Context, docs []search.Document) (search.Searcher, error) {
		meet(&building)
		return testtools.Canned{Hits: scoredHits(1), During: func() { meet(&searching) }}, nil
	}
	assert.Len(t, hitsOf(t, searcherOf(t, search.Hybrid(index, index, index), numbered(1)...), search.ParseQuery("anything")), 1)
}

func TestHybridMistakes(t *testing.T) {
	good, down := part(1), errors.New("down")
	indexing := func(f func() (search.Searcher, error)) search.Indexer {
		return func(context.Context, []search.Document) (search.Searcher, error) { return f() }
	}
	failing := indexing(func() (search.Searcher, error) { return nil, down })
	for _, test := range []struct {
		name    string
		options search.HybridOptions
		want    string
	}{
		{"no parts", search.HybridOptions{}, "no parts"},
		{"a nil part", search.HybridOptions{Parts: []search.Indexer{good, nil}}, "part 2 of the hybrid is nil"},
		{"too many weights", search.HybridOptions{Parts: []search.Indexer{good}, Weights: []float64{1, 2}}, "1 parts has 2 weights"},
		{"a negative weight", search.HybridOptions{Parts: []search.Indexer{good}, Weights: []float64{-1}}, "the weight -1"},
		{"a weight that is not a number", search.HybridOptions{Parts: []search.Indexer{good}, Weights: []float64{math.NaN()}}, "the weight NaN"},
		{"a part fails", search.HybridOptions{Parts: []search.Indexer{good, failing}}, "part 2 of the hybrid: down"},
		{"a part panics", search.HybridOptions{Parts: []search.Indexer{good, indexing(func() (search.Searcher, error) { panic("oh") })}},
			"part 2 of the hybrid: panic: oh"},
		{"a part returns nil", search.HybridOptions{Parts: []search.Indexer{good, indexing(func() (search.Searcher, error) { return nil, nil })}},
			"there is no Searcher"},
		{"a part fails while another waits", search.HybridOptions{
			Parts: []search.Indexer{func(ctx context.Context, _ []search.Document) (search.Searcher, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}, failing}}, "part 2 of the hybrid: down"},
	} {
		_, err := test.options.Index(context.Background(), numbered(2))
		assert.ErrorContains(t, err, test.want, "%s", test.name)
	}
}
