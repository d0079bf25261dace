package searchers

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Anthropic's tool search tools, emulated for those who write servers: whether Claude finds their
// tools when it searches on Anthropic's side. Everything that the output shows of these searchers
// is labelled "emulated". The command's README says what the documentation of the variants
// tool_search_tool_bm25_20251119 and tool_search_tool_regex_20251119 says, and what is assumed:
// Okapi's formula as Python's rank_bm25 has it, over all texts of a tool as one, and for a pattern
// the order of the fields and then the catalog's. Claude writes the pattern, so a query of words
// becomes one. RE2 refuses the lookaround and backreferences that Python has.

const (
	emulatedK1       = 1.5
	emulatedB        = 0.75
	emulatedMaxRunes = 200 // of a pattern
)

// IsEmulated reports whether a searcher emulates somebody else's.
func IsEmulated(searcher string) bool { return strings.HasPrefix(searcher, "anthropic-") }

// Label is the name of a searcher for people.
func Label(searcher string) string {
	if IsEmulated(searcher) {
		return searcher + " (emulated)"
	}
	return searcher
}

// A toolText is a text of a tool that is searched.
type toolText struct{ field, text string }

func textsOf(doc *search.Document) []toolText {
	list := []toolText{{"name", doc.Name}, {"description", doc.Description}}
	for _, p := range doc.Parameters {
		list = append(list, toolText{"argument", p.Name}, toolText{"argument", p.Description})
	}
	return list
}

// fillers are words that say nothing about what is wanted.
var fillers = strings.Fields("a an and are as at be by for from in into is it its of on or that the this to with")

// emulatedWords splits a text into runs of letters and digits.
func emulatedWords(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// A weigher scores a document, by its parts if the parts are wanted.
type weigher func(doc int, parts bool) search.Explanation

// emulated implements search.Searcher and search.Explainer for searchers that look at each document
// by itself. It is immutable. read returns nil for a query that matches nothing.
type emulated struct {
	docs int
	read func(q search.Query) (weigher, error)
}

func (x emulated) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	weigh, err := x.read(q)
	if err != nil || weigh == nil {
		return search.Hits{}, err
	}
	var hits []search.Hit
	for doc := range x.docs {
		if q.Allows(doc) && ctx.Err() == nil {
			hits = append(hits, search.Hit{Doc: doc, Score: weigh(doc, false).Score})
		}
	}
	hits = slices.DeleteFunc(hits, func(h search.Hit) bool { return h.Score <= 0 })
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	total := len(hits)
	if q.Limit > 0 {
		hits = hits[:min(q.Limit, total)]
	}
	return search.Hits{Hits: hits, Total: total}, ctx.Err()
}

// Explain implements search.Explainer.
func (x emulated) Explain(ctx context.Context, q search.Query, doc int) (search.Explanation, error) {
	weigh, err := x.read(q)
	if err != nil || weigh == nil {
		return search.Explanation{}, err
	}
	return weigh(doc, true), ctx.Err()
}

// anthropicBM25 is the Indexer of anthropic-bm25.
func anthropicBM25(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	n, mean := float64(len(docs)), 0.0
	having := make(map[string]float64)              // word -> documents that have it
	counts := make([]map[string]float64, len(docs)) // of words, by document
	lengths := make([]float64, len(docs))           // in words
	for i := range docs {
		counts[i] = make(map[string]float64)
		for _, t := range textsOf(&docs[i]) {
			for _, word := range emulatedWords(t.text) {
				counts[i][word]++
				lengths[i]++
				mean += 1 / n
			}
		}
		for word := range counts[i] {
			having[word]++
		}
	}
	return emulated{len(docs), func(q search.Query) (weigher, error) {
		words := emulatedWords(cmp.Or(q.Text, strings.Join(q.Keywords, " ")))
		return func(doc int, parts bool) (e search.Explanation) {
			for _, word := range words {
				count, df := counts[doc][word], having[word]
				if count == 0 {
					continue
				}
				idf := math.Log(1 + (n-df+0.5)/(df+0.5))
				score := idf * count * (emulatedK1 + 1) / (count + emulatedK1*(1-emulatedB+emulatedB*lengths[doc]/mean))
				e.Score += score
				if parts {
					detail := fmt.Sprintf("in %.0f of %s; idf %.3g", df, cli.Plural(len(docs), "tool"), idf)
					e.Parts = append(e.Parts, search.Contribution{Term: word, Score: score, Detail: detail})
				}
			}
			return e
		}, nil
	}}, ctx.Err()
}

// pythonRegex reads the whole text of a query as a pattern.
type pythonRegex struct{ emulated }

// ReadQuery implements search.QueryReader.
func (pythonRegex) ReadQuery(text string) search.Query {
	return search.Query{Text: strings.TrimSpace(naming.Cut(text, search.MaxQueryBytes))}
}

// fieldScores order the matches of a pattern by where it matches.
var fieldScores = map[string]float64{"name": 3, "description": 2, "argument": 1}

// anthropicRegex is the Indexer of anthropic-regex.
func anthropicRegex(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	return pythonRegex{emulated{len(docs), func(q search.Query) (weigher, error) {
		pattern, err := patternOf(q.Text)
		if err != nil || pattern == nil {
			return nil, err
		}
		return func(doc int, _ bool) search.Explanation {
			part := search.Contribution{Term: pattern.String(), Detail: "no match"}
			for _, t := range textsOf(&docs[doc]) {
				if t.text != "" && pattern.MatchString(t.text) {
					part.Field, part.Score = t.field, fieldScores[t.field]
					part.Detail = fmt.Sprintf("it matches %q", pattern.FindString(t.text))
					break
				}
			}
			return search.Explanation{Score: part.Score, Parts: []search.Contribution{part}}
		}, nil
	}}}, ctx.Err()
}

// patternOf compiles a pattern. A query of words becomes the pattern of its alternatives. The
// result is nil for a query without words.
func patternOf(text string) (*regexp.Regexp, error) {
	isPhrase := strings.ContainsFunc(text, unicode.IsSpace)
	if isPhrase && !strings.ContainsAny(text, `|*^$\[]{}`) && !strings.Contains(text, "(?") {
		text = alternatives(text)
	}
	if text == "" {
		return nil, nil
	}
	if n := utf8.RuneCountInString(text); n > emulatedMaxRunes {
		return nil, &search.QueryError{
			Message: fmt.Sprintf("The pattern has %d characters, more than the %d that Anthropic allows.", n, emulatedMaxRunes),
		}
	}
	parsed, err := foreign.ParsePattern(text)
	if err == nil && foreign.PatternSize(parsed) > foreign.MaxPatternSize {
		return nil, &search.QueryError{Message: "The pattern is too large once its repetitions are written out."}
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, &search.QueryError{Message: cli.OneLine("The pattern cannot be read by RE2: "+err.Error(), 200)}
	}
	return pattern, nil
}

// alternatives makes a pattern of the words of a query, as many as a pattern has room for.
func alternatives(text string) string {
	var kept []string
	length := len("(?i)")
	for _, word := range emulatedWords(text) {
		if utf8.RuneCountInString(word) < 3 && word[0] < utf8.RuneSelf || slices.Contains(fillers, word) || slices.Contains(kept, word) {
			continue
		}
		if length += utf8.RuneCountInString(word) + 1; length > emulatedMaxRunes {
			break
		}
		kept = append(kept, word)
	}
	if len(kept) == 0 {
		return ""
	}
	return "(?i)" + strings.Join(kept, "|")
}
