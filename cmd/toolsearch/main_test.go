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
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
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

// self is the test binary.
var self, _ = os.Executable()

// asProgram is the environment variable that turns the test binary into the program.
const asProgram = "TOOLSEARCH_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	kind := os.Getenv(fakeServer)
	if len(os.Args) == 2 && strings.HasPrefix(os.Args[1], fakeServer+"=") {
		_, kind, _ = strings.Cut(os.Args[1], "=")
	}
	if kind != "" {
		serve(kind, os.Stdin, os.Stdout)
		return
	}
	own := searchers.Searcher{Name: "names", Index: names, About: "a searcher of the tests"}
	searchers.Menu = slices.Insert(searchers.Menu, len(searchers.Menu)-2, own)
	os.Exit(m.Run())
}

func TestCommands(t *testing.T) {
	catalog := testtools.ReadFile(t, answer)
	const null = `[{"name": "a", "parameters": {"type": "object", "properties": {"x": {"type": null}}}}, {"name": "b"}]`
	for _, test := range []struct {
		golden string
		code   int
		args   string // divided by blanks, but not within single quotes
		stdin  string
	}{
		{"help", cli.Found, "-h", ""},
		{"help-search", cli.Found, "search -h", ""},
		{"help-explain", cli.Found, "help explain", ""},
		{"help-eval", cli.Found, "eval --help", ""},
		{"help-inspect", cli.Found, "inspect $TOOLS -h", ""},
		{"search", cli.Found, "search $TOOLS train ticket", ""},
		{"search-n", cli.Found, "search $TOOLS ticket -n 2", ""},
		{"search-required", cli.Found, "search $TOOLS '+refund ticket theatre'", ""},
		{"search-select", cli.Found, "search $TOOLS select:doorLock,door_lok", ""},
		{"search-json", cli.Found, "search -json -n=2 $TOOLS ticket", ""},
		{"search-nothing", cli.Nothing, "search $TOOLS timtable", ""},
		{"search-nothing-json", cli.Nothing, "search -json $TOOLS timtable", ""},
		{"search-stdin", cli.Found, "search - table", catalog},
		{"search-no-server", cli.Failed, "search book --", ""},
		{"list", cli.Found, "list $ANSWER", ""},
		{"list-left-out", cli.Found, "list $PROBLEMS", ""},
		{"list-openai", cli.Found, "list -",
			`{"model": "m", "tools": [{"type": "function", "function": {"name": "a", "description": "b<` +
				"\u202e\u009b\ufe0f\U000E0041\u3164 \u3000查" + `", "parameters": {"type": "object"}}}]}`},
		{"list-nothing", cli.Failed, "list", ""},
		{"list-header", cli.Failed, "list -header 'A: b' $TOOLS", ""},
		{"list-wrong-header", cli.Failed, "list -header secret http://127.0.0.1:1", ""},
		{"list-timeout", cli.Failed, "list -timeout 0s $TOOLS", ""},
		{"inspect-report", cli.Failed, "search - book",
			`{"searcher": "bm25", "tools": [{"name": "a", "bytes": 30, "parameters": 2}], "problems": []}`},
		{"emulated-search", cli.Found, "search -searcher anthropic-regex $TOOLS (?i)TRAIN.*ticket", ""},
		{"emulated-json", cli.Found, "search -json -n 1 -searcher anthropic-bm25 $TOOLS 'a train ticket'", ""},
		{"emulated-explain", cli.Found, "explain -searcher anthropic-regex $TOOLS 'give the ticket back' train__refund_ticket", ""},
		{"emulated-eval", cli.Found, "eval -resamples 0 -searcher anthropic-bm25,anthropic-regex $TOOLS $QUERIES", ""},
		{"emulated-eval-json", cli.Found, "eval -json -resamples 0 -searcher anthropic-bm25 $TOOLS -",
			`{"query": "borrow a book", "gold": ["books_renew"]}`},
		{"emulated-inspect", cli.Nothing, "inspect -searcher anthropic-bm25 $PROBLEMS", ""},
		{"emulated-chinese", cli.Found, "inspect -searcher anthropic-bm25 -", `{"name": "a", "description": "天气 预报"} {"name": "b", "description": "B"}`},
		{"emulated-wrong", cli.Nothing, "search -searcher anthropic-regex $TOOLS (?=train)", ""},
		{"near-flag", cli.Failed, "search -seacher bm25 $TOOLS book", ""},
		{"foreign-flag", cli.Failed, "list -searcher bm25 $TOOLS", ""},
		{"help-list", cli.Found, "list -h", ""},
		{"help-ui", cli.Found, "ui -h", ""},
		{"help-lock", cli.Found, "lock -h", ""},
		{"help-verify", cli.Found, "verify -h", ""},
		{"help-diff", cli.Found, "diff -h", ""},
		{"help-approve", cli.Found, "approve -h", ""},
		{"inspect-hostile", cli.Nothing, "inspect testdata/hostile.jsonl", ""},
		{"ui-nothing", cli.Failed, "ui", ""},
		{"ui-searchers", cli.Failed, "ui -searcher keyword,bm25,fuzzy $TOOLS", ""},
		{"ui-port", cli.Failed, "ui -port 65536 $TOOLS", ""},
		{"ui-two-stdins", cli.Failed, "ui -queries - -", ""},
		{"ui-no-queries", cli.Failed, "ui -queries testdata/missing.jsonl $TOOLS", ""},
		{"ui-no-names", cli.Failed, "ui -", `{"description": "a tool without a name"}`},
		{"search-names", cli.Nothing, "search -searcher names $TOOLS 'seat play'", ""},
		{"explain", cli.Found, "explain $TOOLS 'buy theatre seat celsius' theatre__buy_ticket", ""},
		{"explain-json", cli.Found, "explain $TOOLS 'buy seat' theatre__buy_ticket -json", ""},
		{"explain-nothing", cli.Nothing, "explain $TOOLS '+refund ticket' theatre__buy_ticket", ""},
		{"eval", cli.Found, "eval $TOOLS $QUERIES -resamples 200", ""},
		{"eval-two", cli.Found, "eval $TOOLS $QUERIES -searcher names,keyword -resamples 200", ""},
		{"eval-plain", cli.Found, "eval -resamples=0 -v -searcher=names,keyword $TOOLS $QUERIES", ""},
		{"eval-json", cli.Found, "eval $TOOLS $QUERIES -json -v -searcher names,keyword -resamples 200", ""},
		{"inspect", cli.Found, "inspect $TOOLS", ""},
		{"inspect-problems", cli.Nothing, "inspect $PROBLEMS", ""},
		{"inspect-json", cli.Nothing, "inspect -json -searcher bm25 $PROBLEMS", ""},
		{"inspect-mcp", cli.Nothing, "inspect -", catalog},
		{"inspect-many", cli.Nothing, "inspect -", "[" + strings.Repeat("{},\n", 24) + "{}]"},
		{"inspect-nothing", cli.Failed, "inspect", ""},
		{"inspect-both", cli.Failed, "inspect $TOOLS -- server", ""},
		{"inspect-regexp", cli.Failed, "inspect -searcher regexp $TOOLS", ""},
		{"inspect-timeout", cli.Failed, "inspect -timeout 0 -- server", ""},
		{"inspect-servers", cli.Nothing, "inspect -",
			`{"name": "a_read", "description": "Read a page", "server": "a", "parameters": {"type": "object", "properties": {
	"pages": {"type": "array", "description": "Pages"},
	"ways": {"type": "array", "items": {"type": "string"}, "description": "Ways"}}}}
{"name": "b_send", "description": "Send a letter", "server": "b"} {"name": "c", "description": "Ring a bell"}`},
		{"inspect-refusals", cli.Nothing, "inspect -", // what New and the middleware report
			`{"name": "a", "description": "A", "parameters": {"type": "object", "properties": {"a": {"type": "any"}}}}
{"name": "b", "description": "B", "parameters": {"type": "object", "properties": {"filter[id]": {"description": "F"}}}}
{"name": "c", "description": "C", "parameters": {"type": "object", "anyOf": [{"required": ["a"]}]}} {"name": "d", "description": "D"}`},
		{"inspect-null", cli.Nothing, "inspect -", null}, // on which the reader of schemas panics
		{"list-null", cli.Found, "list -", null},
		{"inspect-no-tools", cli.Failed, "inspect -", `{"result": {"tools": []}}`},
		{"inspect-no-json", cli.Failed, "inspect -", "{\"name\": \"a\"}\nbook\n"},
		{"inspect-no-object", cli.Failed, "inspect -", "[1]"},
		{"inspect-nested", cli.Failed, "inspect -", strings.Repeat("[", 1<<20)},
		{"help-cost", cli.Found, "cost -h", ""},
		{"cost", cli.Found, "cost -shape 2000,6,1 -shape 8000,6,2 -made 60,120", ""},
		{"cost-one", cli.Found, "cost -provider deepseek -made 1,50", ""}, // each conversation is played once
		{"cost-none", cli.Found, "cost -provider none -shape 2000,4,1 $TOOLS", ""},
		{"cost-json", cli.Found, "cost -json -provider kimi -shape 500,3,1 $ANSWER", ""},
		{"cost-nothing", cli.Failed, "cost", ""},
		{"cost-provider", cli.Failed, "cost -provider antropic $TOOLS", ""},
		{"cost-prices", cli.Failed, "cost -prices $ANSWER $TOOLS", ""},
		{"cost-own-prices", cli.Found, "cost -prices - -provider mine -shape 100,3,1 $TOOLS", `[{"name": "mine", "model": "my\u001b[31m model",
			"input": 3, "cached": 1, "output": 9, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "a bill"}]`},
		{"cost-free", cli.Found, "cost -prices - -provider mine -shape 100,3,1 $TOOLS", `[{"name": "mine", "model": "m",
			"input": 0, "cached": 0, "output": 0, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "my machine"}]`},
		{"cost-no-price", cli.Failed, "cost -prices - -provider mine $TOOLS", `[{"name": "mine", "model": "m",
			"input": 1, "output": 2, "cache": "automatic", "wire": "chat", "date": "2026-01-02", "source": "a bill"}]`},
		{"cost-too-long", cli.Failed, "cost -made 10,10 -shape 1000000,200,1", ""},
		{"cost-wrong-shape", cli.Failed, "cost -shape 1000,5,5 $TOOLS", ""},
		{"cost-no-numbers", cli.Failed, "cost -shape many $TOOLS", ""},
		{"cost-wrong-made", cli.Failed, "cost -made 0,10", ""},
		{"cost-both", cli.Failed, "cost -made 10,10 $TOOLS", ""},
		{"cost-log", cli.Found, "cost -provider openai -log testdata/conversation.jsonl $TOOLS", ""},
		{"cost-log-json", cli.Found, "cost -json -provider none -log testdata/conversation.jsonl $TOOLS", ""},
		{"cost-log-wrong", cli.Failed, "cost -log - $TOOLS", "{}\n{\"event\": {\"event\": \"model\"}}"},
		{"cost-log-shape", cli.Failed, "cost -log testdata/conversation.jsonl -shape 2000,6,1 $TOOLS", ""},
		{"cost-log-other", cli.Failed, "cost -log testdata/conversation.jsonl $ANSWER", ""},
		// The commands of docs/tuning.md.
		{"tuning-inspect-before", cli.Nothing, "inspect $TUNINGbefore.jsonl", ""},
		{"tuning-inspect-after", cli.Found, "inspect $TUNINGafter.jsonl", ""},
		{"tuning-eval-before", cli.Found, "eval -searcher keyword,bm25 -resamples 0 $TUNINGbefore.jsonl $TUNINGqueries.jsonl", ""},
		{"help-expand", cli.Found, "expand -h", ""},
		{"hints-eval", cli.Found, "eval -searcher bm25 -resamples 0 -hints $TUNINGexpansions.jsonl $TUNINGafter.jsonl $TUNINGqueries.jsonl", ""},
		{"hints-eval-json", cli.Found, "eval -searcher bm25 -json -resamples 0 -hints $TUNINGexpansions.jsonl $TUNINGafter.jsonl $TUNINGqueries.jsonl", ""},
		{"hints-explain", cli.Found, "explain -searcher bm25 -hints $TUNINGexpansions.jsonl $TUNINGafter.jsonl 'postage for a parcel' ship__rate", ""},
		{"use-search", cli.Found, "search -n 3 -log $TUNINGrecording.jsonl -called desk__tickets_get $TUNINGafter.jsonl urgent ticket", ""},
		{"use-explain", cli.Found, "explain -log $TUNINGrecording.jsonl -called desk__tickets_get $TUNINGafter.jsonl 'urgent ticket' desk__macros_apply", ""},
		{"use-no-recording", cli.Failed, "search -log $QUERIES -called desk__tickets_get $TUNINGafter.jsonl urgent", ""},
		{"expand-no-model", cli.Failed, "expand -log $TUNINGrecording.jsonl -o testdata/none.jsonl $TUNINGafter.jsonl", ""},
		{"use-wrong", cli.Failed, "explain -log $TUNINGrecording.jsonl -called desk $TUNINGafter.jsonl 'urgent ticket' desk__macros_apply", ""},
		{"tuning-hints", cli.Found,
			"eval -searcher bm25 -resamples 0 -hints $TUNINGwords.jsonl $TUNINGafter.jsonl $TUNINGqueries.jsonl", ""},
		{"tuning-eval-after", cli.Found, "eval -searcher keyword,bm25 -resamples 0 -v $TUNINGafter.jsonl $TUNINGqueries.jsonl", ""},
		{"tuning-explain", cli.Found, "explain -searcher bm25 $TUNINGafter.jsonl 'where is the parcel' ship__track", ""},
		{"tuning-lexicon", cli.Found, "explain -searcher bm25 -lexicon $TUNINGlexicon.txt $TUNINGafter.jsonl 'is Ann OOO' hr__pto_create", ""},
		{"tuning-lexicon-inspect", cli.Nothing, "inspect -lexicon $TUNINGlexicon.txt $TUNINGafter.jsonl", ""},
		{"lexicon-search", cli.Found, "search -n 2 -searcher bm25 -lexicon $TUNINGlexicon.txt $TUNINGafter.jsonl consignment", ""},
		{"lexicon-eval", cli.Found, "eval -searcher keyword,bm25 -resamples 0 -lexicon $TUNINGlexicon.txt $TUNINGafter.jsonl -",
			`{"query": "OOO", "gold": ["hr__pto_create"]}`},
		{"lexicon-keyword", cli.Failed, "search -searcher keyword -lexicon $TUNINGlexicon.txt $TUNINGafter.jsonl consignment", ""},
		{"lexicon-wrong", cli.Failed, "search -searcher bm25 -lexicon $TUNINGafter.jsonl $TUNINGafter.jsonl consignment", ""},
		{"lexicon-missing", cli.Failed, "inspect -lexicon testdata/none.txt $TUNINGafter.jsonl", ""},
		{"no-command", cli.Failed, "", ""},
		{"near-command", cli.Failed, "serach", ""},
		{"near-searcher", cli.Failed, "search -searcher bm $TOOLS book", ""},
		{"near-tool", cli.Failed, "explain $TOOLS 'buy seat' theatre__buy_tickets", ""},
		{"wrong-number", cli.Failed, "search -n many $TOOLS book", ""},
		{"wrong-n", cli.Failed, "search -n 51 $TOOLS book", ""},
		{"eval-min", cli.Nothing, "eval -resamples 0 -min 'R@5=0.9, R@1=0.1' $TOOLS -",
			`{"query": "borrow a book longer", "gold": ["books_renew"], "max_rank": 1}
{"query": "buy seat", "accept": [["train__buy_ticket", "theatre__buy_ticket"]], "max_rank": 2}
{"query": "tanslate", "gold": ["translate_text"]}`},
		{"eval-reached", cli.Found, "eval -resamples 0 -min R@5=1 $TOOLS -",
			`{"query": "buy seat", "gold": ["train__buy_ticket"], "max_rank": 2}`},
		{"eval-short-json", cli.Nothing, "eval -json -resamples 0 -searcher bm25 $TOOLS -",
			`{"query": "buy a seat in a train", "gold": ["theatre__buy_ticket"], "max_rank": 1}`},
		{"eval-baseline", cli.Nothing, "eval -resamples 0 -baseline testdata/baseline.json -tolerance 0.02 $TOOLS $QUERIES", ""},
		{"eval-tolerated", cli.Found, "eval -resamples 0 -baseline testdata/baseline.json -tolerance 0.5 $TOOLS $QUERIES", ""},
		{"eval-no-baseline", cli.Failed, "eval -baseline $TOOLS $TOOLS $QUERIES", ""},
		{"eval-other-baseline", cli.Failed, "eval -searcher fuzzy -baseline testdata/baseline.json $TOOLS $QUERIES", ""},
		{"eval-wrong-min", cli.Failed, "eval -min R@5=90 $TOOLS $QUERIES", ""},
		{"eval-wrong-metric", cli.Failed, "eval -resamples 0 -min r=0.9 $TOOLS $QUERIES", ""},
		{"eval-wrong-tolerance", cli.Failed, "eval -tolerance NaN $TOOLS $QUERIES", ""},
		{"eval-two-minima", cli.Failed, "eval -searcher keyword,bm25 -min R@5=0.9 $TOOLS $QUERIES", ""},
		{"wrong-eval-n", cli.Failed, "eval -n 5 $TOOLS $QUERIES", ""},
		{"wrong-resamples", cli.Failed, "eval -resamples -1 $TOOLS $QUERIES", ""},
		{"wrong-searcher", cli.Failed, "search -searcher oracle $TOOLS book", ""},
		{"wrong-searchers", cli.Failed, "eval -searcher keyword,names,keyword $TOOLS $QUERIES", ""},
		{"no-query", cli.Failed, "search $TOOLS", ""},
		{"no-tool", cli.Failed, "explain $TOOLS 'buy seat'", ""},
		{"no-queries", cli.Failed, "eval $TOOLS", ""},
		{"no-file", cli.Failed, "search testdata/missing.jsonl book", ""},
		{"unknown-tool", cli.Failed, "explain $TOOLS 'buy seat' opera__buy_ticket", ""},
		{"explain-select", cli.Failed, "explain $TOOLS select:doorLock doorLock", ""},
		{"two-stdins", cli.Failed, "eval - -", ""},
		{"not-json", cli.Failed, "search - book", "{\"name\": \"a\"}\nbook\n"},
		{"unknown-gold", cli.Failed, "eval $TOOLS -", "\n{\"query\": \"sing\", \"gold\": [\"sing\"]}\n"},
	} {
		t.Run(test.golden, func(t *testing.T) {
			got, said := prints(t, test.code, test.stdin, arguments(test.args)...)
			if strings.Contains(test.args, "-json") {
				assert.True(t, json.Valid([]byte(got)), "whether the output is JSON")
			}
			if said != "" {
				got += "-- stderr --\n" + said
			}
			checkGolden(t, test.golden, got)
		})
	}
}

// arguments splits a command line, in which names stand for files.
func arguments(line string) (args []string) {
	for _, arg := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(line, -1) {
		args = append(args, strings.NewReplacer("'", "", "$TOOLS", tools, "$QUERIES", queries, "$ANSWER", answer,
			"$PROBLEMS", problems, "$TUNING", tuning).Replace(arg))
	}
	return args
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
		code := testtools.Must(dispatch(t.Context(), c, []string{"eval", "-searcher", "keyword,bm25", "-resamples", "20", tools, queries}))(t)
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
	stdout, _ := prints(t, cli.Found, "", "version")
	assert.Regexp(t, `^toolsearch \S+( \S+)?, go\S+ \w+/\w+\n$`, stdout)
}

// A word that must match may be the server of a tool, and so may the word before a colon.
func TestSearchKnowsServers(t *testing.T) {
	file := written(t, "tools.jsonl", `{"name": "create_ticket", "description": "Open an issue", "server": "jira"}
{"name": "create_issue", "description": "Open an issue", "server": "github"}
{"name": "issue_types", "description": "Types of an issue", "server": "github"}`)
	for _, query := range []string{"+jira issue", "jira: open issue"} {
		stdout, _ := prints(t, cli.Found, "", arguments("search "+file+" "+query)...)
		assert.Regexp(t, `^.*description\n1 .*create_ticket +jira +Open an issue\n$`, stdout, "%s finds it alone", query)
		asked := asJSON(t, map[string]any{"query": query, "gold": []string{"create_ticket"}})
		prints(t, cli.Found, asked, arguments("eval -resamples 0 -min R@1=1 -searcher bm25 "+file+" -")...)
	}
}

func TestCostPicture(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cost.svg")
	draw := func(stdin, line string) string {
		prints(t, cli.Found, stdin, arguments("cost -svg "+path+" "+line)...)
		picture := testtools.ReadFile(t, path)
		assert.NoError(t, xml.Unmarshal([]byte(picture), new(struct{})), "whether it is XML")
		return picture
	}
	picture := draw("", "-shape 500,3,1 $TOOLS")
	assert.Equal(t, picture, draw("", "-shape 500,3,1 $TOOLS"), "the same catalog again")
	for _, want := range []string{">native_references<", ">anchored<", "500, 3, 1", "cache: warm", "claude-sonnet-5-5"} {
		assert.Contains(t, picture, want)
	}
	picture = draw("", "-made 60,120 -shape 2000,6,1 -shape 8000,6,2")
	assert.Len(t, regexp.MustCompile(`class="b"[^>]*>anchored<`).FindAllString(picture, -1), 3, "what to take")
	assert.Len(t, regexp.MustCompile(`class="b"[^>]*>all<`).FindAllString(picture, -1), 1, "what to take where another way is cheaper")
	draw(`[{"name": "mine", "model": "<my\u001b[31m model>", "input": 3, "cached": 1, "output": 9, "cache": "automatic",
		"wire": "chat", "date": "2026-01-02", "source": "a bill"}]`, "-prices - -provider mine -shape 500,3,1 $TOOLS")
	_, stderr := prints(t, cli.Failed, "", arguments("cost -shape 500,3,1 $TOOLS -svg "+filepath.Join(path, "none"))...)
	assert.Contains(t, stderr, "none")
}

// The README shows what the command prints.
func TestCostInREADME(t *testing.T) {
	readme := testtools.ReadFile(t, "README.md")
	for file, from := range map[string]string{"cost": "tools: ", "cost-log": "The log: "} {
		_, shown, ok := strings.Cut(testtools.ReadFile(t, "testdata/"+file+".golden"), from)
		require.True(t, ok, file)
		assert.Contains(t, readme, "\n"+from+shown+"```", file)
	}
}
