package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Search by a regular expression, for models that know a pattern of the names they want:
// "github.*issue", "^get_", "(create|update)_event".
//
// Package regexp needs time proportional to the text and to the compiled pattern, so the product of the two is bounded.
// A short pattern can be large when compiled, as (.......){1000} is, so its size is computed from the parsed pattern.

const (
	maxPatternBytes      = 256
	maxPatternWork       = 1 << 28 // instructions of the compiled pattern, times the bytes of text
	minPatternSize       = 100     // instructions that are allowed for any text
	maxRegexpDescription = 16 << 10
)

// RegexpOptions configures Regexp. The zero value is a good default.
type RegexpOptions struct {
	// Descriptions also searches the descriptions of tools whose name does not match.
	Descriptions bool

	// CatalogOrder returns the tools in the order of the documents instead of the best first, as Eino v0.8 did. Names
	// still come before descriptions.
	CatalogOrder bool
}

// Regexp is the Indexer that finds tools whose name matches a regular expression, with the defaults of RegexpOptions.
// The searcher is a QueryReader: the expression is the whole text of the query, and "+" and ":" belong to it. The
// syntax is that of package regexp (RE2). Case is ignored. The expression may match anywhere in the name, or in the
// original name of a tool that is shown under another.
//
// The score is 1 plus the share of the name that the leftmost-longest match covers. It is 0.5 if only the description
// matches; descriptions are an option. With them, a match of up to three letters within a word counts a fifth. Ties
// go by name.
//
// An expression that is wrong, longer than 256 bytes or too large once its counted repetitions are written out is a
// QueryError, which tells the model what is wrong. An expression may have 1,000 instructions. Above 268 KB of text to
// search, it may have proportionally fewer, but always 100. Names are read up to 128 bytes, descriptions up to 16
// KiB. The searcher is a Restricter, so the text that a request may not see does not count.
func Regexp(ctx context.Context, docs []Document) (Searcher, error) {
	return RegexpOptions{}.Index(ctx, docs)
}

// Index is an Indexer. See Regexp.
func (o RegexpOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	return o.over(docs, ascending(len(docs))), ctx.Err()
}

func (o RegexpOptions) over(docs []Document, docOf []int32) *regexpIndex {
	if !o.CatalogOrder {
		byName(docOf, docs)
	}
	text := 1
	for _, doc := range docOf {
		text += min(len(docs[doc].Name), naming.MaxBytes) + min(len(docs[doc].Original), naming.MaxBytes)
		if o.Descriptions {
			text += min(len(docs[doc].Description), maxRegexpDescription)
		}
	}
	return &regexpIndex{docs, docOf, o, min(max(maxPatternWork/text, minPatternSize), foreign.MaxPatternSize)}
}

// Restrict implements Restricter. A pattern may be larger the less text there is.
func (x *regexpIndex) Restrict(ctx context.Context, docs []int) (Searcher, error) {
	_, docOf, err := pick(x.docs, docs)
	if err != nil {
		return nil, err
	}
	return x.options.over(x.docs, docOf), ctx.Err()
}

// regexpIndex implements Searcher. It is immutable.
type regexpIndex struct {
	docs    []Document
	docOf   []int32 // number of a tool that is searched, in the order of ties -> document
	options RegexpOptions
	maxSize int // of a pattern, in instructions
}

const (
	regexpInName        = 1.0 // plus the share of the name, so get_(user|users) prefers the whole name to a part
	regexpInDescription = 0.5
	regexpPart          = 0.2 // of that, for a short match within a word: NCT in "function"
	maxShortLength      = 3   // bytes
)

func (x *regexpIndex) String() string { return "Regexp" }

// ReadQuery implements QueryReader. A pattern has no keywords.
func (x *regexpIndex) ReadQuery(text string) Query { return Query{Text: cutQuery(text)} }

func (x *regexpIndex) Search(ctx context.Context, q Query) (Hits, error) {
	pattern, err := x.compile(q.Text)
	if err != nil || pattern == nil {
		return Hits{}, err
	}
	return rank(ctx, &q, x.docOf, len(x.docOf), 0, func(number int) float64 {
		if ctx.Err() != nil { // one description may take a while
			return 0
		}
		return x.match(pattern, int(x.docOf[number])).Score
	})
}

func (x *regexpIndex) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	pattern, err := x.compile(q.Text)
	if err != nil || pattern == nil {
		return Explanation{}, err
	}
	part := x.match(pattern, doc)
	part.Term, part.Detail = q.Text, "no match"
	switch own := part.Score; part.Field {
	case "name":
		within := ""
		if own < regexpInName {
			own, within = own/regexpPart, ", times 0.2 for a part of a word"
		}
		part.Detail = fmt.Sprintf("1 + the %.3f of the name that it covers%s", own-regexpInName, within)
		if x.options.CatalogOrder {
			part.Detail = "it matches there"
		}
	case "description":
		part.Detail = "it matches there, and not in the name"
	}
	return Explanation{Score: part.Score, Parts: []Contribution{part}}, nil
}

func (x *regexpIndex) match(pattern *regexp.Regexp, doc int) Contribution {
	d := &x.docs[doc]
	for _, name := range [...]string{naming.Cut(d.Name, naming.MaxBytes), naming.Cut(d.Original, naming.MaxBytes)} {
		if at, weight := x.find(pattern, name); at != nil && (name != "" || d.Name == "") { // not every name is altered
			share := 0.0
			if at[1] > at[0] && !x.options.CatalogOrder {
				share = float64(utf8.RuneCountInString(name[at[0]:at[1]])) / float64(utf8.RuneCountInString(name))
			}
			return Contribution{Field: "name", Score: weight * (regexpInName + share)}
		}
	}
	if x.options.Descriptions {
		if at, weight := x.find(pattern, naming.Cut(d.Description, maxRegexpDescription)); at != nil {
			return Contribution{Field: "description", Score: weight * regexpInDescription}
		}
	}
	return Contribution{}
}

// find returns where a pattern first matches, and what that counts. Of a pattern of words, a short match counts fully
// only if it is no part of a word.
func (x *regexpIndex) find(pattern *regexp.Regexp, text string) (first []int, weight float64) {
	if first = pattern.FindStringIndex(text); !x.options.Descriptions || strings.ContainsAny(pattern.String()[len("(?i)"):], `.*+?()[]{}^$\`) {
		return first, 1
	}
	isPart := func(r rune, _ int) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }
	for _, at := range pattern.FindAllStringIndex(text, -1) {
		if at[1]-at[0] > maxShortLength || !isPart(utf8.DecodeLastRuneInString(text[:at[0]])) && !isPart(utf8.DecodeRuneInString(text[at[1]:])) {
			return at, 1
		}
	}
	return first, regexpPart
}

// compile compiles a model's pattern. It returns nil for an empty text, and a QueryError for a wrong pattern.
func (x *regexpIndex) compile(text string) (*regexp.Regexp, error) {
	switch {
	case text == "":
		return nil, nil
	case len(text) > maxPatternBytes:
		limit := strconv.Itoa(maxPatternBytes)
		return nil, &QueryError{Message: "The pattern is longer than " + limit + " bytes.", Key: "long-pattern", Values: []string{"{limit}", limit}}
	}
	parsed, err := foreign.ParsePattern(text)
	if err == nil && foreign.PatternSize(parsed) > x.maxSize {
		err = &syntax.Error{Code: syntax.ErrLarge}
	}
	if err != nil {
		return nil, patternError(err)
	}
	pattern, err := regexp.Compile("(?i)" + text) // which is what was parsed
	if err == nil {
		pattern.Longest()
	}
	return pattern, err
}

func patternError(err error) error {
	var wrong *syntax.Error
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Code == syntax.ErrLarge || wrong.Code == syntax.ErrNestingDepth {
		return &QueryError{Message: "The pattern is too large once its repetitions are written out.", Key: "costly-pattern"}
	}
	// Package syntax does not name a fragment if the pattern ends in a backslash.
	problem, fragment := wrong.Code.String(), naming.OneLine(cmp.Or(wrong.Expr, `\`), 40)
	return &QueryError{
		Message: fmt.Sprintf("The pattern is not a valid regular expression: %s, in `%s`.", problem, fragment),
		Key:     "bad-pattern",
		Values:  []string{"{problem}", problem, "{fragment}", fragment},
	}
}
