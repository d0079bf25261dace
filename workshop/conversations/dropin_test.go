package conversations_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Drop-in means drop-in: each program below runs with Eino's package and with this one. What the
// model saw in each call and what the caller got are laid side by side, for both message types, with
// and without streaming, with and without a Runner. A difference that no program declares fails, and
// so does a declared difference that is gone. docs/migrating.md has the table of the programs.

var updateMigrating = flag.Bool("update-migrating", false, "rewrite the table of docs/migrating.md")

// A program is an agent, what its model does, and how its view differs under the two packages.
type program struct {
	name string

	nilConfig   bool
	native      bool            // UseModelToolSearch
	dynamic     []tool.BaseTool // nil means testtools.NewsTools; empty means none
	static      []tool.BaseTool
	twice       bool            // two middlewares over the same tools
	prompt      string          // the agent's instruction
	tools       adk.ToolsConfig // its Tools are set from static
	history     []message
	turns       []turn
	interrupted bool             // the run is resumed once, from a checkpoint
	defines     bool             // the definitions of the agent's other tools count
	verbatim    bool             // the words of the reminder and of the search tool count
	in          func(w way) bool // the ways to run it in; nil means all

	eino, here []string // what only one of the two shows; a text that ends in "…" is the beginning of a line
	reason     string   // of the difference

	setting string // with it there is no difference
	set     func(c *toolsearch.Config)
}

// An einoLike makes either package's middleware.
type einoLike[M adk.MessageType] func(p *program, dynamic []tool.BaseTool) (adk.TypedChatModelAgentMiddleware[M], error)

func byEino[M adk.MessageType](p *program, dynamic []tool.BaseTool) (adk.TypedChatModelAgentMiddleware[M], error) {
	if p.nilConfig {
		return oracle.NewTyped[M](context.Background(), nil)
	}
	return oracle.NewTyped[M](context.Background(), &oracle.Config{DynamicTools: dynamic, UseModelToolSearch: p.native})
}

func byUs[M adk.MessageType](set func(c *toolsearch.Config)) einoLike[M] {
	return func(p *program, dynamic []tool.BaseTool) (adk.TypedChatModelAgentMiddleware[M], error) {
		if p.nilConfig {
			return toolsearch.NewTyped[M](context.Background(), nil)
		}
		config := &toolsearch.Config{DynamicTools: dynamic, UseModelToolSearch: p.native}
		if set != nil {
			set(config)
		}
		return toolsearch.NewTyped[M](context.Background(), config)
	}
}

// sight is what a program shows: every line in its order.
type sight []string

// only returns the lines that other does not have, each once.
func (s sight) only(other sight) (lines []string) {
	for _, line := range s {
		if !slices.Contains(other, line) && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	return lines
}

func playProgram[M adk.MessageType](t *testing.T, p *program, w way, makes einoLike[M]) (s sight) {
	t.Helper()
	dynamic := p.dynamic
	if dynamic == nil {
		dynamic = testtools.NewsTools()
	}
	var handlers []adk.TypedChatModelAgentMiddleware[M]
	for range map[bool]int{false: 1, true: 2}[p.twice] {
		middleware, err := foreign.Guard(func() (adk.TypedChatModelAgentMiddleware[M], error) { return makes(p, dynamic) })
		if err != nil {
			return sight{"New fails" + map[bool]string{true: " by a panic"}[strings.HasPrefix(err.Error(), "panic")]}
		}
		handlers = append(handlers, middleware)
	}
	model := toolsearchtest.NewModel[M](append(slices.Clone(p.turns), say("done"))...)
	config := with(handlers...)
	config.Model, config.Instruction, config.ToolsConfig = model, p.prompt, p.tools
	config.ToolsConfig.Tools = p.static
	var events []message
	var err error
	messages := append(slices.Clone(p.history), question...)
	if p.interrupted {
		runner := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: newAgent(t, config), EnableStreaming: w.streaming,
			CheckPointStore: &testtools.MemoryStore{}})
		events = testtools.Must(drain(runner.Run(context.Background(), encoded[M](messages...), adk.WithCheckPointID("1"))))(t)
		iterator, resumeErr := runner.Resume(context.Background(), "1")
		require.NoError(t, resumeErr)
		more, moreErr := drain(iterator)
		events, err = append(events, more...), moreErr
	} else {
		events, err = runAgent(context.Background(), newAgent(t, config), w, messages)
	}
	for i, r := range model.Requests() {
		line := fmt.Sprintf("call %d sees %s", i+1, listed(r.ToolNames()))
		if len(r.Deferred) > 0 {
			line += "; deferred: " + listed(r.DeferredNames())
		}
		if r.SearchTool != nil {
			line += "; search tool: " + r.SearchTool.Name
		}
		s = append(s, line)
		if p.defines || p.verbatim {
			s = append(s, definitionsOf(t, r, p.verbatim)...)
		}
		var read []string
		for _, m := range r.Messages {
			for _, line := range sightOf(m, p.verbatim) {
				if line = "reads " + line; slices.Contains(read, line) {
					line += ", again"
				}
				read = append(read, line)
			}
		}
		s = append(s, read...)
	}
	if err != nil {
		s = append(s, "the run ends in an error")
	}
	// Of the caller's messages only those matter that the model does not read as well, and how many
	// there are: calls of one round end in any order.
	s = append(s, fmt.Sprintf("messages for the caller: %d", len(events)))
	for _, m := range events {
		for _, line := range sightOf(m, false) {
			if !slices.Contains(s, "reads "+line) && m.Role == toolsearchtest.Tool {
				s = append(s, "the caller gets "+line)
			}
		}
	}
	return s
}

// listed returns names as a sight shows them.
func listed(names []string) string {
	switch text := strings.Join(names, " "); {
	case len(names) == 0:
		return "no tool"
	case len(names) > 12:
		return fmt.Sprintf("%d tools: %s", len(names), text)
	default:
		return text
	}
}

// sightOf returns a line for a message, and a line for each of its calls. A reminder is the names
// that it lists, unless its own words count.
func sightOf(m message, verbatim bool) (lines []string) {
	who := strings.TrimSpace(m.Role + " " + m.ToolName)
	if tag, rest, _ := strings.Cut(m.Text, "\n"); m.Role == toolsearchtest.User && isReminderTag(tag) {
		var names []string
		for line := range strings.Lines(rest) {
			switch line = strings.TrimSpace(line); {
			case strings.HasPrefix(line, "<"):
			case !strings.Contains(line, " "):
				names = append(names, line)
			case verbatim:
				lines = append(lines, "the reminder: "+line)
			}
		}
		return append(lines, "the reminder of "+strings.Join(names, " "))
	}
	if m.Text != "" || len(m.Calls) == 0 && !m.Native {
		lines = append(lines, who+": "+m.Text)
	}
	if m.Native {
		lines = append(lines, who+": natively "+listed(namesOf(m.Found)))
	}
	for _, c := range m.Calls {
		lines = append(lines, fmt.Sprintf("a call of %s with %s", c.Name, c.Arguments))
	}
	return lines
}

// definitionsOf returns a line for what each tool says, and a line for what it takes. The search
// tool's own words count only if they are the subject.
func definitionsOf(t *testing.T, r request, verbatim bool) (lines []string) {
	t.Helper()
	for _, info := range slices.Concat(r.Tools, r.Deferred) {
		if info.Name == "tool_search" && !verbatim {
			continue
		}
		says, _, _ := strings.Cut(info.Desc, "\n")
		lines = append(lines, fmt.Sprintf("%s says %s", info.Name, says))
		takes := testtools.Must(info.ToJSONSchema())(t)
		text := testtools.Must(json.Marshal(takes))(t)
		lines = append(lines, fmt.Sprintf("%s takes %s", info.Name, text))
	}
	return lines
}

func TestDropIn(t *testing.T) {
	for _, p := range dropInTable {
		t.Run(p.name, func(t *testing.T) {
			inAllWays(t,
				func(t *testing.T, w way) { testDropIn[chat](t, &p, w) },
				func(t *testing.T, w way) { testDropIn[agentic](t, &p, w) })
		})
	}
}

func testDropIn[M adk.MessageType](t *testing.T, p *program, w way) {
	if p.in != nil && !p.in(w) || p.interrupted && !w.runner {
		return
	}
	eino, here := playProgram(t, p, w, byEino[M]), playProgram(t, p, w, byUs[M](nil))
	if len(p.eino)+len(p.here) == 0 {
		assert.Equal(t, eino, here, "the program shows the same with both packages")
		return
	}
	require.NotEmpty(t, p.reason, "the reason of the difference")
	checkDifference(t, "Eino's package", p.eino, eino.only(here))
	checkDifference(t, "this package", p.here, here.only(eino))
	if p.set != nil {
		assert.Equal(t, eino, playProgram(t, p, w, byUs[M](p.set)), "the program shows the same with %s", p.setting)
	}
}

func checkDifference(t *testing.T, where string, declared, lines []string) {
	t.Helper()
	matches := func(line, declared string) bool {
		if beginning, cut := strings.CutSuffix(declared, "…"); cut {
			return strings.HasPrefix(line, beginning)
		}
		return line == declared
	}
	if !slices.EqualFunc(lines, declared, matches) {
		assert.Fail(t, "another difference than declared", "only %s shows\n%q\ndeclared are\n%q", where, lines, declared)
	}
}

// The beginning and the end of the table in docs/migrating.md.
const (
	migratingPage  = "../../docs/migrating.md"
	migratingBegin = "<!-- programs: go test -run '^TestMigrating$' -update-migrating ./workshop/conversations -->\n"
	migratingEnd   = "<!-- end of programs -->\n"
)

// docs/migrating.md is made of the programs.
func TestMigrating(t *testing.T) {
	before, rest, begins := strings.Cut(testtools.ReadFile(t, migratingPage), migratingBegin)
	_, after, ends := strings.Cut(rest, migratingEnd)
	require.True(t, begins && ends, "%s has no place for the table", migratingPage)
	testtools.Golden(t, migratingPage, before+migratingBegin+migratingTable()+migratingEnd+after, *updateMigrating)
}

func migratingTable() string {
	var b strings.Builder
	var same []string
	b.WriteString("| program | only Eino's package shows | only this one shows | why |\n|---|---|---|---|\n")
	for _, p := range dropInTable {
		if p.reason == "" {
			same = append(same, p.name)
			continue
		}
		why := p.reason
		if p.setting != "" {
			why += "; with " + p.setting + " it is the same"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", p.name, migratingCell(p.eino), migratingCell(p.here), why)
	}
	return b.String() + "\nThe same with both: " + strings.Join(same, "; ") + ".\n"
}

// migratingCell returns lines as a cell of a Markdown table.
func migratingCell(lines []string) string {
	cells := make([]string, len(lines))
	for i, line := range lines {
		if short := naming.CutRunes(line, 110); short != line {
			line = strings.TrimSuffix(short, "…") + "…"
		}
		cells[i] = "`" + strings.NewReplacer("|", `\|`, "`", "'", "\n", " ").Replace(line) + "`"
	}
	return strings.Join(cells, "<br>")
}
