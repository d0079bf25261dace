package search

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// A BM25 score in words. Explain scores all tools as Search does. It reads the document's text
// again only to divide the impact of a term among the fields.

func (x *bm25) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.all) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	doc, isHere := x.numberOf(doc)
	if !isHere {
		return Explanation{}, ctx.Err()
	}
	s := x.take()
	e, err := s.explain(ctx, x, q, doc)
	x.scratch.Put(s)
	return e, err
}

func (s *bm25Scratch) explain(ctx context.Context, x *bm25, q Query, doc int) (Explanation, error) {
	if err := s.score(ctx, x, q); err != nil {
		return Explanation{}, err
	}
	shares := x.Shares(func(c *bm25f.Counter) { addTexts(c, &x.docs[doc]) })
	var e Explanation
	for _, group := range s.query.groups {
		for _, term := range group {
			list := x.List(term.id)
			if at, found := bm25f.Find(list, int32(doc)); found {
				e.Parts = append(e.Parts, x.explainTerm(term, shares, float64(float32(term.weight)*list[at].Impact), s.reason(term))...)
				break
			}
			e.Parts = append(e.Parts, Contribution{Term: x.Terms[term.id], Detail: "not found" + s.reason(term)})
		}
	}
	s.touch(int32(doc))
	sum, share := s.sums(x, int32(doc))
	tier := s.tier(x, int32(doc))
	if best := s.inSentence(int32(doc)); best > 0 {
		e.Parts = append(e.Parts, Contribution{Score: best, Detail: "the sentence in which it scores most counts more"})
	}
	if share > 0 && x.coverage > 0 {
		e.Parts = append(e.Parts, Contribution{Field: "name", Score: sum * x.coverage * share,
			Detail: fmt.Sprintf("the query has %.0f %% of the name", 100*share)})
	}
	if tier > letters.NotNamed {
		e.Parts = append(e.Parts, Contribution{Field: "name", Score: tierBonus[tier], Detail: tierDetail[tier]})
	}
	lifts, err := s.lift(ctx, x, q)
	if err != nil {
		return Explanation{}, err
	}
	own := x.total(sum, share, letters.NotNamed)
	if lift := lifts.ofDescription(int32(doc)); lift > 0 {
		e.Parts = append(e.Parts, Contribution{Field: "namespace", Score: lift, Detail: "the query fits the description of the namespace"})
	}
	if lift := lifts.ofOthers(int32(doc), own); lift > 0 {
		e.Parts = append(e.Parts, Contribution{Field: "namespace", Score: lift, Detail: fmt.Sprintf("the query fits other tools of %q", x.docs[doc].Namespace)})
	}
	e.Score = x.total(sum, share, tier) + lifts.at(int32(doc), own)
	return e, nil
}

// numberOf returns the number in docs of a document of all, and false if the index is restricted to
// other documents.
func (x *bm25) numberOf(doc int) (number int, isHere bool) {
	if x.docOf == nil {
		return doc, true
	}
	return slices.BinarySearch(x.docOf, int32(doc))
}

// reason says why a term is in the query, or nothing if it was asked for.
func (s *bm25Scratch) reason(term bm25Term) string {
	if term.reason == asked {
		return ""
	}
	text := "; " + reasonDetail[term.reason]
	if term.from != noTerm {
		text += " " + strconv.Quote(s.analyzer.Terms[term.from])
	}
	if term.line > 0 {
		text += fmt.Sprintf(" (line %d of your lexicon)", term.line)
	}
	return text
}

// explainTerm divides the impact of a term among the fields that have it.
func (x *bm25) explainTerm(term bm25Term, shares map[string][]bm25f.Share, impact float64, reason string) (parts []Contribution) {
	text := x.Terms[term.id]
	for _, share := range shares[text] {
		parts = append(parts, Contribution{text, fieldTitles[share.Field], impact * share.Part,
			fmt.Sprintf("%s; weight in the query %.2g, idf %.3g%s", times(share.Count), term.weight, x.IDF[term.id], reason)})
	}
	return parts
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
