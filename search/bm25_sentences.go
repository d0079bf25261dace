package search

import "context"

// Requests of several sentences. A request for three things at once needs three tools. A
// tool that matches one sentence well is likelier to be one of them than a tool that shares
// a word with each sentence. So the sentence in which a tool scores most counts once more,
// with the weight sentenceWeight.

const (
	sentenceWeight = 0.25
	maxSentences   = 8 // further sentences are part of the last
)

// bm25Span is where the terms of a word are in the terms of the query. They are the word
// itself and the terms that stand for it.
type bm25Span struct{ from, to int32 }

// readSentences sets the words of each sentence, each word once.
func (s *bm25Scratch) readSentences() {
	r := &s.query
	r.sentences, s.spans = r.sentences[:0], s.spans[:0]
	if len(s.ends) == 1 {
		return
	}
	start := 0
	for i, end := range s.ends {
		from := len(s.spans)
		for _, n := range s.texts[start:end] {
			if span := s.counts[n].span; span.to > span.from && s.counts[n].sentence != int32(i)+1 {
				s.counts[n].sentence = int32(i) + 1
				s.spans = append(s.spans, span)
			}
		}
		for _, m := range s.meanings {
			if m.sentence == int32(i) && m.span.to > m.span.from {
				s.spans = append(s.spans, m.span)
			}
		}
		if start = end; len(s.spans) > from {
			r.sentences = append(r.sentences, s.spans[from:])
		}
	}
	if len(r.sentences) == 1 {
		r.sentences = r.sentences[:0]
	}
}

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

func (s *bm25Scratch) addSentence(x *bm25, sentence []bm25Span) {
	start, group := s.tick, int32(noTerm)
	for _, span := range sentence {
		for _, term := range s.query.terms[span.from:span.to] {
			if term.group != group {
				group = term.group
				s.tick++
			}
			weight := float32(term.weight)
			for _, p := range x.list(term.id) {
				part := &s.parts[p.doc()]
				switch {
				case part.tick == s.tick:
					continue
				case part.tick <= s.first:
					*part = bm25Part{}
				case part.tick <= start:
					part.sum = 0
				}
				part.tick = s.tick
				part.sum += float32(weight * p.impact)
				part.best = max(part.best, part.sum)
			}
		}
	}
}
