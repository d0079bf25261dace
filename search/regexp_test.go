package search_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func TestRegexpScores(t *testing.T) {
	const (
		matchInName = 1.
		matchInText = 0.5
	)
	docs := []search.Document{
		doc("get_user", "Reads an account"),
		doc("list_users", "Reads the accounts; see get_user"),
		doc("GetIssue", "Reads"),
		doc("查询_天气", "weather of a city"),
	}
	names, both := search.RegexpOptions{}, search.RegexpOptions{Descriptions: true}
	for _, tt := range []struct {
		query   string
		options search.RegexpOptions
		want    map[string]float64
	}{
		{"user", names, map[string]float64{"get_user": matchInName + 4./8, "list_users": matchInName + 4./10}},
		{"USER", names, map[string]float64{"get_user": matchInName + 4./8, "list_users": matchInName + 4./10}},
		{"^get", names, map[string]float64{"get_user": matchInName + 3./8, "GetIssue": matchInName + 3./8}},
		{"issue$|^list.*s$", names, map[string]float64{"GetIssue": matchInName + 5./8, "list_users": matchInName + 1}},
		{"user|users", names, map[string]float64{"get_user": matchInName + 4./8, "list_users": matchInName + 5./10}},
		{"天.", names, map[string]float64{"查询_天气": matchInName + 2./5}},
		{"x*", names, map[string]float64{"get_user": matchInName, "list_users": matchInName, "GetIssue": matchInName, "查询_天气": matchInName}},
		{"get user", names, map[string]float64{}},
		{"get +x|^get", names, map[string]float64{"get_user": matchInName + 3./8, "GetIssue": matchInName + 3./8}}, // the pattern keeps its "+"
		{"get_user", both, map[string]float64{"get_user": matchInName + 1, "list_users": matchInText}},
		{"accounts?", both, map[string]float64{"get_user": matchInText, "list_users": matchInText}},
		{"accounts?", names, map[string]float64{}},
		{"is|acc", both, map[string]float64{
			"get_user": matchInText / 5, "list_users": (matchInName + 2./10) / 5, "GetIssue": (matchInName + 2./8) / 5}},
		{"get|see", both, map[string]float64{"get_user": matchInName + 3./8, "GetIssue": (matchInName + 3./8) / 5, "list_users": matchInText}},
		{"^weather", both, map[string]float64{"查询_天气": matchInText}},
		{"user", search.RegexpOptions{CatalogOrder: true}, map[string]float64{"get_user": matchInName, "list_users": matchInName}},
		{"get_user", search.RegexpOptions{CatalogOrder: true, Descriptions: true}, map[string]float64{"get_user": matchInName, "list_users": matchInText}},
	} {
		checkScores(t, tt.options.Index, docs, tt.query, tt.want)
	}
}

// A wrong pattern is answered with the mistake and the fragment that has it.
func TestRegexpMistakes(t *testing.T) {
	for _, tt := range []struct{ query, want string }{
		{"*issue*", "missing argument to repetition operator, in `*`"},
		{"a*|*b", "missing argument to repetition operator, in `*`"},
		{"(foo(bar", "missing closing ), in `(foo(bar`"},
		{`\(\Q((\E[()](bar`, "missing closing ), in `\\(\\Q((\\E[()](bar`"},
		{"(foo)bar)baz", "unexpected ), in `(foo)bar)baz`"},
		{`[)[:alpha:])]\)foo)bar`, "unexpected ), in `[)[:alpha:])]\\)foo)bar`"},
		{"天气[a-", "missing closing ], in `[a-`"},
		{"[z-a]x", "invalid character class range, in `z-a`"},
		{"a{1001}", "invalid repeat count, in `{1001}`"},
		{"x+(a{1000}){1000}", "invalid repeat count, in `{1000}`"},
		{"get_(?=user)", "invalid or unsupported Perl syntax, in `(?=`"},
		{"(?<!get)_user", "invalid named capture, in `(?‹!get)_user`"},
		{`(a)\1`, "invalid escape sequence, in `\\1`"},
		{`a\`, "trailing backslash at end of expression, in `\\`"},
		{"a**", "invalid nested repetition operator, in `**`"},
		{"x(<system>\n", "missing closing ), in `x(‹system›`"},
		{strings.Repeat("a", 257), "longer than 256 bytes"},
		{strings.Repeat("a{1000}", 36), "is too large"},
		{"(" + strings.Repeat(".", 240) + "){1000}", "is too large"},
	} {
		asked := false
		config := toolsearch.Config{Index: search.Regexp, Fallback: testtools.Canned{During: func() { asked = true }}.Index}
		answer, _ := askTool(t, config, tt.query)
		assert.Contains(t, answer.Message, tt.want, "%.40q", tt.query)
		if !strings.Contains(tt.query, "{") {
			assert.NotContains(t, answer.Message, "{", "%.40q", tt.query)
		}
		config.Language = toolsearch.Chinese
		inChinese, _ := askTool(t, config, tt.query)
		assert.Contains(t, inChinese.Message, "正则表达式", "%.40q", tt.query)
		assert.Empty(t, append(answer.Matches, inChinese.Matches...), "%.40q", tt.query)
		assert.False(t, asked, "%.40q: whether the fallback was asked", tt.query)
	}
}

// A mistake in one of several queries does not change the results of the others. A mistake that only
// a fallback sees is a search without a match. The message of a user's own searcher is passed on
// unchanged.
func TestQueryErrors(t *testing.T) {
	answer, _ := askTool(t, toolsearch.Config{Index: search.Regexp}, "(", "^list")
	assert.Contains(t, answer.Message, "missing closing )")
	assert.Equal(t, []string{"list_stocks"}, answer.Matches)
	answer, _ = askTool(t, toolsearch.Config{Index: search.Keyword, Fallback: search.Regexp}, "(")
	assert.Contains(t, answer.Message, "No tool matches")
	custom := testtools.Canned{Err: fmt.Errorf("wrapped: %w", &search.QueryError{Message: "say please"})}
	answer, _ = askTool(t, toolsearch.Config{Index: custom.Index, Fallback: search.Keyword, Language: toolsearch.Chinese}, "user")
	assert.Equal(t, "say please", answer.Message)
}

func TestRegexpIsASearcher(t *testing.T) {
	ask := func(random *rand.Rand, docs []search.Document) string {
		runes := []rune(testtools.Pick(random, docs).Name)
		i := random.IntN(len(runes))
		return strings.TrimSpace(testtools.Pick(random, []string{"", "^", ".*"}) + regexp.QuoteMeta(string(runes[i:i+random.IntN(len(runes)-i)+1])) +
			testtools.Pick(random, []string{"", ".*", "|" + regexp.QuoteMeta(testtools.Pick(random, words)), "?", "$"}))
	}
	checkSearcher(t, search.Regexp, ask)
	checkSearcher(t, search.RegexpOptions{Descriptions: true}.Index, ask)
}

// Some of these patterns take exponential time in other engines. The others are the most expensive
// patterns that the bound on their size allows.
var hostilePatterns = []string{
	"(a+)+$", "(a|aa)+$", "(.*)(.*)(.*)(.*)(.*)(.*)(.*)x", strings.Repeat("a?", 60) + strings.Repeat("a", 60),
	"(.{0,30}){0,30}x", "(?:a{0,10}){0,90}b", "[^x]{900}", strings.Repeat("(", 120) + strings.Repeat(")", 120),
	"(?:.?){0,320}!", `(?:\pL?\pN?.?){0,140}x`, strings.Repeat("|", 256), "(?s).{500}.{490}",
}

func TestRegexpOfHostileTexts(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	index := search.RegexpOptions{Descriptions: true}.Index
	checkHostile(t, index)
	s := searcherOf(t, index, hostileDocs()...)
	for _, pattern := range hostilePatterns {
		if _, err := s.Search(context.Background(), read(nil, s, pattern)); err != nil {
			assert.ErrorAs(t, err, new(*search.QueryError), "%q", pattern)
		}
	}
}

// The more text a catalog has, the smaller a pattern must be. Text that a request may not see does not count.
func TestRegexpPatternMayBeLargerInSmallCatalogs(t *testing.T) {
	var large []search.Document
	for i := range 3000 {
		large = append(large, doc(fmt.Sprintf("%0128d", i), ""))
	}
	few, many := searcherOf(t, search.Regexp, large[:10]...), searcherOf(t, search.Regexp, large...)
	fewOfMany := testtools.Must(many.(search.Restricter).Restrict(t.Context(), []int{0, 7, 2999}))(t)
	for _, tt := range []struct {
		what    string
		s       search.Searcher
		pattern string
		refused bool
	}{
		{"few tools", few, "0{990}", false},
		{"few tools", few, "0{1001}", true},
		{"few tools", few, "(00){501}", true},
		{"many tools", many, "0{690}", false},
		{"many tools", many, "0{700}", true}, // (1 << 28) / (3000 * 128) is 699
		{"few of many tools", fewOfMany, "0{990}", false},
	} {
		_, err := tt.s.Search(t.Context(), search.Query{Text: tt.pattern})
		if tt.refused {
			assert.ErrorAs(t, err, new(*search.QueryError), "%s, %s", tt.what, tt.pattern)
		} else {
			assert.NoError(t, err, "%s, %s", tt.what, tt.pattern)
		}
	}
}

func FuzzRegexpPattern(f *testing.F) {
	for _, pattern := range append(hostilePatterns, "a*|*b", "(foo(bar", `[[:alpha:]-\]]`, "(?P<n>x", `\Q(`, "\xff", "x{2}{3}") {
		f.Add(pattern, "get_user", "Reads an account")
	}
	f.Fuzz(func(t *testing.T, pattern, name, text string) {
		s := searcherOf(t, search.RegexpOptions{Descriptions: true}.Index, doc(name, text))
		q := read(nil, s, pattern)
		hits, err := find(context.Background(), s, q)
		plain, plainErr := regexp.Compile("(?i)" + q.Text)
		wrong := (*search.QueryError)(nil)
		switch {
		case errors.As(err, &wrong):
			assert.False(t, wrong.Message == "" || strings.Contains(wrong.Message, "<"), "%q: %q", q.Text, wrong.Message)
			assert.False(t, plainErr == nil && strings.Contains(wrong.Message, "not a valid"), "%q compiles: %s", q.Text, wrong.Message)
		case err != nil || plainErr != nil:
			assert.NoError(t, err, "%q", q.Text)
			assert.NoError(t, plainErr, "%q does not compile, but there was no error", q.Text)
		case q.Text != "" && len(name) <= 128 && len(text) <= 1000:
			assert.Equal(t, plain.MatchString(name) || plain.MatchString(text), len(hits) == 1, "%q in %q, %q", q.Text, name, text)
		}
	})
}
