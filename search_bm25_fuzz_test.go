package toolsearch_test

import (
	"math"
	"slices"
	"testing"

	"github.com/eino-toolsearch/toolsearch"
)

// FuzzBM25: whatever stands in a catalog and a query, the search fails on none, answers
// alike twice, and explains what it found.
func FuzzBM25(f *testing.F) {
	f.Add("create issue", "mcp__github__create_issue", "Opens an issue", "bug")
	f.Add("+github: naïve 日历 HTTP2URLs", "github__HTTP2URLs", "naïve", "日历")
	f.Add("\xff\u0301 a", "\u0301", "ﬁ", "İ'ß")
	f.Fuzz(func(t *testing.T, query, name, text, hint string) {
		docs := []toolsearch.Document{
			{Name: name, Description: text, Annotation: toolsearch.Annotation{Namespace: hint, Hint: hint, Aliases: []string{text}, Tags: []string{name}}},
			{Name: text, Description: hint, Parameters: []toolsearch.Parameter{{Name: hint, Description: name, Enum: []string{query}}}},
		}
		searcher := bm25Catalog(t, toolsearch.BM25Options{}, docs...)
		q := toolsearch.ParseQuery(query)
		hits, err := searcher.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		again, err := searcher.Search(t.Context(), q)
		if err != nil || !slices.Equal(hits, again) || len(hits) > len(docs) {
			t.Errorf("%v, then %v, %v", hits, again, err)
		}
		for _, hit := range hits {
			e, err := searcher.(toolsearch.Explainer).Explain(t.Context(), q, hit.Doc)
			if err != nil || math.Abs(e.Score-hit.Score) > 1e-3*max(1, hit.Score) || !(hit.Score > 0) {
				t.Errorf("score %v, explained as %v, %v", hit.Score, e, err)
			}
		}
	})
}
