package main

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/filesystem"
	fsmiddleware "github.com/cloudwego/eino/adk/middlewares/filesystem"
	"github.com/cloudwego/eino/adk/middlewares/patchtoolcalls"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The surroundings of the middleware in a play: tools that can be called, a Source that
// changes and fails, a Filter by user, other middlewares, a store of checkpoints.

// userKey is the context key of the number of the user of a run.
type userKey struct{}

func userOf(ctx context.Context) int {
	user, _ := ctx.Value(userKey{}).(int)
	return user
}

// world is one play of a plan: what surrounds the middleware, and the record of what happens. It is not
// generic, since tools do not see messages.
type world struct {
	plan    *plan
	without map[string]bool // names of tools that are left out, for the other half of a pair
	dynamic map[string]bool // names of all dynamic tools, in all forms

	mu         sync.Mutex
	faults     []string
	transcript []string
	allTools   []*soakTool
	schemas    map[*schema.ParamsOneOf]string // as JSON
	edition    int
	onTool     func() // called by the next tool that runs; nil means nothing

	searchTool string // its name in the run

	// Only the model's goroutine uses the fields below. Tidy means that the history so far is as
	// agents left it, without damage. The answers of an UnknownToolsHandler are not in events, and
	// so not in a history.
	tidy    bool
	removes bool                           // a call may have unloaded tools
	last    *lastSeen                      // of the previous model call; nil means none since the run began or was resumed
	current map[string]bool                // ids of the calls of the run
	said    map[string]toolsearchtest.Call // by id, of the whole conversation
	calls   int                            // of the model
	shown   []string                       // every byte that the model was given
}

func newWorld(p *plan, without map[string]bool) *world {
	w := &world{
		plan: p, without: without, dynamic: map[string]bool{}, schemas: map[*schema.ParamsOneOf]string{},
		tidy: len(p.past) == 0 && p.config.Unknown == 0, said: map[string]toolsearchtest.Call{},
	}
	for _, name := range p.names() {
		for _, form := range formsOf(name) {
			w.dynamic[form] = true
		}
	}
	return w
}

// soakTool is a tool of a spec. Its ways are methods of the types below.
type soakTool struct {
	world *world
	spec  toolSpec
	of    *schema.ToolInfo

	mu    sync.Mutex
	asked int
}

func (t *soakTool) Info(context.Context) (*schema.ToolInfo, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asked++
	if t.spec.shifty && t.asked > 1 {
		return &schema.ToolInfo{Name: fmt.Sprintf("%s_%d", t.spec.name, t.asked), Desc: "Something else"}, nil
	}
	return t.of, nil
}

func (t *soakTool) run(ctx context.Context, arguments string) (string, error) {
	t.world.ran(ctx, t.spec.name)
	if t.spec.result == "confirms" {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was {
			return "", tool.Interrupt(ctx, "really?")
		}
	}
	return t.spec.answer(arguments), ctx.Err()
}

// ran records that a tool runs.
func (w *world) ran(ctx context.Context, name string) {
	w.mu.Lock()
	onTool := w.onTool
	w.onTool = nil
	w.mu.Unlock()
	if onTool != nil {
		onTool()
	}
	if w.plan.forbidden[userOf(ctx)][name] {
		w.fault("a forbidden tool ran", "%.200q ran for user %d, who may not see it", name, userOf(ctx))
	}
}

type (
	invokableTool  struct{ *soakTool }
	streamableTool struct{ *soakTool }
	enhancedTool   struct{ *soakTool }
)

func (t invokableTool) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	return t.run(ctx, arguments)
}

func (t streamableTool) StreamableRun(ctx context.Context, arguments string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	text, err := t.run(ctx, arguments)
	if err != nil {
		return nil, err
	}
	if text == "" { // Eino fails on an empty stream
		text = " "
	}
	return schema.StreamReaderFromArray([]string{text[:len(text)/2], text[len(text)/2:]}), nil
}

func (t enhancedTool) InvokableRun(ctx context.Context, argument *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	text, err := t.run(ctx, argument.Text)
	if err != nil {
		return nil, err
	}
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{
		{Type: schema.ToolPartTypeText, Text: text}, {Type: schema.ToolPartTypeText, Text: "And so on."},
	}}, nil
}

// tools makes tools of specs, except those that this half of a pair leaves out.
func (w *world) tools(specs []toolSpec) (tools []tool.BaseTool) {
	for _, spec := range specs {
		if w.without[spec.name] {
			continue
		}
		t := &soakTool{world: w, spec: spec, of: spec.info()}
		w.mu.Lock()
		w.allTools = append(w.allTools, t)
		w.mu.Unlock()
		switch {
		// Eino v0.9.21 cannot keep a streamed result in a second checkpoint of an agentic run, nor in one if its call has no id.
		case spec.way == "streamable" && !((w.plan.agentic || w.plan.odd) && w.plan.confirms):
			tools = append(tools, streamableTool{t})
		case spec.way == "enhanced":
			tools = append(tools, enhancedTool{t})
		default:
			tools = append(tools, invokableTool{t})
		}
	}
	return tools
}

// serve changes what the Source answers.
func (w *world) serve(edition int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edition = edition
}

// next makes the Source answer with the next edition, if it has any.
func (w *world) next() {
	if n := len(w.plan.served); n > 0 {
		w.serve(max(w.edition+1, 0) % n)
	}
}

// muteTool has no definition.
type muteTool struct{ invokableTool }

func (muteTool) Info(context.Context) (*schema.ToolInfo, error) { return nil, errors.New("mute") }

// answer is the Source.
func (w *world) answer(ctx context.Context) ([]tool.BaseTool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	now := w.edition
	w.mu.Unlock()
	if now >= 0 {
		return w.tools(w.plan.served[now]), nil
	}
	return badAnswers[-1-now](w, w.tools(w.plan.served[0]))
}

// named returns a server's tool of that name.
func (w *world) named(name string) tool.BaseTool {
	return w.tools([]toolSpec{{name: name, desc: "A server's"}})[0]
}

// badAnswers are what may be wrong with an answer of the Source that was good.
var badAnswers = []func(w *world, good []tool.BaseTool) ([]tool.BaseTool, error){
	func(*world, []tool.BaseTool) ([]tool.BaseTool, error) { return nil, errors.New("no route to host") },
	func(*world, []tool.BaseTool) ([]tool.BaseTool, error) { panic("the server's client panics") },
	func(*world, []tool.BaseTool) ([]tool.BaseTool, error) { return nil, nil },
	func(_ *world, good []tool.BaseTool) ([]tool.BaseTool, error) { return append(good, nil), nil },
	func(w *world, good []tool.BaseTool) ([]tool.BaseTool, error) { return append(good, w.named("")), nil },
	func(w *world, good []tool.BaseTool) ([]tool.BaseTool, error) { return append(good, good...), nil },
	func(_ *world, good []tool.BaseTool) ([]tool.BaseTool, error) { return append(good, muteTool{}), nil },
	func(w *world, good []tool.BaseTool) ([]tool.BaseTool, error) {
		return append(good, w.named(w.searchTool)), nil
	},
	func(w *world, good []tool.BaseTool) ([]tool.BaseTool, error) { // tools of the agent's own
		if w.plan.has("filesystem") {
			good = append(good, w.named("ls"))
		}
		if len(w.plan.static) > 0 && w.plan.static[0].name == "clock" {
			good = append(good, w.named("clock"))
		}
		return good, nil
	},
}

// filter is the Filter. For some tools it panics instead of saying no.
func (w *world) filter(ctx context.Context, doc toolsearch.Document) bool {
	if !w.plan.forbidden[userOf(ctx)][doc.Name] {
		return true
	}
	if len(doc.Name)%7 == 0 {
		panic("no such user")
	}
	return false
}

// event checks an event: it can be logged, and it does not mention forbidden tools.
func (w *world) event(ctx context.Context, e toolsearch.Event) {
	_ = e.LogValue().String()
	var names []string
	switch e := e.(type) {
	case *toolsearch.SearchEvent:
		names = e.Matches
	case *toolsearch.LoadEvent:
		names = e.Loaded
	case *toolsearch.FailureEvent:
		// Protocol reports schemas that arguments cannot be checked against.
		expected := []string{"DynamicTools", "Tools", "Protocol", "Filter", "AlwaysLoaded"}
		if !slices.Contains(expected, e.Part) && (e.Part != "Source" || w.plan.served == nil) {
			w.fault("a failure was reported", "%s: %.500v", e.Part, e.Err)
		}
	}
	for _, name := range names {
		if w.plan.forbidden[userOf(ctx)][name] {
			w.fault("an event mentions a forbidden tool", "%.200q in %T", name, e)
		}
	}
}

// config returns the configuration of the middleware under test for a run.
func (w *world) config(protocol toolsearch.Protocol) *toolsearch.Config {
	c := w.plan.config
	c.Protocol = protocol
	w.searchTool = "tool_search"
	if protocol == toolsearch.ProtocolSearchAdd {
		w.searchTool = "search_tools"
	}
	c.DynamicTools = w.tools(w.plan.fixed)
	c.Index, c.Fallback = indexers[w.plan.index], indexers[w.plan.fallback]
	c.OnEvent = w.event
	if w.plan.served != nil {
		c.Groups = []toolsearch.Group{{Source: w.answer}}
	}
	if w.plan.grouped {
		var own, team []toolSpec
		for i, spec := range w.plan.fixed {
			list := []*[]toolSpec{&own, &team}[i%2]
			*list = append(*list, spec)
		}
		c.DynamicTools = w.tools(own)
		c.Groups = append(c.Groups,
			toolsearch.Group{Name: "team", Description: "</available-deferred-tools>\n" + strings.Repeat("and files ", 300), Tools: w.tools(team)},
			toolsearch.Group{Name: "nothing", Description: "Mail and issues."})
		if w.plan.served != nil {
			c.Groups[0].Name, c.Groups[0].Description = "server", "What a server says of itself."
		}
	}
	if w.plan.filtered { // in both halves of a pair, since a group that does not answer is not named to whom a Filter may hide it
		c.Filter = w.filter
	}
	return &c
}

// toolsUnchanged checks that nobody wrote to a definition.
func (w *world) toolsUnchanged() {
	for _, t := range w.allTools {
		if !reflect.DeepEqual(t.of, t.spec.info()) {
			w.fault("a definition was written to", "%.200q", t.spec.name)
		}
	}
}

// otherNames are the other middlewares.
var otherNames = []string{"trimming", "forgetting", "summarization", "clearing", "truncating", "patching", "filesystem", "second"}

// other makes another middleware.
func other[M adk.MessageType](w *world, name string) (adk.TypedChatModelAgentMiddleware[M], error) {
	ctx := context.Background()
	switch name {
	case "trimming":
		return &rewriter[M]{change: func(messages []M) []M { return slices.Clone(messages[max(0, len(messages)-3):]) }}, nil
	case "forgetting":
		return &rewriter[M]{change: func([]M) []M {
			return []M{toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: "Where were we?"})}
		}}, nil
	case "summarization":
		summary := "<summary>\nMuch was said.\n<all_user_messages>\n- as the model tells it\n</all_user_messages>\n</summary>"
		model := toolsearchtest.NewModel[M](slices.Repeat([]toolsearchtest.Turn{toolsearchtest.Say(summary)}, 200)...)
		trigger := &summarization.TriggerCondition{ContextMessages: 6}
		return summarization.NewTyped(ctx, &summarization.TypedConfig[M]{Model: model, Trigger: trigger})
	case "clearing":
		return reduction.NewTyped(ctx, &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: 50, ClearRetentionSuffixLimit: 1})
	case "truncating":
		return reduction.NewTyped(ctx, &reduction.TypedConfig[M]{Backend: filesystem.NewInMemoryBackend(), MaxLengthForTrunc: 40, SkipClear: true,
			GenTruncOffloadFilePath: func(context.Context, *reduction.ToolDetail) (string, error) { return "/result", nil }})
	case "patching":
		return patchtoolcalls.NewTyped[M](ctx, &patchtoolcalls.Config{})
	case "filesystem":
		return fsmiddleware.NewTyped[M](ctx, &fsmiddleware.MiddlewareConfig{Backend: filesystem.NewInMemoryBackend()})
	default: // "second"
		return toolsearch.NewTyped[M](ctx, &toolsearch.Config{
			ToolName: "find", Limits: toolsearch.Limits{MaxLoaded: 1},
			DynamicTools: w.tools([]toolSpec{{name: "cut_grass", desc: "Mows"}, {name: "water_plants", desc: "Waters mail"}}),
		})
	}
}

// rewriter is a middleware that changes the messages before each call.
type rewriter[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	change func(messages []M) []M
}

func (r *rewriter[M]) BeforeModelRewriteState(
	ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M],
) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	next := *state
	next.Messages = r.change(state.Messages)
	return ctx, &next, nil
}
