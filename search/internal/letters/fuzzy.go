// Package letters compares words, names and texts letter by letter. words.go measures how alike two words
// are, and terms.go finds the terms of an index that an unknown word was probably meant to be. names.go says
// whether a query spells out a name. fuzzy.go scores tools for misspelled words, and blocks.go for the blocks
// of letters that a text shares with a query.
package letters

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Scores for words that are misspelled, cut short, or run together.
//
// A query can match a tool in three ways. The score is the score of the best way:
//
//	2 + share    the name contains the query; the share is how much of the name the query
//	             is: 8/12 for "send mes" ~ send_message, 1 for the name itself
//	1 + share    the name or the description contains each word; the share is the part of the
//	             words that the name contains
//	mean         the words are like parts of the name: the mean over the words of the
//	             likeness to the nearest part; a word that is like no part counts as 0. A
//	             word that is written as a name counts as its parts: get_wether is two
//
// Similar words therefore never outrank words that the tool has, and these never outrank a
// name that contains the query. Names and queries are folded first: lower-cased, with "_" for
// blanks and hyphens. Names have a second spelling, with "_" between camel-case parts too.
//
// Word.Like is the likeness of a word to a part, from 0 to 1.
//
// Names and descriptions are scanned. Likeness is computed only for the distinct parts of all
// names, of which even a large catalog has few, and only where the lengths and the sets of
// letters allow a sufficient likeness:
//
//	word -- lengths, letters --> near parts, best first -- postings --> tools

const (
	// FuzzyByName is the least score of a tool whose name contains the query.
	FuzzyByName = 2
	// FuzzyByWords is the least score of a tool that contains each word.
	FuzzyByWords = 1

	maxAlikeWords = 16 // distinct words of a query, or their parts, whose likeness is computed
)

// A Fuzzy has tools by their numbers. It never changes and is safe for concurrent use.
type Fuzzy struct {
	tools    []FuzzyTool
	parts    []Word    // the distinct parts of all names
	postings [][]int32 // part -> tools, ascending
	floor    float64   // the least likeness of a word to a part
}

// NewFuzzy indexes n tools. texts returns the name and the description of a tool. floor is the least
// likeness of a word to a part of a name. Only the context makes NewFuzzy fail.
func NewFuzzy(ctx context.Context, n int, floor float64, texts func(number int) (name, description string)) (*Fuzzy, error) {
	x := &Fuzzy{tools: make([]FuzzyTool, n), floor: floor}
	ids := make(map[string]int32)
	for number := range x.tools {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		name, description := texts(number)
		x.tools[number] = NewFuzzyTool(name, description)
		for _, part := range partsOf(name) {
			id, known := ids[part]
			if !known {
				id = int32(len(x.parts))
				ids[part] = id
				x.parts = append(x.parts, NewWord(part))
				x.postings = append(x.postings, nil)
			}
			if list := x.postings[id]; len(list) == 0 || list[len(list)-1] != int32(number) {
				x.postings[id] = append(list, int32(number))
			}
		}
	}
	return x, nil
}

// A FuzzyTool is the folded text of a tool. The lengths are in code points.
type FuzzyTool struct {
	name, parts             string // the name; its parts joined, "" if that is the same
	nameLength, partsLength int
	description             string
}

// NewFuzzyTool folds the text of a tool.
func NewFuzzyTool(name, description string) FuzzyTool {
	t := FuzzyTool{name: naming.Fold(name), parts: naming.JoinParts(name), description: strings.ToLower(description)}
	if t.parts == t.name {
		t.parts = ""
	}
	t.nameLength, t.partsLength = utf8.RuneCountInString(t.name), utf8.RuneCountInString(t.parts)
	return t
}

// partsOf returns the folded parts of a name.
func partsOf(name string) []string { return splitFolded(naming.JoinParts(name)) }

func splitFolded(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '_' })
}

// NameShare returns how much of the name the query is, or 0 if the name does not contain it.
func (t *FuzzyTool) NameShare(q *FuzzyQuery) float64 {
	share := 0.0
	if strings.Contains(t.name, q.Folded) {
		share = float64(utf8.RuneCountInString(q.Folded)) / float64(t.nameLength)
	}
	if strings.Contains(t.parts, q.Folded) {
		share = max(share, float64(utf8.RuneCountInString(q.Folded))/float64(t.partsLength))
	}
	return share
}

// Place returns the field that contains a word, preferring the name to the description; "" means
// neither.
func (t *FuzzyTool) Place(w *Word) string {
	switch {
	case strings.Contains(t.name, w.Folded) || strings.Contains(t.parts, w.Folded):
		return "name"
	case strings.Contains(t.description, w.Text):
		return "description"
	default:
		return ""
	}
}

// A FuzzyQuery is a folded query: the whole text, its distinct words, and the distinct parts of its
// words, since a word may be a whole name.
type FuzzyQuery struct {
	Folded string
	Words  []Word
	Parts  []Word
}

// NewFuzzyQuery reads the words of a query.
func NewFuzzyQuery(keywords []string) *FuzzyQuery {
	q := &FuzzyQuery{Folded: naming.Fold(strings.Join(keywords, " "))}
	var parts []string
	for i, word := range keywords {
		if !slices.Contains(keywords[:i], word) {
			q.Words = append(q.Words, NewWord(word))
			parts = append(parts, splitFolded(naming.Fold(word))...)
		}
	}
	for i, part := range parts {
		if slices.Contains(parts[:i], part) {
			continue
		}
		w := NewWord(part)
		if len(q.Parts) >= maxAlikeWords {
			w.LikeNothing()
		}
		q.Parts = append(q.Parts, w)
	}
	return q
}

// Scores returns the score of each tool for a query; 0 means no match. Only the context makes Scores
// fail.
func (x *Fuzzy) Scores(ctx context.Context, q *FuzzyQuery) (score func(number int) float64, err error) {
	means := make([]float64, len(x.tools))
	for i := range q.Parts {
		seen := docset.New(len(x.tools))
		parts, err := x.near(ctx, &q.Parts[i])
		if err != nil {
			return nil, err
		}
		for _, part := range parts {
			for _, number := range x.postings[part.Number] {
				if seen.Add(int(number)) {
					means[number] += part.Score / float64(len(q.Parts))
				}
			}
		}
	}
	return func(number int) float64 { return x.tools[number].score(q, means[number]) }, nil
}

// near returns the parts of names that are like a word, best first.
func (x *Fuzzy) near(ctx context.Context, word *Word) ([]docset.Scored, error) {
	var near []docset.Scored
	for i := range x.parts {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if likeness := word.Like(&x.parts[i], x.floor); likeness > 0 {
			near = append(near, docset.Scored{Score: likeness, Number: int32(i)})
		}
	}
	slices.SortFunc(near, docset.BestFirst)
	return near, nil
}

// score returns the score of the best of the three ways. mean is the score of the third way.
func (t *FuzzyTool) score(q *FuzzyQuery, mean float64) float64 {
	if share := t.NameShare(q); share > 0 {
		return FuzzyByName + share
	}
	score := float64(FuzzyByWords)
	for i := range q.Words {
		switch t.Place(&q.Words[i]) {
		case "name":
			score += 1 / float64(len(q.Words))
		case "":
			return mean
		}
	}
	return score
}

// Nearest returns the part of a name that is most like a word, and its likeness.
func (x *Fuzzy) Nearest(word *Word, name string) (nearest string, likeness float64) {
	for _, text := range partsOf(name) {
		part := NewWord(text)
		if l := word.Like(&part, x.floor); l > likeness {
			nearest, likeness = text, l
		}
	}
	return nearest, likeness
}
