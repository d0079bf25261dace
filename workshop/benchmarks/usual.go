package main

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Usual is BM25 as most tool searches ship it, to show what this library's BM25 adds. It has
// k1 1.2, b 0.75, and the lower-cased words of name and description alike, with Chinese and
// similar scripts by character. It has no stop words, no stemming and no parameters.
//
//	sum over the words w of the query of
//	    ln(1 + (N - df + 0.5) / (df + 0.5)) · tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / mean length))
//
// On azure_mcp, ultratool_en and ultratool_zh its recall is within a point of what others published for BM25.
//
// It is measured for its finds, not for its speed.
func Usual(_ context.Context, docs []search.Document) (search.Searcher, error) {
	x := &usual{having: make(map[string]float64), counts: make([]map[string]float64, len(docs)), lengths: make([]float64, len(docs))}
	for i := range docs {
		x.counts[i] = make(map[string]float64)
		for _, word := range usualWords(docs[i].Name + " " + docs[i].Description) {
			x.counts[i][word]++
			x.lengths[i]++
		}
		x.mean += x.lengths[i] / float64(len(docs))
		for word := range x.counts[i] {
			x.having[word]++
		}
	}
	return x, nil
}

type usual struct {
	having  map[string]float64   // word -> documents that have it
	counts  []map[string]float64 // of words, by document
	lengths []float64
	mean    float64
}

func (x *usual) Search(_ context.Context, q search.Query) (search.Hits, error) {
	const k1, b = 1.2, 0.75
	words := usualWords(q.Text)
	var hits []search.Hit
	for doc, counts := range x.counts {
		score := 0.0
		for _, word := range words {
			idf, tf := math.Log(1+(float64(len(x.counts))-x.having[word]+0.5)/(x.having[word]+0.5)), counts[word]
			score += idf * tf * (k1 + 1) / (tf + k1*(1-b+b*x.lengths[doc]/x.mean))
		}
		if score > 0 {
			hits = append(hits, search.Hit{Doc: doc, Score: score})
		}
	}
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) }) // equal scores in the catalog's order
	if q.Limit > 0 {
		hits = hits[:min(q.Limit, len(hits))]
	}
	return search.Hits{Hits: hits}, nil
}

// usualWords returns the runs of letters and digits, cut at humps, and the single characters of
// scripts without blanks.
func usualWords(text string) []string {
	var b strings.Builder
	for _, r := range words(text) {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			b.WriteString(" " + string(r) + " ")
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(unicode.ToLower(r))
		default:
			b.WriteByte(' ')
		}
	}
	return strings.Fields(b.String())
}
