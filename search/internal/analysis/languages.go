package analysis

import (
	"slices"
	"strings"
	"sync"

	"github.com/kljensen/snowball/french"
	"github.com/kljensen/snowball/spanish"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Languages besides English. A word in Cyrillic is stemmed as Russian (see Analyzer), and a word in Latin letters as
// English, since most texts about tools are English. The stems of other languages serve queries alone:
//	a word      the terms of the index with the same stem          eliminando ~ elimina
//	a compound  in German, if no tool has any form of it,          Paketverfolgung ~ Paket, verfolgt
//	            the terms that it consists of                      Besprechungsabsage ~ sagt eine Besprechung ab
//
// An index has a language if 3 of the language's function words are in one of 50 tools each. A function word of such
// a language counts little in a query. A request in a language that the index lacks asks it for the tools' own words
// alone: see Read. search/testdata/languages.golden shows what the languages are worth.

const (
	german            = 0 // in languages
	maxParts          = 3 // of a compound that count
	minFunctionWords  = 3
	maxToolsPerWord   = 50 // one tool in this many must have a function word
	minStemLength     = 4  // bytes
	minCompoundLength = 8  // bytes
	maxFunctionWord   = 9  // bytes
	minRestLength     = 3  // bytes of a compound after its beginning, or of a verb after its particle
)

// A language holds the rules for reading the words of a language.
type language struct {
	functionWords []string // that tell an index of the language
	stem          func(term string) string
	words         map[string]bool // in requests; some also without the marks that people leave out
	letters       string          // and signs, that only the language has
}

var languages = [...]language{
	german: {strings.Fields("der die das des den dem ein eine einen einer und oder von mit für auf zu im"), germanStem,
		naming.WordSet(`aber als am an auch auf aus bei bis bist bitte da das dass dein dem den der des dich die diese dieser dir du ein eine einem
einen einer eines er es für gibt hab habe haben hast hat ich ihr im in ins ist kann kannst kein keine können könnte man mein meine meinen
meiner mich mir mit muss möchte nach nicht noch nur ob oder ohne sein seine sich sie sind so soll sollte um und uns unser unter vom von vor
wann war warum was welche welcher welches wenn wer werden wie wieviel will wir wird wo wurde zu zum zur über`), "ß"},
	{strings.Fields("el la los las un una unos unas de del en con para por que y"), func(term string) string { return spanish.Stem(term, true) },
		naming.WordSet(`a al como con cual cuales cuando cuanta cuantas cuanto cuantos cuál cuáles cuándo cuánta cuántas cuánto cuántos cómo de del
desde donde dónde e el ella ellos en entre es esa ese eso esta estas este esto estos está están favor ha hasta hay he la las le les lo los
me mi mis muy más ni no nos nuestra nuestro o os para pero por porque puede puedes puedo que quien quién qué se según ser si sin sobre son
su sus te tu tus u un una unas unos usted y ya yo él`), "¿¡ñ"},
	{strings.Fields("le la les un une des du de en dans pour avec sur et ou"), func(term string) string { return french.Stem(term, true) },
		naming.WordSet(`ai as au aux avec avez avoir avons ce ces cet cette chez combien comme comment dans de des du elle en entre es est et il ils
je la le les leur lui ma mais me mes moi mon même ne nos notre nous on ont ou où par pas peut peux plus pour pourquoi pouvez qu quand que
quel quelle quelles quels qui sa sans se ses si son sont suis sur ta te tes toi ton tu un une veux vos votre vous y à été être`), "œ"},
}

var (
	alsoEnglish   = naming.WordSet("ai as comment con den die dir favor hat man mon par plus pour sin son sur ton war") // besides naming.StopWords
	countingWords = naming.WordSet("wieviel cuanta cuantas cuanto cuantos cuánta cuántas cuánto cuántos combien")       // in tools' own language
)

// Read returns a request without the function words of its language, whether the index lacks that language, and
// whether the request is Japanese, which its kana tell. Another language is told by its letters and by function words
// that are no English words, by two more than there are English function words. Any other request stays as it is.
func (f *Languages) Read(text string) (bare string, lacksLanguage, isJapanese bool) {
	if isOfKana(text) {
		_, known := f.ids["の"]
		return text, !known, true
	}
	var marks [len(languages)]int
	for from, to, word := 0, 0, ""; from < len(text) && slices.Max(marks[:]) > -4; from = to { // fewer marks mean English
		word, to = requestWord(text, from)
		isEnglish := naming.StopWords[word] || alsoEnglish[word]
		isCode := to-from <= 2 && (to+1 >= len(text) || text[to] != ' ' || !isOfWord(rune(text[to+1]))) // "from en to de"
		isName := from >= len("¿!") && byteClasses[text[from]] == Upper                                 // "Las Vegas"
		for i := range marks {
			switch isOf := languages[i].words[word]; {
			case !isOf && isEnglish:
				marks[i]--
			case isOf && !isEnglish && !isCode && !isName:
				marks[i]++
			}
		}
	}
	for i := range marks {
		marks[i] += min(1, strings.IndexAny(text, languages[i].letters)+1)
	}
	at := slices.Index(marks[:], slices.Max(marks[:]))
	if marks[at] < 2 {
		return text, false, false
	}
	without := []byte(text)
	for from, to, word := 0, 0, ""; from < len(text); from = to {
		if word, to = requestWord(text, from); languages[at].words[word] && !(f.stems[at] != nil && countingWords[word]) {
			clear(without[from:to]) // a zero is no letter
		}
	}
	return string(without), f.stems[at] == nil, false
}

// requestWord returns the word at a place in small letters, and where it ends; "" if it is long, in capitals, in a name
// such as en-US, or none.
func requestWord(text string, from int) (word string, to int) {
	class, to := WordAt(text, from)
	if class == NoLetter || to-from > maxFunctionWord || byteClasses[text[to-1]] == Upper ||
		strings.ContainsAny(text[max(0, from-1):min(to+1, len(text))], "_-/@") {
		return "", to
	}
	return strings.ToLower(text[from:to]), to
}

// isOfKana reports whether a text has kana, and no character that only Chinese has, outside of values.
func isOfKana(text string) (is bool) {
	for i := 0; i < len(text) && strings.IndexByte(text, "ぁ"[0]) >= 0; {
		start, end := NextValue(text, i)
		if strings.ContainsAny(text[i:start], "你您她它们們这這哪吗嗎呢吧啊给请帮么麼怎说个为还让对从译") {
			return false
		}
		is = is || strings.ContainsFunc(text[i:start], func(r rune) bool { return 'ぁ' <= r && r < '・' })
		i = end
	}
	return is
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
	stems         [len(languages)]func() map[string][]int32 // by language, with their terms; nil if the index lacks it
	ids           map[string]int32                          // of the index
	functionWords map[int32]bool                            // terms
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
		f.stems[i] = sync.OnceValue(func() map[string][]int32 { return f.stemsOf(terms, language.stem) }) // when asked for
	}
	return f
}

// IsFunctionWord reports whether a term is a function word of one of the languages.
func (f *Languages) IsFunctionWord(term int32) bool { return f.functionWords[term] }

func (f *Languages) stemsOf(terms []string, stem func(term string) string) map[string][]int32 {
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
	for i, stems := range f.stems {
		if stems != nil {
			terms = append(terms, stems()[languages[i].stem(word)]...)
		}
	}
	return terms
}

// Compound returns the parts of a German word, each as the terms that are forms of it.
func (f *Languages) Compound(word string) (parts [][]int32) {
	if f.stems[german] == nil || !IsOfLetters(word) {
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
	stems, longest, at := f.stems[german](), 0, 0
	var first, last []int32
	for i := minStemLength; i <= len(word)-minRestLength; i++ {
		begins, ends := stems[germanStem(word[:i])], stems[germanStem(word[i:])]
		length := 0
		if begins != nil {
			length = i
		}
		if ends != nil {
			length += len(word) - i
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
		verbs := f.stems[german]()[germanStem(rest)]
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
