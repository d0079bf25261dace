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
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/regexpcost"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Anthropic's tool search tools, emulated for those who write servers: whether Claude finds their
// tools when it searches on Anthropic's side. Everything that the output shows of these searchers
// is labelled "emulated".
//
// What the documentation says (platform.claude.com/docs/en/agents-and-tools/tool-use/tool-search-tool,
// of the variants tool_search_tool_bm25_20251119 and tool_search_tool_regex_20251119):
//
//   - Both search names and descriptions of tools, and names and descriptions of arguments.
//   - Both return the 3 to 5 most relevant tools. So R@5 is the metric to look at, and R@1 a hint
//     of what is safe.
//   - bm25 takes natural language. regex takes a pattern for Python's re.search() of at most 200
//     characters; its examples ignore case by "(?i)", so case counts without it.
//
// What it does not say, and is assumed here:
//
//   - bm25: Okapi's formula with k1 1.5 and b 0.75, as Python's rank_bm25 has them; all texts of a
//     tool as one; words are runs of letters and digits in lower case, so that get_user is two
//     words and getUser is one; no stems and no stop words.
//   - regex: a pattern is searched for in each text by itself. Tools whose name matches come before
//     those whose description matches, and these before those with a matching argument; otherwise
//     the order is the catalog's. Patterns are RE2's: lookaround and backreferences, which Python
//     has, are refused.
//   - regex: Claude writes the pattern, so a query that is not a pattern is turned into one:
//     its words of three letters and more without "the", "for" and the like, as
//     "(?i)word|word".

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

// bestOf returns the documents that a query allows and that score above 0, best first.
func bestOf(ctx context.Context, q search.Query, docs int, score func(doc int) float64) (search.Hits, error) {
	var hits []search.Hit
	for doc := range docs {
		if err := ctx.Err(); err != nil {
			return search.Hits{}, err
		}
		if !q.Allows(doc) {
			continue
		}
		if s := score(doc); s > 0 {
			hits = append(hits, search.Hit{Doc: doc, Score: s})
		}
	}
	slices.SortStableFunc(hits, func(a, b search.Hit) int { return cmp.Compare(b.Score, a.Score) })
	total := len(hits)
	if q.Limit > 0 {
		hits = hits[:min(q.Limit, total)]
	}
	return search.Hits{Hits: hits, Total: total}, nil
}

// anthropicBM25 is the Indexer of anthropic-bm25.
func anthropicBM25(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	x := &okapi{having: make(map[string]int), counts: make([]map[string]int, len(docs)), lengths: make([]float64, len(docs))}
	for i := range docs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		x.counts[i] = make(map[string]int)
		for _, t := range textsOf(&docs[i]) {
			for _, word := range emulatedWords(t.text) {
				x.counts[i][word]++
				x.lengths[i]++
				x.mean += 1 / float64(len(docs))
			}
		}
		for word := range x.counts[i] {
			x.having[word]++
		}
	}
	return x, nil
}

// okapi implements search.Searcher. It is immutable.
type okapi struct {
	counts  []map[string]int // of words, by document
	lengths []float64        // words of a document
	mean    float64          // of lengths
	having  map[string]int   // word -> documents that have it
}

func (x *okapi) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	words := emulatedWords(cmp.Or(q.Text, strings.Join(q.Keywords, " ")))
	return bestOf(ctx, q, len(x.counts), func(doc int) float64 { return x.score(words, doc, nil) })
}

// score sums up what each word adds. It passes each addend to part, unless part is nil.
func (x *okapi) score(words []string, doc int, part func(search.Contribution)) (sum float64) {
	for _, word := range words {
		count := float64(x.counts[doc][word])
		if count == 0 {
			continue
		}
		df, n := float64(x.having[word]), float64(len(x.counts))
		idf := math.Log(1 + (n-df+0.5)/(df+0.5))
		s := idf * count * (emulatedK1 + 1) / (count + emulatedK1*(1-emulatedB+emulatedB*x.lengths[doc]/x.mean))
		sum += s
		if part != nil {
			detail := fmt.Sprintf("in %d of %s; idf %.3g", x.having[word], cli.Plural(len(x.counts), "tool"), idf)
			part(search.Contribution{Term: word, Score: s, Detail: detail})
		}
	}
	return sum
}

// Explain implements search.Explainer.
func (x *okapi) Explain(ctx context.Context, q search.Query, doc int) (search.Explanation, error) {
	if doc < 0 || doc >= len(x.counts) {
		return search.Explanation{}, fmt.Errorf("no document %d", doc)
	}
	var e search.Explanation
	words := emulatedWords(cmp.Or(q.Text, strings.Join(q.Keywords, " ")))
	e.Score = x.score(words, doc, func(p search.Contribution) { e.Parts = append(e.Parts, p) })
	return e, ctx.Err()
}

// anthropicRegex is the Indexer of anthropic-regex.
func anthropicRegex(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	return &pythonRegex{docs}, ctx.Err()
}

// pythonRegex implements search.Searcher. It is immutable.
type pythonRegex struct{ docs []search.Document }

// fieldScores order the matches of a pattern by where it matches.
var fieldScores = map[string]float64{"name": 3, "description": 2, "argument": 1}

// ReadQuery implements search.QueryReader: the whole text is a pattern.
func (x *pythonRegex) ReadQuery(text string) search.Query {
	return search.Query{Text: strings.TrimSpace(naming.Cut(text, search.MaxQueryBytes))}
}

func (x *pythonRegex) Search(ctx context.Context, q search.Query) (search.Hits, error) {
	pattern, err := patternOf(q.Text)
	if err != nil || pattern == nil {
		return search.Hits{}, err
	}
	return bestOf(ctx, q, len(x.docs), func(doc int) float64 { return fieldScores[x.match(pattern, doc).field] })
}

// match returns the first text of a tool that the pattern matches, or a zero toolText.
func (x *pythonRegex) match(pattern *regexp.Regexp, doc int) toolText {
	for _, t := range textsOf(&x.docs[doc]) {
		if t.text != "" && pattern.MatchString(t.text) {
			return t
		}
	}
	return toolText{}
}

// Explain implements search.Explainer.
func (x *pythonRegex) Explain(ctx context.Context, q search.Query, doc int) (search.Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return search.Explanation{}, fmt.Errorf("no document %d", doc)
	}
	pattern, err := patternOf(q.Text)
	if err != nil || pattern == nil {
		return search.Explanation{}, err
	}
	at := x.match(pattern, doc)
	part := search.Contribution{Term: pattern.String(), Field: at.field, Score: fieldScores[at.field], Detail: "no match"}
	if at.field != "" {
		part.Detail = fmt.Sprintf("it matches %q", pattern.FindString(at.text))
	}
	return search.Explanation{Score: part.Score, Parts: []search.Contribution{part}}, ctx.Err()
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
	parsed, err := regexpcost.Parse(text)
	if err == nil && regexpcost.Size(parsed) > regexpcost.Max {
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
