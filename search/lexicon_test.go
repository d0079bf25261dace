package search_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

const ownLexicon = `# of a company
== spellings
kubernetes k8s
== synonyms
falcon procurement
== thesaurus
bonus payroll
== meanings
pto	paid leave; vacation
采购单	procurement order
`

func lexiconOf(t *testing.T, text string) *search.Lexicon {
	t.Helper()
	return testtools.Must(search.ParseLexicon(text))(t, "%q", text)
}

// withLexicon returns a searcher that reads words by a company's own lexicon.
func withLexicon(t *testing.T, lexicon string, docs ...search.Document) search.Searcher {
	t.Helper()
	return searcherOf(t, search.BM25Options{Lexicon: lexiconOf(t, lexicon)}.Index, docs...)
}

func findingsOf(t *testing.T, lexicon *search.Lexicon, docs []search.Document) []string {
	t.Helper()
	return testtools.Must(lexicon.Check(t.Context(), docs))(t)
}

// A line of meanings may be written in several ways.
func TestLexiconMeaningsAsWritten(t *testing.T) {
	docs := []search.Document{doc("vacation_request", ""), doc("paid_leave", ""), doc("weather", "")}
	for _, line := range []string{"pto\tpaid leave; vacation", "PTO \t Paid-Leave;Vacation", "  pto\t\tpaid   leave ;vacation\r"} {
		s := withLexicon(t, "== meanings\n"+line, docs...)
		assert.Equal(t, []int{1, 0}, bestOf(t, s, search.ParseQuery("pto")), "%q", line)
	}
}

// A word of an own lexicon may have a stem that is a stop word: the stem of "ids" is "id".
func TestLexiconOwnStopWord(t *testing.T) {
	s := withLexicon(t, "== meanings\nids\tidentifier\nneeds\trequirement\n",
		doc("list_users", "Lists the users"), doc("find_identifier", "Finds an identifier"))
	q := search.ParseQuery("list user IDs and needs")
	assert.ElementsMatch(t, []int{0, 1}, bestOf(t, s, q))
	assert.Contains(t, explained(t, s, q, 1).String(), "in the lexicon for")
}

// A Chinese word counts before an English name of stop words as it does after it.
func TestBM25ChineseBeforeAName(t *testing.T) {
	s := searcherOf(t, search.BM25, doc("whoami", "Query the account."), doc("other", "Other things."))
	after := scoresOf(t, s, search.ParseQuery("whoAmI 查询"))
	assert.Positive(t, after[0])
	assert.InDeltaMapValues(t, after, scoresOf(t, s, search.ParseQuery("查询 whoAmI")), 1e-6)
}

// A company's own words find its tools, and the explanation names the line.
func TestLexiconOwn(t *testing.T) {
	docs := []search.Document{
		doc("list_kubernetes_pods", ""),
		doc("procurement_order", "Of a supplier"),
		doc("payroll_run", ""),
		doc("request_leave", "Paid, for some days"),
		doc("weather", "Of a city"),
	}
	own := withLexicon(t, ownLexicon, docs...)
	plain := searcherOf(t, search.BM25, docs...)
	for _, tt := range []struct {
		query, line string
		want        int
	}{
		{"K8s", "line 3 of your lexicon", 0},
		{"k8s", "line 3 of your lexicon", 0},
		{"falcon", "line 5 of your lexicon", 1},
		{"bonus", "line 7 of your lexicon", 2},
		{"PTO", "line 9 of your lexicon", 3},
		{"my PTO please", "line 9 of your lexicon", 3},
		{"查看采购单", "line 10 of your lexicon", 1},
		{"採購單", "line 10 of your lexicon", 1},
	} {
		q := search.ParseQuery(tt.query)
		got := bestOf(t, own, q)
		require.NotEmpty(t, got, tt.query)
		assert.Equal(t, tt.want, got[0], tt.query)
		assert.Contains(t, explained(t, own, q, tt.want).String(), tt.line, tt.query)
		assert.NotContains(t, explained(t, plain, q, tt.want).String(), "own lexicon", tt.query)
	}
	assert.Equal(t, []int{4}, bestOf(t, own, search.ParseQuery("天气")), "a word of the lexicon of every index")
}

// The zero Lexicon has no words of a company: searches find and explain what they do without it.
func TestLexiconZero(t *testing.T) {
	docs := []search.Document{doc("remove_directory", ""), doc("get_weather", "Of a city")}
	with := searcherOf(t, search.BM25Options{Lexicon: &search.Lexicon{}}.Index, docs...)
	without := searcherOf(t, search.BM25, docs...)
	for query, want := range map[string]int{"erase dir": 0, "weather": 1, "天气": 1} {
		q := search.ParseQuery(query)
		assert.Equal(t, []int{want}, bestOf(t, with, q), "%q", query)
		assert.Equal(t, explained(t, without, q, want), explained(t, with, q, want), "%q", query)
	}
	assert.Empty(t, findingsOf(t, &search.Lexicon{}, docs))
}

func TestParseLexiconErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a b":                                       "line 1: a line before the first section",
		"== synonims\na b":                          `line 1: no section "synonims"`,
		"== synonyms\n\nfalcon":                     "line 3: want two words or more",
		"== synonyms\nthe falcon":                   `line 2: "the" is a word that searches leave out`,
		"== spellings\nsign-on sso":                 `line 2: "sign-on" is read as several words`,
		"== spellings\n发票 fapiao":                   `line 2: "发票" is in Chinese`,
		"== meanings\npto paid leave":               "line 2: want a word, a tab",
		"== meanings\npto\t":                        "line 2: want a word, a tab",
		"== meanings\nbig red\tprocurement":         `line 2: "big red" is read as several words`,
		"== meanings\npto\ta; b; c; d":              "line 2: 4 meanings; at most 3 count",
		"== synonyms\nfalcon \xff":                  "line 2: not UTF-8",
		"== synonyms\n" + strings.Repeat("x", 1025): "line 2: 1025 bytes",
		strings.Repeat("\n", 1<<20+1):               "1048577 bytes",
		strings.Repeat("one line\n", 100):           "line 20:",
	} {
		lexicon, err := search.ParseLexicon(text)
		assert.ErrorContains(t, err, want, "%.40q", text)
		assert.Nil(t, lexicon, "%.40q", text)
	}
	_, err := search.ParseLexicon(strings.Repeat("one line\n", 100))
	assert.NotContains(t, err.Error(), "line 21:", "at most 20 errors")
}

func TestLexiconCheck(t *testing.T) {
	docs := []search.Document{doc("procurement_order", "Of a supplier")}
	lexicon := lexiconOf(t, "== synonyms\nfalcon procurement\nprocurement falcon\norders order\nzebra giraffe\n"+
		"== thesaurus\nbonus payroll\n== meanings\npto\tpaid leave\norder\torders\n采购\tprocurement\n")
	assert.Equal(t, []string{
		"line 3: repeats line 2",
		"line 4: a word of the line stands for itself",
		"line 5: no tool has a word of the line that it could find",
		"line 7: no tool has a word of the line that it could find",
		"line 9: no tool has a word of the line that it could find",
		`line 10: "order" stands for itself`,
	}, findingsOf(t, lexicon, docs))
}

// Questions in Chinese find tools in English, and the other way round.
func TestBM25Chinese(t *testing.T) {
	english := []search.Document{
		0: doc("get_weather", "Conditions in a city"),
		1: doc("find_flights", "Between two airports"),
		2: doc("close_account", "Of a customer"),
		3: doc("bank_transfer", "Moves money"),
		4: doc("stock_market_news", "Headlines"),
		5: doc("stock_level", "Of a warehouse"),
	}
	chinese := []search.Document{
		0: doc("w1", "查询某个城市的天气"),
		1: doc("w2", "预订机票"),
		2: doc("w3", "删除文件"),
	}
	orders := []search.Document{
		0: doc("o1", "取消订单"),
		1: doc("o2", "列出订单"),
	}
	games := []search.Document{
		0: doc("g1", "游戏王"),
		1: doc("g2", "鸣潮"),
		2: doc("g3", "英雄联盟"),
	}
	mixed := []search.Document{
		0: doc("get_weather", "Conditions in a city"),
		1: doc("查天气", "查询某个城市的天气"),
	}
	for _, tt := range []struct {
		docs  []search.Document
		query string
		want  []int
		why   string
	}{
		{english, "明天天气怎么样", []int{0}, "a question"},
		{english, "天氣預報", []int{0}, "traditional characters"},
		{english, "帮我查一下航班", []int{1}, "a request"},
		{english, "“航班”", []int{1}, "a value"},
		{english, "关于", nil, "a word that says nothing"},
		{english, "关闭", []int{2}, "a word that begins with the same character"},
		{english, "银行", []int{3}, "a word as a whole"},
		{english, "股市新闻", []int{4, 5}, "a word that means two words"},
		{english, "龘", nil, "a character that no line has"},
		{chinese, "weather", []int{0}, "an English word"},
		{chinese, "delete files", []int{2}, "English words"},
		{chinese, "天氣", []int{0}, "traditional characters, where tools have the simplified ones"},
		{orders, "有哪些订单", []int{1, 0}, "a Chinese word with the same meaning"},
		{games, "yu gi oh", []int{0}, "a name of several words"},
		{games, "Yu-Gi-Oh card", []int{0}, "a name with hyphens"},
		{games, "yugioh", []int{0}, "a name in one word"},
		{games, "wuthering waves", []int{1}, "a name whose words mean something else"},
		{games, "league of legends", []int{2}, "a name with a stop word"},
		{games, "legends", nil, "a word of a name"},
		{mixed, "天气", []int{1, 0}, "a Chinese word comes before its meaning"},
		{mixed, "weather", []int{0, 1}, "an English word comes before its Chinese word"},
	} {
		assert.Equal(t, tt.want, bestOf(t, searcherOf(t, search.BM25, tt.docs...), search.ParseQuery(tt.query)), "%s: %q", tt.why, tt.query)
	}
}

// An explanation names the word for which a term is in the query. It counts up to 15.
func TestBM25ExplainsWhy(t *testing.T) {
	bill, count := doc("delete_invoice", "For okra, on a web page"), doc("order_count", "")
	for _, tt := range []struct {
		tool        search.Document
		query, want string
	}{
		{bill, "billing", `in the thesaurus for "bill"`},
		{bill, "erase", `a synonym of "eras"`},
		{bill, "invioce", `near "invioc"`},
		{bill, "webpage", `a part of "webpag"`},
		{bill, "ok ra", `two words of the query as one`},
		{bill, "删除", `in the lexicon for "删除"`},
		{doc("天气", ""), "weather", `in the lexicon for "weather"`},
		{doc("o1", "列出订单"), "哪些", `a synonym of "哪些"`},
		{doc("g1", "游戏王"), "yu gi oh", `in the lexicon for "yu gi oh"`},
		{count, "how many", `a synonym of "mani"`},
		{count, "多少", `in the lexicon for "多少"`},
		{doc("grow", strings.Repeat("okra ", 50)), "okra", "in description: 15 times;"},
	} {
		e := explained(t, searcherOf(t, search.BM25, tt.tool), search.ParseQuery(tt.query), 0)
		assert.Contains(t, e.String(), tt.want, "%q", tt.query)
	}
}

// linesOf returns the lines of each section of the lexicon, without its comments.
func linesOf(t *testing.T) map[string][]string {
	t.Helper()
	text := testtools.ReadFile(t, "internal/lexicon/lexicon.txt")
	sections := map[string][]string{}
	section := ""
	for _, line := range strings.Split(text, "\n") {
		if name, begins := strings.CutPrefix(line, "== "); begins {
			section = name
		} else if line != "" && line[0] != '#' {
			sections[section] = append(sections[section], line)
		}
	}
	return sections
}

// A line has a word and at most three others, spelled so that they become terms.
func TestLexiconFormat(t *testing.T) {
	english := regexp.MustCompile(`^[a-z0-9]+( [a-z0-9]+)*$`)
	sections := linesOf(t)
	for _, section := range []string{"spellings", "synonyms", "counts", "amounts", "thesaurus", "meanings"} {
		assert.NotEmpty(t, sections[section], "the section %q", section)
	}
	for _, section := range []string{"spellings", "synonyms"} {
		for _, line := range sections[section] {
			assert.Regexp(t, english, line)
		}
	}
	heads := map[string]bool{}
	for _, line := range sections["thesaurus"] {
		words := strings.Fields(line)
		assert.Regexp(t, english, line)
		assert.Len(t, words, min(4, max(2, len(words))), "%q", line)
		assert.Len(t, slices.Compact(slices.Sorted(slices.Values(words))), len(words), "different words in %q", line)
		assert.False(t, heads[words[0]], "a second line for %q", words[0])
		heads[words[0]] = true
	}
	for _, line := range sections["counts"] {
		asking, counting, found := strings.Cut(line, ":")
		assert.True(t, found, "%q has words that ask and words that count", line)
		for _, word := range strings.Fields(asking + counting) {
			z := analysis.New()
			terms := z.Append(nil, word)
			assert.Equal(t, z.Term(word), z.Terms[terms[len(terms)-1]], "%q is one term, or a pair after its characters", word)
		}
	}
	for _, line := range sections["amounts"] {
		assert.Regexp(t, english, line)
	}
	seen := map[string]bool{}
	for _, line := range sections["meanings"] {
		word, meanings, found := strings.Cut(line, "\t")
		assert.False(t, seen[word], "a second line for %q", word)
		seen[word] = true
		assert.False(t, strings.ContainsFunc(word, func(r rune) bool { return !unicode.Is(unicode.Han, r) }), "%q is Chinese", word)
		assert.LessOrEqual(t, utf8.RuneCountInString(word), 8, "characters of %q", word)
		if !found {
			continue
		}
		list := strings.Split(meanings, "; ")
		assert.LessOrEqual(t, len(list), 3, "meanings of %q", word)
		for i, meaning := range list {
			assert.Regexp(t, english, meaning, "%q", line)
			assert.NotContains(t, list[:i], meaning, "%q", line)
		}
	}
}

// opposites are pairs of words that no line of the lexicon may mix up.
const opposites = `
open close, start stop, start end, begin end, create delete, add remove, add delete, insert delete, buy sell,
import export, upload download, encrypt decrypt, encode decode, compress decompress, zip unzip, lock unlock,
enable disable, increase decrease, raise lower, up down, login logout, signin signout, subscribe unsubscribe,
follow unfollow, connect disconnect, attach detach, mount unmount, install uninstall, show hide, pull push,
send receive, borrow lend, lock release, accept reject, approve reject, approve deny, allow deny, allow block,
grant revoke, deposit withdraw, deposit withdrawal, debit credit, income expense, revenue cost, profit loss,
asset liability, arrive depart, arrival departure, arrive leave, checkin checkout, sunrise sunset, first last,
oldest newest, minimum maximum, min max, least most, highest lowest, left right, north south, east west, before after,
past future, yesterday tomorrow, source target, source destination, input output, read write, question answer,
request response, client server, buyer seller, parent child, public private, online offline, success failure,
valid invalid, active inactive, expand collapse, merge split, join leave, enter exit, win lose, hot cold, hire fire,
on off, pause resume, mute unmute, pin unpin, archive unarchive, archive restore, backup restore, delete restore,
delete recover, undo redo, freeze unfreeze, block unblock, ban unban, assign unassign, bind unbind, publish unpublish,
deploy undeploy, increment decrement, ascending descending, asc desc, horizontal vertical, ancient modern,
male female, husband wife, new old, early late, cheap expensive, fast slow, long short, save discard, save delete,
activate deactivate, positive negative, forward backward, forward reverse, next previous, inbound outbound,
incoming outgoing, internal external, local remote, synchronous asynchronous, serialize deserialize,
marshal unmarshal, plus minus, multiply divide, add subtract, numerator denominator, speed slow, day night,
morning evening, summer winter, spring autumn, birth death, teacher student, doctor patient, employer employee,
landlord tenant, lender borrower, sender recipient, sender receiver, winner loser, supply demand, bull bear, bid ask,
pass fail, correct wrong, true false, yes no, full empty, sync unsync, register unregister, load unload, fold unfold,
wrap unwrap, escape unescape, link unlink, mark unmark, like dislike, like unlike, star unstar, select deselect,
check uncheck, suspend resume, stop resume, increase reduce, grow shrink, gain loss, gain lose, inflate deflate,
gather scatter, append prepend, prefix suffix, head tail, top bottom, odd even
`

// No line gives a word the meaning of its opposite.
func TestLexiconHasNoOpposites(t *testing.T) {
	opposite := map[string][]string{}
	for pair := range strings.SplitSeq(opposites, ",") {
		if words := strings.Fields(pair); len(words) == 2 {
			opposite[words[0]] = append(opposite[words[0]], words[1])
			opposite[words[1]] = append(opposite[words[1]], words[0])
		}
	}
	check := func(line string, words []string) {
		for _, word := range words {
			for _, other := range opposite[word] {
				assert.NotContains(t, words, other, "%q has %q and its opposite", line, word)
			}
		}
	}
	sections := linesOf(t)
	for _, section := range []string{"spellings", "synonyms"} {
		for _, line := range sections[section] {
			check(line, strings.Fields(line))
		}
	}
	for _, line := range sections["thesaurus"] {
		words := strings.Fields(line)
		for _, other := range opposite[words[0]] {
			assert.NotContains(t, words, other, "%q has the opposite of its word", line)
		}
	}
	for _, line := range sections["meanings"] {
		_, meanings, _ := strings.Cut(line, "\t")
		check(line, strings.Split(meanings, "; "))
	}
}

// Words of English letters are found many letters at a time, unless a character that is not ASCII follows them.
func TestPlainWords(t *testing.T) {
	random, plain, other := rand.New(rand.NewPCG(1, 2)), analysis.New(), analysis.New()
	noASCII := strings.NewReplacer(" ", "…", "_", "…", "'", "…")
	for range testtools.Rounds(20_000, 2_000) {
		letters := []rune([]string{"aaaabbbb_ -", "azZ09é中'- "}[random.IntN(2)])
		text := make([]rune, random.IntN(60))
		for i := range text {
			text[i] = letters[random.IntN(len(letters))]
		}
		plain.Wholes, other.Wholes = nil, nil
		require.Equal(t, other.Stems(noASCII.Replace(string(text))), plain.Stems(string(text)), "%q", string(text))
		require.Equal(t, other.Wholes, plain.Wholes, "%q", string(text))
		require.Equal(t, analysis.New().Stems(string(text)), plain.Stems(string(text)), "%q, read as the first text", string(text))
	}
}
