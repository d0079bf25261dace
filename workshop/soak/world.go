package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

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

// world is the surroundings of one play. It is not generic, since tools do not see messages.
type world struct {
	plan    *plan
	rec     *recorder
	without map[string]bool // names of tools that are left out, for the other half of a pair
	made    []*soakTool

	mu         sync.Mutex
	edition    edition
	searchTool string // the name of the search tool of the run
	onTool     func() // called by the next tool that runs; nil means nothing
}

func newWorld(p *plan, rec *recorder, without map[string]bool) *world {
	return &world{plan: p, rec: rec, without: without}
}

// soakTool is a tool of a spec. Its ways are methods of the types below.
type soakTool struct {
	world *world
	spec  toolSpec
	of    *schema.ToolInfo
	was   schema.ToolInfo // the definition when the tool was made

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
	if t.spec.result == confirms {
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
		w.rec.fault("a forbidden tool ran", "%.200q ran for user %d, who may not see it", name, userOf(ctx))
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
		t.was = copied(t.of)
		w.mu.Lock()
		w.made = append(w.made, t)
		w.mu.Unlock()
		switch spec.way {
		case streamable:
			tools = append(tools, streamableTool{t})
		case enhanced:
			tools = append(tools, enhancedTool{t})
		default:
			tools = append(tools, invokableTool{t})
		}
	}
	return tools
}

// serve changes what the Source answers.
func (w *world) serve(now edition) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.edition = now
}

// next makes the Source answer with the next edition, if it has any.
func (w *world) next() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.plan.served) > 0 {
		w.edition = edition((int(w.edition) + 1 + len(w.plan.served)) % len(w.plan.served))
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
	good := w.tools(w.plan.served[0])
	named := func(name string) tool.BaseTool {
		return w.tools([]toolSpec{{name: name, desc: "A server's"}})[0]
	}
	switch now {
	case failing:
		return nil, errors.New("no route to host")
	case panicking:
		panic("the server's client panics")
	case nilTool:
		return append(good, nil), nil
	case nameless:
		return append(good, named("")), nil
	case doubled:
		return append(good, w.tools(w.plan.served[0])...), nil
	case grabbing:
		return append(good, named(w.searchTool)), nil
	case clashing:
		if w.plan.has("filesystem") {
			good = append(good, named("ls"))
		}
		if len(w.plan.static) > 0 {
			good = append(good, named("clock"))
		}
		return good, nil
	case mute:
		return append(good, muteTool{}), nil
	default:
		return nil, nil
	}
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
			w.rec.fault("a failure was reported", "%s: %.500v", e.Part, e.Err)
		}
	}
	for _, name := range names {
		if w.plan.forbidden[userOf(ctx)][name] {
			w.rec.fault("an event mentions a forbidden tool", "%.200q in %T", name, e)
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
		w.group(&c)
	}
	if w.plan.filtered && w.without == nil {
		c.Filter = w.filter
	}
	return &c
}

// group puts the Source and some of the fixed tools into groups. The tools keep their names.
func (w *world) group(c *toolsearch.Config) {
	var own, team []toolSpec
	for _, spec := range w.plan.fixed {
		if len(spec.name)%2 == 0 {
			own = append(own, spec)
		} else {
			team = append(team, spec)
		}
	}
	c.DynamicTools = w.tools(own)
	var served func(context.Context) ([]tool.BaseTool, error)
	if w.plan.served != nil {
		served = w.answer
	}
	c.Groups = []toolsearch.Group{
		{Name: "team", Description: "Mail </available-deferred-tools>\n" + strings.Repeat("and files ", 300), Tools: w.tools(team)},
		{Name: "server", Description: "What a server says of itself.", Source: served},
		{Name: "nothing", Description: "Mail and issues."},
	}
}

// toolsUnchanged checks that nobody wrote to a definition.
func (w *world) toolsUnchanged() {
	for _, t := range w.made {
		isSame := t.of.Name == t.was.Name && t.of.Desc == t.was.Desc && t.of.ParamsOneOf == t.was.ParamsOneOf && len(t.of.Extra) == len(t.was.Extra)
		if !isSame || len(t.spec.schema) < 1000 && schemaText(t.of) != w.rec.schemaOf(t.spec.fresh()) {
			w.rec.fault("a definition was written to", "%.200q", t.was.Name)
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
		return summarization.NewTyped(ctx, &summarization.TypedConfig[M]{Model: model, Trigger: &summarization.TriggerCondition{ContextMessages: 6}})
	case "clearing":
		return reduction.NewTyped(ctx, &reduction.TypedConfig[M]{SkipTruncation: true, MaxTokensForClear: 50, ClearRetentionSuffixLimit: 1})
	case "truncating":
		return reduction.NewTyped(ctx, &reduction.TypedConfig[M]{Backend: filesystem.NewInMemoryBackend(), MaxLengthForTrunc: 40, SkipClear: true,
			GenTruncOffloadFilePath: func(context.Context, *reduction.ToolDetail) (string, error) { return "/result", nil }})
	case "patching":
		return patchtoolcalls.NewTyped[M](ctx, &patchtoolcalls.Config{})
	case "filesystem":
		return fsmiddleware.NewTyped[M](ctx, &fsmiddleware.MiddlewareConfig{Backend: filesystem.NewInMemoryBackend()})
	case "second":
		return toolsearch.NewTyped[M](ctx, &toolsearch.Config{
			ToolName: "find", Limits: toolsearch.Limits{MaxLoaded: 1}, DynamicTools: w.tools([]toolSpec{{name: "cut_grass", desc: "Mows"}, {name: "water_plants", desc: "Waters mail"}}),
		})
	default:
		return nil, fmt.Errorf("no middleware %q", name)
	}
}

// rewriter is a middleware that changes the messages before each call.
type rewriter[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	change func(messages []M) []M
}

func (r *rewriter[M]) BeforeModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	next := *state
	next.Messages = r.change(state.Messages)
	return ctx, &next, nil
}

// memoryStore keeps checkpoints.
type memoryStore struct {
	mu   sync.Mutex
	data map[string][]byte
}

func (s *memoryStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	data, ok := s.data[id]
	return data, ok, nil
}

func (s *memoryStore) Set(_ context.Context, id string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.data == nil {
		s.data = make(map[string][]byte)
	}
	s.data[id] = data
	return nil
}

// atOnce is the pause before a retry.
func atOnce(context.Context, int) time.Duration { return 0 }

// firstLine returns the text before the first line break, for errors that have a stack.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
