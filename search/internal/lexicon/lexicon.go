// Package lexicon lists words and their substitutes: those of every index, and those that a company adds.
package lexicon

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

// Every line of lexicon.txt was written by hand, from knowledge of the two languages and of tools, and not from the
// queries that a searcher is measured with. A Chinese word without English means nothing to a search. It is there
// because its characters would mean something: 关于, about, is not 关, to close.

//go:embed lexicon.txt
var builtIn string

// A Lexicon lists words and their substitutes: a company's own lines, which come first, and those of lexicon.txt. It
// never changes, and is safe for concurrent use.
type Lexicon struct {
	own []entry

	// The tables are read at the first query that needs them.
	Synonyms  func() map[string][]Synonym // a stemmed word -> the other words of its groups, the nearest first
	Thesaurus func() map[string][]Synonym // a stemmed word -> what it may have to do with, the likeliest first
	Meanings  func() Meanings             // in English
	Chinese   func() map[string][]Synonym // a stemmed English word or phrase -> the Chinese words for it, the best first
}

// An entry is a line of a lexicon.
type entry struct {
	number        int // in the file of a company's own lexicon, from 1; 0 in lexicon.txt
	section, text string
}

// BuiltIn is the lexicon of every index.
var BuiltIn = newLexicon(nil)

func newLexicon(own []entry) *Lexicon {
	l := &Lexicon{own: own}
	l.Synonyms = sync.OnceValue(l.readSynonyms)
	l.Thesaurus = sync.OnceValue(l.readThesaurus)
	l.Meanings = sync.OnceValue(l.readMeanings)
	l.Chinese = sync.OnceValue(l.readChinese)
	return l
}

// lines returns the lines of a section: the company's own, then those of lexicon.txt.
func (l *Lexicon) lines(section string) []entry {
	lines := slices.DeleteFunc(slices.Clone(l.own), func(own entry) bool { return own.section != section })
	_, text, _ := strings.Cut(builtIn, "\n== "+section+"\n")
	text, _, _ = strings.Cut(text, "\n== ")
	for text := range strings.Lines(text) {
		if text = strings.TrimSpace(text); text != "" && text[0] != '#' {
			lines = append(lines, entry{0, section, text})
		}
	}
	return lines
}

// A Synonym is a stemmed word that may substitute another word, and its weight if it does.
type Synonym struct {
	Term   string
	Weight float64
	Line   int // of the company's own lexicon, or 0
}

const (
	synonymWeight  = 0.4 // of a word with about the same meaning
	spellingWeight = 0.6 // of another spelling of the word
	relatedWeight  = 0.2 // of a word of the thesaurus, times the weight of the word itself
)

// A table lists the substitutes of words.
type table map[string][]Synonym

// add makes others substitutes of words.
func (t table) add(words, others []string, weight float64, line int) {
	for _, word := range words {
		for _, other := range others {
			if word != other {
				t[word] = append(t[word], Synonym{other, weight, line})
			}
		}
	}
}

func (l *Lexicon) readSynonyms() map[string][]Synonym {
	all, z := make(table), analysis.New()
	for i, weight := range [...]float64{spellingWeight, synonymWeight} {
		for _, line := range l.lines(sections[i]) {
			words := z.TermsOf(line.text)
			all.add(words, words, weight, line.number)
		}
	}
	for _, line := range l.lines("counts") {
		asking, counting, _ := strings.Cut(line.text, ":")
		all.add(z.TermsOf(asking), z.TermsOf(counting), synonymWeight, 0)
	}
	return all
}

func (l *Lexicon) readThesaurus() map[string][]Synonym {
	all, z := make(table), analysis.New()
	for _, line := range l.lines("thesaurus") {
		words := z.TermsOf(line.text)
		all.add(words[:1], words[1:], relatedWeight, line.number)
	}
	return all
}

// Has reports whether a term is a word of the spellings, synonyms or own meanings.
func (l *Lexicon) Has(term string) bool {
	_, known := l.Synonyms()[term]
	if !known && len(l.own) > 0 {
		_, known = l.Meanings().Numbers[term]
	}
	return known
}

// HasOwnMeanings reports whether words that are not Chinese have meanings.
func (l *Lexicon) HasOwnMeanings() bool { return len(l.own) > 0 && l.Meanings().others }

// Meanings are the words with meanings in English.
type Meanings struct {
	Numbers map[string]int32 // a Chinese word, or the term of another -> number
	English []string         // by number: of the word's line, or "" for a word without meaning
	Lines   []int            // by number: of the company's own lexicon, or 0
	longest map[string]int   // first two characters of Chinese words -> the length in bytes of the longest
	amounts map[string]bool  // English words for things that are measured, not counted
	others  bool             // whether there are words that are not Chinese
}

func (l *Lexicon) readMeanings() Meanings {
	all := Meanings{Numbers: make(map[string]int32), longest: make(map[string]int), amounts: make(map[string]bool)}
	z := analysis.New()
	for _, line := range l.lines("meanings") {
		word, english, _ := strings.Cut(line.text, "\t")
		if isChinese(word) {
			word = analysis.Simplify(word)
			begins := word[:twoLength(word)]
			all.longest[begins] = max(all.longest[begins], len(word))
		} else {
			word, all.others = z.Term(word), true
		}
		if _, isOwn := all.Numbers[word]; isOwn {
			continue
		}
		all.Numbers[word] = int32(len(all.English))
		all.English, all.Lines = append(all.English, english), append(all.Lines, line.number)
	}
	for _, line := range l.lines("amounts") {
		for word := range strings.FieldsSeq(line.text) {
			all.amounts[word] = true
		}
	}
	return all
}

func isChinese(word string) bool { return !strings.ContainsFunc(word, analysis.IsNotHan) }

// twoLength returns the length in bytes of the first two characters of a word.
func twoLength(word string) int {
	_, first := utf8.DecodeRuneInString(word)
	_, second := utf8.DecodeRuneInString(word[first:])
	return first + second
}

// Cut returns the length of the longest word that a run of characters begins with, and its number. A character that
// begins no word is a word with the number analysis.NoTerm.
func (w Meanings) Cut(run string) (length int, number int32) {
	_, first := utf8.DecodeRuneInString(run)
	word := run[:max(first, min(len(run), w.longest[run[:twoLength(run)]]))]
	for {
		if number, known := w.Numbers[word]; known {
			return len(word), number
		}
		if len(word) == first {
			return first, analysis.NoTerm
		}
		_, last := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-last]
	}
}

// AsksForAmount reports whether the word at a place in a run of characters is 多少 and asks how much,
// not how many: before or after the name of an amount (多少费用, 金额有多少), and after 是 at the end of the
// run. before is the number of the word before it, or analysis.NoTerm.
func (w Meanings) AsksForAmount(run string, at int, before int32) bool {
	rest, asks := strings.CutPrefix(run[at:], "多少")
	if !asks {
		return false
	}
	if length, _ := w.Cut(run[at:]); length != len("多少") { // 多少钱 is a word of its own
		return false
	}
	if rest = strings.TrimLeft(rest, "呢啊呀"); rest != "" {
		_, next := w.Cut(rest)
		return w.isAmount(next)
	}
	return w.isAmount(before) || strings.HasSuffix(run[:at], "是")
}

// isAmount reports whether the best meaning of a word is something that is measured, not counted.
func (w Meanings) isAmount(number int32) bool {
	if number == analysis.NoTerm {
		return false
	}
	best, _, _ := strings.Cut(w.English[number], "; ")
	return w.amounts[best]
}

func (l *Lexicon) readChinese() map[string][]Synonym {
	all, z := make(table), analysis.New()
	for rank := range MaxMeanings {
		for _, line := range l.lines("meanings") {
			word, english, _ := strings.Cut(line.text, "\t")
			words := strings.Split(english, "; ")
			if !isChinese(word) || rank >= len(words) {
				continue
			}
			if stems := z.Stems(words[rank]); stems != "" {
				all[stems] = append(all[stems], Synonym{Term: analysis.Simplify(word), Line: line.number})
			}
		}
	}
	return all
}
