package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/analysis"
)

// Two languages. A query in Chinese finds tools in English, and the other way round, by the
// lexicon. Chinese is cut into the longest words that the lexicon has:
//
//	查询明天的天气 -> 查询       query, 0.7 search, 0.5 get
//	                  明天       tomorrow
//	                  天气       weather, 0.7 forecast
//
// A word is a group: a tool gets the first of its meanings that it has. A word that means
// several English words is several groups. A catalog that has the Chinese word as well
// takes half the weight for the English.
//
// An English word stands for its Chinese words as for its synonyms. They are known by their
// pairs of characters.
//
// The lexicon has 6,900 lines. Over English tools, questions in Chinese have a recall at 5 of
// 74.3 %, and 2.6 % without it; the same questions in English have 76.0 %. English questions
// over tools whose names alone are in English have 74.7 % and 72.4 %. Where the tools and the
// questions are Chinese but the names English, the lexicon adds 2.6 points. Tried and dropped,
// Chinese questions over English tools: without words of a single character -0.8, all meanings
// count the same -1.3, two meanings -0.4, five +0.1.

// meaningWeights are the weights of the meanings of a word, the best first.
var meaningWeights = [...]float64{1, 0.7, 0.5}

const (
	bilingualWeight  = 0.5 // of a meaning, if the catalog has the Chinese word too
	chineseWeight    = 0.5 // of the best Chinese word for an English word
	nextChinese      = 0.8 // of it for each further word
	maxChinese       = 4   // Chinese words for an English word
	minHan           = 0xe3
	maxMeaningGroups = 4 // English words in a meaning
)

// bm25Meaning is an English term that a Chinese word of the query means.
type bm25Meaning struct {
	term     bm25Term
	sentence int32
	span     bm25Span // in the terms of the query
}

// readChinese adds the meanings of the Chinese words of a text, which is a part of a sentence.
func (s *bm25Scratch) readChinese(x *bm25, text string, weight float64) {
	if !x.hasLatin {
		return
	}
	for i := 0; i < len(text); {
		if text[i] < minHan { // the first byte of U+3000; Chinese characters come after it
			i++
			continue
		}
		end := analysis.HanEnd(text, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		words := x.lexicon.meanings()
		for run := analysis.Simplify(text[i:end]); run != ""; {
			length, number := words.cut(run)
			if number != noTerm && words.english[number] != "" {
				s.addMeaningsOf(x, run[:length], number, weight, len(s.ends))
			}
			run = run[length:]
		}
		i = end
	}
}

// readOwn adds the meanings of the words that are not Chinese, which a company's own lexicon has.
func (s *bm25Scratch) readOwn(x *bm25) {
	read := func(n int32, sentence int) {
		if number, known := x.lexicon.meanings().numbers[s.analyzer.Terms[n]]; known && s.words[n].script == alphabetic {
			s.addMeaningsOf(x, s.analyzer.Terms[n], number, s.weightOf(n), sentence)
		}
	}
	sentence := 0
	for i, n := range s.texts {
		for i >= s.ends[sentence] {
			sentence++
		}
		s.id(x, n)
		read(n, sentence)
	}
	for _, w := range s.analyzer.Wholes {
		s.id(x, w.Term)
		read(w.Term, len(s.ends)-1)
	}
}

// addMeaningsOf adds the meanings of a word of a sentence, by its number in the lexicon.
func (s *bm25Scratch) addMeaningsOf(x *bm25, word string, number int32, weight float64, sentence int) {
	if s.meaningsOf == nil {
		s.meaningsOf = make([]*bm25Meanings, len(x.lexicon.meanings().english))
	}
	meanings := s.meaningsOf[number]
	if meanings == nil {
		meanings = s.readMeanings(x, word, number)
		s.meaningsOf[number] = meanings
	}
	for _, m := range meanings.terms {
		s.meanings = append(s.meanings, bm25Meaning{
			term:     bm25Term{id: m.id, group: s.meant + m.group, weight: weight * m.weight, from: m.from, reason: translated, line: m.line},
			sentence: int32(sentence),
		})
	}
	s.meant += int32(meanings.groups)
}

// bm25Meanings are the terms of the index that a Chinese word means. Each stands in a group of
// the word's.
type bm25Meanings struct {
	terms  []bm25Term
	groups int
}

func (s *bm25Scratch) readMeanings(x *bm25, word string, number int32) *bm25Meanings {
	of := new(bm25Meanings)
	class, _ := analysis.ClassAt(word, 0)
	from, weight := s.analyzer.Number(word, class), 1.0
	if class == analysis.Ideograph && x.hasIdeographs && s.holdsAll(x, word) || class != analysis.Ideograph && s.id(x, from) != noTerm {
		weight = bilingualWeight
	}
	words, rank := x.lexicon.meanings(), 0
	for meaning := range strings.SplitSeq(words.english[number], "; ") {
		if rank == len(meaningWeights) {
			break
		}
		s.spare = s.spare[:0]
		for part := range strings.SplitSeq(meaning, " ") {
			if n := s.analyzer.Number(part, analysis.Lower); n != noTerm {
				s.spare = append(s.spare, n)
			}
		}
		if of.groups == 0 {
			of.groups = min(len(s.spare), maxMeaningGroups)
		}
		for i, n := range s.spare {
			id := s.id(x, n)
			if id == noTerm {
				continue
			}
			term := bm25Term{id: id, weight: weight * meaningWeights[rank], from: from, line: int32(words.lines[number])}
			if analysis.IsRequestWord(s.analyzer.Terms[n]) {
				term.weight *= requestWeight
			}
			// The last words of two meanings are the things that they speak of.
			term.group = int32(max(0, i-len(s.spare)+of.groups))
			of.terms = append(of.terms, term)
		}
		rank++
	}
	return of
}

// holdsAll reports whether the index has all terms of a Chinese word.
func (s *bm25Scratch) holdsAll(x *bm25, word string) bool {
	s.spare = s.analyzer.AppendIdeographs(s.spare[:0], word)
	return !slices.ContainsFunc(s.spare, func(n int32) bool { return s.id(x, n) == noTerm })
}

// addMeanings adds the meanings to the terms of the query, each where it has most weight.
func (s *bm25Scratch) addMeanings(firstGroup int) {
	slices.SortFunc(s.meanings, func(a, b bm25Meaning) int {
		return cmp.Or(cmp.Compare(a.term.id, b.term.id), cmp.Compare(b.term.weight, a.term.weight), cmp.Compare(a.term.group, b.term.group))
	})
	s.meanings = slices.CompactFunc(s.meanings, func(a, b bm25Meaning) bool { return a.term.id == b.term.id })
	slices.SortFunc(s.meanings, func(a, b bm25Meaning) int {
		return cmp.Or(cmp.Compare(a.term.group, b.term.group), cmp.Compare(b.term.weight, a.term.weight), cmp.Compare(a.term.id, b.term.id))
	})
	for i := range s.meanings {
		m := &s.meanings[i]
		m.span.from = int32(len(s.query.terms))
		m.term.group += int32(firstGroup)
		s.addTerm(m.term)
		m.span.to = int32(len(s.query.terms))
	}
}

// appendChinese adds the terms of the index that are the Chinese words for an English word.
func (s *bm25Scratch) appendChinese(terms []standIn, x *bm25, word string) []standIn {
	if !x.hasIdeographs || word[0] >= utf8.RuneSelf {
		return terms
	}
	found, weight := 0, chineseWeight
	for _, of := range x.lexicon.chinese()[word] {
		chinese := of.term
		if !s.holdsAll(x, chinese) {
			continue
		}
		for _, part := range s.spare {
			// Of a word of several characters, its pairs.
			if term := s.analyzer.Terms[part]; len(term) == len(chinese) || utf8.RuneCountInString(term) > 1 {
				terms = append(terms, standIn{s.id(x, part), weight, translated, int32(of.line)})
			}
		}
		if found++; found == maxChinese {
			break
		}
		weight *= nextChinese
	}
	return terms
}
