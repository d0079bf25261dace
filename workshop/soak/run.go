package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The play of a plan: real agents, a model that talks by the plan, run after run over one history.

// play plays a plan. The tools named by without are left out, and so is the Filter; nil
// means that the plan is played as it is.
func play(p *plan, without map[string]bool) *recorder {
	rec := newRecorder(p)
	func() {
		defer func() {
			if panicked := recover(); panicked != nil {
				rec.fault("a panic", "%v", panicked)
			}
		}()
		if p.agentic {
			playAs[*schema.AgenticMessage](p, rec, without)
		} else {
			playAs[*schema.Message](p, rec, without)
		}
	}()
	return rec
}

func playAs[M adk.MessageType](p *plan, rec *recorder, without map[string]bool) {
	c := &conversation[M]{plan: p, rec: rec, world: newWorld(p, rec, without), history: past[M](p)}
	if p.session != noSession {
		c.session = toolsearch.NewSession()
	}
	for i := range p.runs {
		c.number, c.run = i, &p.runs[i]
		if err := c.play(); err != nil {
			rec.fault("the soak is wrong", "%v", err)
			return
		}
	}
	c.world.toolsUnchanged()
}

// conversation is a plan that is being played.
type conversation[M adk.MessageType] struct {
	plan    *plan
	rec     *recorder
	world   *world
	session *toolsearch.Session // nil means none
	store   memoryStore
	history []M

	number int // of the run
	run    *runPlan
	agent  adk.TypedAgent[M]
	talker *talker[M]
	isOver bool // the run was cancelled, so Eino decides how it ends

	goroutines int // before the run
}

// play plays one run and keeps its messages.
func (c *conversation[M]) play() error {
	for _, what := range c.run.rewrites {
		c.history = rewrite(c.plan.source("rewrite "+what, c.number), what, c.history)
		c.rec.tidy = c.rec.tidy && what == "json"
	}
	c.rec.beginRun(c.number, c.run)
	c.world.serve(c.run.edition)
	c.isOver, c.goroutines = false, runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), userKey{}, c.run.user))
	defer cancel()
	if c.session != nil {
		ctx = toolsearch.WithSession(ctx, c.session)
	}
	if err := c.build(cancel); err != nil {
		return err
	}
	question := toolsearchtest.Encode[M](toolsearchtest.Message{Role: toolsearchtest.User, Text: sentence(c.plan.source("question", c.number), 6)})
	c.history = append(c.history, question)
	given := slices.Clone(c.history)
	if c.run.cancel == atStart {
		c.isOver = true
		cancel()
	}
	var events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]
	id := fmt.Sprint(c.number)
	if c.plan.runner {
		events = c.newRunner().Run(ctx, given, append(c.options(), adk.WithCheckPointID(id))...)
	} else {
		events = c.agent.Run(ctx, &adk.TypedAgentInput[M]{Messages: given, EnableStreaming: c.plan.streaming}, c.options()...)
	}
	interrupted := c.drain(ctx, events)
	for resumes := 0; interrupted && c.plan.runner && resumes < 5; resumes++ {
		if c.run.moves {
			c.world.next()
			ctx = context.WithValue(ctx, userKey{}, 1-userOf(ctx))
		}
		c.rec.note("  resumed for user %d", userOf(ctx))
		c.settle()
		if c.plan.restarts {
			if err := c.build(cancel); err != nil {
				return err
			}
		}
		c.rec.resumed = true
		resumed, err := c.newRunner().Resume(ctx, id, c.options()...)
		if err != nil {
			if !c.isOver {
				c.rec.fault("a run cannot be resumed", "%v", err)
			}
			break
		}
		interrupted = c.drain(ctx, resumed)
	}
	if c.isOver || interrupted {
		c.rec.tidy = false
		c.settle()
	}
	return c.endRun()
}

// settle waits for the goroutines of a cancelled run: Eino leaves them behind, and they would
// use the hooks and the messages of the next run.
func (c *conversation[M]) settle() { waitFor(c.goroutines, time.Second) }

// waitFor waits until there are at most that many goroutines. It reports false if the time is
// up first.
func waitFor(goroutines int, most time.Duration) bool {
	for end := time.Now().Add(most); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// options returns the options of a run that Eino's own cancel may end.
func (c *conversation[M]) options() []adk.AgentRunOption {
	if c.run.cancel != byAgent && c.run.cancel != byAgentSafe {
		return nil
	}
	option, cancelAgent := adk.WithCancel()
	c.talker.cancelAgent = cancelAgent
	return []adk.AgentRunOption{option}
}

// endRun checks the session after a run, and stores it.
func (c *conversation[M]) endRun() error {
	if c.session == nil {
		return nil
	}
	text, err := json.Marshal(c.session)
	if err != nil {
		return err
	}
	stored := &toolsearch.Session{}
	if err := json.Unmarshal(text, stored); err != nil {
		return err
	}
	c.rec.bytes("session", string(text))
	if !slices.Equal(stored.Loaded(), c.session.Loaded()) {
		c.rec.fault("a session is not what was stored", "%.500q, %.500q", c.session.Loaded(), stored.Loaded())
	}
	if c.plan.session == storedSession {
		c.session = stored
	}
	return nil
}

func (c *conversation[M]) newRunner() *adk.TypedRunner[M] {
	return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: c.agent, EnableStreaming: c.plan.streaming, CheckPointStore: &c.store})
}

// drain reads the events to their end, and reports whether the run was interrupted.
func (c *conversation[M]) drain(ctx context.Context, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (interrupted bool) {
	defer func() { inOrderOfCalls(c.history) }()
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		if event.Action != nil && event.Action.Interrupted != nil {
			interrupted = true
			c.rec.note("  interrupted")
		}
		err := event.Err
		if event.Output != nil && event.Output.MessageOutput != nil && err == nil {
			var msg M
			if msg, err = event.Output.MessageOutput.GetMessage(); err == nil {
				c.history = append(c.history, msg)
			}
		}
		if err == nil {
			continue
		}
		var cancelled *adk.CancelError
		if errors.As(err, &cancelled) {
			c.isOver, interrupted = true, true
		}
		c.isOver = c.isOver || c.talker.cancelled || ctx.Err() != nil
		c.rec.note("  ended: %v", firstLine(err.Error()))
		if !c.isOver || strings.Contains(err.Error(), "panic") {
			c.rec.fault("a run ended", "%.2000v", err)
		}
	}
	return interrupted
}

// inOrderOfCalls puts the results of each round into the order of its calls: events come as tools
// end. Results that no id tells apart are ordered by their texts.
func inOrderOfCalls[M adk.MessageType](messages []M) {
	order := map[string]int{}
	for from := 0; from < len(messages); from++ {
		parts := partsOf(messages[from : from+1])
		if len(parts) == 0 || parts[0].isCall {
			clear(order)
			for i, call := range parts {
				order[call.id] = i
			}
			continue
		}
		to := from
		for ; to < len(messages); to++ {
			if parts := partsOf(messages[to : to+1]); len(parts) == 0 || parts[0].isCall {
				break
			}
		}
		slices.SortStableFunc(messages[from:to], func(a, b M) int {
			one, two := partsOf([]M{a})[0], partsOf([]M{b})[0]
			return cmp.Or(cmp.Compare(order[one.id], order[two.id]), cmp.Compare(plainID(written(a)), plainID(written(b))))
		})
		from = to - 1
	}
}

// build makes the agent, anew if the plan says so.
func (c *conversation[M]) build(cancel context.CancelFunc) error {
	if c.agent != nil && !c.plan.restarts {
		c.talker.begin(c.number, c.run, cancel)
		return nil
	}
	ctx, p := context.Background(), c.plan
	ours, err := toolsearch.NewTyped[M](ctx, c.world.config(c.run.protocol))
	if err != nil {
		return err
	}
	calls := 0
	if c.talker != nil && c.talker.run == c.number { // the run continues after a restart
		calls = c.talker.calls
	}
	c.talker = &talker[M]{rec: c.rec, world: c.world, speaker: speaker{p, p.names()}}
	c.talker.begin(c.number, c.run, cancel)
	c.talker.calls = calls
	watch := &watch[M]{rec: c.rec, ours: ours, talker: c.talker}
	config := &adk.TypedChatModelAgentConfig[M]{Name: "soaker", Description: "Talks", Instruction: "Be brief.", Model: c.talker, MaxIterations: 1000}
	config.ToolsConfig.Tools = c.world.tools(p.static)
	config.ToolsConfig.UnknownToolsHandler = p.unknownTools()
	config.ToolsConfig.ExecuteSequentially = p.odd // of several results with one id, Eino's events have the first that is ready
	if p.retries {
		config.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 100, BackoffFunc: atOnce}
	}
	if p.insider {
		inner, err := c.insider(ours)
		if err != nil {
			return err
		}
		config.ToolsConfig.Tools = append(config.ToolsConfig.Tools, inner)
	}
	add := func(names []string) error {
		for _, name := range names {
			handler, err := other[M](c.world, name)
			if err != nil {
				return err
			}
			if !slices.ContainsFunc(config.Handlers, func(h adk.TypedChatModelAgentMiddleware[M]) bool {
				return fmt.Sprintf("%T", h) == fmt.Sprintf("%T", handler)
			}) {
				config.Handlers = append(config.Handlers, handler)
			}
		}
		return nil
	}
	if err := add(p.before); err != nil {
		return err
	}
	config.Handlers = append(config.Handlers, &watcher[M]{watch: watch, isFirst: true}, ours, &watcher[M]{watch: watch})
	if err := add(p.after); err != nil {
		return err
	}
	c.agent, err = adk.NewTypedChatModelAgent(ctx, config)
	return err
}

// insider returns an agent as a tool, behind the same middleware.
func (c *conversation[M]) insider(ours adk.TypedChatModelAgentMiddleware[M]) (tool.BaseTool, error) {
	inside := &talker[M]{rec: c.rec, world: c.world, speaker: c.talker.speaker, isInside: true}
	config := &adk.TypedChatModelAgentConfig[M]{
		Name: "insider", Description: "Looks around", Model: inside, MaxIterations: 1000, Handlers: []adk.TypedChatModelAgentMiddleware[M]{ours},
	}
	config.ToolsConfig.UnknownToolsHandler = c.plan.unknownTools()
	agent, err := adk.NewTypedChatModelAgent(context.Background(), config)
	if err != nil {
		return nil, err
	}
	return adk.NewTypedAgentTool(context.Background(), adk.TypedAgent[M](agent)), nil
}

// unknownTools is the agent's UnknownToolsHandler: without a handler, Eino ends the run under
// UnknownFail, and if a tool is gone when a run is resumed.
func (p *plan) unknownTools() func(context.Context, string, string) (string, error) {
	if p.config.Unknown != toolsearch.UnknownFail && !p.runner {
		return nil
	}
	return func(context.Context, string, string) (string, error) { return "no such tool", nil }
}

// talker is the model.
type talker[M adk.MessageType] struct {
	rec      *recorder
	world    *world
	speaker  speaker
	isInside bool

	mu          sync.Mutex
	run         int
	plan        *runPlan
	calls       int
	cancel      context.CancelFunc
	cancelAgent adk.AgentCancelFunc
	cancelled   bool
}

// begin begins a run.
func (t *talker[M]) begin(number int, run *runPlan, cancel context.CancelFunc) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.plan != run {
		t.calls, t.cancelled = 0, false
	}
	t.run, t.plan, t.cancel = number, run, cancel
}

// Generate implements model.BaseModel.
func (t *talker[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	msg, err := t.scripted(ctx, input, opts).Generate(ctx, input, opts...)
	if err == nil {
		withoutIDs(msg)
	}
	return msg, err
}

// Stream implements model.BaseModel.
func (t *talker[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	stream, err := t.scripted(ctx, input, opts).Stream(ctx, input, opts...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(stream, func(msg M) (M, error) {
		withoutIDs(msg)
		return msg, nil
	}), nil
}

// scripted returns a model for one call.
func (t *talker[M]) scripted(ctx context.Context, input []M, opts []model.Option) *toolsearchtest.Model[M] {
	return toolsearchtest.NewModel[M](toolsearchtest.Turn{Decide: func(r toolsearchtest.Request) toolsearchtest.Turn {
		t.mu.Lock()
		defer t.mu.Unlock()
		p := t.speaker.plan
		if t.isInside {
			checkCall(t.rec, &seenCall[M]{plan: p, run: t.run, call: t.calls, user: userOf(ctx), input: input, request: r, isInside: true})
			t.calls++
			turn := t.speaker.turn(p.source("inside", t.calls), 100, t.calls, r, t.calls%3 == 0)
			turn.Calls = slices.DeleteFunc(turn.Calls, func(c toolsearchtest.Call) bool { return c.Name == "insider" })
			t.rec.said(t.calls, turn, true)
			return turn
		}
		call := t.calls
		t.calls++
		random := p.source("talk", t.run, call)
		checkCall(t.rec, &seenCall[M]{plan: p, protocol: t.plan.protocol, run: t.run, call: call, user: userOf(ctx), input: input, request: r})
		if chance(random, 5) {
			t.world.next()
		}
		isLast := call >= t.plan.calls-1
		if p.retries && !isLast && chance(random, 6) {
			t.rec.note("  call %d: the provider fails", call)
			return toolsearchtest.Fail(errors.New("overloaded"))
		}
		if t.plan.cancel != never && call == t.plan.cancelAt {
			if err := t.cancelRun(ctx); err != nil && chance(random, 2) {
				return toolsearchtest.Fail(err)
			}
		}
		turn := t.speaker.turn(random, t.run, call, r, isLast)
		t.rec.said(call, turn, false)
		return turn
	}})
}

// cancelRun cancels the run as its plan says. It returns the context's error.
func (t *talker[M]) cancelRun(ctx context.Context) error {
	t.rec.note("  cancelled, %d", t.plan.cancel)
	t.cancelled, t.rec.tidy = true, false
	switch t.plan.cancel {
	case inModel:
		t.cancel()
	case inTools:
		t.world.mu.Lock()
		t.world.onTool = t.cancel
		t.world.mu.Unlock()
	case byAgent:
		t.cancelAgent(adk.WithAgentCancelMode(adk.CancelImmediate))
	case byAgentSafe:
		t.cancelAgent(adk.WithAgentCancelMode(adk.CancelAfterChatModel | adk.CancelAfterToolCalls))
	}
	return ctx.Err()
}

// withoutIDs removes each noID from a message.
func withoutIDs[M adk.MessageType](msg M) {
	switch m := any(msg).(type) {
	case *schema.Message:
		for i := range m.ToolCalls {
			if m.ToolCalls[i].ID == noID {
				m.ToolCalls[i].ID = ""
			}
		}
	case *schema.AgenticMessage:
		for _, block := range m.ContentBlocks {
			if block != nil && block.FunctionToolCall != nil && block.FunctionToolCall.CallID == noID {
				block.FunctionToolCall.CallID = ""
			}
		}
	}
}
