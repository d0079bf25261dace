package search

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/top"
)

// Fuzzy search: for words that are misspelled, cut short, or run together.
//
// A query can match a tool in three ways. The score is that of the best way:
//
//	2 + share    the name contains the query; the share is how much of the name the query
//	             is: 8/12 for "send mes" ~ send_message, 1 for the name itself
//	1 + share    the name or the description contains each word; the share is that of the
//	             words that the name contains
//	mean         the words are like parts of the name: the mean over the words of the
//	             likeness to the nearest part; a word that is like no part counts as 0. A
//	             word that is written as a name counts as its parts: get_wether is two
//
// Similar words therefore never outrank words that the tool has, and these never outrank a
// name that contains the query. Names and queries are folded first: lower-cased, with "_" for
// blanks and hyphens. Names have a second spelling, with "_" between camel-case parts too.
//
// The likeness of a word to a part is the first of these that applies:
//
//	1                              the word equals the part
//	0.7 + 0.3 * its share of it    the word abbreviates the part: it begins the part
//	                               ("repo" ~ repository) or leaves out its vowels
//	                               ("msg" ~ message); three letters at least
//	1 - edits / longer length      "wether" ~ weather is 1 - 1/7; likeness under 0.7
//	                               counts as 0
//
// With 0.7, a slip in a word of four letters passes (file, fiel: 0.75). A slip in a word of
// three letters does not (get, set: 0.67), since that is mostly a different word. An
// abbreviation just passes; its likeness grows with the share of the part that it keeps.
//
// Names and descriptions are scanned. Likeness is computed only for the distinct parts of all
// names, of which even a large catalog has few, and only where the lengths and the sets of
// letters allow a sufficient likeness:
//
//	word -- lengths, letters --> near parts, best first -- postings --> tools

const (
	defaultFuzzyHits  = 5
	defaultLikeness   = 0.7
	minAbbreviation   = 3 // letters
	vowels            = "aeiou"
	maxAlikeWords     = 16 // distinct words of a query, or their parts, whose likeness is computed
	fuzzyTierName     = 2
	fuzzyTierAllWords = 1
)

// FuzzyOptions configures Fuzzy. The zero value is a good default.
type FuzzyOptions struct {
	// MaxHits is the most hits of a search with a limit, however high the limit is. After the
	// first few hits, tools that are only like a query are noise. Zero means 5. Negative means
	// no bound.
	MaxHits int

	// MinLikeness is the least likeness of a word to a part of a name, where 1 is equal. Zero
	// means 0.7. Above 1 means that no word is like a part: the text must contain the words.
	MinLikeness float64
}

// Fuzzy is the Indexer for words that are misspelled or cut short: FuzzyOptions with all
// defaults. It makes a good Config.Fallback.
//
// Tools whose name contains the query come first (score 2 to 3), then tools that contain all of
// its words (1 to 2), then tools with a part of the name like one of the words (under 1). Ties
// go by name. A word with underscores or hyphens is like a name if its parts are like the
// name's: get_wether finds get_weather. A search with a limit returns at most five hits; a search
// without a limit returns all.
//
// The time of a query is proportional to the text of the catalog. Descriptions are read up to
// 64 KiB, and names up to 128 bytes. Only the first 16 words of a query may be like a part; the
// text must contain the others.
func Fuzzy(ctx context.Context, docs []Document) (Searcher, error) {
	return FuzzyOptions{}.Index(ctx, docs)
}

// Index is an Indexer. See Fuzzy.
func (o FuzzyOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	x := &fuzzyIndex{
		docs: docs, docOf: docsByName(docs), tools: make([]fuzzyTool, len(docs)),
		maxHits:  max(cmp.Or(o.MaxHits, defaultFuzzyHits), 0),
		likeness: cmp.Or(o.MinLikeness, defaultLikeness),
	}
	ids := make(map[string]int32)
	for number, doc := range x.docOf {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.tools[number] = newFuzzyTool(&docs[doc])
		for _, part := range fuzzyParts(docs[doc].Name) {
			id, known := ids[part]
			if !known {
				id = int32(len(x.parts))
				ids[part] = id
				x.parts = append(x.parts, newFuzzyWord(part))
				x.postings = append(x.postings, nil)
			}
			if list := x.postings[id]; len(list) == 0 || list[len(list)-1] != int32(number) {
				x.postings[id] = append(list, int32(number))
			}
		}
	}
	return x, nil
}

// fuzzyIndex implements Searcher. It is immutable.
type fuzzyIndex struct {
	docs     []Document
	docOf    []int32     // tool number, in the order of names -> document
	tools    []fuzzyTool // by number
	parts    []fuzzyWord // the distinct parts of all names
	postings [][]int32   // part -> tools, ascending
	maxHits  int
	likeness float64
}

// fuzzyTool is the folded text of a tool. The lengths are in code points.
type fuzzyTool struct {
	name, parts             string // the name; its parts joined, "" if the same
	nameLength, partsLength int
	description             string
}

func newFuzzyTool(doc *Document) fuzzyTool {
	t := fuzzyTool{
		name: naming.Fold(doc.Name), parts: naming.JoinParts(doc.Name),
		description: strings.ToLower(naming.Cut(doc.Description, MaxDescriptionBytes)),
	}
	if t.parts == t.name {
		t.parts = ""
	}
	t.nameLength, t.partsLength = utf8.RuneCountInString(t.name), utf8.RuneCountInString(t.parts)
	return t
}

// fuzzyParts returns the folded parts of a name.
func fuzzyParts(name string) []string { return splitFolded(naming.JoinParts(name)) }

func splitFolded(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '_' })
}

// nameShare returns how much of the name the folded query is, or 0 if the name does not contain
// it.
func (t *fuzzyTool) nameShare(folded string) float64 {
	share := 0.0
	if strings.Contains(t.name, folded) {
		share = float64(utf8.RuneCountInString(folded)) / float64(t.nameLength)
	}
	if strings.Contains(t.parts, folded) {
		share = max(share, float64(utf8.RuneCountInString(folded))/float64(t.partsLength))
	}
	return share
}

// place returns the field that contains a word, the name before the description.
func (t *fuzzyTool) place(w *fuzzyWord) string {
	switch {
	case strings.Contains(t.name, w.folded) || strings.Contains(t.parts, w.folded):
		return "name"
	case strings.Contains(t.description, w.text):
		return "description"
	default:
		return ""
	}
}

// fuzzyWord is a word of a query or a part of a name.
type fuzzyWord struct {
	text    string // lower-cased
	folded  string
	runes   []rune // nil means like nothing
	letters uint64 // naming.LetterSet of folded
}

func newFuzzyWord(text string) fuzzyWord {
	w := fuzzyWord{text: strings.ToLower(text), folded: naming.Fold(text)}
	w.letters = naming.LetterSet(w.folded)
	if len(w.folded) <= 4*naming.MaxBytes { // no part of a name is like a longer word
		w.runes = []rune(w.folded)
	}
	return w
}

// likenessOf returns the likeness of a word to a part, or 0 if it is less than floor.
func likenessOf(word, part *fuzzyWord, floor float64) float64 {
	if len(word.runes) == 0 || len(part.runes) == 0 {
		return 0
	}
	if word.folded == part.folded {
		return atLeast(1, floor)
	}
	if abbreviates(word.runes, part.runes) {
		share := float64(len(word.runes)) / float64(len(part.runes))
		return atLeast(defaultLikeness+(1-defaultLikeness)*share, floor)
	}
	longer := float64(max(len(word.runes), len(part.runes)))
	// least is a lower bound on the edits: an edit removes at most one letter from either
	// difference of the sets, and changes the difference of the lengths by at most one.
	least := max(bits.OnesCount64(word.letters&^part.letters), bits.OnesCount64(part.letters&^word.letters),
		len(word.runes)-len(part.runes), len(part.runes)-len(word.runes))
	if 1-float64(least)/longer < floor {
		return 0
	}
	return atLeast(naming.SimilarityAbove(word.runes, part.runes, floor), floor)
}

func atLeast(v, floor float64) float64 {
	if v < floor {
		return 0
	}
	return v
}

// abbreviates reports whether word begins part, or is part with letters left out and no vowel
// after the first letter.
func abbreviates(word, part []rune) bool {
	if len(word) < minAbbreviation || len(word) >= len(part) || word[0] != part[0] {
		return false
	}
	if slices.Equal(word, part[:len(word)]) {
		return true
	}
	next := 1
	for _, char := range word[1:] {
		if strings.ContainsRune(vowels, char) {
			return false
		}
		i := slices.Index(part[next:], char)
		if i < 0 {
			return false
		}
		next += i + 1
	}
	return true
}

// fuzzyQuery is a folded query, as a whole, as its distinct words, and as the distinct parts of
// its words: a word may be a whole name.
type fuzzyQuery struct {
	folded string
	words  []fuzzyWord
	parts  []fuzzyWord
}

func newFuzzyQuery(q Query) fuzzyQuery {
	f := fuzzyQuery{folded: naming.Fold(strings.Join(q.Keywords, " "))}
	var parts []string
	for i, word := range q.Keywords {
		if !slices.Contains(q.Keywords[:i], word) {
			f.words = append(f.words, newFuzzyWord(word))
			parts = append(parts, splitFolded(naming.Fold(word))...)
		}
	}
	for i, part := range parts {
		if slices.Contains(parts[:i], part) {
			continue
		}
		w := newFuzzyWord(part)
		if len(f.parts) >= maxAlikeWords {
			w.runes = nil
		}
		f.parts = append(f.parts, w)
	}
	return f
}

func (x *fuzzyIndex) String() string { return "Fuzzy" }

func (x *fuzzyIndex) Search(ctx context.Context, q Query) (Hits, error) {
	query := newFuzzyQuery(q)
	if len(query.words) == 0 {
		return Hits{}, ctx.Err()
	}
	means := make([]float64, len(x.tools))
	for i := range query.parts {
		seen := docset.New(len(x.tools))
		parts, err := x.near(ctx, &query.parts[i])
		if err != nil {
			return Hits{}, err
		}
		for _, part := range parts {
			for _, number := range x.postings[part.Number] {
				if seen.Add(int(number)) {
					means[number] += part.Score / float64(len(query.parts))
				}
			}
		}
	}
	limit := q.Limit
	if limit > 0 {
		limit = atMost(limit, x.maxHits)
	}
	return rank(ctx, &q, limit, x.docOf, len(x.tools), func(number int) float64 { return x.score(&query, number, means[number]) })
}

// near returns the parts of names that are like a word, best first.
func (x *fuzzyIndex) near(ctx context.Context, word *fuzzyWord) ([]top.Scored, error) {
	var near []top.Scored
	if word.runes == nil {
		return nil, ctx.Err()
	}
	for i := range x.parts {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if likeness := likenessOf(word, &x.parts[i], x.likeness); likeness > 0 {
			near = append(near, top.Scored{Score: likeness, Number: int32(i)})
		}
	}
	slices.SortFunc(near, top.Compare)
	return near, nil
}

// score returns the score of the best of the three ways. mean is the score of the third way.
func (x *fuzzyIndex) score(query *fuzzyQuery, number int, mean float64) float64 {
	tool := &x.tools[number]
	if share := tool.nameShare(query.folded); share > 0 {
		return fuzzyTierName + share
	}
	score := float64(fuzzyTierAllWords)
	for i := range query.words {
		switch tool.place(&query.words[i]) {
		case "name":
			score += 1 / float64(len(query.words))
		case "":
			return mean
		}
	}
	return score
}

// Explain checks the document itself, without the postings.
func (x *fuzzyIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	query, tool := newFuzzyQuery(q), newFuzzyTool(&x.docs[doc])
	if len(query.words) == 0 {
		return Explanation{}, ctx.Err()
	}
	if share := tool.nameShare(query.folded); share > 0 {
		return Explanation{Score: fuzzyTierName + share, Parts: []Contribution{{query.folded, "name", fuzzyTierName + share,
			fmt.Sprintf("the name holds it, and it is %.3f of the name", share)}}}, nil
	}
	var e Explanation
	if !slices.ContainsFunc(query.words, func(w fuzzyWord) bool { return tool.place(&w) == "" }) {
		e.add(Contribution{Score: fuzzyTierAllWords, Detail: "all words stand in name or description"})
		for i := range query.words {
			part := Contribution{Term: query.words[i].text, Field: tool.place(&query.words[i]), Detail: "it stands there"}
			if part.Field == "name" {
				part.Score = 1 / float64(len(query.words))
			}
			e.add(part)
		}
		return e, nil
	}
	words := float64(len(query.parts))
	for i := range query.parts {
		word := &query.parts[i]
		part := Contribution{Term: word.text, Detail: "not found"}
		if nearest, likeness := x.nearest(word, x.docs[doc].Name); likeness > 0 {
			part = Contribution{word.text, "name", likeness / words, fmt.Sprintf("%.3f like %q, of %g words", likeness, nearest, words)}
		}
		e.add(part)
	}
	return e, nil
}

// nearest returns the part of a name that is most like a word, and its likeness.
func (x *fuzzyIndex) nearest(word *fuzzyWord, name string) (nearest string, likeness float64) {
	for _, text := range fuzzyParts(name) {
		part := newFuzzyWord(text)
		if l := likenessOf(word, &part, x.likeness); l > likeness {
			nearest, likeness = text, l
		}
	}
	return nearest, likeness
}
