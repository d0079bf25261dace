package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
	"github.com/eino-toolsearch/toolsearch/search/internal/lexicon"
)

// Fuzzy search: for words that are misspelled, cut short, or run together.
//
// A query can match a tool in the three ways that Fuzzy describes. The score is that of the best: 2 + the share of the
// name that the query is, 1 + the share of the words that are in the name, or the mean likeness of the words.
//
// Names and queries are folded first: lower-cased, with "_" for blanks and hyphens. Names have a second spelling,
// with "_" between camel-case parts too. Likeness is computed only for the distinct parts of all names, of which even
// a large catalog has few. Tools are numbered in the order of their names, which breaks ties.

const (
	fuzzyByName      = 2
	fuzzyByWords     = 1
	maxAlikeWords    = 16 // distinct words of a query, or their parts, whose likeness is computed
	defaultFuzzyHits = 5
)

// FuzzyOptions configures Fuzzy. The zero value is a good default.
type FuzzyOptions struct {
	// MaxHits is the most hits of a search with a limit, however high the limit is, since further tools are noise.
	// Zero means 5. Negative means no bound.
	MaxHits int

	// MinLikeness is the least likeness of a word to a part of a name, from 0 to 1. Zero means 0.7. Above 1 means
	// that the text must contain the words.
	MinLikeness float64
}

// Fuzzy is the Indexer for words that are misspelled or cut short, with the defaults of FuzzyOptions. It makes a good
// Config.Fallback.
//
// Tools whose name contains the query come first (score 2 to 3), then tools that contain all of its words (1 to 2),
// then tools with a part of the name like one of the words (under 1). Ties go by name. A word with underscores or
// hyphens is like a name if its parts are like the name's: get_wether finds get_weather. A search with a limit
// returns at most five hits; a search without a limit returns all.
//
// The time of a query is proportional to the text of the catalog. Descriptions are read up to 64 KiB, and names up to
// 128 bytes. Only the first 16 words of a query may be like a part; the text must contain the others.
func Fuzzy(ctx context.Context, docs []Document) (Searcher, error) {
	return FuzzyOptions{}.Index(ctx, docs)
}

// fuzzyIndex implements Searcher. It is immutable.
type fuzzyIndex struct {
	docs     []Document
	docOf    []int32 // tool number, in the order of names -> document
	tools    []fuzzyTool
	parts    []letters.Word // the distinct parts of all names
	postings [][]int32      // part -> tools
	floor    float64        // the least likeness of a word to a part
	maxHits  int            // negative means no bound
}

// Index is an Indexer. See Fuzzy.
func (o FuzzyOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	x := &fuzzyIndex{
		docs: docs, docOf: byName(ascending(len(docs)), docs), tools: make([]fuzzyTool, len(docs)),
		floor: cmp.Or(o.MinLikeness, letters.DefaultLikeness), maxHits: cmp.Or(o.MaxHits, defaultFuzzyHits),
	}
	ids := make(map[string]int)
	for tool, doc := range x.docOf {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.tools[tool] = newFuzzyTool(&docs[doc])
		for _, part := range partsOf(docs[doc].Name) {
			id, known := ids[part]
			if !known {
				id = len(x.parts)
				ids[part] = id
				x.parts, x.postings = append(x.parts, letters.NewWord(part)), append(x.postings, nil)
			}
			x.postings[id] = append(x.postings[id], int32(tool))
		}
	}
	return x, nil
}

func partsOf(name string) []string { return splitFolded(naming.JoinParts(name)) }

func splitFolded(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '_' })
}

// A fuzzyTool is the folded text of a tool.
type fuzzyTool struct {
	name, parts string // the name; its parts joined, "" if that is the same
	description string
}

func newFuzzyTool(doc *Document) fuzzyTool {
	t := fuzzyTool{name: naming.Fold(doc.Name), parts: naming.JoinParts(doc.Name), description: strings.ToLower(descriptionOf(doc))}
	if t.parts == t.name {
		t.parts = ""
	}
	return t
}

// share returns how much of the name the query is, or 0 if the name does not contain it.
func (t *fuzzyTool) share(query string) (share float64) {
	for _, name := range [...]string{t.name, t.parts} {
		if name != "" && strings.Contains(name, query) {
			share = max(share, float64(utf8.RuneCountInString(query))/float64(utf8.RuneCountInString(name)))
		}
	}
	return share
}

// place returns the field that contains a word, the name if both do, or "".
func (t *fuzzyTool) place(w *letters.Word) string {
	switch {
	case strings.Contains(t.name, w.Folded) || strings.Contains(t.parts, w.Folded):
		return "name"
	case strings.Contains(t.description, w.Text):
		return "description"
	}
	return ""
}

// A fuzzyQuery is a folded query: the text, its words, and their parts, since a word may be a whole name.
type fuzzyQuery struct {
	folded string
	words  []letters.Word
	parts  []letters.Word
}

func newFuzzyQuery(keywords []string) fuzzyQuery {
	q := fuzzyQuery{folded: naming.Fold(strings.Join(keywords, " "))}
	var parts []string
	keywords = cutChinese(keywords)
	for i, word := range keywords {
		if slices.Contains(keywords[:i], word) {
			continue
		}
		q.words = append(q.words, letters.NewWord(word))
		for _, part := range splitFolded(naming.Fold(word)) {
			if !slices.Contains(parts, part) {
				parts, q.parts = append(parts, part), append(q.parts, letters.NewWord(part))
			}
		}
	}
	return q
}

// cutChinese cuts keywords in Chinese into the words of the lexicon, since they have no blanks between them.
func cutChinese(keywords []string) (words []string) {
	for _, keyword := range keywords {
		for end := len(keyword); keyword != ""; keyword = keyword[end:] {
			if !strings.ContainsFunc(keyword, analysis.IsNotHan) {
				end, _ = lexicon.BuiltIn.Meanings().Cut(keyword)
			}
			words = append(words, keyword[:end])
		}
	}
	return words
}

func (x *fuzzyIndex) String() string { return "Fuzzy" }

func (x *fuzzyIndex) Search(ctx context.Context, q Query) (Hits, error) {
	query := newFuzzyQuery(q.Keywords)
	if len(query.words) == 0 {
		return Hits{}, ctx.Err()
	}
	means, nearest := make([]float64, len(x.tools)), make([]float64, len(x.tools))
	for i := range query.parts[:min(len(query.parts), maxAlikeWords)] {
		var near []int32 // tools with a part like the word
		for part := range x.parts {
			if part%1024 == 0 && ctx.Err() != nil {
				return Hits{}, ctx.Err()
			}
			if likeness := query.parts[i].Like(&x.parts[part], x.floor); likeness > 0 {
				near = append(near, x.postings[part]...)
				for _, tool := range x.postings[part] {
					nearest[tool] = max(nearest[tool], likeness)
				}
			}
		}
		for _, tool := range near {
			means[tool] += nearest[tool] / float64(len(query.parts))
			nearest[tool] = 0
		}
	}
	if q.Limit > 0 && x.maxHits > 0 {
		q.Limit = min(q.Limit, x.maxHits)
	}
	score := func(tool int) float64 { return x.tools[tool].score(&query, means[tool]) }
	return rank(ctx, &q, x.docOf, len(x.docs), 0, score)
}

// score returns the score of the best of the three ways. mean is the score of the third way.
func (t *fuzzyTool) score(q *fuzzyQuery, mean float64) float64 {
	if share := t.share(q.folded); share > 0 {
		return fuzzyByName + share
	}
	score := float64(fuzzyByWords)
	for i := range q.words {
		switch t.place(&q.words[i]) {
		case "name":
			score += 1 / float64(len(q.words))
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
	query, tool := newFuzzyQuery(q.Keywords), newFuzzyTool(&x.docs[doc])
	if len(query.words) == 0 {
		return Explanation{}, ctx.Err()
	}
	var e Explanation
	if share := tool.share(query.folded); share > 0 {
		e.add(Contribution{query.folded, "name", fuzzyByName + share, fmt.Sprintf("the name contains it; it is %.3f of the name", share)})
		return e, nil
	}
	if !slices.ContainsFunc(query.words, func(w letters.Word) bool { return tool.place(&w) == "" }) {
		e.add(Contribution{Score: fuzzyByWords, Detail: "the name or the description has every word"})
		for i := range query.words {
			part := Contribution{Term: query.words[i].Text, Field: tool.place(&query.words[i]), Detail: "a word of this field"}
			if part.Field == "name" {
				part.Score = 1 / float64(len(query.words))
			}
			e.add(part)
		}
		return e, nil
	}
	words := float64(len(query.parts))
	for i := range query.parts {
		part, most := Contribution{Term: query.parts[i].Text, Detail: "not found"}, 0.0
		for _, name := range partsOf(x.docs[doc].Name) {
			word := letters.NewWord(name)
			if likeness := query.parts[i].Like(&word, x.floor); likeness > most && i < maxAlikeWords {
				most = likeness
				part = Contribution{part.Term, "name", most / words, fmt.Sprintf("%.3f like %q, of %g words", most, name, words)}
			}
		}
		e.add(part)
	}
	return e, nil
}
