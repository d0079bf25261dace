package search

import (
	"context"
	"math"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// Adding up a query's postings:
//
//	query -> terms, named tools -> postings -> cells -> best
//
// A scratch has a cell for every tool, and later searches reuse it. The tick of a cell
// says which group of terms scored the tool last, so nothing must be cleared between
// searches.

// bm25Scratch is the memory of a search. It serves one search at a time.
type bm25Scratch struct {
	// Scores.
	first   uint32 // the tick before the query's first group
	tick    uint32 // advances with every group
	cells   []bm25Cell
	touched []int32
	parts   []bm25Part // nil until a query has sentences
	best    []docset.Scored

	bm25Reader
}

// take returns a scratch. A search puts it back at its end, not in a defer: what a panic leaves
// behind must not be used again.
func (x *bm25) take() *bm25Scratch { return x.scratch.Get().(*bm25Scratch) }

type bm25Cell struct {
	tick         uint32 // the group that last scored this tool; a tick after the last group if it is a candidate
	score, share float32
}

func (x *bm25) Search(ctx context.Context, q Query) (Hits, error) {
	s := x.take()
	hits, err := s.search(ctx, x, q)
	x.scratch.Put(s)
	return hits, err
}

func (s *bm25Scratch) search(ctx context.Context, x *bm25, q Query) (Hits, error) {
	if err := s.score(ctx, x, q); err != nil {
		return Hits{}, err
	}
	lifts, err := s.lift(ctx, x, q)
	if err != nil {
		return Hits{}, err
	}
	best := docset.NewTop(q.Limit, len(s.touched), s.best)
	total := 0
	allowed := q.Allowed
	for _, doc := range s.touched {
		if allowed != nil && !allowed(documentAt(x.docOf, int(doc))) {
			continue
		}
		sum, share := s.sums(x, doc)
		own := x.total(sum, share, letters.NotNamed)
		lift := lifts.at(doc, own)
		score := own + lift
		// Whether the query names a tool is checked only if the tool may be among the best, or
		// matches by its name alone.
		if s.cells[doc].tick > s.tick && (score <= 0 || best.Wants(score+exactBonus+roundingError, doc)) {
			score = x.total(sum, share, s.tier(x, doc)) + lift
		}
		if score > 0 {
			total++
			best.Add(score, doc)
		}
	}
	s.best = best.Items
	return Hits{Hits: hitsOf(&best, x.docOf), Total: total}, nil
}

// score reads a query and scores all tools.
func (s *bm25Scratch) score(ctx context.Context, x *bm25, q Query) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.read(x, q)
	query := &s.query
	s.begin((1+len(query.sentences))*len(query.groups) + 1)
	for _, group := range query.groups {
		s.tick++
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, term := range group {
			s.add(x.List(term.id), float32(term.weight), x.IDF[term.id])
		}
	}
	if err := s.addSentences(ctx, x); err != nil {
		return err
	}
	s.tick++                         // for tools that have no term, but whose namespace's description has a term
	for _, c := range s.candidates { // a name of stop words has no terms
		s.touch(c.doc).tick = s.tick + 1
	}
	return ctx.Err()
}

// sums returns what a touched tool's score is made of.
func (s *bm25Scratch) sums(x *bm25, doc int32) (sum, share float64) {
	cell := &s.cells[doc]
	return float64(cell.score) + s.inSentence(doc), float64(cell.share * x.PerName[doc])
}

// lift returns what tools get for their namespaces. It touches the tools of a namespace whose
// description fits the query.
func (s *bm25Scratch) lift(ctx context.Context, x *bm25, q Query) (lifts, error) {
	l, err := x.namespaces.lifts(ctx, q, s.evidence(x))
	for namespace, lift := range l.byDescription {
		if lift <= 0 {
			continue
		}
		for _, doc := range l.tools[namespace] {
			if s.cells[doc].tick <= s.first {
				s.touch(doc).tick = s.tick
			}
		}
	}
	return l, err
}

// evidence returns the sum of the scores of each namespace's tools, or nil if they are not evidence.
func (s *bm25Scratch) evidence(x *bm25) []float64 {
	n := x.namespaces
	if n == nil || len(n.tools) == 1 || !s.isLong() {
		return nil
	}
	sums := make([]float64, len(n.tools))
	for _, doc := range s.touched {
		if namespace := n.of[doc]; namespace != noNamespace {
			sum, share := s.sums(x, doc)
			sums[namespace] += x.total(sum, share, letters.NotNamed)
		}
	}
	return sums
}

// isLong reports whether the query has more than evidenceLength words. Two Chinese characters count as
// a word, and pairs of characters do not count.
func (s *bm25Scratch) isLong() bool {
	halves := 0
	for _, n := range s.texts {
		switch s.words[n].script {
		case alphabetic:
			halves += 2
		case ideographic:
			halves++
		}
	}
	return halves > 2*evidenceLength
}

// eachSum calls f with every document that has a term of the query, and with what the terms score
// in it.
func (x *bm25) eachSum(ctx context.Context, q Query, f func(doc int32, sum float64)) error {
	s := x.take()
	err := s.score(ctx, x, q)
	if err == nil {
		for _, doc := range s.touched {
			sum, _ := s.sums(x, doc)
			f(doc, sum)
		}
	}
	x.scratch.Put(s)
	return err
}

// begin starts a query of that many groups. It resets the ticks if they could overflow
// during the query.
func (s *bm25Scratch) begin(groups int) {
	s.touched = s.touched[:0]
	s.tick++ // after the candidates of the last query
	if s.tick > math.MaxUint32-uint32(groups)-1 {
		s.tick = 0
		clear(s.cells)
		clear(s.parts)
	}
	s.first = s.tick
}

// touch returns the cell of a tool. It empties the cell if the query has not scored the
// tool yet.
func (s *bm25Scratch) touch(doc int32) *bm25Cell {
	cell := &s.cells[doc]
	if cell.tick <= s.first {
		*cell = bm25Cell{}
		s.touched = append(s.touched, doc)
	}
	return cell
}

// add scores the tools of a list, except those that the group has scored already.
func (s *bm25Scratch) add(postings []bm25f.Posting, weight, idf float32) {
	cells, tick, first := s.cells, s.tick, s.first
	// The share in a name that has the term, before the division by the idf of the whole name.
	share := float32(min(weight, 1) * idf)
	for i := range postings {
		p := &postings[i]
		cell := &cells[p.Doc()]
		switch {
		case cell.tick == tick:
			continue
		case cell.tick <= first:
			*cell = bm25Cell{}
			s.touched = append(s.touched, p.Doc())
		}
		cell.tick = tick
		// The conversion forbids a fused multiply-add, which would round differently from Explain.
		cell.score += float32(weight * p.Impact)
		cell.share += share * float32(p.InName()) // no branch: it would be mispredicted
	}
}

// A tool whose name the query begins comes above any sum of impacts, and a tool that the
// query names comes above both. The bonuses are large enough: a query has at most some
// thousand terms, and each adds at most its idf, which is below 25 even among a billion
// tools.
const (
	prefixBonus = 5e5
	exactBonus  = 2 * prefixBonus

	roundingError = 1e-6 // more than that of any sum with a bonus
)

var tierBonus = [...]float64{letters.NotNamed: 0, letters.BeginsName: prefixBonus, letters.SpellsName: exactBonus}

var tierDetail = [...]string{letters.BeginsName: "the name begins with the query", letters.SpellsName: "the query is the name"}

func (x *bm25) total(sum, share float64, tier letters.Tier) float64 {
	return sum*(1+x.coverage*share) + tierBonus[tier]
}

// Requests of several sentences. A request for three things at once needs three tools. A
// tool that matches one sentence well is likelier to be one of them than a tool that shares
// a word with each sentence. So the sentence in which a tool scores most counts once more,
// with the weight sentenceWeight.

const (
	sentenceWeight = 0.25
	maxSentences   = 8 // further sentences are part of the last
)

// bm25Part is a tool's score by the sentences of a query.
type bm25Part struct {
	tick      uint32 // the group that last scored the tool
	sum, best float32
}

func (s *bm25Scratch) addSentences(ctx context.Context, x *bm25) error {
	if len(s.query.sentences) > 0 && s.parts == nil {
		s.parts = make([]bm25Part, len(s.cells))
	}
	for _, sentence := range s.query.sentences {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.addSentence(x, sentence)
	}
	return nil
}

// inSentence is what the best sentence adds to a tool's score.
func (s *bm25Scratch) inSentence(doc int32) float64 {
	if len(s.query.sentences) == 0 || s.parts[doc].tick <= s.first {
		return 0
	}
	return sentenceWeight * float64(s.parts[doc].best)
}

func (s *bm25Scratch) addSentence(x *bm25, sentence []bm25Group) {
	start := s.tick
	for _, group := range sentence {
		s.tick++
		for _, term := range group {
			weight := float32(term.weight)
			for _, p := range x.List(term.id) {
				part := &s.parts[p.Doc()]
				switch {
				case part.tick == s.tick:
					continue
				case part.tick <= s.first:
					*part = bm25Part{}
				case part.tick <= start:
					part.sum = 0
				}
				part.tick = s.tick
				part.sum += float32(weight * p.Impact)
				part.best = max(part.best, part.sum)
			}
		}
	}
}
