package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/eval"
)

// Whether the encoder of -embed knows the languages of the queries and of the tools. eval.Languages
// tests the encoder. What language a text is in is told by its script, and in Latin letters by its
// function words.

// A languageOutput is a language of the queries or of the tools, and how well the encoder knows it.
type languageOutput struct {
	eval.LanguageKnown
	KnowsOwn     bool `json:"knows_own"`
	KnowsEnglish bool `json:"knows_english"`
	Queries      int  `json:"queries"` // that are in the language
	Tools        int  `json:"tools"`   // whose descriptions are
}

// frequentLanguage is the share of the queries, or of the tools, from which on a language counts: 1
// of this many.
const frequentLanguage = 50

// languages tests the encoder. It does nothing for searchers without vectors.
func (c *command) languages(ctx context.Context, tools *eval.Catalog, queries []eval.Query) ([]languageOutput, error) {
	if c.vectors == nil {
		return nil, nil
	}
	ofQueries, ofTools := make(map[string]int), make(map[string]int)
	for _, q := range queries {
		ofQueries[languageOf(q.Text)]++
	}
	for _, tool := range tools.Tools {
		ofTools[languageOf(tool.Desc)]++
	}
	var tags []string
	for _, tag := range languageTags {
		if isFrequent(ofQueries[tag], len(queries)) || isFrequent(ofTools[tag], len(tools.Tools)) {
			tags = append(tags, tag)
		}
	}
	if len(tags) == 0 {
		return nil, nil
	}
	defer c.waiting("testing the encoder")()
	known, err := eval.Languages(ctx, c.vectors, tags...)
	if err != nil {
		return nil, err
	}
	list := make([]languageOutput, len(known))
	for i, k := range known {
		list[i] = languageOutput{k, k.KnowsOwn(), k.KnowsEnglish(), ofQueries[k.Tag], ofTools[k.Tag]}
	}
	return list, nil
}

func isFrequent(count, of int) bool { return count > 0 && count*frequentLanguage >= of }

// printLanguages prints the languages that the encoder does not know, and what to do.
func (c *command) printLanguages(list []languageOutput) {
	inEnglish := 0 // tools
	for _, l := range list {
		if l.Tag == "en" {
			inEnglish = l.Tools
		}
	}
	unknown := false
	for _, l := range list {
		matters := l.Tools > 0 && !l.KnowsOwn || l.Queries > 0 && inEnglish > 0 && !l.KnowsEnglish
		if !matters && (l.KnowsOwn || l.KnowsEnglish) {
			continue
		}
		unknown = true
		fmt.Fprintf(c.out, "%s In %s: %s, %s.\n", c.paint(bad, "The encoder "+l.String()+"."), l.Name,
			manyOf(l.Queries, "query", "queries"), manyOf(l.Tools, "tool", "tools"))
	}
	if unknown {
		fmt.Fprintln(c.out, "It does not compare meanings there: give it a weight of 0.3 in Hybrid, leave it out, or take an encoder that knows more languages.")
	}
}

func manyOf(n int, singular, plural string) string {
	if n == 1 {
		plural = singular
	}
	return fmt.Sprintf("%d %s", n, plural)
}

// languageTags are the languages that languageOf tells, those of eval.Languages.
var languageTags = []string{"en", "zh", "ja", "ko", "de", "fr", "es", "ru"}

// leastFunctionWords is how many function words tell a language: texts in English have "la" and "die"
// too.
const leastFunctionWords = 2

// functionWords are frequent words of the languages in Latin letters. A tie goes to the first.
var functionWords = []struct {
	tag   string
	words []string
}{
	{"en", strings.Fields("the and of to for from with at are my your our what which how where when")},
	{"de", strings.Fields("der die das des dem den ein eine einen einer und oder von mit für auf aus zu zum zur im in ist sind mein meine meinen ich mir wir uns was wie wo wann nicht")},
	{"fr", strings.Fields("le la les un une des du de au aux et ou en dans pour avec sur par est sont mon ma mes je me nous notre que quel quelle comment où quand ne pas")},
	{"es", strings.Fields("el la los las un una unos unas de del al y o en con para por sobre es son está mi mis me yo nos qué cuál cómo dónde cuándo no")},
}

// languageOf returns the tag of a text's language, or "" if nothing tells it. Text in Cyrillic
// counts as Russian. Where scripts are mixed, the script with more words counts. Two characters of a
// script without blanks between words are a word.
func languageOf(text string) string {
	var latin []string
	cyrillic, hangul, kana, han := 0, 0, 0, 0
	for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) }) {
		characters := false
		for _, r := range word {
			switch {
			case unicode.Is(unicode.Han, r):
				han, characters = han+1, true
			case unicode.In(r, unicode.Hiragana, unicode.Katakana):
				kana, characters = kana+1, true
			}
		}
		switch first := []rune(word)[0]; {
		case characters:
		case unicode.Is(unicode.Latin, first):
			latin = append(latin, word)
		case unicode.Is(unicode.Cyrillic, first):
			cyrillic++
		case unicode.Is(unicode.Hangul, first):
			hangul++
		}
	}
	type script struct {
		tag   string
		words int
	}
	best := slices.MaxFunc([]script{{"", len(latin)}, {"zh", (han + kana + 1) / 2}, {"ko", hangul}, {"ru", cyrillic}},
		func(a, b script) int { return cmp.Compare(a.words, b.words) })
	switch {
	case best.tag == "zh" && kana > 0:
		return "ja"
	case best.tag != "":
		return best.tag
	}
	tag, most := "", 0
	for _, l := range functionWords {
		count := 0
		for _, word := range latin {
			if slices.Contains(l.words, word) {
				count++
			}
		}
		if count >= leastFunctionWords && count > most {
			tag, most = l.tag, count
		}
	}
	return tag
}
