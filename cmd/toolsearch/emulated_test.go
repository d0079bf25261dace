package main

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func TestEmulatedSearchersKeepTheContract(t *testing.T) {
	for _, name := range []string{"anthropic-bm25", "anthropic-regex"} {
		t.Run(name, func(t *testing.T) { toolsearchtest.TestSearcher(t, emulated(name)) })
	}
}

func emulated(name string) search.Indexer {
	return searchers.Menu[slices.IndexFunc(searchers.Menu, func(s searchers.Searcher) bool { return s.Name == name })].Index
}

// library has words in names, descriptions and arguments.
func library(t *testing.T) []search.Document {
	t.Helper()
	info := func(name, text, argument, about string) *schema.ToolInfo {
		return &schema.ToolInfo{Name: name, Desc: text, ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			argument: {Type: schema.String, Desc: about},
		})}
	}
	return testtools.Must(search.Documents([]*schema.ToolInfo{
		info("find_book", "Finds a title", "author", "who wrote it"),
		info("getFine", "What a reader owes for a Book", "reader", "a number"),
		info("renew", "Keeps it longer", "loan", "which book"),
	}, nil))(t)
}

func foundBy(t *testing.T, index search.Indexer, text string) (names []string, hits []search.Hit) {
	t.Helper()
	docs := library(t)
	s := testtools.Must(index(context.Background(), docs))(t)
	q := search.ParseQuery(text)
	if reader, ok := s.(search.QueryReader); ok {
		q = reader.ReadQuery(text)
	}
	answer := testtools.Must(s.Search(context.Background(), q))(t, text)
	for _, h := range answer.Hits {
		names = append(names, docs[h.Doc].Name)
	}
	return names, answer.Hits
}

// The score is Okapi's, over all texts of a tool.
func TestEmulatedBM25(t *testing.T) {
	names, hits := foundBy(t, emulated("anthropic-bm25"), "author's BOOK")
	require.Equal(t, []string{"find_book", "renew", "getFine"}, names)
	// find book finds a title author who wrote it; getfine what a reader owes for a book reader a
	// number; renew keeps it longer loan which book
	const mean = (9 + 11 + 7) / 3.0
	idf := func(df float64) float64 { return math.Log(1 + (3-df+0.5)/(df+0.5)) }
	term := func(df, length float64) float64 {
		return idf(df) * 1 * (1.5 + 1) / (1 + 1.5*(1-0.75+0.75*length/mean))
	}
	assert.InDelta(t, term(1, 9)+term(3, 9), hits[0].Score, 1e-9)
	assert.InDelta(t, term(3, 7), hits[1].Score, 1e-9)
	assert.InDelta(t, term(3, 11), hits[2].Score, 1e-9)
	names, _ = foundBy(t, emulated("anthropic-bm25"), "get fines")
	assert.Empty(t, names, "neither humps nor endings are known")
}

func TestEmulatedRegex(t *testing.T) {
	for _, test := range []struct{ query, want string }{
		{"book", "find_book renew"},                               // getFine has "Book"
		{"(?i)book", "find_book getFine renew"},                   // name, description, argument
		{"^get", "getFine"},                                       //
		{"^book", ""},                                             //
		{"which book", "find_book getFine renew"},                 // words, in any order
		{"longer loan (of a book)?", "find_book getFine renew"},   // words, not a group
		{"find.*|^renew$", "find_book renew"},                     //
		{"a of to", ""},                                           // no words
		{"", ""},                                                  //
		{"Who wrote the TITLE, please?", "find_book"},             // punctuation is no pattern
		{strings.Repeat("book ", 100), "find_book getFine renew"}, // each word once
	} {
		names, _ := foundBy(t, emulated("anthropic-regex"), test.query)
		assert.Equal(t, test.want, strings.Join(names, " "), test.query)
	}
	s := testtools.Must(emulated("anthropic-regex")(context.Background(), library(t)))(t)
	for query, want := range map[string]string{
		strings.Repeat("x", 201):  "The pattern has 201 characters, more than the 200 that Anthropic allows.",
		`(?=book)`:                "The pattern cannot be read by RE2",
		`(b)\1`:                   "The pattern cannot be read by RE2",
		`(.{33}){30}`:             "The pattern is too large once its repetitions are written out.",
		"[\u202e\x1b":             "The pattern cannot be read by RE2",
		strings.Repeat("(", 150):  "The pattern cannot be read by RE2",
		strings.Repeat("é|", 101): "The pattern has 202 characters",
	} {
		_, err := s.Search(context.Background(), search.Query{Text: query})
		wrong := (*search.QueryError)(nil)
		require.ErrorAs(t, err, &wrong, query)
		assert.Contains(t, wrong.Message, want)
		assert.NotContains(t, wrong.Message, "\x1b")
	}
}
