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
// A request for three things at once needs three tools. A tool that matches one sentence well is
// likelier to be one of them than a tool that shares a word with each sentence. So the sentence in
// which a tool scores most counts once more, with the weight sentenceWeight.

const (
	sentenceWeight = 0.25
	maxSentences   = 8 // further sentences are part of the last
)

// A tool whose name the query begins comes above any sum of impacts, and a tool that the query names
// above both: a query has at most some thousand terms, and each adds at most its idf, which is below 25.
const (
	prefixBonus = docset.Named
	exactBonus  = 2 * prefixBonus
)

var tierBonus = [...]float64{letters.NotNamed: 0, letters.BeginsName: prefixBonus, letters.SpellsName: exactBonus}

var tierDetail = [...]string{letters.BeginsName: "the name begins with the query", letters.SpellsName: "the query is the name"}

// bm25Sums adds up what groups of terms score, by tool.
type bm25Sums struct {
	cells   []bm25Cell
	touched []int32 // the tools whose cells are not empty
	group   uint32  // how many groups were added
}

type bm25Cell struct {
	group        uint32 // the last group that scored the tool, from 1, or noGroup; 0 if the cell is empty
	tier         letters.Tier
	score, share float32
}

// noGroup is for a tool that the query names or whose namespace it matches, if no group scored the tool.
const noGroup = math.MaxUint32

// add scores the tools that have a term of the group. The first term that a tool has counts.
func (s *bm25Sums) add(x *bm25f.Index, group *bm25Group) {
	s.group++
	cells, number := s.cells, s.group
	for _, term := range group.terms {
		weight := float32(term.weight)
		// The share in a name that has the term, before the division by the idf of the whole name.
		share := float32(min(weight, 1) * x.IDF[term.id])
		postings := x.List(term.id)
		for i := range postings {
			p := &postings[i]
			cell := &cells[p.Doc()]
			switch cell.group {
			case number:
				continue
			case 0:
				s.touched = append(s.touched, p.Doc())
			}
			cell.group = number
			// The conversion forbids a fused multiply-add, which would round differently from Explain.
			cell.score += float32(weight * p.Impact)
			cell.share += share * float32(p.InName()) // no branch: it would be mispredicted
		}
	}
}

// touch returns the cell of a tool, which is then among those touched.
func (s *bm25Sums) touch(doc int32) *bm25Cell {
	cell := &s.cells[doc]
	if cell.group == 0 {
		cell.group, s.touched = noGroup, append(s.touched, doc)
	}
	return cell
}

func (s *bm25Sums) clear() {
	for _, doc := range s.touched {
		s.cells[doc] = bm25Cell{}
	}
	s.touched, s.group = s.touched[:0], 0
}

// bm25Scratch is the memory of a search. It serves one search at a time.
type bm25Scratch struct {
	bm25Reader
	sums     bm25Sums
	sentence bm25Sums  // of one sentence; empty until a query has sentences
	inBest   []float32 // by tool: what it scores in its best sentence
	best     []docset.Scored
}

// with calls f with a scratch. A scratch in which f panics is not used again.
func (x *bm25) with(f func(s *bm25Scratch)) {
	s := x.scratch.Get().(*bm25Scratch)
	f(s)
	if s.inBest != nil {
		for _, doc := range s.sums.touched {
			s.inBest[doc] = 0
		}
	}
	s.sums.clear()
	s.sentence.clear()
	x.scratch.Put(s)
}

func (x *bm25) Search(ctx context.Context, q Query) (hits Hits, err error) {
	x.with(func(s *bm25Scratch) { hits, err = s.search(ctx, q) })
	return hits, err
}

func (s *bm25Scratch) search(ctx context.Context, q Query) (Hits, error) {
	x, lifts, err := s.x, lifts{}, s.score(ctx, q)
	if err == nil {
		lifts, err = s.lift(ctx, q)
	}
	if err != nil {
		return Hits{}, err
	}
	best := docset.NewTop(q.Limit, len(s.sums.touched), s.best)
	total := 0
	for _, doc := range s.sums.touched {
		if !q.Allows(documentAt(x.docOf, int(doc))) {
			continue
		}
		sum, share := s.sum(doc)
		score := x.total(sum, share, letters.NotNamed)
		ofDescription, ofOthers := lifts.of(doc, score)
		if tier := s.sums.cells[doc].tier; tier > letters.NotNamed {
			score = x.total(sum, share, tier)
		}
		if score += ofDescription + ofOthers; score > 0 {
			total++
			best.Add(score, doc)
		}
	}
	s.best = best.Items
	return Hits{Hits: hitsOf(&best, x.docOf), Total: total}, nil
}

// score reads a query and scores all tools.
func (s *bm25Scratch) score(ctx context.Context, q Query) error {
	s.read(q)
	for i := range s.query.groups {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.sums.add(s.x.Index, &s.query.groups[i])
	}
	if len(s.query.sentences) > 0 && s.inBest == nil {
		s.sentence.cells, s.inBest = make([]bm25Cell, len(s.x.docs)), make([]float32, len(s.x.docs))
	}
	for _, sentence := range s.query.sentences {
		for _, group := range sentence {
			s.sentence.add(s.x.Index, &s.query.groups[group])
		}
		for _, doc := range s.sentence.touched {
			s.inBest[doc] = max(s.inBest[doc], s.sentence.cells[doc].score)
		}
		s.sentence.clear()
	}
	for doc, tier := range s.named { // a name of stop words has no terms
		s.sums.touch(doc).tier = tier
	}
	return ctx.Err()
}

// inSentence is what the best sentence adds to a tool's score.
func (s *bm25Scratch) inSentence(doc int32) float64 {
	if s.inBest == nil {
		return 0
	}
	return sentenceWeight * float64(s.inBest[doc])
}

// sum returns what a tool's score is made of.
func (s *bm25Scratch) sum(doc int32) (sum, share float64) {
	cell := &s.sums.cells[doc]
	return float64(cell.score) + s.inSentence(doc), float64(cell.share * s.x.PerName[doc])
}

func (x *bm25) total(sum, share float64, tier letters.Tier) float64 {
	return sum*(1+x.coverage*share) + tierBonus[tier]
}

// Explain implements Explainer. It scores all tools as Search does, and reads the document's text again
// only to divide the impact of a term among the fields.
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
	sum, share := s.sum(doc)
	tier := s.named[doc]
	if best := s.inSentence(doc); best > 0 {
		add("", "", best, "the sentence in which it scores most counts more")
	}
	if share > 0 && x.coverage > 0 {
		add("", "name", sum*x.coverage*share, fmt.Sprintf("the query has %.0f %% of the name", 100*share))
	}
	if tier > letters.NotNamed {
		add("", "name", tierBonus[tier], tierDetail[tier])
	}
	lifts, err := s.lift(ctx, q)
	if err != nil {
		return Explanation{}, err
	}
	ofDescription, ofOthers := lifts.of(doc, x.total(sum, share, letters.NotNamed))
	if ofDescription > 0 {
		add("", "namespace", ofDescription, "the query fits the description of the namespace")
	}
	if ofOthers > 0 {
		add("", "namespace", ofOthers, fmt.Sprintf("the query fits other tools of %q", x.docs[doc].Namespace))
	}
	e.Score = x.total(sum, share, tier) + (ofDescription + ofOthers)
	return e, nil
}

// numberOf returns the number in docs of a document of all, and false if the index is restricted to
// other documents. It fails if there is no such document, or if ctx is done.
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
	text := "; " + reasons[term.reason].detail
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
