package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Fuzzy search: for words that are misspelled, cut short, or run together. Package fuzzy scores; this
// file reads queries and ranks. Tools are numbered in the order of their names, which breaks ties.

const defaultFuzzyHits = 5

// FuzzyOptions configures Fuzzy. The zero value is a good default.
type FuzzyOptions struct {
	// MaxHits is the most hits of a search with a limit, however high the limit is. After the
	// first few hits, tools that are only like a query are noise. Zero means 5. Negative means
	// no bound.
	MaxHits int

	// MinLikeness is the least likeness of a word to a part of a name, where 1 is equal. Zero
	// means 0.7. Above 1 means that no word is like a part: the text must contain the words.
	MinLikeness float64
}

// Fuzzy is the Indexer for words that are misspelled or cut short: FuzzyOptions with all
// defaults. It makes a good Config.Fallback.
//
// Tools whose name contains the query come first (score 2 to 3), then tools that contain all of
// its words (1 to 2), then tools with a part of the name like one of the words (under 1). Ties
// go by name. A word with underscores or hyphens is like a name if its parts are like the
// name's: get_wether finds get_weather. A search with a limit returns at most five hits; a search
// without a limit returns all.
//
// The time of a query is proportional to the text of the catalog. Descriptions are read up to
// 64 KiB, and names up to 128 bytes. Only the first 16 words of a query may be like a part; the
// text must contain the others.
func Fuzzy(ctx context.Context, docs []Document) (Searcher, error) {
	return FuzzyOptions{}.Index(ctx, docs)
}

// Index is an Indexer. See Fuzzy.
func (o FuzzyOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	x := &fuzzyIndex{docs: docs, docOf: docsByName(docs), maxHits: max(cmp.Or(o.MaxHits, defaultFuzzyHits), 0)}
	var err error
	x.tools, err = letters.NewFuzzy(ctx, len(docs), cmp.Or(o.MinLikeness, letters.DefaultLikeness), func(number int) (name, description string) {
		return textsOf(&docs[x.docOf[number]])
	})
	if err != nil {
		return nil, err
	}
	return x, nil
}

// fuzzyIndex implements Searcher. It is immutable.
type fuzzyIndex struct {
	docs    []Document
	docOf   []int32 // tool number, in the order of names -> document
	tools   *letters.Fuzzy
	maxHits int
}

func (x *fuzzyIndex) String() string { return "Fuzzy" }

func (x *fuzzyIndex) Search(ctx context.Context, q Query) (Hits, error) {
	query := letters.NewFuzzyQuery(q.Keywords)
	if len(query.Words) == 0 {
		return Hits{}, ctx.Err()
	}
	score, err := x.tools.Scores(ctx, query)
	if err != nil {
		return Hits{}, err
	}
	if q.Limit > 0 {
		q.Limit = atMost(q.Limit, x.maxHits)
	}
	return rank(ctx, &q, x.docOf, len(x.docs), score)
}

// Explain checks the document itself, without the postings.
func (x *fuzzyIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	query, tool := letters.NewFuzzyQuery(q.Keywords), letters.NewFuzzyTool(textsOf(&x.docs[doc]))
	if len(query.Words) == 0 {
		return Explanation{}, ctx.Err()
	}
	if share := tool.NameShare(query); share > 0 {
		return Explanation{Score: letters.FuzzyByName + share, Parts: []Contribution{{query.Folded, "name", letters.FuzzyByName + share,
			fmt.Sprintf("the name contains it; it is %.3f of the name", share)}}}, nil
	}
	var e Explanation
	if !slices.ContainsFunc(query.Words, func(w letters.Word) bool { return tool.Place(&w) == "" }) {
		e.add(Contribution{Score: letters.FuzzyByWords, Detail: "the name or the description has every word"})
		for i := range query.Words {
			part := Contribution{Term: query.Words[i].Text, Field: tool.Place(&query.Words[i]), Detail: "a word of this field"}
			if part.Field == "name" {
				part.Score = 1 / float64(len(query.Words))
			}
			e.add(part)
		}
		return e, nil
	}
	words := float64(len(query.Parts))
	for i := range query.Parts {
		word := &query.Parts[i]
		part := Contribution{Term: word.Text, Detail: "not found"}
		if nearest, likeness := x.tools.Nearest(word, x.docs[doc].Name); likeness > 0 {
			part = Contribution{word.Text, "name", likeness / words, fmt.Sprintf("%.3f like %q, of %g words", likeness, nearest, words)}
		}
		e.add(part)
	}
	return e, nil
}
