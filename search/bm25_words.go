package search

import "github.com/eino-toolsearch/toolsearch/internal/analysis"

// What a scratch remembers of the words of its queries. A word's term in the index, and the
// terms that may stand for it, are the same in every query, so they are looked up once:
//
//	word -> its term; its other forms; what the lexicon has for it; if no tool has it, its parts or near terms
//
// A query chooses among them: a term that it asks for itself stands for no other word.

const (
	inflectedWeight = 0.8 // of a term with the same stem in a language of the index
	compoundWeight  = 0.8 // of each part of a compound
	functionWeight  = 0.1 // of a function word
)

// bm25Word is what is remembered of a word.
type bm25Word struct {
	id      int32 // the word's term, or noTerm if no tool has it
	script  script
	weight  float64       // 1, or less for a number or a word that people ask with
	isRead  bool          // whether forms, others, related and parts are set
	forms   []standIn     // the same word with other endings, in a language of the index
	others  []standIn     // synonyms, and Chinese words for an English word
	related []standIn     // of the thesaurus
	parts   [2][]standIn  // if no tool has the word: the terms that it consists of
	near    [2][]nearTerm // if no tool has the word: what it was most likely meant for; the second if it may be cut short
	isNear  [2]bool       // whether near is set
}

// A script says which neighbours a word may be written together with.
type script uint8

const (
	alphabetic  script = iota // with such a word
	ideographic               // with such a character
	paired                    // a pair of characters: with nothing
)

func scriptOf(term string) script {
	switch class, size := analysis.ClassAt(term, 0); {
	case class != analysis.Ideograph:
		return alphabetic
	case size == len(term):
		return ideographic
	default:
		return paired
	}
}

// A standIn is a term that may stand for a word of a query.
type standIn struct {
	id     int32
	weight float64 // for a word of weight 1
	reason bm25Reason
	line   int32 // of the company's own lexicon, or 0
}

// id returns the term of the index for a word of the query, or noTerm if no tool has it.
func (s *bm25Scratch) id(x *bm25, n int32) int32 {
	for at := len(s.words); at <= int(n); at++ {
		term := s.analyzer.Terms[at]
		id, known := x.ids[term]
		if !known {
			id = noTerm
		}
		word := bm25Word{id: id, weight: 1}
		word.script = scriptOf(term)
		switch {
		case x.languages.IsFunctionWord(id):
			word.weight = functionWeight
		case analysis.ClassOf(rune(term[0])) == analysis.Digit:
			word.weight = numberWeight
		case analysis.IsRequestWord(term):
			word.weight = requestWeight
		}
		s.words = append(s.words, word)
	}
	return s.words[n].id
}

// word returns what is remembered of a word. It is valid until another word is looked up.
func (s *bm25Scratch) word(x *bm25, n int32) *bm25Word {
	if s.id(x, n); !s.words[n].isRead {
		text := s.analyzer.Terms[n]
		var others, similar []standIn
		for _, other := range x.lexicon.synonyms()[text] {
			if id, known := x.ids[other.term]; known {
				others = append(others, standIn{id, other.weight, synonymous, int32(other.line)})
			}
		}
		others = s.appendChinese(others, x, text)
		// Words that many tools have say little, and take most of the time.
		most := max(maxRelatedTools, len(x.docs)/16)
		for _, other := range x.lexicon.thesaurus()[text] {
			if id, known := x.ids[other.term]; known && len(x.list(id)) <= most {
				similar = append(similar, standIn{id, other.weight, related, int32(other.line)})
			}
		}
		word := &s.words[n]
		word.isRead, word.others, word.related = true, others, similar
		word.forms = standInsOf(x.languages.Forms(text), inflectedWeight, inflected)
		if word.id == noTerm && len(word.forms) == 0 {
			if first, second, isSplit := split(x.ids, text); isSplit {
				word.parts = [2][]standIn{{{first, 1, divided, 0}}, {{second, 1, divided, 0}}}
			} else {
				first, last := x.languages.Compound(text)
				word.parts = [2][]standIn{standInsOf(first, compoundWeight, divided), standInsOf(last, compoundWeight, divided)}
			}
		}
	}
	return &s.words[n]
}

func standInsOf(terms []int32, weight float64, reason bm25Reason) []standIn {
	var all []standIn
	for _, id := range terms {
		all = append(all, standIn{id, weight, reason, 0})
	}
	return all
}

// addStandIns adds the terms that stand for a word, except those that the query asks for.
func (s *bm25Scratch) addStandIns(terms []standIn, n int32, weight float64, group int) {
	for _, other := range terms {
		if !s.wanted.Has(int(other.id)) {
			s.addTerm(bm25Term{id: other.id, group: int32(group), weight: weight * other.weight, from: n, reason: other.reason, line: other.line})
		}
	}
}

// addNear adds the terms that an unknown word may be meant for. If the word is two words
// written as one, both count. A word of the lexicon is not misspelled.
func (s *bm25Scratch) addNear(x *bm25, n int32, weight float64, group int) (isSplit bool) {
	word, text := &s.words[n], s.analyzer.Terms[n]
	if len(word.parts[0])+len(word.parts[1]) > 0 {
		s.addStandIns(word.parts[0], n, weight, group)
		s.addStandIns(word.parts[1], n, weight, len(s.texts)+group)
		return true
	}
	if x.lexicon.has(text) {
		return false
	}
	at := 0
	if len(s.texts) <= maxShortQuery {
		at = 1
	}
	if !word.isNear[at] {
		word.isNear[at], word.near[at] = true, x.nearTerms().of(text, at == 1)
	}
	for _, near := range word.near[at] {
		if !s.wanted.Has(int(near.id)) {
			s.addTerm(bm25Term{id: near.id, group: int32(group), weight: weight * nearWeight, from: n, reason: misspelled})
		}
	}
	return false
}
