package search

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Scoring a query:
//
//	query -> groups of terms -> postings -> sums by tool -> best
//
// A tool that matches one sentence well is likelier to be wanted than a tool that shares a word with each sentence.
// So the sentence in which a tool scores most counts once more, with the weight sentenceWeight.

const (
	sentenceWeight = 0.25
	maxSentences   = 8 // further sentences are part of the last
)

// A tool whose name the query begins comes above any sum of impacts, and a tool that the query names
// above both: a query consists of at most some thousand terms, and each adds at most its idf, which is below 25.
var tierBonus = [...]float64{letters.BeginsName: docset.Named, letters.SpellsName: 2 * docset.Named}

var tierDetail = [...]string{letters.BeginsName: "the name begins with the query", letters.SpellsName: "the query is the name"}

// bm25Sums adds up what groups of terms score, by tool. Numbers of groups grow from query to query, so that the cells
// of a query need not be emptied for the next.
type bm25Sums struct {
	cells   []bm25Cell
	touched []int32 // the tools whose cells are of this query
	query   uint32  // the number of the query itself: cells with a lower number are of earlier queries
	group   uint32  // the last number
}

type bm25Cell struct {
	group        uint32  // the last group that scored the tool
	score, share float32 // of all groups
	part, best   float32 // the score of the last sentence that scored the tool, and of the best
}

// add scores the tools that have a term of the group. The first term that a tool has counts, times whole for the score of
// all groups and times part for that of the sentence, which is the number that it begins with, or 0.
func (s *bm25Sums) add(x *bm25f.Index, group *bm25Group, sentence uint32, whole, part float32) {
	s.group++
	cells, number, query := s.cells, s.group, s.query
	for _, term := range group.terms {
		weight := float32(term.weight)
		// The share in a name with the term, before the division by the idf of the whole name.
		share := float32(min(weight, 1)*x.IDF[term.id]) * whole
		postings := x.List(term.id)
		for i := range postings {
			p := &postings[i]
			cell := &cells[p.Doc()]
			switch {
			case cell.group == number:
				continue
			case cell.group < query:
				*cell = bm25Cell{}
				s.touched = append(s.touched, p.Doc())
			}
			// The conversions forbid a fused multiply-add, which would round differently from Explain.
			score := float32(weight * p.Impact)
			if sentence > 0 {
				if cell.group < sentence {
					cell.part = 0
				}
				cell.part += float32(score * part)
				cell.best = max(cell.best, cell.part)
			}
			cell.group = number
			cell.score += float32(score * whole)
			cell.share += share * float32(p.InName()) // no branch: it would be mispredicted
		}
	}
}

func (s *bm25Sums) touch(doc int32) *bm25Cell {
	cell := &s.cells[doc]
	if cell.group < s.query {
		*cell = bm25Cell{group: s.query}
		s.touched = append(s.touched, doc)
	}
	return cell
}

func (s *bm25Sums) end() {
	if s.group > math.MaxUint32/2 {
		clear(s.cells)
		s.group = 0
	}
	s.group++
	s.touched, s.query = s.touched[:0], s.group
}

// bm25Scratch is the memory of a search. It serves one search at a time.
type bm25Scratch struct {
	bm25Reader
	sums     bm25Sums
	totals   []float64  // by place in sums.touched, without lifts
	lifts    []bm25Lift // by namespace; empty if there are none
	mostLift float64    // that a tool can get
	best     []docset.Scored
}

// with calls f with a scratch. A scratch in which f panics is not used again.
func (x *bm25) with(f func(s *bm25Scratch)) {
	s := x.scratch.Get().(*bm25Scratch)
	f(s)
	s.sums.end()
	x.scratch.Put(s)
}

func (x *bm25) Search(ctx context.Context, q Query) (hits Hits, err error) {
	x.with(func(s *bm25Scratch) { hits, err = s.search(ctx, q) })
	return hits, err
}

func (s *bm25Scratch) search(ctx context.Context, q Query) (Hits, error) {
	if err := s.score(ctx, q); err != nil {
		return Hits{}, err
	}
	best := docset.NewTop(q.Limit, len(s.sums.touched), s.best)
	for at, doc := range s.sums.touched {
		switch {
		case !q.Allows(documentAt(s.x.docOf, int(doc))):
		case best.Wants(s.totals[at]+s.mostLift, doc):
			sum, share, _ := s.sum(doc)
			ofDescription, ofOthers := s.lifted(doc, s.x.total(sum, share, letters.NotNamed))
			best.Add(s.x.total(sum, share, s.tier(doc))+(ofDescription+ofOthers), doc)
		default: // no lift would bring it among the best
			best.Total++
		}
	}
	s.best = best.Items
	return hitsOf(&best, s.x.docOf), nil
}

func (s *bm25Scratch) score(ctx context.Context, q Query) error {
	s.read(q)
	groups, next := s.query.groups, 0 // all groups count once, in their order
	for _, sentence := range s.query.sentences {
		begin := s.sums.group + 1
		for _, group := range sentence {
			for ; next < group; next++ {
				s.sums.add(s.x.Index, &groups[next], begin, 1, 0)
			}
			whole := float32(0)
			if next == group {
				whole, next = 1, next+1
			}
			if s.sums.add(s.x.Index, &groups[group], begin, whole, 1); ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	for ; next < len(groups) && ctx.Err() == nil; next++ {
		s.sums.add(s.x.Index, &groups[next], 0, 1, 0)
	}
	s.sums.group++
	for doc := range s.named { // a name of stop words has no terms
		s.sums.touch(doc).group = s.sums.group
	}
	return s.lift(ctx, q)
}

func (s *bm25Scratch) tier(doc int32) letters.Tier {
	if s.sums.cells[doc].group != s.sums.group { // a look-up for each would take longer than to score it
		return letters.NotNamed
	}
	return s.named[doc]
}

// sum returns what a tool's score is made of; inSentence is of its best sentence.
func (s *bm25Scratch) sum(doc int32) (sum, share, inSentence float64) {
	cell := &s.sums.cells[doc]
	inSentence = sentenceWeight * float64(cell.best)
	return float64(cell.score) + inSentence, float64(cell.share * s.x.PerName[doc]), inSentence
}

func (x *bm25) total(sum, share float64, tier letters.Tier) float64 {
	return sum*(1+x.coverage*share) + tierBonus[tier]
}

// Explain scores all tools as Search does. It reads the document's text again to divide impacts among the fields.
func (x *bm25) Explain(ctx context.Context, q Query, doc int) (e Explanation, err error) {
	number, isHere, err := x.numberOf(ctx, doc)
	if err != nil || !isHere {
		return Explanation{}, err
	}
	x.with(func(s *bm25Scratch) { e, err = s.explain(ctx, q, number) })
	return e, err
}

func (s *bm25Scratch) explain(ctx context.Context, q Query, number int) (Explanation, error) {
	if err := s.score(ctx, q); err != nil {
		return Explanation{}, err
	}
	x, doc := s.x, int32(number)
	shares := x.Shares(func(c *bm25f.Counter) { addTexts(c, &x.docs[doc]) })
	var e Explanation
	add := func(term, field string, score float64, detail string) {
		e.Parts = append(e.Parts, Contribution{term, field, score, detail})
	}
	for _, group := range s.query.groups {
		for _, term := range group.terms {
			text, list, reason := x.Terms[term.id], x.List(term.id), reasonOf(group.word, term)
			at, found := bm25f.Find(list, doc)
			if !found {
				add(text, "", 0, "not found"+reason)
				continue
			}
			for _, share := range shares[text] {
				add(text, fieldTitles[share.Field], float64(float32(term.weight)*list[at].Impact)*share.Part,
					fmt.Sprintf("%s; weight in the query %.2g, idf %.3g%s", times(share.Count), term.weight, x.IDF[term.id], reason))
			}
			break
		}
	}
	tier := s.named[doc]
	var sum, share, inSentence float64
	if s.sums.cells[doc].group >= s.sums.query {
		sum, share, inSentence = s.sum(doc)
	}
	if inSentence > 0 {
		add("", "", inSentence, "the sentence in which it scores most counts more")
	}
	if share > 0 && x.coverage > 0 {
		add("", "name", sum*x.coverage*share, fmt.Sprintf("the query has %.0f %% of the name", 100*share))
	}
	if tier > letters.NotNamed {
		add("", "name", tierBonus[tier], tierDetail[tier])
	}
	ofDescription, ofOthers := s.lifted(doc, x.total(sum, share, letters.NotNamed))
	if ofDescription > 0 {
		add("", "namespace", ofDescription, "the query matches the description of the namespace")
	}
	if ofOthers > 0 {
		add("", "namespace", ofOthers, fmt.Sprintf("the query matches other tools of %q", x.docs[doc].Namespace))
	}
	e.Score = x.total(sum, share, tier) + (ofDescription + ofOthers)
	return e, nil
}

// numberOf returns the number in docs of a document of all, and whether the index is not restricted to others.
func (x *bm25) numberOf(ctx context.Context, doc int) (number int, isHere bool, err error) {
	if doc < 0 || doc >= len(x.all) {
		return 0, false, fmt.Errorf("toolsearch: no document %d", doc)
	}
	if number, isHere = doc, true; x.docOf != nil {
		number, isHere = slices.BinarySearch(x.docOf, int32(doc))
	}
	return number, isHere, ctx.Err()
}

// reasonOf says why a term is in the query, or nothing if it was asked for.
func reasonOf(word string, term bm25Term) string {
	if term.reason == asked {
		return ""
	}
	text := "; " + reasons[term.reason]
	if word != "" {
		text += fmt.Sprintf(" %q", word)
	}
	if term.line > 0 {
		text += fmt.Sprintf(" (line %d of your lexicon)", term.line)
	}
	return text
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
