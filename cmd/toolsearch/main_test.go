package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

var update = flag.Bool("update", false, "rewrite golden files")

const (
	tools   = "../../eval/testdata/tools.jsonl"
	queries = "../../eval/testdata/queries.jsonl"
	answer  = "testdata/mcp.json"
	tuning  = "testdata/tuning/"

	// problems has a tool or two for each kind of problem that inspect reports.
	problems = "testdata/problems.jsonl"
)

// names is a second searcher. It is the keyword search over names alone.
func names(ctx context.Context, docs []search.Document) (search.Searcher, error) {
	docs = slices.Clone(docs)
	for i := range docs {
		docs[i].Description = ""
	}
	return search.Keyword(ctx, docs)
}

// asProgram is the environment variable that turns the test binary into the program.
const asProgram = "TOOLSEARCH_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	if kind := os.Getenv(fakeServer); kind != "" {
		serve(kind, os.Stdin, os.Stdout)
		return
	}
	searchers = append(searchers, searchers[0])
	own := &searchers[len(searchers)-1]
	own.name, own.index, own.about = "names", names, "a searcher of the tests"
	os.Exit(m.Run())
}

func TestCommands(t *testing.T) {
	catalog, err := os.ReadFile(answer)
	require.NoError(t, err)
	tests := []struct {
		golden string
		args   []string
		stdin  string
		code   int
	}{
		{"help", []string{"-h"}, "", found},
		{"help-search", []string{"search", "-h"}, "", found},
		{"help-explain", []string{"help", "explain"}, "", found},
		{"help-eval", []string{"eval", "--help"}, "", found},
		{"help-inspect", []string{"inspect", tools, "-h"}, "", found},
		{"search", []string{"search", tools, "train", "ticket"}, "", found},
		{"search-n", []string{"search", tools, "ticket", "-n", "2"}, "", found},
		{"search-required", []string{"search", tools, "+refund ticket theatre"}, "", found},
		{"search-select", []string{"search", tools, "select:doorLock,door_lok"}, "", found},
		{"search-json", []string{"search", "-json", "-n=2", tools, "ticket"}, "", found},
		{"search-nothing", []string{"search", tools, "timtable"}, "", nothing},
		{"search-nothing-json", []string{"search", "-json", tools, "timtable"}, "", nothing},
		{"search-mcp", []string{"search", answer, "table"}, "", found},
		{"search-stdin", []string{"search", "-", "table"}, string(catalog), found},
		{"search-no-server", []string{"search", "book", "--"}, "", failed},
		{"list", []string{"list", answer}, "", found},
		{"list-left-out", []string{"list", problems}, "", found},
		{"list-openai", []string{"list", "-"}, `{"model": "m", "tools": [{"type": "function", "function": {"name": "a", "description": "b<` + "\u202e\u009b\ufe0f\U000E0041\u3164 \u3000查" + `", "parameters": {"type": "object"}}}]}`, found},
		{"list-nothing", []string{"list"}, "", failed},
		{"list-header", []string{"list", "-header", "A: b", tools}, "", failed},
		{"list-wrong-header", []string{"list", "-header", "secret", "http://127.0.0.1:1"}, "", failed},
		{"list-timeout", []string{"list", "-timeout", "0s", tools}, "", failed},
		{"inspect-report", []string{"search", "-", "book"}, `{"searcher": "bm25", "tools": [{"name": "a", "bytes": 30, "parameters": 2}], "problems": []}`, failed},
		{"emulated-search", []string{"search", "-searcher", "anthropic-regex", tools, "(?i)TRAIN.*ticket"}, "", found},
		{"emulated-json", []string{"search", "-json", "-n", "1", "-searcher", "anthropic-bm25", tools, "a train ticket"}, "", found},
		{"emulated-explain", []string{"explain", "-searcher", "anthropic-regex", tools, "give the ticket back", "train__refund_ticket"}, "", found},
		{"emulated-eval", []string{"eval", "-resamples", "0", "-searcher", "anthropic-bm25,anthropic-regex", tools, queries}, "", found},
		{"emulated-eval-json", []string{"eval", "-json", "-resamples", "0", "-searcher", "anthropic-bm25", tools, "-"}, `{"query": "borrow a book", "gold": ["books_renew"]}`, found},
		{"emulated-inspect", []string{"inspect", "-searcher", "anthropic-bm25", problems}, "", toFix},
		{"emulated-wrong", []string{"search", "-searcher", "anthropic-regex", tools, "(?=train)"}, "", nothing},
		{"help-near", []string{"help", "serach"}, "", failed},
		{"near-flag", []string{"search", "-seacher", "bm25", tools, "book"}, "", failed},
		{"foreign-flag", []string{"list", "-searcher", "bm25", tools}, "", failed},
		{"help-list", []string{"list", "-h"}, "", found},
		{"help-ui", []string{"ui", "-h"}, "", found},
		{"ui-nothing", []string{"ui"}, "", failed},
		{"ui-searchers", []string{"ui", "-searcher", "keyword,bm25,fuzzy", tools}, "", failed},
		{"ui-searcher", []string{"ui", "-searcher", "oracle", tools}, "", failed},
		{"ui-port", []string{"ui", "-port", "65536", tools}, "", failed},
		{"ui-two-stdins", []string{"ui", "-queries", "-", "-"}, "", failed},
		{"ui-no-queries", []string{"ui", "-queries", "testdata/missing.jsonl", tools}, "", failed},
		{"ui-no-names", []string{"ui", "-"}, `{"description": "a tool without a name"}`, failed},
		{"search-names", []string{"search", "-searcher", "names", tools, "seat play"}, "", nothing},
		{"explain", []string{"explain", tools, "buy theatre seat celsius", "theatre__buy_ticket"}, "", found},
		{"explain-json", []string{"explain", tools, "buy seat", "theatre__buy_ticket", "-json"}, "", found},
		{"explain-nothing", []string{"explain", tools, "+refund ticket", "theatre__buy_ticket"}, "", nothing},
		{"eval", []string{"eval", tools, queries, "-resamples", "200"}, "", found},
		{"eval-two", []string{"eval", tools, queries, "-searcher", "names,keyword", "-resamples", "200"}, "", found},
		{"eval-plain", []string{"eval", "-resamples=0", "-v", "-searcher=names,keyword", tools, queries}, "", found},
		{"eval-json", []string{"eval", tools, queries, "-json", "-v", "-searcher", "names,keyword", "-resamples", "200"}, "", found},
		{"eval-stdin", []string{"eval", "-resamples", "0", answer, "-"}, `{"query": "rows of a table", "gold": ["db__select_rows"]}`, found},
		{"inspect", []string{"inspect", tools}, "", found},
		{"inspect-problems", []string{"inspect", problems}, "", toFix},
		{"inspect-json", []string{"inspect", "-json", "-searcher", "bm25", problems}, "", toFix},
		{"inspect-mcp", []string{"inspect", "-"}, string(catalog), toFix},
		{"inspect-many", []string{"inspect", "-"}, "[" + strings.Repeat("{},\n", 24) + "{}]", toFix},
		{"inspect-nothing", []string{"inspect"}, "", failed},
		{"inspect-both", []string{"inspect", tools, "--", "server"}, "", failed},
		{"inspect-regexp", []string{"inspect", "-searcher", "regexp", tools}, "", failed},
		{"inspect-timeout", []string{"inspect", "-timeout", "0", "--", "server"}, "", failed},
		{"inspect-servers", []string{"inspect", "-"}, `{"name": "a_read", "description": "Read a page", "server": "a", "parameters": {"type": "object", "properties": {"pages": {"type": "array", "description": "Pages"}, "ways": {"type": "array", "items": {"type": "string"}, "description": "Ways"}}}}
{"name": "b_send", "description": "Send a letter", "server": "b"} {"name": "c", "description": "Ring a bell"}`, toFix},
		{"inspect-no-tools", []string{"inspect", "-"}, `{"result": {"tools": []}}`, failed},
		{"inspect-no-json", []string{"inspect", "-"}, "{\"name\": \"a\"}\nbook\n", failed},
		{"inspect-no-object", []string{"inspect", "-"}, "[1]", failed},
		{"help-cost", []string{"cost", "-h"}, "", found},
		{"cost", []string{"cost", "-shape", "2000,6,1", "-shape", "8000,6,2", "-made", "60,120"}, "", found},
		{"cost-none", []string{"cost", "-provider", "none", "-shape", "2000,4,1", tools}, "", found},
		{"cost-json", []string{"cost", "-json", "-provider", "deepseek", "-shape", "500,3,1", answer}, "", found},
		{"cost-nothing", []string{"cost"}, "", failed},
		{"cost-provider", []string{"cost", "-provider", "antropic", tools}, "", failed},
		{"cost-prices", []string{"cost", "-prices", answer, tools}, "", failed},
		{"cost-own-prices", []string{"cost", "-prices", "-", "-provider", "mine", "-shape", "100,3,1", tools}, `[{"name": "mine", "model": "my\u001b[31m model",
			"input": 3, "cached": 1, "output": 9, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, found},
		{"cost-free", []string{"cost", "-prices", "-", "-provider", "mine", "-shape", "100,3,1", tools}, `[{"name": "mine", "model": "m",
			"input": 0, "cached": 0, "output": 0, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "my machine"}]`, found},
		{"cost-no-price", []string{"cost", "-prices", "-", "-provider", "mine", tools}, `[{"name": "mine", "model": "m",
			"input": 1, "output": 2, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, failed},
		{"cost-too-long", []string{"cost", "-made", "5000,10000"}, "", failed},
		{"cost-wrong-shape", []string{"cost", "-shape", "1000,5,5", tools}, "", failed},
		{"cost-no-numbers", []string{"cost", "-shape", "many", tools}, "", failed},
		{"cost-wrong-made", []string{"cost", "-made", "0,10"}, "", failed},
		{"cost-both", []string{"cost", "-made", "10,10", tools}, "", failed},
		{"cost-log", []string{"cost", "-provider", "openai", "-log", "testdata/conversation.jsonl", tools}, "", found},
		{"cost-log-json", []string{"cost", "-json", "-provider", "none", "-log", "testdata/conversation.jsonl", tools}, "", found},
		{"cost-log-wrong", []string{"cost", "-log", "-", tools}, "{}\n{\"event\": {\"event\": \"model\"}}", failed},
		{"cost-log-shape", []string{"cost", "-log", "testdata/conversation.jsonl", "-shape", "2000,6,1", tools}, "", failed},
		{"cost-log-other", []string{"cost", "-log", "testdata/conversation.jsonl", answer}, "", failed},
		// The commands of docs/tuning.md.
		{"tuning-inspect-before", []string{"inspect", tuning + "before.jsonl"}, "", toFix},
		{"tuning-inspect-after", []string{"inspect", tuning + "after.jsonl"}, "", found},
		{"tuning-eval-before", []string{"eval", "-searcher", "keyword,bm25", "-resamples", "0", tuning + "before.jsonl", tuning + "queries.jsonl"}, "", found},
		{"tuning-eval-after", []string{"eval", "-searcher", "keyword,bm25", "-resamples", "0", "-v", tuning + "after.jsonl", tuning + "queries.jsonl"}, "", found},
		{"tuning-explain", []string{"explain", "-searcher", "bm25", tuning + "after.jsonl", "where is the parcel", "ship__track"}, "", found},
		{"tuning-lexicon", []string{"explain", "-searcher", "bm25", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "is Ann OOO", "hr__pto_create"}, "", found},
		{"tuning-lexicon-inspect", []string{"inspect", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl"}, "", toFix},
		{"lexicon-search", []string{"search", "-n", "2", "-searcher", "bm25", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "consignment"}, "", found},
		{"lexicon-eval", []string{"eval", "-searcher", "keyword,bm25", "-resamples", "0", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "-"}, `{"query": "OOO", "gold": ["hr__pto_create"]}`, found},
		{"lexicon-keyword", []string{"search", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "consignment"}, "", failed},
		{"lexicon-wrong", []string{"search", "-searcher", "bm25", "-lexicon", tuning + "after.jsonl", tuning + "after.jsonl", "consignment"}, "", failed},
		{"lexicon-missing", []string{"inspect", "-lexicon", "testdata/none.txt", tuning + "after.jsonl"}, "", failed},
		{"no-command", nil, "", failed},
		{"near-command", []string{"serach"}, "", failed},
		{"near-searcher", []string{"search", "-searcher", "bm", tools, "book"}, "", failed},
		{"near-tool", []string{"explain", tools, "buy seat", "theatre__buy_tickets"}, "", failed},
		{"wrong-command", []string{"find"}, "", failed},
		{"wrong-flag", []string{"search", "-m", "5", tools, "book"}, "", failed},
		{"wrong-number", []string{"search", "-n", "many", tools, "book"}, "", failed},
		{"wrong-n", []string{"search", "-n", "51", tools, "book"}, "", failed},
		{"eval-min", []string{"eval", "-resamples", "0", "-min", "R@5=0.9, R@1=0.1", tools, "-"}, `{"query": "borrow a book longer", "gold": ["books_renew"], "max_rank": 1}
{"query": "buy seat", "accept": [["train__buy_ticket", "theatre__buy_ticket"]], "max_rank": 2}
{"query": "tanslate", "gold": ["translate_text"]}`, short},
		{"eval-reached", []string{"eval", "-resamples", "0", "-min", "R@5=1", tools, "-"}, `{"query": "buy seat", "gold": ["train__buy_ticket"], "max_rank": 2}`, found},
		{"eval-short-json", []string{"eval", "-json", "-resamples", "0", "-searcher", "bm25", tools, "-"}, `{"query": "buy a seat in a train", "gold": ["theatre__buy_ticket"], "max_rank": 1}`, short},
		{"eval-baseline", []string{"eval", "-resamples", "0", "-baseline", "testdata/baseline.json", "-tolerance", "0.02", tools, queries}, "", short},
		{"eval-tolerated", []string{"eval", "-resamples", "0", "-baseline", "testdata/baseline.json", "-tolerance", "0.5", tools, queries}, "", found},
		{"eval-no-baseline", []string{"eval", "-baseline", tools, tools, queries}, "", failed},
		{"eval-other-baseline", []string{"eval", "-searcher", "fuzzy", "-baseline", "testdata/baseline.json", tools, queries}, "", failed},
		{"eval-wrong-min", []string{"eval", "-min", "R@5=90", tools, queries}, "", failed},
		{"eval-wrong-metric", []string{"eval", "-resamples", "0", "-min", "r=0.9", tools, queries}, "", failed},
		{"eval-wrong-tolerance", []string{"eval", "-tolerance", "NaN", tools, queries}, "", failed},
		{"eval-two-minima", []string{"eval", "-searcher", "keyword,bm25", "-min", "R@5=0.9", tools, queries}, "", failed},
		{"wrong-eval-n", []string{"eval", "-n", "5", tools, queries}, "", failed},
		{"wrong-resamples", []string{"eval", "-resamples", "-1", tools, queries}, "", failed},
		{"wrong-searcher", []string{"search", "-searcher", "oracle", tools, "book"}, "", failed},
		{"wrong-searchers", []string{"eval", "-searcher", "keyword,names,keyword", tools, queries}, "", failed},
		{"no-query", []string{"search", tools}, "", failed},
		{"no-tool", []string{"explain", tools, "buy seat"}, "", failed},
		{"no-queries", []string{"eval", tools}, "", failed},
		{"no-file", []string{"search", "testdata/missing.jsonl", "book"}, "", failed},
		{"unknown-tool", []string{"explain", tools, "buy seat", "opera__buy_ticket"}, "", failed},
		{"explain-select", []string{"explain", tools, "select:doorLock", "doorLock"}, "", failed},
		{"two-stdins", []string{"eval", "-", "-"}, "", failed},
		{"not-json", []string{"search", "-", "book"}, "{\"name\": \"a\"}\nbook\n", failed},
		{"unknown-gold", []string{"eval", tools, "-"}, "\n{\"query\": \"sing\", \"gold\": [\"sing\"]}\n", failed},
	}
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), test.args, strings.NewReader(test.stdin), &stdout, &stderr)
			assert.Equal(t, test.code, code, "exit status")
			if slices.Contains(test.args, "-json") {
				assert.True(t, json.Valid(stdout.Bytes()), "whether the output is JSON")
			}
			got := stdout.String()
			if stderr.Len() > 0 {
				got += "-- stderr --\n" + stderr.String()
			}
			golden := filepath.Join("testdata", test.golden+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), got, "go test ./cmd/toolsearch -update rewrites the golden file")
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"search", tools, "book"}, strings.NewReader(""), fullDisk{}, &stderr)
	assert.Equal(t, failed, code, "exit status")
	assert.Equal(t, "toolsearch: no space left\n", stderr.String())
}

func TestForeignTextFitsACell(t *testing.T) {
	assert.Equal(t, "a b [31mc d", oneLine("a\tb\n\x1b[31mc  d", 40))
	assert.Equal(t, "天气…", oneLine("天气预报", 3))
}

func TestColor(t *testing.T) {
	var out bytes.Buffer
	c := &command{out: &out, color: true}
	numbers := table{styles: map[int]style{1: named}}
	numbers.row("score", "tool", "text")
	numbers.row("5", "查", "")
	numbers.row("12.5", "abc", "x")
	require.NoError(t, c.print(&numbers))
	want := "\x1b[1mscore\x1b[0m  \x1b[1mtool\x1b[0m  \x1b[1mtext\x1b[0m\n" +
		"    5  \x1b[36m查\x1b[0m\n" +
		" 12.5  \x1b[36mabc\x1b[0m   x\n"
	assert.Equal(t, want, out.String())
}

func TestColorIsForTerminalsAlone(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	none := func(string) string { return "" }
	assert.False(t, colored(file, none), "whether a file gets color")
	assert.False(t, colored(&bytes.Buffer{}, none), "whether a buffer gets color")
	// The null device is the only character device that exists everywhere.
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	env := func(values ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(values); i += 2 {
				if values[i] == key {
					return values[i+1]
				}
			}
			return ""
		}
	}
	if !isTerminal(null) {
		t.Skip("the null device is not a character device here")
	}
	assert.True(t, colored(null, env("TERM", "xterm")), "whether a terminal gets color")
	assert.False(t, colored(null, env("TERM", "xterm", "NO_COLOR", "1")), "whether a terminal gets color with NO_COLOR")
	assert.False(t, colored(null, env("TERM", "dumb")), "whether a dumb terminal gets color")
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "天气": 4, "e\u0301": 1, "ｆｕ": 4, "": 0} {
		assert.Equal(t, want, columns(text), "columns(%q)", text)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &command{out: &out, width: 24}
	var text table
	text.row("tool", "description")
	text.row("weather", "查询城市的天气预报和空气")
	text.row("mail", "Sends a letter")
	text.row("a_name", "Sends a letter to a friend")
	require.NoError(t, c.print(&text))
	assert.Equal(t, "tool     description\nweather  查询城市的天气…\nmail     Sends a letter\na_name   Sends a letter…\n", out.String())
	assert.Equal(t, 0, widthOf(&out, os.Getenv), "a buffer is not a terminal")
}

// The last column is cut first, then the widest. Numbers are never cut.
func TestNarrowTerminals(t *testing.T) {
	print := func(width int, header bool) string {
		var out bytes.Buffer
		c := &command{out: &out, width: width}
		var text table
		text.row("tokens", "tool", "description")
		text.row("1234567", "a_tool_with_a_long_name", "Sends a letter to a friend of yours")
		require.NoError(t, c.printRows(&text, header))
		return out.String()
	}
	assert.Equal(t, " tokens  tool                     description\n1234567  a_tool_with_a_long_name  Sends a letter to a friend of yours\n", print(0, true), "output that is piped")
	assert.Equal(t, " tokens  tool                     description\n1234567  a_tool_with_a_long_name  Sends a lette…\n", print(48, true))
	assert.Equal(t, " tokens  tool\n1234567  a_tool_with_a_long_name\n", print(40, true), "no room for descriptions")
	assert.Equal(t, " tokens  tool\n1234567  a_tool_wit…\n", print(20, true), "no room for names")
	assert.Equal(t, " tokens  tool\n1234567  a_tool_wi…\n", print(5, true), "no room for anything")
	assert.Equal(t, "tokens   tool          description\n1234567  a_tool_with…  Sends a let…\n", print(35, false), "what has no header stays")
}

// An evaluation gives up its intervals and side-by-side tables before it is cut.
func TestEvalOnANarrowTerminal(t *testing.T) {
	for _, width := range []int{0, 60} {
		var out, stderr bytes.Buffer
		c := &command{out: bufio.NewWriter(&out), stderr: &stderr, width: width, flags: flag.NewFlagSet("", flag.ContinueOnError)}
		code, err := c.run(t.Context(), []string{"eval", "-searcher", "keyword,bm25", "-resamples", "20", tools, queries})
		require.NoError(t, err)
		require.NoError(t, c.out.(*bufio.Writer).Flush())
		assert.Equal(t, found, code)
		assert.Equal(t, width == 0, strings.Contains(out.String(), " to "), "whether %d columns have intervals", width)
		assert.Equal(t, width > 0, strings.Contains(out.String(), "The terminal is too narrow for the intervals."))
		assert.NotContains(t, out.String(), "…")
		for line := range strings.Lines(out.String()) {
			if width > 0 {
				assert.LessOrEqual(t, columns(strings.TrimRight(line, "\n")), width, line)
			}
		}
	}
}

func TestWidthOfATerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	if !isTerminal(null) {
		t.Skip("the null device is not a character device here")
	}
	columns := func(value string) func(string) string {
		return func(string) string { return value }
	}
	assert.Equal(t, 72, widthOf(null, columns("72")))
	assert.Zero(t, widthOf(null, columns("many")), "a device without a width")
	assert.Zero(t, widthOf(&bytes.Buffer{}, columns("72")), "what is piped")
}

func TestScoreTexts(t *testing.T) {
	for _, test := range []struct {
		scores []float64
		want   []string
	}{
		{[]float64{30, 5, 0}, []string{"30", "5", "0"}},
		{[]float64{0.8125, 0.5}, []string{"0.812", "0.500"}},
		{[]float64{3.75, 0.553}, []string{"3.75", "0.55"}},
		{[]float64{123.456, -2}, []string{"123.5", "-2.0"}},
		{[]float64{1000012.345, 7.5}, []string{"1,000,012.34", "7.50"}},
		{[]float64{-123456, 999}, []string{"-123,456", "999"}},
		{nil, []string{}},
	} {
		assert.Equal(t, test.want, scoreTexts(test.scores...), "%v", test.scores)
	}
}

// A slow step shows its name and progress, and clears its line at the end.
func TestProgress(t *testing.T) {
	before, between := slow, interval
	slow, interval = time.Millisecond, time.Millisecond
	t.Cleanup(func() { slow, interval = before, between })
	stderr := &tail{}
	text := func() string {
		stderr.mu.Lock()
		defer stderr.mu.Unlock()
		return string(stderr.text)
	}
	shows := func(want string) {
		require.Eventually(t, func() bool { return strings.HasSuffix(text(), want) }, time.Minute, time.Millisecond, want)
	}
	c := &command{stderr: stderr, live: true}
	done := c.waiting("indexing %s", plural(2, "tool"))
	shows("\r\x1b[Kindexing 2 tools ...")
	c.step("embedding\x1b the tools", 1, 2)
	shows("\r\x1b[Kembedding the tools: 1 of 2 ...")
	done()
	assert.True(t, strings.HasSuffix(text(), " ...\r\x1b[K"), "the line is cleared")

	said := text()
	slow = time.Hour
	c.waiting("a step that is fast")()
	assert.Equal(t, said, text())
	c.live, slow = false, time.Nanosecond
	done = c.waiting("a step that nobody watches")
	c.step("it", 1, 2)
	done()
	assert.Equal(t, said, text())
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, found, run(t.Context(), []string{"version"}, strings.NewReader(""), &out, &out))
	assert.Regexp(t, `^toolsearch \S+( \S+)?, go\S+ \w+/\w+\n$`, out.String())
}

func TestPlural(t *testing.T) {
	assert.Equal(t, "1 tool", plural(1, "tool"))
	assert.Equal(t, "0 tools", plural(0, "tool"))
}

func TestCostPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cost.svg")
	var pictures []string
	for range 2 {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"cost", "-shape", "500,3,1", "-svg", path, tools}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, found, code, stderr.String())
		picture, err := os.ReadFile(path)
		require.NoError(t, err)
		pictures = append(pictures, string(picture))
	}
	assert.Equal(t, pictures[0], pictures[1], "the same catalog again")
	assert.NoError(t, xml.Unmarshal([]byte(pictures[0]), new(struct{})), "whether it is XML")
	for _, want := range []string{">native_references<", "500, 3, 1", "cache: warm", "claude-sonnet-5-5"} {
		assert.Contains(t, pictures[0], want)
	}
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"cost", "-made", "60,120", "-shape", "2000,6,1", "-shape", "8000,6,2", "-svg", path}, strings.NewReader(""), &stdout, &stderr)
	require.Equal(t, found, code, stderr.String())
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Len(t, regexp.MustCompile(`class="b"[^>]*>native_references<`).FindAll(picture, -1), 3, "what to take")
	assert.Len(t, regexp.MustCompile(`class="b"[^>]*>all<`).FindAll(picture, -1), 1, "what to take where another way is cheaper")
	code, _, failure := call(t, `[{"name": "mine", "model": "<my\u001b[31m model>", "input": 3, "cached": 1, "output": 9, "cache": "automatic",
		"wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, "cost", "-prices", "-", "-provider", "mine", "-shape", "500,3,1", "-svg", path, tools)
	require.Equal(t, found, code, failure)
	picture, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.NoError(t, xml.Unmarshal(picture, new(struct{})), "whether it is XML with a foreign name")
	code = run(t.Context(), []string{"cost", "-shape", "500,3,1", "-svg", filepath.Join(path, "none"), tools}, strings.NewReader(""), &stdout, &stderr)
	assert.Equal(t, failed, code)
	assert.Contains(t, stderr.String(), "none")
}

func TestCostOfALiveServer(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fakeServer, "good")
	code, stdout, stderr := call(t, "", "cost", "-shape", "500,3,1", "--", self)
	assert.Equal(t, found, code, "exit status; stderr %s", stderr)
	assert.Contains(t, stdout, "tools: 3, about ")
	assert.Contains(t, stdout, "these 3 tools, in each of these conversations: show them all")
}

// The README shows what the command prints.
func TestCostInREADME(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	for file, from := range map[string]string{"cost": "tools: ", "cost-log": "The log: "} {
		golden, err := os.ReadFile("testdata/" + file + ".golden")
		require.NoError(t, err)
		_, shown, ok := strings.Cut(string(golden), from)
		require.True(t, ok, file)
		assert.Contains(t, string(readme), "\n"+from+shown+"```", file)
	}
}
