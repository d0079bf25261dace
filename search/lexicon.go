package search

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/analysis"
)

// Words that stand for other words. bm25.go tells what was tried with them. lexicon.txt is the
// lexicon of every index; lexicon_own.go reads what a company adds to it.
//
// Every line of lexicon.txt was written by hand, from knowledge of the two languages and of
// tools, and not from the queries that a searcher is measured with. A Chinese word without
// English says nothing. It is there because its characters would: 关于, about, is not 关, to close.

//go:embed lexicon.txt
var lexiconText string

// A Lexicon says what words of a query stand for: those of lexicon.txt, and a company's own, which
// come first. ParseLexicon reads one. It never changes, and is safe for concurrent use.
type Lexicon struct {
	own []lexiconLine
	// The tables are read at the first query that needs them.
	synonyms  func() map[string][]synonym // a stemmed word -> the other words of its groups, the nearest first
	thesaurus func() map[string][]synonym // a stemmed word -> what it may have to do with, the likeliest first
	meanings  func() meanings
	chinese   func() map[string][]synonym // a stemmed English word -> the Chinese words that it stands for, the best first
}

// A lexiconLine is a line of a company's own lexicon.
type lexiconLine struct {
	number        int // in the file, from 1
	section, text string
}

var builtInLexicon = newLexicon(nil)

func newLexicon(own []lexiconLine) *Lexicon {
	l := &Lexicon{own: own}
	l.synonyms = sync.OnceValue(l.readSynonyms)
	l.thesaurus = sync.OnceValue(l.readThesaurus)
	l.meanings = sync.OnceValue(l.readMeanings)
	l.chinese = sync.OnceValue(l.readChinese)
	return l
}

// lines calls yield with the lines of a section: the company's own with their numbers, then those
// of lexicon.txt with 0.
func (l *Lexicon) lines(section string) func(yield func(number int, line string) bool) {
	return func(yield func(number int, line string) bool) {
		for _, own := range l.own {
			if own.section == section && !yield(own.number, own.text) {
				return
			}
		}
		_, text, _ := strings.Cut(lexiconText, "\n== "+section+"\n")
		text, _, _ = strings.Cut(text, "\n== ")
		for line := range strings.Lines(text) {
			line = strings.TrimSpace(line)
			if line != "" && line[0] != '#' && !yield(0, line) {
				return
			}
		}
	}
}

// A synonym is a stemmed word that may stand for another word, and its weight if it does.
type synonym struct {
	term   string
	weight float64
	line   int // of the company's own lexicon, or 0
}

const (
	synonymWeight  = 0.4 // of a word with about the same meaning
	spellingWeight = 0.6 // of another spelling of the word
	relatedWeight  = 0.2 // of a word of the thesaurus, times the weight of the word itself

	maxRelatedQuery = 20  // terms of a query that the thesaurus is asked for
	maxRelatedTools = 256 // that have a word of the thesaurus, or a sixteenth of all tools
)

func (l *Lexicon) readSynonyms() map[string][]synonym {
	all, z := make(map[string][]synonym), analysis.New()
	for _, kind := range []struct {
		section string
		weight  float64
	}{{"spellings", spellingWeight}, {"synonyms", synonymWeight}} {
		for number, group := range l.lines(kind.section) {
			words := z.TermsOf(group)
			for i, word := range words {
				for j, other := range words {
					if i != j && word != other {
						all[word] = append(all[word], synonym{other, kind.weight, number})
					}
				}
			}
		}
	}
	many := z.Term("many") // "how many issues" asks for their count
	for _, count := range []string{"count", "number", "total"} {
		all[many] = append(all[many], synonym{count, synonymWeight, 0})
	}
	return all
}

func (l *Lexicon) readThesaurus() map[string][]synonym {
	all, z := make(map[string][]synonym), analysis.New()
	for number, line := range l.lines("thesaurus") {
		words := z.TermsOf(line)
		for _, word := range words[1:] {
			if word != words[0] {
				all[words[0]] = append(all[words[0]], synonym{word, relatedWeight, number})
			}
		}
	}
	return all
}

// has reports whether a term is a word of the spellings, synonyms or own meanings.
func (l *Lexicon) has(term string) bool {
	if _, known := l.synonyms()[term]; known || len(l.own) == 0 {
		return known
	}
	_, known := l.meanings().numbers[term]
	return known
}

// hasOwnMeanings reports whether words that are not Chinese have meanings.
func (l *Lexicon) hasOwnMeanings() bool { return len(l.own) > 0 && l.meanings().others }

// meanings are the words with meanings in English.
type meanings struct {
	numbers map[string]int32 // a Chinese word, or the term of another -> number
	english []string         // by number: of the word's line, or "" for a word that says nothing
	lines   []int            // by number: of the company's own lexicon, or 0
	lengths map[pair][]int   // how Chinese words begin -> their lengths in bytes, the longest first
	others  bool             // whether there are words that are not Chinese
}

// A pair is the first two characters of a word, the first in the upper half.
type pair uint64

func (l *Lexicon) readMeanings() meanings {
	all, z := meanings{numbers: make(map[string]int32), lengths: make(map[pair][]int)}, analysis.New()
	for number, line := range l.lines("meanings") {
		word, english, _ := strings.Cut(line, "\t")
		isChinese := analysis.HanEnd(word, 0) == len(word)
		if isChinese {
			word = analysis.Simplify(word)
		} else {
			word, all.others = z.Term(word), true
		}
		if _, isOwn := all.numbers[word]; isOwn {
			continue
		}
		all.numbers[word] = int32(len(all.english))
		all.english, all.lines = append(all.english, english), append(all.lines, number)
		if begins, _ := beginningOf(word); isChinese && !slices.Contains(all.lengths[begins], len(word)) {
			all.lengths[begins] = append(all.lengths[begins], len(word))
		}
	}
	for _, lengths := range all.lengths {
		slices.SortFunc(lengths, func(a, b int) int { return b - a })
	}
	return all
}

// beginningOf returns the first characters of a word, and the length of the first.
func beginningOf(word string) (begins pair, length int) {
	first, length := utf8.DecodeRuneInString(word)
	begins = pair(first) << 32
	if length < len(word) {
		second, _ := utf8.DecodeRuneInString(word[length:])
		begins |= pair(second)
	}
	return begins, length
}

// cut returns the length of the longest word that a run of characters begins with, and its
// number. A character that begins no word is a word without a number, which is noTerm.
func (w meanings) cut(run string) (length int, number int32) {
	begins, first := beginningOf(run)
	for _, length := range w.lengths[begins] {
		if length <= len(run) {
			if number, known := w.numbers[run[:length]]; known {
				return length, number
			}
		}
	}
	if number, known := w.numbers[run[:first]]; known {
		return first, number
	}
	return first, noTerm
}

func (l *Lexicon) readChinese() map[string][]synonym {
	const ranks = 3 // of the English of a line
	all, z := make(map[string][]synonym), analysis.New()
	for rank := range ranks {
		for number, line := range l.lines("meanings") {
			word, english, _ := strings.Cut(line, "\t")
			if words := strings.Split(english, "; "); analysis.HanEnd(word, 0) == len(word) && rank < len(words) && words[rank] != "" && !strings.Contains(words[rank], " ") {
				stem := z.Term(words[rank])
				all[stem] = append(all[stem], synonym{term: analysis.Simplify(word), line: number})
			}
		}
	}
	return all
}
