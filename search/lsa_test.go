package search_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// shop is a catalog of two topics. "goods" and "parcel" occur in the same tools, so do "bass" and
// "melody".
func shop() []search.Document {
	return []search.Document{
		doc("ship_order", "Sends a parcel of goods to a customer"),
		doc("track_order", "Where the parcel with the goods is"),
		doc("return_order", "Takes goods of an order back"),
		doc("label_box", "Prints a label for a parcel of an order"),
		doc("play_tune", "Plays a melody with a bass"),
		doc("record_tune", "Records the melody and the bass of a tune"),
		doc("tune_string", "Tunes the bass of an instrument"),
		doc("hum_song", "Finds the melody that you hum"),
	}
}

// LSA finds tools that have no word of the query but words that other tools use together with it.
func TestLSAFindsToolsByTheirTopic(t *testing.T) {
	docs := shop()
	s := searcherOf(t, search.LSAOptions{Dimensions: 2}.Index, docs...)
	words := searcherOf(t, search.BM25, docs...)
	for query, topic := range map[string][]int{"parcel": {0, 1, 2, 3}, "goods": {0, 1, 2, 3}, "bass": {4, 5, 6, 7}} {
		found := bestOf(t, s, search.ParseQuery(query))
		require.GreaterOrEqual(t, len(found), 4, query)
		assert.ElementsMatch(t, topic, found[:4], query)
		assert.Less(t, len(bestOf(t, words, search.ParseQuery(query))), 4, "%s by its word alone", query)
	}
}

func TestLSAFindsNothingWithoutAWordOfTheCatalog(t *testing.T) {
	for _, test := range []struct {
		name  string
		docs  []search.Document
		query string
	}{
		{"another word", shop(), "xylophone"},
		{"no word", shop(), "?!"},
		{"no tool", nil, "parcel"},
		{"tools without text", []search.Document{doc("", ""), doc("?", "")}, "parcel"},
	} {
		assert.Empty(t, bestOf(t, searcherOf(t, search.LSA, test.docs...), search.ParseQuery(test.query)), test.name)
	}
}

// In a catalog of no more tools than dimensions no direction is left out: a tool matches only if it
// has a term of the query. A tool that is all the query says has the cosine 1.
func TestLSAOfFewToolsComparesTheirWords(t *testing.T) {
	docs := []search.Document{doc("apple", ""), doc("banana", ""), doc("cherry", "apple banana")}
	assert.Equal(t, []int{2}, bestOf(t, searcherOf(t, search.LSA, docs...), search.ParseQuery("cherry")))
	hits := hitsOf(t, searcherOf(t, search.LSA, docs[:2]...), search.ParseQuery("apple"))
	require.Len(t, hits, 1)
	assert.InDelta(t, 1, hits[0].Score, 1e-6)
}

// The options of BM25 say how LSA reads words: here by a company's own lexicon.
func TestLSAReadsWordsAsBM25(t *testing.T) {
	lexicon := lexiconOf(t, "== synonyms\nconsignment parcel\n")
	options := search.LSAOptions{Dimensions: 2, BM25: search.BM25Options{Lexicon: lexicon}}
	found := bestOf(t, searcherOf(t, options.Index, shop()...), search.ParseQuery("consignment"))
	require.NotEmpty(t, found)
	assert.Less(t, found[0], 4)
	assert.Empty(t, bestOf(t, searcherOf(t, search.LSA, shop()...), search.ParseQuery("consignment")), "without the lexicon")
}

// Searchers of the same documents give the same answers bit by bit, by any number of workers.
func TestLSAIsDeterministic(t *testing.T) {
	docs := randomDocs(rand.New(rand.NewPCG(3, 1)), 700) // several workers from 512 on
	one, other := searcherOf(t, search.LSA, docs...), searcherOf(t, search.LSA, docs...)
	for _, word := range words {
		q := search.ParseQuery(word)
		assert.Equal(t, hitsOf(t, one, q), hitsOf(t, other, q), word)
	}
}

// An explanation has the score and names the terms that count most.
func TestLSAExplain(t *testing.T) {
	s := searcherOf(t, search.LSAOptions{Dimensions: 2}.Index, shop()...)
	q := search.ParseQuery("a parcel with a melody")
	e := explained(t, s, q, 0)
	require.Len(t, e.Parts, 1)
	assert.Regexp(t, `2 dimensions.*"parcel" \+.*"melodi" `, e.Parts[0].Detail)
}

func TestLSAKeepsTheContractOnRandomCatalogs(t *testing.T) {
	checkSearcher(t, search.LSA, func(random *rand.Rand, docs []search.Document) string {
		return testtools.Pick(random, words) + " " + testtools.Pick(random, docs).Name
	})
}

// In a Hybrid without weights, LSA counts 0.3.
func TestLSAHasItsOwnWeightInAHybrid(t *testing.T) {
	docs := shop()
	hits := func(index search.Indexer) []search.Hit {
		return hitsOf(t, searcherOf(t, index, docs...), search.ParseQuery("parcel"))
	}
	parts := []search.Indexer{search.BM25, search.LSA}
	own := hits(search.Hybrid(parts...))
	assert.Equal(t, hits(search.HybridOptions{Parts: parts, Weights: []float64{1, 0.3}}.Index), own)
	assert.NotEqual(t, hits(search.HybridOptions{Parts: parts, Weights: []float64{1, 1}}.Index), own)
}
