package benchmarks

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
// It is measured for its finds, not for its speed.
func Usual(_ context.Context, docs []search.Document) (search.Searcher, error) {
	x := &usual{postings: make(map[string][]usualPosting), lengths: make([]float64, len(docs))}
	for i := range docs {
		counts := make(map[string]float64)
		for _, word := range usualWords(docs[i].Name + " " + docs[i].Description) {
			counts[word]++
			x.lengths[i]++
		}
		x.mean += x.lengths[i] / float64(len(docs))
		for word, count := range counts {
			x.postings[word] = append(x.postings[word], usualPosting{i, count})
		}
	}
	return x, nil
}

type usual struct {
	postings map[string][]usualPosting
	lengths  []float64
	mean     float64
}

type usualPosting struct {
	doc   int
	count float64
}

func (x *usual) Search(_ context.Context, q search.Query) (search.Hits, error) {
	const k1, b = 1.2, 0.75
	scores := make([]float64, len(x.lengths))
	for _, word := range usualWords(q.Text) {
		list := x.postings[word]
		idf := math.Log(1 + (float64(len(scores)-len(list))+0.5)/(float64(len(list))+0.5))
		for _, p := range list {
			scores[p.doc] += idf * p.count * (k1 + 1) / (p.count + k1*(1-b+b*x.lengths[p.doc]/x.mean))
		}
	}
	var hits []search.Hit
	for doc, score := range scores {
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
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			b.WriteRune(' ')
			b.WriteRune(r)
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}
