package search

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/near"
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
// Package near says how like a word is to a part, from 0 to 1.
//
// Names and descriptions are scanned. Likeness is computed only for the distinct parts of all
// names, of which even a large catalog has few, and only where the lengths and the sets of
// letters allow a sufficient likeness:
//
//	word -- lengths, letters --> near parts, best first -- postings --> tools

const (
	defaultFuzzyHits  = 5
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
		likeness: cmp.Or(o.MinLikeness, near.DefaultLikeness),
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
				x.parts = append(x.parts, near.NewWord(part))
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
	parts    []near.Word // the distinct parts of all names
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
func (t *fuzzyTool) place(w *near.Word) string {
	switch {
	case strings.Contains(t.name, w.Folded) || strings.Contains(t.parts, w.Folded):
		return "name"
	case strings.Contains(t.description, w.Text):
		return "description"
	default:
		return ""
	}
}

// fuzzyQuery is a folded query, as a whole, as its distinct words, and as the distinct parts of
// its words: a word may be a whole name.
type fuzzyQuery struct {
	folded string
	words  []near.Word
	parts  []near.Word
}

func newFuzzyQuery(q Query) fuzzyQuery {
	f := fuzzyQuery{folded: naming.Fold(strings.Join(q.Keywords, " "))}
	var parts []string
	for i, word := range q.Keywords {
		if !slices.Contains(q.Keywords[:i], word) {
			f.words = append(f.words, near.NewWord(word))
			parts = append(parts, splitFolded(naming.Fold(word))...)
		}
	}
	for i, part := range parts {
		if slices.Contains(parts[:i], part) {
			continue
		}
		w := near.NewWord(part)
		if len(f.parts) >= maxAlikeWords {
			w.LikeNothing()
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
func (x *fuzzyIndex) near(ctx context.Context, word *near.Word) ([]top.Scored, error) {
	var near []top.Scored
	for i := range x.parts {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if likeness := word.Like(&x.parts[i], x.likeness); likeness > 0 {
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
	if !slices.ContainsFunc(query.words, func(w near.Word) bool { return tool.place(&w) == "" }) {
		e.add(Contribution{Score: fuzzyTierAllWords, Detail: "all words stand in name or description"})
		for i := range query.words {
			part := Contribution{Term: query.words[i].Text, Field: tool.place(&query.words[i]), Detail: "it stands there"}
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
		part := Contribution{Term: word.Text, Detail: "not found"}
		if nearest, likeness := x.nearest(word, x.docs[doc].Name); likeness > 0 {
			part = Contribution{word.Text, "name", likeness / words, fmt.Sprintf("%.3f like %q, of %g words", likeness, nearest, words)}
		}
		e.add(part)
	}
	return e, nil
}

// nearest returns the part of a name that is most like a word, and its likeness.
func (x *fuzzyIndex) nearest(word *near.Word, name string) (nearest string, likeness float64) {
	for _, text := range fuzzyParts(name) {
		part := near.NewWord(text)
		if l := word.Like(&part, x.likeness); l > likeness {
			nearest, likeness = text, l
		}
	}
	return nearest, likeness
}
