package search

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How BM25 reads a query: its groups of terms, with weights and reasons.
func TestReadQuery(t *testing.T) {
	x, err := BM25Options{}.index(t.Context(), []Document{
		{Name: "create_issue", Description: "Opens a ticket in a repository"},
		{Name: "read_web_page", Description: "The text of a page"},
		{Name: "MongoDB_find", Description: "Finds the weather in a database"},
		{Name: "lists", Description: "weathr tickt opan ticketpage", Annotation: Annotation{Namespace: "bait"}},
	})
	require.NoError(t, err)
	s := x.scratch.Get().(*bm25Scratch)
	for _, tt := range []struct{ text, want string }{
		{"create issue", ` + creat:1 + issu:1 | ticket:0.2; in the thesaurus for "issu"`},
		{"issue of the issue", ` + issu:1.23 | ticket:0.246; in the thesaurus for "issu"`},
		{"webpage", ` + web:1; a part of "webpag" + page:1; a part of "webpag"`},
		{"wether", ` + weather:0.5; near "wether"`},
		{"weathr tickt", ` + weathr:1 | weather:0.5; near "weathr" + tickt:1 | ticket:0.5; near "tickt"`}, // one namespace has these words
		{"opan", ` + opan:1 | open:0.125; near "opan"`},
		{"ticketpage", ` + ticketpag:1 + ticket:0.25; a part of "ticketpag" + page:0.25; a part of "ticketpag"`},
		{"MongoDB", ` + mongodb:1 + mongo:0.5 + db:0.5 | databas:0.6; a synonym of "db"`},
		{"find a 'ticket'", ` + find:1 | read:0.4; a synonym of "find" + ticket:0.65 | issu:0.13; in the thesaurus for "ticket"`},
		{"查询天气", ` + weather:1; in the lexicon for "天气"`},
		{"of the", ""},
	} {
		s.read(ParseQuery(tt.text))
		var got string
		for _, group := range s.query.groups {
			for i, term := range group.terms {
				got += fmt.Sprintf(" %c %s:%.3g%s", "+|"[min(i, 1)], x.Terms[term.id], term.weight, reasonOf(group.word, term))
			}
		}
		assert.Equal(t, tt.want, got, tt.text)
	}
}

// A search after very many others finds what the first found.
func TestSumsBeginAnew(t *testing.T) {
	x, err := BM25Options{}.index(t.Context(), []Document{{Name: "create_issue"}, {Name: "close_issue", Description: "Fixes bugs"}})
	require.NoError(t, err)
	q := ParseQuery("issue. bugs")
	want, err := x.Search(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, 1, want.Hits[0].Doc)
	s := x.scratch.Get().(*bm25Scratch)
	s.sums.group, s.sums.query = math.MaxUint32/2, math.MaxUint32/2
	for range 3 {
		hits, err := s.search(t.Context(), q)
		s.sums.end()
		assert.NoError(t, err)
		assert.Equal(t, want, hits)
	}
	assert.Less(t, s.sums.group, uint32(100), "the numbers began anew")
}
