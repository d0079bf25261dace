package search

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/keywords"
)

// The default keyword scorer, which is Eino's bit for bit. Package tiers scores; this file reads
// queries and ranks. Tools are numbered in the order of their names, so that the tie-break compares
// numbers. By ReadQuery's rule a tool on which a required keyword scores 0 does not match.

// keywordIndex implements Searcher. It is immutable.
type keywordIndex struct {
	docs  []Document
	docOf []int32 // tool number, in the order of names -> document
	tiers *keywords.Index
}

// Keyword is the Indexer of the default keyword scorer. The time of a query is proportional to
// the number of tools that match, not to the size of the catalog. The memory is about the size
// of the catalog's names and distinct words.
//
// Descriptions are read up to 64 KiB.
func Keyword(ctx context.Context, docs []Document) (Searcher, error) {
	x, err := newKeywordIndex(ctx, docs)
	if err != nil {
		return nil, err
	}
	return x, nil
}

func newKeywordIndex(ctx context.Context, docs []Document) (*keywordIndex, error) {
	x := &keywordIndex{docs: docs, docOf: docsByName(docs)}
	var err error
	x.tiers, err = keywords.New(ctx, len(docs), func(number int) (name, description string) {
		return textsOf(&docs[x.docOf[number]])
	})
	return x, err
}

// ReadQuery implements QueryReader. It reads a namespace in front of the text as a keyword, as
// Eino does.
func (x *keywordIndex) ReadQuery(text string) Query {
	q := ParseQuery(text)
	if len(q.Required) > 0 {
		q.Allowed, q.Required = allHolding(q.Required, x.holdingPiece).Has, nil
	}
	return q
}

func (x *keywordIndex) documents() []Document { return x.docs }

// holdingPiece implements pieceIndex. It returns the documents on which the word scores.
func (x *keywordIndex) holdingPiece(word string) docset.Set {
	set := docset.New(len(x.docs))
	x.tiers.EachHolding(word, func(number int32) { set.Add(int(x.docOf[number])) })
	return set
}

func (x *keywordIndex) Search(ctx context.Context, q Query) (Hits, error) {
	scores := x.tiers.Begin(len(q.Keywords))
	defer scores.Release()
	for i, keyword := range q.Keywords {
		if err := ctx.Err(); err != nil {
			return Hits{}, err
		}
		if slices.Contains(q.Keywords[:i], keyword) {
			continue
		}
		times := 1
		for _, again := range q.Keywords[i+1:] {
			if again == keyword {
				times++
			}
		}
		scores.Add(keyword, times)
	}
	best := docset.NewTop(q.Limit, len(scores.Touched), scores.Best)
	total := 0
	allowed := q.Allowed
	for _, number := range scores.Touched {
		if allowed == nil || allowed(int(x.docOf[number])) {
			total++
			best.Add(scores.Of(number), number)
		}
	}
	scores.Best = best.Items
	return Hits{Hits: hitsOf(&best, x.docOf), Total: total}, nil
}

// Explain implements Explainer. It checks the document itself, without the index.
func (x *keywordIndex) Explain(_ context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	var e Explanation
	for _, keyword := range q.Keywords {
		e.add(tierOf(strings.ToLower(keyword), &x.docs[doc]))
	}
	return e, nil
}

// tierOf is the definition that the index must agree with.
func tierOf(keyword string, doc *Document) Contribution {
	part := Contribution{Term: keyword, Detail: "not found"}
	if strings.Contains(strings.ToLower(naming.Cut(doc.Description, MaxDescriptionBytes)), keyword) {
		part = Contribution{keyword, "description", keywords.Description, "the description contains it"}
	}
	if strings.Contains(strings.ToLower(doc.Name), keyword) {
		part = Contribution{keyword, "name", keywords.Name, "the name contains it"}
	}
	for _, name := range naming.Parts(doc.Name) {
		switch name = strings.ToLower(name); {
		case name == keyword:
			return Contribution{keyword, "name", keywords.PartEquals, "a part of the name equals it"}
		case strings.Contains(name, keyword):
			part = Contribution{keyword, "name", keywords.PartContains, "a part of the name contains it"}
		}
	}
	return part
}
