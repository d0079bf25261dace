package toolsearchtest

import (
	"cmp"
	"context"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

type (
	query = search.Query
	hit   = search.Hit
	docs  = []search.Document
)

// searcher is a Searcher that does not count, explain or read queries.
type searcher func(ctx context.Context, q query) ([]hit, error)

func (s searcher) Search(ctx context.Context, q query) (search.Hits, error) {
	hits, err := s(ctx, q)
	return search.Hits{Hits: hits}, err
}

// hitsOf returns only the hits of a searcher.
func hitsOf(ctx context.Context, s search.Searcher, q query) ([]hit, error) {
	answer, err := s.Search(ctx, q)
	return answer.Hits, err
}

// A searcher that knows neither "+" nor namespaces can keep the contract.
func TestSearcherByTheDocKeepsTheContract(t *testing.T) {
	TestSearcher(t, func(_ context.Context, d docs) (search.Searcher, error) { return commonWords(d), nil })
}

// commonWords ranks by how many of the query's words a description has.
type commonWords docs

func (s commonWords) Search(ctx context.Context, q query) (search.Hits, error) {
	var hits []hit
	for doc, d := range s {
		score := 0
		for _, word := range q.Keywords {
			score += strings.Count(" "+strings.ToLower(d.Description)+" ", " "+strings.ToLower(word)+" ")
		}
		if score > 0 && q.Allows(doc) {
			hits = append(hits, hit{Doc: doc, Score: float64(score)})
		}
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.Score, a.Score) })
	total := len(hits)
	if q.Limit > 0 {
		hits = hits[:min(q.Limit, total)]
	}
	return search.Hits{Hits: hits, Total: total}, ctx.Err()
}

// each returns Keyword with a change of every hit.
func each(change func(h *hit)) search.Indexer {
	return altering(func(_ query, hits []hit) []hit {
		for i := range hits {
			change(&hits[i])
		}
		return hits
	})
}

// querying returns Keyword with a change of every query.
func querying(change func(q *query)) search.Indexer {
	return asking(func(ctx context.Context, keyword search.Searcher, q query) ([]hit, error) {
		change(&q)
		return hitsOf(ctx, keyword, q)
	})
}

// failing returns Keyword with other errors.
func failing(fail func(q query, err error) error) search.Indexer {
	return asking(func(ctx context.Context, keyword search.Searcher, q query) ([]hit, error) {
		hits, err := hitsOf(ctx, keyword, q)
		return hits, fail(q, err)
	})
}

// altering returns Keyword with altered hits.
func altering(alter func(q query, hits []hit) []hit) search.Indexer {
	return asking(func(ctx context.Context, keyword search.Searcher, q query) ([]hit, error) {
		hits, err := hitsOf(ctx, keyword, q)
		return alter(q, hits), err
	})
}

// asking returns a searcher that asks Keyword in its own way.
func asking(ask func(ctx context.Context, keyword search.Searcher, q query) ([]hit, error)) search.Indexer {
	return func(ctx context.Context, d docs) (search.Searcher, error) {
		keyword, err := search.Keyword(ctx, d)
		return searcher(func(ctx context.Context, q query) ([]hit, error) { return ask(ctx, keyword, q) }), err
	}
}

// demanding returns Keyword with only the hits that meet a demand.
func demanding(meets func(query, search.Document) bool) search.Indexer {
	return func(ctx context.Context, d docs) (search.Searcher, error) {
		return altering(func(q query, hits []hit) []hit {
			return slices.DeleteFunc(hits, func(h hit) bool { return !meets(q, d[h.Doc]) })
		})(ctx, d)
	}
}

// full is Keyword with an altered count or explanation.
type full struct {
	search.Searcher
	count   func(limit, hits int, total *int)
	explain func(q query, score *float64)
}

func (f full) Search(ctx context.Context, q query) (search.Hits, error) {
	answer, err := f.Searcher.Search(ctx, q)
	if f.count != nil {
		f.count(q.Limit, len(answer.Hits), &answer.Total)
	}
	return answer, err
}

func (f full) Explain(ctx context.Context, q query, doc int) (search.Explanation, error) {
	e, err := f.Searcher.(search.Explainer).Explain(ctx, q, doc)
	if f.explain != nil {
		f.explain(q, &e.Score)
	}
	return e, err
}

func (f full) index(ctx context.Context, d docs) (_ search.Searcher, err error) {
	f.Searcher, err = search.Keyword(ctx, d)
	return f, err
}

// restricter is Keyword with a way to restrict it.
type restricter struct {
	search.Searcher
	docs     docs
	restrict func(context.Context, docs, []int) (search.Searcher, error)
}

func (r restricter) Restrict(ctx context.Context, numbers []int) (search.Searcher, error) {
	return r.restrict(ctx, r.docs, numbers)
}

func restricting(restrict func(context.Context, docs, []int) (search.Searcher, error)) search.Indexer {
	return func(ctx context.Context, d docs) (search.Searcher, error) {
		keyword, err := search.Keyword(ctx, d)
		return restricter{keyword, d, restrict}, err
	}
}

// rebuilder is Keyword with a Rebuild that ignores the new documents.
type rebuilder struct {
	search.Searcher
	docs docs
}

func (r rebuilder) Rebuild(ctx context.Context, _ docs) (search.Searcher, error) {
	return search.Keyword(ctx, r.docs)
}

// A searcher that breaks the contract fails exactly the clauses that it breaks.
func TestBrokenSearchersFail(t *testing.T) {
	var calls, builds atomic.Int64
	shared := make([]hit, 0, 1000)
	for _, test := range []struct {
		name  string
		index search.Indexer
		fails []string
	}{
		{"a document after the last", altering(func(q query, hits []hit) []hit {
			if q.Limit == 0 && len(hits) == 1 {
				hits[0].Doc = 1000
			}
			return hits
		}), []string{"document", "limit"}},
		{"a document before the first", each(func(h *hit) { h.Doc-- }),
			[]string{"document", "allowed", "required", "namespace-text", "namespace-argument"}},
		{"a repeated document", altering(func(q query, hits []hit) []hit {
			if len(hits) > 0 && (q.Limit == 0 || len(hits) < q.Limit) {
				hits = append(hits, hits[len(hits)-1])
			}
			return hits
		}), []string{"once"}},
		{"the worst first", altering(func(_ query, hits []hit) []hit {
			slices.Reverse(hits)
			return hits
		}), []string{"best-first", "limit"}},
		{"scores that are not numbers", each(func(h *hit) { h.Score = math.NaN() }),
			[]string{"best-first", "limit", "same-order", "concurrent"}}, // NaN is not equal to itself
		{"the limit ignored", querying(func(q *query) { q.Limit = 0 }), []string{"limit"}},
		{"any hits in place of the best", asking(func(ctx context.Context, keyword search.Searcher, q query) ([]hit, error) {
			limit := q.Limit
			q.Limit = 0
			hits, err := hitsOf(ctx, keyword, q)
			if limit > 0 && limit < len(hits) {
				hits = hits[len(hits)-limit:]
			}
			return hits, err
		}), []string{"limit"}},
		{"0 taken for a limit of ten", altering(func(q query, hits []hit) []hit {
			if q.Limit == 0 {
				hits = hits[:min(10, len(hits))]
			}
			return hits
		}), []string{"limit"}},
		{"another order each time", altering(func(q query, hits []hit) []hit {
			if n := int(calls.Add(1)); len(hits) > 1 && hits[0].Score == hits[1].Score {
				hits[n%2], hits[0] = hits[0], hits[n%2]
			}
			return hits
		}), []string{"limit", "same-order", "concurrent"}},
		{"another score from each index", func(ctx context.Context, d docs) (search.Searcher, error) {
			other := float64(builds.Add(1) % 2)
			return each(func(h *hit) { h.Score += other })(ctx, d)
		}, []string{"same-order"}},
		{"an error for no match", failing(func(q query, err error) error {
			if err == nil && len(q.Keywords) == 0 {
				err = errors.New("nothing asked for")
			}
			return err
		}), []string{"no-match"}},
		{"an error for an empty catalog", func(ctx context.Context, d docs) (search.Searcher, error) {
			if len(d) == 0 {
				return nil, errors.New("nothing to index")
			}
			return search.Keyword(ctx, d)
		}, []string{"no-match"}},
		{"one slice for all answers", altering(func(_ query, hits []hit) []hit {
			shared = append(shared[:0], hits...)
			return shared
		}), []string{"concurrent"}},
		{"the query changed", querying(func(q *query) { slices.Sort(q.Keywords) }), []string{"concurrent"}},
		{"ctx ignored", asking(func(_ context.Context, keyword search.Searcher, q query) ([]hit, error) {
			return hitsOf(context.Background(), keyword, q)
		}), []string{"context"}},
		{"an error other than ctx's", failing(func(_ query, err error) error {
			if err != nil {
				err = errors.New("search failed")
			}
			return err
		}), []string{"context"}},
		{"documents sorted in place", func(ctx context.Context, d docs) (search.Searcher, error) {
			slices.SortFunc(d, func(a, b search.Document) int { return strings.Compare(a.Name, b.Name) })
			return search.Keyword(ctx, d)
		}, []string{"unchanged"}},
		{"definitions changed", func(ctx context.Context, d docs) (search.Searcher, error) {
			for i := range d {
				d[i].Info.Desc = strings.ToLower(d[i].Info.Desc)
			}
			return search.Keyword(ctx, d)
		}, []string{"unchanged"}},
		{"documents that are not allowed", querying(func(q *query) { q.Allowed = nil }), []string{"allowed"}},
		{"only the best hits are checked for Allowed", asking(func(ctx context.Context, keyword search.Searcher, q query) ([]hit, error) {
			all := q
			all.Allowed = nil
			hits, err := hitsOf(ctx, keyword, all)
			return slices.DeleteFunc(hits, func(h hit) bool { return !q.Allows(h.Doc) }), err
		}), []string{"allowed"}},
		{"its own rule for required words", demanding(func(q query, d search.Document) bool {
			return !slices.ContainsFunc(q.Required, func(word string) bool { return !strings.Contains(d.Name+d.Description, word) })
		}), []string{"required", "namespace-text"}},
		{"its own rule for namespaces", demanding(func(q query, d search.Document) bool {
			return q.Namespace == "" || q.Namespace == d.Namespace
		}), []string{"namespace-text", "namespace-argument"}},
		{"a total that is too high", full{count: func(limit, hits int, total *int) {
			if limit > 100 {
				*total = hits + 1
			}
		}}.index, []string{"total"}},
		{"a total that is sometimes missing", full{count: func(limit, _ int, total *int) {
			if limit == 1 {
				*total = 0
			}
		}}.index, []string{"total"}},
		{"an explained score on another scale", full{explain: func(_ query, score *float64) { *score /= 100 }}.index, []string{"explain"}},
		{"the limit counts in explanations", full{explain: func(q query, score *float64) {
			if q.Limit == 1 {
				*score = 0
			}
		}}.index, []string{"explain"}},
		{"an explained score for a tool that does not match", full{explain: func(_ query, score *float64) {
			*score = max(*score, 0.5)
		}}.index, []string{"explain-zero"}},
		{"a restricted searcher that has all documents", restricting(func(ctx context.Context, d docs, _ []int) (search.Searcher, error) {
			return search.Keyword(ctx, d)
		}), []string{"restrict"}},
		{"a restricted searcher that numbers its documents anew",
			restricting(func(ctx context.Context, d docs, numbers []int) (search.Searcher, error) {
				var some docs
				for _, doc := range numbers {
					some = append(some, d[doc])
				}
				return search.Keyword(ctx, some)
			}), []string{"restrict"}},
		{"a restricted searcher that is nil", restricting(func(ctx context.Context, _ docs, _ []int) (search.Searcher, error) {
			return nil, ctx.Err()
		}), []string{"restrict"}},
		{"a searcher that cannot be restricted", restricting(func(ctx context.Context, _ docs, _ []int) (search.Searcher, error) {
			return nil, cmp.Or(ctx.Err(), errors.New("too late"))
		}), []string{"restrict"}},
		{"Restrict ignores ctx", restricting(func(_ context.Context, d docs, _ []int) (search.Searcher, error) {
			return search.Keyword(context.Background(), d)
		}), []string{"restrict"}},
		{"a rebuilt searcher that has the documents of before", func(ctx context.Context, d docs) (search.Searcher, error) {
			keyword, err := search.Keyword(ctx, d)
			return rebuilder{keyword, d}, err
		}, []string{"rebuild"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := testtools.Must(newSubject(t.Context(), test.index))(t)
			var fails []string
			for _, c := range clauses {
				if err := c.test(t.Context(), s); err != nil {
					t.Logf("%s: %v", c.name, err)
					fails = append(fails, c.name)
				}
			}
			assert.Equal(t, test.fails, fails, "the clauses that fail")
		})
	}
}

func TestSubjectsThatCannotBeTested(t *testing.T) {
	tests := []struct {
		name  string
		index search.Indexer
		want  string
	}{
		{"an indexer that fails", func(context.Context, docs) (search.Searcher, error) { return nil, errors.New("disk full") }, "disk full"},
		{"an indexer that returns nil", func(context.Context, docs) (search.Searcher, error) { return nil, nil }, "no Searcher"},
		{"a searcher that finds nothing", altering(func(query, []hit) []hit { return nil }), "nothing can be tested"},
	}
	for _, test := range tests {
		_, err := newSubject(t.Context(), test.index)
		assert.ErrorContains(t, err, test.want, test.name)
	}
}

// A failure of TestSearcher quotes the contract. The failing test runs in another process, so this
// test can pass.
func TestFailureQuotesTheContract(t *testing.T) {
	const variable = "TOOLSEARCHTEST_BROKEN"
	if os.Getenv(variable) != "" {
		TestSearcher(t, altering(func(_ query, hits []hit) []hit {
			slices.Reverse(hits)
			return hits
		}))
		return
	}
	command := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	command.Env = append(os.Environ(), variable+"=1")
	output, err := command.CombinedOutput()
	assert.Error(t, err, "the test of a broken searcher")
	for _, want := range []string{"--- FAIL: " + t.Name() + "/best-first", `the contract says: "best first"`, "hit 2 after it"} {
		assert.Contains(t, string(output), want)
	}
}

// The doc comments contain every sentence that a clause quotes.
func TestClausesAreQuotations(t *testing.T) {
	contract := testtools.Must(os.ReadFile(filepath.Join("..", "search", "search.go")))(t)
	words := strings.Join(strings.Fields(strings.ReplaceAll(string(contract), "//", " ")), " ")
	for _, c := range clauses {
		// assert.Contains prints the file in full.
		assert.True(t, strings.Contains(words, c.sentence), "%s: whether %q is in a doc comment of search.go", c.name, c.sentence)
	}
}
