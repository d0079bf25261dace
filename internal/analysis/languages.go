package analysis

import (
	"strings"
	"sync"

	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/spanish"
)

// Languages beside English. A word in Cyrillic is stemmed as Russian (see Analyzer). A word in
// Latin letters is stemmed as English, since nothing about it tells another language and most
// texts about tools are English. The stems of other languages serve queries alone:
//
//	a word      the terms of the index with the same stem          eliminando ~ elimina
//	a compound  in German, if no tool has it or a form of it,      Paketverfolgung ~ Paket, verfolgt
//	            the terms that it begins and ends with
//
// An index has a language if 3 of the language's function words are in one of 50 tools each. A
// function word of such a language counts little in a query. An index without the language
// ranks as if there were none, and pays nothing.
//
// Of 20 questions in each language of search/testdata/languages, so many have their tool first:
//
//	          German  Spanish  French  Russian
//	without        7       18      20       14
//	with          18       20      20       20

const (
	minFunctionWords  = 3
	maxToolsPerWord   = 50 // for one that has a function word
	minStemLength     = 4  // bytes
	minCompoundLength = 8  // bytes
)

// A language is how words of a language are read.
type language struct {
	functionWords []string
	stem          func(term string) string
	hasCompounds  bool
}

var languages = [...]language{
	{strings.Fields("der die das des den dem ein eine einen einer und oder von mit für auf zu im"), germanStem, true},
	{strings.Fields("el la los las un una unos unas de del en con para por que y"), func(term string) string { return spanish.Stem(term, true) }, false},
	{strings.Fields("le la les un une des du de en dans pour avec sur et ou"), func(term string) string { return french.Stem(term, true) }, false},
}

// germanStem takes the endings off a word. Nouns and verbs of one root fall together:
// Verfolgung, verfolgt.
func germanStem(term string) string {
	for i := 0; i < len(germanEndings); i++ {
		if rest, has := strings.CutSuffix(term, germanEndings[i]); has && len(rest) >= minStemLength {
			term, i = rest, -1 // a word may have several: Rechn-ung-en
		}
	}
	return term
}

var germanEndings = strings.Fields("ung ern em en er es st e n s t")

// Languages are the languages of an index.
type Languages struct {
	all           []indexedLanguage
	functionWords map[int32]bool // terms
}

// indexedLanguage is a language of an index.
type indexedLanguage struct {
	*language
	stems func() map[string][]int32 // stem -> terms; built at the first query
}

// FindLanguages finds the languages of an index: its terms, their numbers, the bounds of their
// postings, and how many tools it has.
func FindLanguages(ids map[string]int32, terms []string, bounds []int32, tools int) *Languages {
	f := &Languages{functionWords: make(map[int32]bool)}
	least := max(1, int32(tools/maxToolsPerWord))
	for i := range languages {
		var words []int32
		frequent := 0
		for _, word := range languages[i].functionWords {
			if id, known := ids[termOf(word, Lower)]; known {
				words = append(words, id)
				if bounds[id+1]-bounds[id] >= least {
					frequent++
				}
			}
		}
		if frequent < minFunctionWords {
			continue
		}
		for _, id := range words {
			f.functionWords[id] = true
		}
		f.all = append(f.all, indexedLanguage{&languages[i], sync.OnceValue(func() map[string][]int32 {
			return f.stems(terms, languages[i].stem)
		})})
	}
	return f
}

// IsFunctionWord reports whether a term is a function word of one of the languages.
func (f *Languages) IsFunctionWord(term int32) bool { return f.functionWords[term] }

// stems returns the terms by their stems, without short words and function words.
func (f *Languages) stems(terms []string, stem func(term string) string) map[string][]int32 {
	stems := make(map[string][]int32)
	for id, term := range terms {
		if IsOfLetters(term) && len(term) >= minStemLength && !f.functionWords[int32(id)] {
			stem := stem(term)
			stems[stem] = append(stems[stem], int32(id))
		}
	}
	return stems
}

// Forms returns the terms of the index that are forms of a word.
func (f *Languages) Forms(word string) (terms []int32) {
	if len(word) < minStemLength || !IsOfLetters(word) {
		return nil
	}
	for _, language := range f.all {
		terms = append(terms, language.stems()[language.stem(word)]...)
	}
	return terms
}

// Compound returns the terms that a word begins with and those that it ends with. The word is cut
// where both are known, else where the longer one is.
func (f *Languages) Compound(word string) (first, last []int32) {
	if len(word) < minCompoundLength || !IsOfLetters(word) {
		return nil, nil
	}
	longest := 0
	for _, language := range f.all {
		if !language.hasCompounds {
			continue
		}
		for at := minStemLength; at <= len(word)-minStemLength; at++ {
			begins, ends := language.stems()[language.stem(word[:at])], language.stems()[language.stem(word[at:])]
			length := 0
			switch {
			case begins != nil && ends != nil:
				length = len(word)
			case begins != nil:
				length = at
			case ends != nil:
				length = len(word) - at
			}
			if length > longest {
				longest, first, last = length, begins, ends
			}
		}
	}
	return first, last
}
