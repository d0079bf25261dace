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

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
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
	searchers.Menu = append(searchers.Menu, searchers.Menu[0])
	own := &searchers.Menu[len(searchers.Menu)-1]
	own.Name, own.Index, own.About = "names", names, "a searcher of the tests"
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
		{"help", []string{"-h"}, "", cli.Found},
		{"help-search", []string{"search", "-h"}, "", cli.Found},
		{"help-explain", []string{"help", "explain"}, "", cli.Found},
		{"help-eval", []string{"eval", "--help"}, "", cli.Found},
		{"help-inspect", []string{"inspect", tools, "-h"}, "", cli.Found},
		{"search", []string{"search", tools, "train", "ticket"}, "", cli.Found},
		{"search-n", []string{"search", tools, "ticket", "-n", "2"}, "", cli.Found},
		{"search-required", []string{"search", tools, "+refund ticket theatre"}, "", cli.Found},
		{"search-select", []string{"search", tools, "select:doorLock,door_lok"}, "", cli.Found},
		{"search-json", []string{"search", "-json", "-n=2", tools, "ticket"}, "", cli.Found},
		{"search-nothing", []string{"search", tools, "timtable"}, "", cli.Nothing},
		{"search-nothing-json", []string{"search", "-json", tools, "timtable"}, "", cli.Nothing},
		{"search-mcp", []string{"search", answer, "table"}, "", cli.Found},
		{"search-stdin", []string{"search", "-", "table"}, string(catalog), cli.Found},
		{"search-no-server", []string{"search", "book", "--"}, "", cli.Failed},
		{"list", []string{"list", answer}, "", cli.Found},
		{"list-left-out", []string{"list", problems}, "", cli.Found},
		{"list-openai", []string{"list", "-"}, `{"model": "m", "tools": [{"type": "function", "function": {"name": "a", "description": "b<` + "\u202e\u009b\ufe0f\U000E0041\u3164 \u3000查" + `", "parameters": {"type": "object"}}}]}`, cli.Found},
		{"list-nothing", []string{"list"}, "", cli.Failed},
		{"list-header", []string{"list", "-header", "A: b", tools}, "", cli.Failed},
		{"list-wrong-header", []string{"list", "-header", "secret", "http://127.0.0.1:1"}, "", cli.Failed},
		{"list-timeout", []string{"list", "-timeout", "0s", tools}, "", cli.Failed},
		{"inspect-report", []string{"search", "-", "book"}, `{"searcher": "bm25", "tools": [{"name": "a", "bytes": 30, "parameters": 2}], "problems": []}`, cli.Failed},
		{"emulated-search", []string{"search", "-searcher", "anthropic-regex", tools, "(?i)TRAIN.*ticket"}, "", cli.Found},
		{"emulated-json", []string{"search", "-json", "-n", "1", "-searcher", "anthropic-bm25", tools, "a train ticket"}, "", cli.Found},
		{"emulated-explain", []string{"explain", "-searcher", "anthropic-regex", tools, "give the ticket back", "train__refund_ticket"}, "", cli.Found},
		{"emulated-eval", []string{"eval", "-resamples", "0", "-searcher", "anthropic-bm25,anthropic-regex", tools, queries}, "", cli.Found},
		{"emulated-eval-json", []string{"eval", "-json", "-resamples", "0", "-searcher", "anthropic-bm25", tools, "-"}, `{"query": "borrow a book", "gold": ["books_renew"]}`, cli.Found},
		{"emulated-inspect", []string{"inspect", "-searcher", "anthropic-bm25", problems}, "", cli.ToFix},
		{"emulated-wrong", []string{"search", "-searcher", "anthropic-regex", tools, "(?=train)"}, "", cli.Nothing},
		{"help-near", []string{"help", "serach"}, "", cli.Failed},
		{"near-flag", []string{"search", "-seacher", "bm25", tools, "book"}, "", cli.Failed},
		{"foreign-flag", []string{"list", "-searcher", "bm25", tools}, "", cli.Failed},
		{"help-list", []string{"list", "-h"}, "", cli.Found},
		{"help-ui", []string{"ui", "-h"}, "", cli.Found},
		{"ui-nothing", []string{"ui"}, "", cli.Failed},
		{"ui-searchers", []string{"ui", "-searcher", "keyword,bm25,fuzzy", tools}, "", cli.Failed},
		{"ui-searcher", []string{"ui", "-searcher", "oracle", tools}, "", cli.Failed},
		{"ui-port", []string{"ui", "-port", "65536", tools}, "", cli.Failed},
		{"ui-two-stdins", []string{"ui", "-queries", "-", "-"}, "", cli.Failed},
		{"ui-no-queries", []string{"ui", "-queries", "testdata/missing.jsonl", tools}, "", cli.Failed},
		{"ui-no-names", []string{"ui", "-"}, `{"description": "a tool without a name"}`, cli.Failed},
		{"search-names", []string{"search", "-searcher", "names", tools, "seat play"}, "", cli.Nothing},
		{"explain", []string{"explain", tools, "buy theatre seat celsius", "theatre__buy_ticket"}, "", cli.Found},
		{"explain-json", []string{"explain", tools, "buy seat", "theatre__buy_ticket", "-json"}, "", cli.Found},
		{"explain-nothing", []string{"explain", tools, "+refund ticket", "theatre__buy_ticket"}, "", cli.Nothing},
		{"eval", []string{"eval", tools, queries, "-resamples", "200"}, "", cli.Found},
		{"eval-two", []string{"eval", tools, queries, "-searcher", "names,keyword", "-resamples", "200"}, "", cli.Found},
		{"eval-plain", []string{"eval", "-resamples=0", "-v", "-searcher=names,keyword", tools, queries}, "", cli.Found},
		{"eval-json", []string{"eval", tools, queries, "-json", "-v", "-searcher", "names,keyword", "-resamples", "200"}, "", cli.Found},
		{"eval-stdin", []string{"eval", "-resamples", "0", answer, "-"}, `{"query": "rows of a table", "gold": ["db__select_rows"]}`, cli.Found},
		{"inspect", []string{"inspect", tools}, "", cli.Found},
		{"inspect-problems", []string{"inspect", problems}, "", cli.ToFix},
		{"inspect-json", []string{"inspect", "-json", "-searcher", "bm25", problems}, "", cli.ToFix},
		{"inspect-mcp", []string{"inspect", "-"}, string(catalog), cli.ToFix},
		{"inspect-many", []string{"inspect", "-"}, "[" + strings.Repeat("{},\n", 24) + "{}]", cli.ToFix},
		{"inspect-nothing", []string{"inspect"}, "", cli.Failed},
		{"inspect-both", []string{"inspect", tools, "--", "server"}, "", cli.Failed},
		{"inspect-regexp", []string{"inspect", "-searcher", "regexp", tools}, "", cli.Failed},
		{"inspect-timeout", []string{"inspect", "-timeout", "0", "--", "server"}, "", cli.Failed},
		{"inspect-servers", []string{"inspect", "-"}, `{"name": "a_read", "description": "Read a page", "server": "a", "parameters": {"type": "object", "properties": {"pages": {"type": "array", "description": "Pages"}, "ways": {"type": "array", "items": {"type": "string"}, "description": "Ways"}}}}
{"name": "b_send", "description": "Send a letter", "server": "b"} {"name": "c", "description": "Ring a bell"}`, cli.ToFix},
		{"inspect-no-tools", []string{"inspect", "-"}, `{"result": {"tools": []}}`, cli.Failed},
		{"inspect-no-json", []string{"inspect", "-"}, "{\"name\": \"a\"}\nbook\n", cli.Failed},
		{"inspect-no-object", []string{"inspect", "-"}, "[1]", cli.Failed},
		{"help-cost", []string{"cost", "-h"}, "", cli.Found},
		{"cost", []string{"cost", "-shape", "2000,6,1", "-shape", "8000,6,2", "-made", "60,120"}, "", cli.Found},
		{"cost-none", []string{"cost", "-provider", "none", "-shape", "2000,4,1", tools}, "", cli.Found},
		{"cost-json", []string{"cost", "-json", "-provider", "deepseek", "-shape", "500,3,1", answer}, "", cli.Found},
		{"cost-nothing", []string{"cost"}, "", cli.Failed},
		{"cost-provider", []string{"cost", "-provider", "antropic", tools}, "", cli.Failed},
		{"cost-prices", []string{"cost", "-prices", answer, tools}, "", cli.Failed},
		{"cost-own-prices", []string{"cost", "-prices", "-", "-provider", "mine", "-shape", "100,3,1", tools}, `[{"name": "mine", "model": "my\u001b[31m model",
			"input": 3, "cached": 1, "output": 9, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, cli.Found},
		{"cost-free", []string{"cost", "-prices", "-", "-provider", "mine", "-shape", "100,3,1", tools}, `[{"name": "mine", "model": "m",
			"input": 0, "cached": 0, "output": 0, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "my machine"}]`, cli.Found},
		{"cost-no-price", []string{"cost", "-prices", "-", "-provider", "mine", tools}, `[{"name": "mine", "model": "m",
			"input": 1, "output": 2, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, cli.Failed},
		{"cost-too-long", []string{"cost", "-made", "5000,10000"}, "", cli.Failed},
		{"cost-wrong-shape", []string{"cost", "-shape", "1000,5,5", tools}, "", cli.Failed},
		{"cost-no-numbers", []string{"cost", "-shape", "many", tools}, "", cli.Failed},
		{"cost-wrong-made", []string{"cost", "-made", "0,10"}, "", cli.Failed},
		{"cost-both", []string{"cost", "-made", "10,10", tools}, "", cli.Failed},
		{"cost-log", []string{"cost", "-provider", "openai", "-log", "testdata/conversation.jsonl", tools}, "", cli.Found},
		{"cost-log-json", []string{"cost", "-json", "-provider", "none", "-log", "testdata/conversation.jsonl", tools}, "", cli.Found},
		{"cost-log-wrong", []string{"cost", "-log", "-", tools}, "{}\n{\"event\": {\"event\": \"model\"}}", cli.Failed},
		{"cost-log-shape", []string{"cost", "-log", "testdata/conversation.jsonl", "-shape", "2000,6,1", tools}, "", cli.Failed},
		{"cost-log-other", []string{"cost", "-log", "testdata/conversation.jsonl", answer}, "", cli.Failed},
		// The commands of docs/tuning.md.
		{"tuning-inspect-before", []string{"inspect", tuning + "before.jsonl"}, "", cli.ToFix},
		{"tuning-inspect-after", []string{"inspect", tuning + "after.jsonl"}, "", cli.Found},
		{"tuning-eval-before", []string{"eval", "-searcher", "keyword,bm25", "-resamples", "0", tuning + "before.jsonl", tuning + "queries.jsonl"}, "", cli.Found},
		{"tuning-eval-after", []string{"eval", "-searcher", "keyword,bm25", "-resamples", "0", "-v", tuning + "after.jsonl", tuning + "queries.jsonl"}, "", cli.Found},
		{"tuning-explain", []string{"explain", "-searcher", "bm25", tuning + "after.jsonl", "where is the parcel", "ship__track"}, "", cli.Found},
		{"tuning-lexicon", []string{"explain", "-searcher", "bm25", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "is Ann OOO", "hr__pto_create"}, "", cli.Found},
		{"tuning-lexicon-inspect", []string{"inspect", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl"}, "", cli.ToFix},
		{"lexicon-search", []string{"search", "-n", "2", "-searcher", "bm25", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "consignment"}, "", cli.Found},
		{"lexicon-eval", []string{"eval", "-searcher", "keyword,bm25", "-resamples", "0", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "-"}, `{"query": "OOO", "gold": ["hr__pto_create"]}`, cli.Found},
		{"lexicon-keyword", []string{"search", "-lexicon", tuning + "lexicon.txt", tuning + "after.jsonl", "consignment"}, "", cli.Failed},
		{"lexicon-wrong", []string{"search", "-searcher", "bm25", "-lexicon", tuning + "after.jsonl", tuning + "after.jsonl", "consignment"}, "", cli.Failed},
		{"lexicon-missing", []string{"inspect", "-lexicon", "testdata/none.txt", tuning + "after.jsonl"}, "", cli.Failed},
		{"no-command", nil, "", cli.Failed},
		{"near-command", []string{"serach"}, "", cli.Failed},
		{"near-searcher", []string{"search", "-searcher", "bm", tools, "book"}, "", cli.Failed},
		{"near-tool", []string{"explain", tools, "buy seat", "theatre__buy_tickets"}, "", cli.Failed},
		{"wrong-command", []string{"find"}, "", cli.Failed},
		{"wrong-flag", []string{"search", "-m", "5", tools, "book"}, "", cli.Failed},
		{"wrong-number", []string{"search", "-n", "many", tools, "book"}, "", cli.Failed},
		{"wrong-n", []string{"search", "-n", "51", tools, "book"}, "", cli.Failed},
		{"eval-min", []string{"eval", "-resamples", "0", "-min", "R@5=0.9, R@1=0.1", tools, "-"}, `{"query": "borrow a book longer", "gold": ["books_renew"], "max_rank": 1}
{"query": "buy seat", "accept": [["train__buy_ticket", "theatre__buy_ticket"]], "max_rank": 2}
{"query": "tanslate", "gold": ["translate_text"]}`, cli.Short},
		{"eval-reached", []string{"eval", "-resamples", "0", "-min", "R@5=1", tools, "-"}, `{"query": "buy seat", "gold": ["train__buy_ticket"], "max_rank": 2}`, cli.Found},
		{"eval-short-json", []string{"eval", "-json", "-resamples", "0", "-searcher", "bm25", tools, "-"}, `{"query": "buy a seat in a train", "gold": ["theatre__buy_ticket"], "max_rank": 1}`, cli.Short},
		{"eval-baseline", []string{"eval", "-resamples", "0", "-baseline", "testdata/baseline.json", "-tolerance", "0.02", tools, queries}, "", cli.Short},
		{"eval-tolerated", []string{"eval", "-resamples", "0", "-baseline", "testdata/baseline.json", "-tolerance", "0.5", tools, queries}, "", cli.Found},
		{"eval-no-baseline", []string{"eval", "-baseline", tools, tools, queries}, "", cli.Failed},
		{"eval-other-baseline", []string{"eval", "-searcher", "fuzzy", "-baseline", "testdata/baseline.json", tools, queries}, "", cli.Failed},
		{"eval-wrong-min", []string{"eval", "-min", "R@5=90", tools, queries}, "", cli.Failed},
		{"eval-wrong-metric", []string{"eval", "-resamples", "0", "-min", "r=0.9", tools, queries}, "", cli.Failed},
		{"eval-wrong-tolerance", []string{"eval", "-tolerance", "NaN", tools, queries}, "", cli.Failed},
		{"eval-two-minima", []string{"eval", "-searcher", "keyword,bm25", "-min", "R@5=0.9", tools, queries}, "", cli.Failed},
		{"wrong-eval-n", []string{"eval", "-n", "5", tools, queries}, "", cli.Failed},
		{"wrong-resamples", []string{"eval", "-resamples", "-1", tools, queries}, "", cli.Failed},
		{"wrong-searcher", []string{"search", "-searcher", "oracle", tools, "book"}, "", cli.Failed},
		{"wrong-searchers", []string{"eval", "-searcher", "keyword,names,keyword", tools, queries}, "", cli.Failed},
		{"no-query", []string{"search", tools}, "", cli.Failed},
		{"no-tool", []string{"explain", tools, "buy seat"}, "", cli.Failed},
		{"no-queries", []string{"eval", tools}, "", cli.Failed},
		{"no-file", []string{"search", "testdata/missing.jsonl", "book"}, "", cli.Failed},
		{"unknown-tool", []string{"explain", tools, "buy seat", "opera__buy_ticket"}, "", cli.Failed},
		{"explain-select", []string{"explain", tools, "select:doorLock", "doorLock"}, "", cli.Failed},
		{"two-stdins", []string{"eval", "-", "-"}, "", cli.Failed},
		{"not-json", []string{"search", "-", "book"}, "{\"name\": \"a\"}\nbook\n", cli.Failed},
		{"unknown-gold", []string{"eval", tools, "-"}, "\n{\"query\": \"sing\", \"gold\": [\"sing\"]}\n", cli.Failed},
	}
	for _, test := range tests {
		t.Run(test.golden, func(t *testing.T) {
			code, got, said := call(t, test.stdin, test.args...)
			assert.Equal(t, test.code, code, "exit status")
			if slices.Contains(test.args, "-json") {
				assert.True(t, json.Valid([]byte(got)), "whether the output is JSON")
			}
			if said != "" {
				got += "-- stderr --\n" + said
			}
			checkGolden(t, test.golden, got)
		})
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, errors.New("no space left") }

func TestOutputThatCannotBeWritten(t *testing.T) {
	var stderr bytes.Buffer
	code := run(t.Context(), []string{"search", tools, "book"}, strings.NewReader(""), fullDisk{}, &stderr)
	assert.Equal(t, cli.Failed, code, "exit status")
	assert.Equal(t, "toolsearch: no space left\n", stderr.String())
}

// An evaluation gives up its intervals and side-by-side tables before it is cut.
func TestEvalOnANarrowTerminal(t *testing.T) {
	for _, width := range []int{0, 60} {
		var out, stderr bytes.Buffer
		c := &cli.Call{Out: bufio.NewWriter(&out), Stderr: &stderr, Width: width}
		code, err := dispatch(t.Context(), c, []string{"eval", "-searcher", "keyword,bm25", "-resamples", "20", tools, queries})
		require.NoError(t, err)
		require.NoError(t, c.Out.(*bufio.Writer).Flush())
		assert.Equal(t, cli.Found, code)
		assert.Equal(t, width == 0, strings.Contains(out.String(), " to "), "whether %d columns have intervals", width)
		assert.Equal(t, width > 0, strings.Contains(out.String(), "The terminal is too narrow for the intervals."))
		assert.NotContains(t, out.String(), "…")
		for line := range strings.Lines(out.String()) {
			if width > 0 {
				assert.LessOrEqual(t, cli.Columns(strings.TrimRight(line, "\n")), width, line)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	var out bytes.Buffer
	require.Equal(t, cli.Found, run(t.Context(), []string{"version"}, strings.NewReader(""), &out, &out))
	assert.Regexp(t, `^toolsearch \S+( \S+)?, go\S+ \w+/\w+\n$`, out.String())
}

func TestCostPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cost.svg")
	var pictures []string
	for range 2 {
		var stdout, stderr bytes.Buffer
		code := run(t.Context(), []string{"cost", "-shape", "500,3,1", "-svg", path, tools}, strings.NewReader(""), &stdout, &stderr)
		require.Equal(t, cli.Found, code, stderr.String())
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
	require.Equal(t, cli.Found, code, stderr.String())
	picture, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Len(t, regexp.MustCompile(`class="b"[^>]*>native_references<`).FindAll(picture, -1), 3, "what to take")
	assert.Len(t, regexp.MustCompile(`class="b"[^>]*>all<`).FindAll(picture, -1), 1, "what to take where another way is cheaper")
	code, _, failure := call(t, `[{"name": "mine", "model": "<my\u001b[31m model>", "input": 3, "cached": 1, "output": 9, "cache": "automatic",
		"wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, "cost", "-prices", "-", "-provider", "mine", "-shape", "500,3,1", "-svg", path, tools)
	require.Equal(t, cli.Found, code, failure)
	picture, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.NoError(t, xml.Unmarshal(picture, new(struct{})), "whether it is XML with a foreign name")
	code = run(t.Context(), []string{"cost", "-shape", "500,3,1", "-svg", filepath.Join(path, "none"), tools}, strings.NewReader(""), &stdout, &stderr)
	assert.Equal(t, cli.Failed, code)
	assert.Contains(t, stderr.String(), "none")
}

func TestCostOfALiveServer(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(fakeServer, "good")
	code, stdout, stderr := call(t, "", "cost", "-shape", "500,3,1", "--", self)
	assert.Equal(t, cli.Found, code, "exit status; stderr %s", stderr)
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
