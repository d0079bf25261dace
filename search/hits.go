package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Helpers that searchers share: from numbers to documents, and from scores to hits.

// hitsOf returns the best as hits. docOf turns numbers into documents; nil means that they are documents.
func hitsOf(t *docset.Top, docOf []int32) Hits {
	best := t.Best()
	hits := Hits{Hits: make([]Hit, len(best)), Total: t.Total}
	for i, s := range best {
		hits.Hits[i] = Hit{Doc: documentAt(docOf, int(s.Number)), Score: s.Score}
	}
	return hits
}

// asSearcher returns no Searcher, rather than a nil pointer in one, if there is an error.
func asSearcher[S Searcher](s S, err error) (Searcher, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}

// pick returns the documents with these numbers, and the numbers.
func pick(docs []Document, numbers []int) (picked []Document, docOf []int32, err error) {
	if _, err := setOf(docs, numbers); err != nil {
		return nil, nil, err
	}
	picked, docOf = make([]Document, len(numbers)), make([]int32, len(numbers))
	for i, doc := range numbers {
		picked[i], docOf[i] = docs[doc], int32(doc)
	}
	return picked, docOf, nil
}

// setOf returns the set of the documents with these numbers, which must be ascending.
func setOf(docs []Document, numbers []int) (docset.Set, error) {
	set := docset.New(len(docs))
	for i, doc := range numbers {
		if doc < 0 || doc >= len(docs) || i > 0 && doc <= numbers[i-1] {
			return nil, fmt.Errorf("toolsearch: restricting a searcher of %d documents: invalid number %d at position %d", len(docs), doc, i)
		}
		set.Add(doc)
	}
	return set, nil
}

func documentAt(docOf []int32, number int) int {
	if docOf == nil {
		return number
	}
	return int(docOf[number])
}

// rank scores documents by their n numbers and returns the best that the query allows. A match scores above floor.
func rank(ctx context.Context, q *Query, docOf []int32, n int, floor float64, score func(int) float64) (Hits, error) {
	best := docset.NewTop(q.Limit, n, nil)
	for number := range n {
		if number%64 == 0 && ctx.Err() != nil {
			break
		}
		if !q.Allows(documentAt(docOf, number)) {
			continue
		}
		if s := score(number); s > floor {
			best.Add(s, int32(number))
		}
	}
	if err := ctx.Err(); err != nil {
		return Hits{}, err
	}
	return hitsOf(&best, docOf), nil
}

func ascending(n int) []int32 {
	numbers := make([]int32, n)
	for i := range numbers {
		numbers[i] = int32(i)
	}
	return numbers
}

func descriptionOf(doc *Document) string {
	description := naming.Cut(doc.Description, MaxDescriptionBytes)
	if doc.Original != "" {
		description += "\n" + doc.Original
	}
	return description
}

func byName(docOf []int32, docs []Document) []int32 {
	slices.SortStableFunc(docOf, func(a, b int32) int { return strings.Compare(docs[a].Name, docs[b].Name) })
	return docOf
}

// allHolding returns the documents that have all words. words is not empty.
func allHolding(words []string, holding func(word string) docset.Set) docset.Set {
	set := holding(words[0])
	for _, word := range words[1:] {
		set.Intersect(holding(word))
	}
	return set
}
