package search_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

// A tool whose name is the query comes first. Then come tools whose names begin with the query, and
// then the others.
func TestBM25Names(t *testing.T) {
	named := func(name, text string, aliases ...string) search.Document {
		d := doc(name, text)
		d.Aliases = aliases
		return d
	}
	s := searcherOf(t, search.BM25Options{}.Index,
		named("mcp__github__create_issue_comment", "Adds words to it"),
		named("mcp__github__create_issue", "Opens one"),
		named("issues", "create issue, create issue in github, an issue to create"),
		named("listPullRequests", "Open ones", "show_prs"),
		named("list", "Everything"),
		named("mcp__band__the_who", "Music"),
		named("other", "list pull, list pull, pull list"),
		named("get_it", "Anything"),
	)
	for _, tt := range []struct {
		query string
		want  []int // the beginning of the ranking
		bonus []float64
	}{
		{"create issue", []int{1, 0, 2}, []float64{1e6, 5e5, 0}},
		{"Create-Issue!", []int{1, 0, 2}, []float64{1e6, 5e5, 0}},
		{"github create issue", []int{1, 0, 2}, []float64{1e6, 5e5, 0}},
		{"github_create", []int{1, 0, 2}, []float64{5e5, 5e5, 0}},
		{"mcp__github", []int{1, 0}, []float64{5e5, 5e5}},
		{"create iss", []int{1, 0}, []float64{5e5, 5e5}},
		{"create is", []int{1}, []float64{0}},
		{"issue create", []int{2}, []float64{0}},
		{"list pull", []int{3, 6}, []float64{5e5, 0}},
		{"show prs", []int{3}, []float64{1e6}},
		{"list", []int{4}, []float64{1e6}},
		{"list everything", []int{4}, []float64{0}},
		{"use create_issue for everything", []int{1}, []float64{1e6}},
		{"use github_create for everything", []int{1}, []float64{0}},
		{"the who", []int{5}, []float64{1e6}},
		{"get it", []int{7}, []float64{1e6}},
	} {
		hits := hitsOf(t, s, search.ParseQuery(tt.query))
		require.GreaterOrEqual(t, len(hits), len(tt.want), "%q: the hits %v begin with %v", tt.query, hits, tt.want)
		for i, want := range tt.want {
			assert.Equal(t, want, hits[i].Doc, "%q: the hits %v begin with %v", tt.query, hits, tt.want)
			assert.GreaterOrEqual(t, hits[i].Score, tt.bonus[i], "%q found %v", tt.query, hits)
			assert.Less(t, hits[i].Score, tt.bonus[i]+100, "%q found %v", tt.query, hits)
		}
	}
}
