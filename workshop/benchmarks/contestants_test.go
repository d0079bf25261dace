package main

import (
	"io"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func TestToolsAreTheSameEveryTime(t *testing.T) {
	for _, size := range []int{1, 60, 1000} {
		infos, questions := Tools(size)
		again, questionsAgain := Tools(size)
		assert.Equal(t, questions, questionsAgain, "%d tools", size)
		assert.Len(t, questions, 25, "%d tools", size)
		assert.Equal(t, infos, again)
		names := make(map[string]bool)
		for _, info := range infos {
			names[info.Name] = true
		}
		assert.Len(t, names, size)
		for _, q := range questions {
			assert.Contains(t, names, q.Tool, "the catalog lacks the tool of %q", q.Text)
		}
	}
}

// The comparison is fair only if every contestant finds the right tools.
func TestEveryContestantFindsTheNamedTool(t *testing.T) {
	f := newField(1000)
	for _, c := range Contestants {
		t.Run(c.Name, func(t *testing.T) {
			searcher := testtools.Must(c.Index(t.Context(), f.docs))(t)
			if closer, ok := searcher.(io.Closer); ok {
				defer closer.Close()
			}
			door := f.door(t.Context(), searcher)
			for _, q := range f.questions {
				limit := 5
				if c.Name == "Similarity" {
					limit = 25 // it compares whole texts, and a server's tools have similar texts
				}
				names := testtools.Must(testtools.Oracle{InvokableTool: door}.Search(t.Context(), q.Text, limit))(t)
				assert.NotEmpty(t, names, "found by %q", q.Text)
				if q.Named {
					assert.Contains(t, names, q.Tool, "found by %q", q.Text)
				}
			}
		})
	}
}

// The adapter adds to bleve: names cut into words, required words, a count, and document
// numbers in place of ids.
func TestBleve(t *testing.T) {
	docs := []search.Document{
		{Name: "mcp__mail__sendMessage", Description: "Writes to somebody."},
		{Name: "mcp__chat__send_message", Description: "Writes into a room."},
		{Name: "mcp__chat__list_rooms", Description: "Shows rooms.", Parameters: []search.Parameter{{Name: "isArchived", Description: "closed ones too", Enum: []string{"forever"}}}},
	}
	tests := []struct {
		query string
		want  []int // in ascending order
	}{
		{"sending messages", []int{0, 1}}, // stemmed
		{"+chat message", []int{1, 2}},
		{"+message +mail", []int{0}},
		{"archived", []int{2}},
		{"closed", []int{2}},
		{"forever", []int{2}},
		{"somebody", []int{0}},
		{"the a", nil},
		{"", nil},
	}
	searcher := testtools.Must(Bleve(t.Context(), docs))(t)
	defer searcher.(io.Closer).Close()
	for _, test := range tests {
		answer := testtools.Must(searcher.Search(t.Context(), search.ParseQuery(test.query)))(t)
		var got []int
		for _, hit := range answer.Hits {
			got = append(got, hit.Doc)
		}
		slices.Sort(got)
		assert.Equal(t, test.want, got, "%q", test.query)
		assert.Equal(t, len(test.want), answer.Total, "%q", test.query)
	}
}

func TestUsual(t *testing.T) {
	docs := []search.Document{
		{Name: "get_user", Description: "Shows the user"}, // get user shows the user
		{Name: "listUsers", Description: "查日历"},           // list users 查 日 历
		{Name: "x"},
	}
	searcher := testtools.Must(Usual(t.Context(), docs))(t)
	mean := (5 + 5 + 1) / 3.0
	score := func(df, tf, length float64) float64 {
		return math.Log(1+(3-df+0.5)/(df+0.5)) * tf * 2.2 / (tf + 1.2*(1-0.75+0.75*length/mean))
	}
	for _, test := range []struct {
		query string
		want  []search.Hit
	}{
		{"USER", []search.Hit{{Doc: 0, Score: score(1, 2, 5)}}},
		{"日", []search.Hit{{Doc: 1, Score: score(1, 1, 5)}}},
		{"get x x", []search.Hit{{Doc: 2, Score: 2 * score(1, 1, 1)}, {Doc: 0, Score: score(1, 1, 5)}}},
		{"nothing", nil},
	} {
		answer := testtools.Must(searcher.Search(t.Context(), search.ParseQuery(test.query)))(t, "%q", test.query)
		require.Len(t, answer.Hits, len(test.want), "%q", test.query)
		for i, hit := range answer.Hits {
			assert.Equal(t, test.want[i].Doc, hit.Doc, "%q: hit %d", test.query, i)
			assert.InDelta(t, test.want[i].Score, hit.Score, 1e-9, "%q: hit %d", test.query, i)
		}
	}
}
