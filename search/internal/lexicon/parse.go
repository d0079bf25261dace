package lexicon

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

// A company's own lexicon: reading and checking it. search.ParseLexicon describes its sections.

// MaxMeanings is how many meanings of a word count.
const MaxMeanings = 3

const (
	maxBytes  = 1 << 20 // of a text
	maxLine   = 1 << 10 // bytes
	maxErrors = 20      // reported at once
)

// Parse reads a company's own lexicon. Its error names at most 20 lines that are wrong.
func Parse(text string) (*Lexicon, error) {
	if len(text) > maxBytes {
		return nil, fmt.Errorf("toolsearch: lexicon of %d bytes; at most %d are read", len(text), maxBytes)
	}
	var own []entry
	var wrong []error
	section, number := "", 0
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		number++
		line = strings.TrimSpace(line)
		name, begins := strings.CutPrefix(line, "== ")
		var err error
		switch {
		case line == "" || line[0] == '#':
			continue
		case begins:
			if section = strings.TrimSpace(name); !slices.Contains(sections, section) {
				err = fmt.Errorf("no section %q; want %s", section, strings.Join(sections, ", "))
			}
		default:
			if section == "meanings" && utf8.ValidString(line) {
				line = tidyMeanings(line)
			}
			err = checkLine(section, line)
			own = append(own, entry{number, section, line})
		}
		if err != nil && len(wrong) < maxErrors {
			wrong = append(wrong, fmt.Errorf("toolsearch: lexicon, line %d: %w", number, err))
		}
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return newLexicon(own), nil
}

var sections = []string{"spellings", "synonyms", "thesaurus", "meanings"}

// checkLine reports what is wrong with a line of a section.
func checkLine(section, line string) error {
	switch {
	case len(line) > maxLine:
		return fmt.Errorf("%d bytes; at most %d are read", len(line), maxLine)
	case !utf8.ValidString(line):
		return errors.New("not UTF-8")
	case section == "":
		return errors.New(`a line before the first section, such as "== synonyms"`)
	case section == "meanings":
		return checkMeanings(line)
	}
	words := strings.Fields(line)
	if len(words) < 2 {
		return errors.New("want two words or more")
	}
	for _, word := range words {
		if err := checkWord(word); err != nil {
			return err
		}
	}
	return nil
}

// tidyMeanings writes a line as in lexicon.txt: lower-case words with a blank between them, meanings with "; ".
func tidyMeanings(line string) string {
	word, english, hasTab := strings.Cut(line, "\t")
	if !hasTab {
		return line
	}
	meanings := strings.Split(strings.ToLower(english), ";")
	for i, meaning := range meanings {
		meanings[i] = strings.Join(strings.FieldsFunc(meaning, func(r rune) bool { return analysis.ClassOf(r) == analysis.NoLetter }), " ")
	}
	return strings.TrimSpace(word) + "\t" + strings.Join(meanings, "; ")
}

func checkMeanings(line string) error {
	word, english, hasTab := strings.Cut(line, "\t")
	switch english = strings.TrimSpace(english); {
	case !hasTab:
		return errors.New("want a word, a tab, and what it means")
	case english == "" && !isChinese(word):
		return fmt.Errorf("%q has no meaning", word)
	case english != "" && strings.Count(english, ";") >= MaxMeanings:
		return fmt.Errorf("%d meanings; at most %d count", 1+strings.Count(english, ";"), MaxMeanings)
	case !isChinese(word):
		return checkWord(word)
	}
	return nil
}

func checkWord(word string) error {
	z := analysis.New()
	terms := z.Append(nil, word)
	switch class, _ := analysis.ClassAt(word, 0); {
	case class == analysis.Ideograph:
		return fmt.Errorf("%q is in Chinese, Japanese or Korean; Chinese words go into the section meanings", word)
	case len(z.Wholes) == 1 && strings.EqualFold(z.Terms[z.Wholes[0].Term], z.Term(word)):
		return nil
	case len(terms) == 0:
		return fmt.Errorf("%q is a word that searches leave out", word)
	case len(terms) > 1 || z.Terms[terms[0]] != z.Term(word):
		return fmt.Errorf("%q is read as several words; its meaning may have several, the word may not", word)
	}
	return nil
}

// Findings lists the lines of a company's own lexicon that do nothing over an index that knows some terms.
func (l *Lexicon) Findings(known func(term string) bool) (findings []string) {
	z, first := analysis.New(), make(map[string]int)
	for _, line := range l.own {
		add := func(format string, args ...any) {
			findings = append(findings, fmt.Sprintf("line %d: %s", line.number, fmt.Sprintf(format, args...)))
		}
		key, words := line.section, z.TermsOf(line.text)
		sorted := slices.Sorted(slices.Values(words))
		targets := words // a tool must have one of these
		switch line.section {
		case "thesaurus":
			key, targets = key+"\t"+words[0], words[1:]
		case "meanings":
			word, english, _ := strings.Cut(line.text, "\t")
			key += "\t" + word
			targets = z.TermsOf(strings.ReplaceAll(english, ";", " "))
			if len(targets) == 1 && targets[0] == z.Term(word) {
				add("%q stands for itself", word)
			}
		default:
			key += "\t" + strings.Join(sorted, " ")
		}
		if line.section != "meanings" && len(slices.Compact(sorted)) < len(words) {
			add("a word of the line stands for itself")
		}
		if before, repeats := first[key]; repeats {
			add("repeats line %d", before)
		} else {
			first[key] = line.number
		}
		if len(targets) > 0 && !slices.ContainsFunc(targets, known) {
			add("no tool has a word of the line that it could find")
		}
	}
	return findings
}
