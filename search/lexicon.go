package search

import (
	"context"

	"github.com/eino-toolsearch/toolsearch/search/internal/lexicon"
)

// A Lexicon lists words and their substitutes: a company's own words, which come first, and the built-in words.
// ParseLexicon makes one; the zero Lexicon has only the built-in words. It never changes and is safe for concurrent
// use.
type Lexicon struct{ own *lexicon.Lexicon }

// tables returns the lexicon with the built-in words. Nil and the zero Lexicon add none.
func (l *Lexicon) tables() *lexicon.Lexicon {
	if l == nil || l.own == nil {
		return lexicon.BuiltIn
	}
	return l.own
}

// ParseLexicon reads a company's own lexicon. A line that begins with "#" is a comment, and a line
// "== name" begins a section:
//
//	== spellings    a word and its other spellings            kubernetes k8s
//	== synonyms     words with about the same meaning         customer client
//	== thesaurus    a word, and what it may have to do with   homestay lodging rental
//	== meanings     a word, a tab, what it means in English   pto<tab>paid leave; vacation
//
// The words of a line of spellings or synonyms substitute one another, and those of the thesaurus substitute the
// first word of their line. Up to three meanings count, the best first, each of a few words. The first word of a line
// of meanings is Chinese, or a single word of letters and digits. The text may be 1 MiB long, and a line 1 KiB. The
// error names the lines that are wrong, at most 20.
func ParseLexicon(text string) (*Lexicon, error) {
	own, err := lexicon.Parse(text)
	if err != nil {
		return nil, err
	}
	return &Lexicon{own}, nil
}

// Check lists the lines of a company's own lexicon that do nothing for the documents: lines whose words are in no
// document, lines that map a word to itself, and lines that repeat another: "line 3: repeats line 2".
func (l *Lexicon) Check(ctx context.Context, docs []Document) ([]string, error) {
	x, err := BM25Options{}.index(ctx, docs)
	if err != nil {
		return nil, err
	}
	return l.tables().Findings(func(term string) bool { _, known := x.IDs[term]; return known }), nil
}
