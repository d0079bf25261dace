package analysis

import (
	"strings"
	"sync"

	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/spanish"
)

// Languages besides English. A word in Cyrillic is stemmed as Russian (see Analyzer), and a word in Latin letters as
// English, since most texts about tools are English. The stems of other languages serve queries alone:
//	a word      the terms of the index with the same stem          eliminando ~ elimina
//	a compound  in German, if no tool has any form of it,          Paketverfolgung ~ Paket, verfolgt
//	            the terms that it consists of                      Besprechungsabsage ~ sagt eine Besprechung ab
//
// An index has a language if 3 of the language's function words are in one of 50 tools each. A function word of such
// a language counts little in a query. search/testdata/languages.golden shows what the languages are worth.

// maxParts is how many parts of a compound count.
const maxParts = 3

const (
	minFunctionWords  = 3
	maxToolsPerWord   = 50 // one tool in this many must have a function word
	minStemLength     = 4  // bytes
	minCompoundLength = 8  // bytes
	minRestLength     = 3  // bytes of a compound after its beginning, or of a verb after its particle
)

// A language holds the rules for reading the words of a language.
type language struct {
	functionWords []string
	stem          func(term string) string
}

var languages = [...]language{ // German is the first
	{strings.Fields("der die das des den dem ein eine einen einer und oder von mit für auf zu im"), germanStem},
	{strings.Fields("el la los las un una unos unas de del en con para por que y"), func(term string) string { return spanish.Stem(term, true) }},
	{strings.Fields("le la les un une des du de en dans pour avec sur et ou"), func(term string) string { return french.Stem(term, true) }},
}

// germanStem removes a word's endings, so that nouns and verbs get the same stem: Verfolgung, verfolgt.
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
	forms         []func(word string) (terms []int32) // by language
	german        func() map[string][]int32           // its stems; nil if the index has no German
	ids           map[string]int32                    // of the index
	functionWords map[int32]bool                      // terms
}

// FindLanguages finds the languages of an index: its terms, their numbers, the bounds of their postings, and how many
// tools it has.
func FindLanguages(ids map[string]int32, terms []string, bounds []int32, tools int) *Languages {
	f := &Languages{ids: ids, functionWords: make(map[int32]bool)}
	least := max(1, int32(tools/maxToolsPerWord))
	for i, language := range languages {
		var words []int32
		frequent := 0
		for _, word := range language.functionWords {
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
		stems := sync.OnceValue(func() map[string][]int32 { return f.stems(terms, language.stem) }) // at the first query
		if f.forms = append(f.forms, func(word string) []int32 { return stems()[language.stem(word)] }); i == 0 {
			f.german = stems
		}
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
	for _, forms := range f.forms {
		terms = append(terms, forms(word)...)
	}
	return terms
}

// Compound returns the parts of a German word, each as the terms that are forms of it.
func (f *Languages) Compound(word string) (parts [][]int32) {
	if f.german == nil || !IsOfLetters(word) {
		return nil
	}
	if len(word) < minCompoundLength {
		return f.separable(nil, word)
	}
	parts = f.compound(nil, word)
	return parts[:min(len(parts), maxParts)]
}

// compound appends the parts of a word: a particle and its verb, or the beginning and the end. The word is cut where
// both are known, otherwise where the longer of the two is known; the unknown part is cut again.
func (f *Languages) compound(parts [][]int32, word string) [][]int32 {
	if more := f.separable(parts, word); more != nil {
		return more
	}
	stems, longest, at := f.german(), 0, 0
	var first, last []int32
	for i := minStemLength; i <= len(word)-minRestLength; i++ {
		begins, ends := stems[germanStem(word[:i])], stems[germanStem(word[i:])]
		length := 0
		switch {
		case begins != nil && ends != nil:
			length = len(word)
		case begins != nil:
			length = i
		case ends != nil:
			length = len(word) - i
		}
		if length > longest {
			longest, at, first, last = length, i, begins, ends
		}
	}
	switch {
	case longest == 0:
		return parts
	case first == nil:
		parts = f.compound(parts, word[:at])
	default:
		parts = append(parts, first)
	}
	if last == nil {
		return f.compound(parts, word[at:])
	}
	return append(parts, last)
}

// separable appends a particle and the verb that it belongs to: "absagen" ~ "sagt ... ab". It returns nil if no tool
// has the verb, unless the particle is long, since the verb's forms may differ: "Freigabe" ~ "gibt ... frei".
func (f *Languages) separable(parts [][]int32, word string) [][]int32 {
	for _, particle := range germanParticles {
		rest, has := strings.CutPrefix(word, particle)
		if !has || len(rest) < minRestLength {
			continue
		}
		verbs := f.german()[germanStem(rest)]
		if verbs == nil {
			root := strings.TrimSuffix(strings.TrimSuffix(rest, "n"), "e")
			for _, ending := range germanVerbEndings {
				if id, known := f.ids[root+ending]; known && !f.functionWords[id] {
					verbs = append(verbs, id)
				}
			}
		}
		id, known := f.ids[particle]
		known = known && !f.functionWords[id]
		if verbs == nil && (!known || len(particle) < minStemLength) {
			continue
		}
		if known {
			parts = append(parts, []int32{id})
		}
		if verbs != nil {
			parts = append(parts, verbs)
		}
		return parts
	}
	return nil
}

// germanParticles are separated from their verbs in sentences. Longer ones come first.
var germanParticles = strings.Fields("zusammen zuruck nach hoch fest frei auf aus bei ein her hin los mit neu vor weg ab an um zu")

// germanVerbEndings are the endings of short verbs, whose roots are shorter than minStemLength.
var germanVerbEndings = strings.Fields("t et st e en")
