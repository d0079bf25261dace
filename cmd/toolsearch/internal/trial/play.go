package trial

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/adk"
	eino "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/searchers"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A way is a value of -way: what hides the tools, and how.
type way struct {
	name   string
	eino   bool // Eino's own package, instead of config
	shown  cost.Way
	config toolsearch.Config
}

// listTokens is what the list of names may take in a way with +groups, so that most catalogs are listed by group.
const listTokens = 600

// parseWay reads a way: all, eino, default or a protocol, then a searcher and groups, each after a plus sign.
func parseWay(name string, tools int) (w way, err error) {
	base, options, _ := strings.Cut(name, "+")
	w = way{name: name, eino: base == "eino"}
	if w.eino || base == "default" {
		base = toolsearch.ProtocolToolSearch.String()
	}
	var isKnown bool
	w.shown, isKnown = cost.WayNamed(base)
	if w.config.Protocol = w.shown.Protocol; w.shown.All {
		w.config.DeferFrom = tools + 1
	}
	searcher, isGrouped := strings.CutSuffix("+"+options, "+groups")
	if isGrouped {
		w.config.Reminder.MaxTokens = listTokens
	}
	searcher = strings.TrimPrefix(searcher, "+")
	for _, s := range searchers.Menu {
		if s.Name == searcher {
			w.config.Index = s.Index
		}
	}
	if isPlain := searcher == "" && !isGrouped; !isKnown || base == "" || !isPlain && (base == "all" || w.eino) ||
		searcher != "" && w.config.Index == nil {
		return w, fmt.Errorf("no way %q; want all, eino, default or a protocol such as dispatch, the last two with +SEARCHER or +groups", name)
	}
	return w, nil
}

// maxCalls is how many calls of the model a run may have.
const maxCalls = 30

const instruction = `You do what the user asks for with tools. Call a tool for every step that needs one, and do not ask back: choose
sensible values for what the user left open. When all is done, or no tool can do it, answer in one short sentence.`

const simulatedInstruction = "\nThe tools are simulated. What a call returns is made up; go on as if it were what you asked for."

// A result is a run, as a line of the journal keeps it. The key event is "run".
type result struct {
	Event string `json:"event"`
	Key   string `json:"key"` // of the model, the catalog, the task and how it was played
	Model string `json:"model"`
	Way   string `json:"way"`
	Task  string `json:"task"`

	Solved   bool               `json:"solved"`
	Counts   map[string]float64 `json:"counts"`          // by column of the report
	Found    []string           `json:"found,omitempty"` // what searches showed
	Ran      []call             `json:"ran,omitempty"`
	Refused  []string           `json:"refused,omitempty"`  // calls that ran no tool, and why
	Failures []string           `json:"failures,omitempty"` // FailureEvents
	End      string             `json:"end,omitempty"`      // what ended the run before the model's answer
}

// A recorder writes down a run. It is safe for concurrent use.
type recorder struct {
	*trial
	way way

	mu      sync.Mutex
	result  result
	ran     map[string]bool // ids of calls
	journal bytes.Buffer
	log     *slog.Logger // to journal
}

func (r *recorder) do(f func(*result)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f(&r.result)
}

// hear is the OnEvent of a run.
func (r *recorder) hear(ctx context.Context, e toolsearch.Event) {
	r.do(func(to *result) {
		r.log.InfoContext(ctx, "toolsearch", "event", e)
		switch e := e.(type) {
		case *toolsearch.SearchEvent:
			to.search(e.Matches)
		case *toolsearch.FailureEvent:
			to.Failures = append(to.Failures, naming.OneLine(e.Part+": "+e.Err.Error(), 300))
		}
	})
}

// search counts a search.
func (r *result) search(found []string) {
	r.Counts[searches]++
	if len(found) == 0 {
		r.Counts[misses]++
	}
	for _, name := range found {
		if !slices.Contains(r.Found, name) {
			r.Found = append(r.Found, name)
		}
	}
}

// A subject is a tool of the catalog in a run: it is simulated, or really called.
type subject struct {
	doc    int // number in the catalog
	info   *schema.ToolInfo
	answer string             // if it is simulated
	real   tool.InvokableTool // nil unless it is called
	barred string             // why it is not called; "" means that it is
	run    *recorder
}

// Info implements tool.BaseTool.
func (s *subject) Info(context.Context) (*schema.ToolInfo, error) { return s.info, nil }

// InvokableRun implements tool.InvokableTool.
func (s *subject) InvokableRun(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
	arguments = cmp.Or(strings.TrimSpace(arguments), "{}") // as claude's adapter passes no arguments
	if s.barred != "" {
		return s.barred, nil
	}
	if problem, _ := s.run.schemas.Problem(ctx, s.doc, s.info, arguments); problem != "" && s.real == nil { // as a server would
		return "error: " + problem, nil
	}
	answer := s.answer
	if s.real != nil {
		var err error
		if answer, err = s.real.InvokableRun(ctx, arguments, opts...); err != nil || strings.HasPrefix(answer, "error: ") {
			return answer, err // as package mcp says that a call failed, which does not count as run
		}
	}
	s.run.do(func(to *result) {
		s.run.ran[compose.GetToolCallID(ctx)] = true
		to.Ran = append(to.Ran, call{s.info.Name, arguments})
	})
	return answer, nil
}

// watch sees the results of calls: those that ran no tool, and what Eino's package found.
type watch[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	run *recorder
}

// WrapInvokableToolCall implements adk.TypedChatModelAgentMiddleware.
func (w *watch[M]) WrapInvokableToolCall(
	_ context.Context, endpoint adk.InvokableToolCallEndpoint, t *adk.ToolContext,
) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		answer, err := endpoint(ctx, arguments, opts...)
		w.run.called(ctx, t.Name, arguments, answer)
		return answer, err
	}, nil
}

// metaTools are tools of the protocols that run no tool.
var metaTools = []string{"tool_search", "search_tools", "show_all_tools", "add_tool", "remove_tool"}

// called counts a call that has ended. The library refuses a call by running its meta-tool with the reason instead.
func (r *recorder) called(ctx context.Context, name, arguments, answer string) {
	var standIn struct{ Unknown, Unloaded, Misused string }
	_ = json.Unmarshal([]byte(strings.ReplaceAll(arguments, `_tool":`, `":`)), &standIn)
	var found struct{ Matches []string }
	isMeta := slices.Contains(metaTools, name)
	meant := name
	if isMeta {
		meant = cmp.Or(standIn.Unknown, standIn.Unloaded, standIn.Misused)
	}
	r.do(func(to *result) {
		switch {
		case isMeta && meant == "":
			if r.way.eino && json.Unmarshal([]byte(answer), &found) == nil {
				to.search(found.Matches)
			}
		case !r.ran[compose.GetToolCallID(ctx)]:
			to.Refused = append(to.Refused, naming.OneLine(meant, 64)+": "+naming.OneLine(answer, 300))
		}
	})
}

// billing is a model whose calls are counted.
type billing[M adk.MessageType] struct {
	model.BaseModel[M]
	run *recorder
}

// Generate implements model.BaseModel.
func (b billing[M]) Generate(ctx context.Context, messages []M, opts ...model.Option) (M, error) {
	slip := new(slip)
	ctx = context.WithValue(ctx, slipKey{}, slip)
	answer, err := b.BaseModel.Generate(ctx, messages, opts...)
	var said slog.Value
	used := make(map[string]int)
	if err == nil {
		said = eval.ModelCall(b.run.way.shown.String(), answer)
		for _, a := range said.Group() {
			if a.Value.Kind() == slog.KindInt64 {
				used[a.Key] = int(a.Value.Int64())
			}
		}
	}
	price := b.run.meter.billed(slip, used)
	b.run.do(func(to *result) {
		to.Counts[dollars] += price
		if err == nil {
			b.run.log.InfoContext(ctx, "model", "event", said)
			to.Counts[calls]++
			for _, tokens := range []string{input, cached, output} {
				to.Counts[tokens] += float64(used[tokens+"_tokens"])
			}
		}
	})
	return answer, err
}

// play asks an agent to do a task. Its error is one of the model, which says nothing about the way.
func play[M adk.MessageType](ctx context.Context, r *recorder, chat model.BaseModel[M], t *task, asked M) error {
	var tools []tool.BaseTool
	for _, s := range r.subjects {
		s.run = r
		tools = append(tools, &s)
	}
	var hides adk.TypedChatModelAgentMiddleware[M]
	var err error
	if r.way.eino {
		hides, err = eino.NewTyped[M](ctx, &eino.Config{DynamicTools: tools})
	} else {
		config := r.way.config
		config.DynamicTools, config.Annotate, config.OnEvent = tools, r.catalog.Annotate, r.hear
		hides, err = toolsearch.NewTyped[M](ctx, &config)
	}
	if err != nil {
		return err
	}
	config := &adk.TypedChatModelAgentConfig[M]{
		Name: "trial", Description: "Does tasks", Instruction: instruction, Model: billing[M]{chat, r}, MaxIterations: maxCalls,
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{hides, &watch[M]{run: r}},
		ModelRetryConfig: &adk.TypedModelRetryConfig[M]{MaxRetries: 3, IsRetryAble: func(ctx context.Context, err error) bool {
			return ctx.Err() == nil && !errors.Is(err, errBudget)
		}},
	}
	if !r.real {
		config.Instruction += simulatedInstruction
	}
	config.ToolsConfig.UnknownToolsHandler = func(ctx context.Context, name, arguments string) (string, error) { // for Eino's package
		const answer = "error: there is no tool of this name"
		r.called(ctx, name, arguments, answer)
		return answer, nil
	}
	err = agents.Run(ctx, config, []M{asked})
	r.do(func(to *result) {
		if errors.Is(err, adk.ErrExceedMaxIterations) {
			err, to.End = nil, fmt.Sprintf("more than %d calls of the model", maxCalls)
		}
		slices.Sort(to.Refused) // calls of one message end in any order
		to.Solved = t.isSolved(to.Ran)
		to.Counts[refused] = float64(len(to.Refused))
		to.Counts[unused] = float64(len(to.Found))
		for i, c := range to.Ran {
			isFirst := !slices.ContainsFunc(to.Ran[:i], func(before call) bool { return before.Tool == c.Tool })
			if isFirst && slices.Contains(to.Found, c.Tool) {
				to.Counts[unused]--
			}
			isNear := func(name string) bool { return r.servers[name] != "" && r.servers[name] == r.servers[c.Tool] }
			if !t.needs(c.Tool) && slices.ContainsFunc(slices.Concat(t.Groups...), isNear) {
				to.Counts[siblings]++
			}
		}
	})
	return err
}
