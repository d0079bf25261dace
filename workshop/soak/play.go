package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/cost/agents"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// The play of a plan: real agents, a model that talks by the plan, run after run over one history.

// play plays a plan. The tools named by without are left out; nil means that the plan is played as it is.
func play(p *plan, without map[string]bool) *world {
	w := newWorld(p, without)
	defer func() {
		if panicked := recover(); panicked != nil {
			w.fault("a panic", "%v", panicked)
		}
	}()
	if p.agentic {
		playAs[*schema.AgenticMessage](w)
	} else {
		playAs[*schema.Message](w)
	}
	w.toolsUnchanged()
	return w
}

func playAs[M adk.MessageType](w *world) {
	c := &conversation[M]{world: w, history: past[M](w.plan)}
	if w.plan.session {
		c.session = toolsearch.NewSession()
	}
	for i := range w.plan.runs {
		c.number, c.run = i, &w.plan.runs[i]
		c.play()
		c.endRun()
	}
}

// conversation is a plan that is being played.
type conversation[M adk.MessageType] struct {
	*world
	session *toolsearch.Session // nil means none
	store   testtools.MemoryStore
	history []M
	agent   adk.TypedAgent[M]

	number      int // of the run
	run         *runPlan
	cancel      context.CancelFunc
	cancelAgent adk.AgentCancelFunc
	isOver      bool // the run was cancelled, so Eino decides how it ends
	goroutines  int  // before the run

	speaking  sync.Mutex // of the models
	runCalls  int        // of the model, in the run
	cancelled bool
}

// play plays one run and keeps its messages.
func (c *conversation[M]) play() {
	p := c.plan
	for _, what := range c.run.rewrites {
		c.history = rewrite(p.source("rewrite "+what, c.number), what, c.history)
		c.tidy = c.tidy && what == "json"
	}
	c.log("run %d: %+v", c.number, *c.run)
	c.current, c.last, c.removes = map[string]bool{}, nil, false
	c.serve(c.run.edition)
	c.isOver, c.cancelled, c.runCalls, c.goroutines = false, false, 0, runtime.NumGoroutine()
	ctx, cancel := context.WithCancel(context.WithValue(context.Background(), userKey{}, c.run.user))
	defer cancel()
	c.cancel = cancel
	if c.session != nil {
		ctx = toolsearch.WithSession(ctx, c.session)
	}
	c.build()
	question := toolsearchtest.Message{Role: toolsearchtest.User, Text: sentence(p.source("question", c.number), 6)}
	c.history = append(c.history, toolsearchtest.Encode[M](question))
	given := slices.Clone(c.history)
	if c.run.cancel == "start" {
		c.isOver = true
		cancel()
	}
	if !p.runner {
		if c.drain(ctx, c.agent.Run(ctx, &adk.TypedAgentInput[M]{Messages: given, EnableStreaming: p.streaming}, c.options()...)) || c.isOver {
			c.settle()
		}
		return
	}
	id := fmt.Sprint(c.number)
	interrupted := c.drain(ctx, c.newRunner().Run(ctx, given, append(c.options(), adk.WithCheckPointID(id))...))
	for resumes := 0; interrupted && resumes < 5; resumes++ {
		if c.run.moves {
			c.next()
			c.tidy = false // if the tool is gone, the answer of an UnknownToolsHandler is in no event
			ctx = context.WithValue(ctx, userKey{}, 1-userOf(ctx))
		}
		c.log("  resumed for user %d", userOf(ctx))
		waitFor(c.goroutines, time.Second)
		c.build()
		c.last = nil
		resumed, err := c.newRunner().Resume(ctx, id, c.options()...)
		if err != nil {
			if !c.isOver {
				c.fault("a run cannot be resumed", "%v", err)
			}
			break
		}
		interrupted = c.drain(ctx, resumed)
	}
	if c.isOver || interrupted {
		c.settle()
	}
}

// settle waits for the goroutines of a run that was cut short: Eino leaves them behind, and they would
// use the hooks and the messages of the next run.
func (c *conversation[M]) settle() {
	c.tidy = false
	waitFor(c.goroutines, time.Second)
}

// options returns the options of a run that Eino's own cancel may end.
func (c *conversation[M]) options() []adk.AgentRunOption {
	if !strings.HasPrefix(c.run.cancel, "agent") {
		return nil
	}
	option, cancelAgent := adk.WithCancel()
	c.cancelAgent = cancelAgent
	return []adk.AgentRunOption{option}
}

// endRun checks the session after a run, and stores it.
func (c *conversation[M]) endRun() {
	if c.session == nil {
		return
	}
	text, stored := must(json.Marshal(c.session)), &toolsearch.Session{}
	mustRead(string(text), stored)
	c.shown = append(c.shown, "session "+string(text))
	if !slices.Equal(stored.Loaded(), c.session.Loaded()) {
		c.fault("a session is not what was stored", "%.500q, %.500q", c.session.Loaded(), stored.Loaded())
	}
	if c.plan.stored {
		c.session = stored
	}
}

func (c *conversation[M]) newRunner() *adk.TypedRunner[M] {
	return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: c.agent, EnableStreaming: c.plan.streaming, CheckPointStore: &c.store})
}

// drain reads the events to their end, and reports whether the run was interrupted.
func (c *conversation[M]) drain(ctx context.Context, events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (interrupted bool) {
	defer func() { inOrderOfCalls(c.history) }()
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		interrupted = interrupted || event.Action != nil && event.Action.Interrupted != nil
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
		c.isOver = c.isOver || c.cancelled || ctx.Err() != nil
		c.log("  ended: %.200v", err)
		if !c.isOver || strings.Contains(err.Error(), "panic") {
			c.fault("a run ended", "%.2000v", err)
		}
	}
	return interrupted
}

// inOrderOfCalls puts the results of each round into the order of its calls: events come as tools
// end. Results that no id tells apart are ordered by their texts.
func inOrderOfCalls[M adk.MessageType](messages []M) {
	order := map[string]int{}
	isResult := func(at int) bool {
		parts := partsOf(messages[at : at+1])
		return len(parts) > 0 && !parts[0].isCall
	}
	for from := 0; from < len(messages); from++ {
		if !isResult(from) {
			clear(order)
			for i, call := range partsOf(messages[from : from+1]) {
				order[call.id] = i
			}
			continue
		}
		to := from
		for to < len(messages) && isResult(to) {
			to++
		}
		slices.SortStableFunc(messages[from:to], func(a, b M) int {
			one, two := partsOf([]M{a})[0], partsOf([]M{b})[0]
			return cmp.Or(cmp.Compare(order[one.id], order[two.id]), cmp.Compare(plainID(asJSON(a)), plainID(asJSON(b))))
		})
		from = to - 1
	}
}

// build makes the agent, anew if the plan says so.
func (c *conversation[M]) build() {
	if c.agent != nil && !c.plan.restarts {
		return
	}
	ctx, p := context.Background(), c.plan
	ours := must(toolsearch.NewTyped[M](ctx, c.config(c.run.protocol)))
	config := c.agentConfig("soaker", &talker[M]{conversation: c})
	config.ToolsConfig.Tools = c.tools(p.static)
	config.ToolsConfig.ExecuteSequentially = p.odd // of several results with one id, Eino's events have the first that is ready
	if p.retries {
		atOnce := func(context.Context, int) time.Duration { return 0 }
		config.ModelRetryConfig = &adk.TypedModelRetryConfig[M]{MaxRetries: 100, BackoffFunc: atOnce}
	}
	if p.insider {
		inner := c.agentConfig("insider", &talker[M]{conversation: c, isInside: true})
		inner.Handlers = []adk.TypedChatModelAgentMiddleware[M]{ours}
		agent := must(agents.New(ctx, inner))
		config.ToolsConfig.Tools = append(config.ToolsConfig.Tools, adk.NewTypedAgentTool(ctx, adk.TypedAgent[M](agent)))
	}
	for _, name := range p.before {
		config.Handlers = append(config.Handlers, must(other[M](c.world, name)))
	}
	config.Handlers = append(config.Handlers, &watcher[M]{ours, c.world})
	for _, name := range p.after {
		config.Handlers = append(config.Handlers, must(other[M](c.world, name)))
	}
	c.agent = must(agents.New(ctx, config))
}

func (c *conversation[M]) agentConfig(name string, model *talker[M]) *adk.TypedChatModelAgentConfig[M] {
	config := &adk.TypedChatModelAgentConfig[M]{Name: name, Description: "Talks", Instruction: "Be brief.", Model: model, MaxIterations: 1000}
	// Without a handler, Eino ends the run under UnknownFail, and if a tool is gone when a run is resumed.
	if c.plan.config.Unknown == toolsearch.UnknownFail || c.plan.runner {
		config.ToolsConfig.UnknownToolsHandler = func(context.Context, string, string) (string, error) { return "no such tool", nil }
	}
	return config
}

// talker is the model, or the insider's.
type talker[M adk.MessageType] struct {
	*conversation[M]
	isInside bool
	calls    int // of the insider's
}

func (t *talker[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	scripted, change := t.scripted(ctx, input)
	msg, err := scripted.Generate(ctx, input, t.onWire(ctx, input, opts)...)
	if err != nil {
		return msg, err
	}
	return change(msg)
}

func (t *talker[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	scripted, change := t.scripted(ctx, input)
	stream, err := scripted.Stream(ctx, input, t.onWire(ctx, input, opts)...)
	if err != nil {
		return nil, err
	}
	return schema.StreamReaderWithConvert(stream, change), nil
}

// onWire returns the options of a call as the model gets them: in half of the conversations its requests pass AnchoredTransport.
func (t *talker[M]) onWire(ctx context.Context, input []M, opts []model.Option) []model.Option {
	if t.run.protocol != toolsearch.ProtocolAnchored || chance(t.plan.source("wire"), 2) {
		return opts
	}
	var messages []*schema.Message
	for _, m := range messagesOf(input) {
		messages = append(messages, toolsearchtest.Encode[*schema.Message](m))
	}
	return append(slices.Clip(opts), model.WithTools(must(cost.Seen(ctx, messages, model.GetCommonOptions(nil, opts...).Tools))))
}

// scripted returns a model for one call, and what becomes of its messages: now and then an odd model leaves
// out the ids, which toolsearchtest.Model would never do.
func (t *talker[M]) scripted(ctx context.Context, input []M) (*toolsearchtest.Model[M], func(M) (M, error)) {
	var isIdless bool
	change := func(msg M) (M, error) {
		if isIdless {
			msg = without(msg, "id", "call_id")
		}
		return msg, nil
	}
	return toolsearchtest.NewModel[M](toolsearchtest.Turn{Decide: func(r toolsearchtest.Request) toolsearchtest.Turn {
		t.speaking.Lock()
		defer t.speaking.Unlock()
		call := &seenCall[M]{world: t.world, run: t.number, call: t.runCalls, user: userOf(ctx), input: input, request: r, isInside: t.isInside}
		random := t.plan.source("talk", t.number, t.runCalls)
		if t.isInside {
			t.calls++
			call.call = t.calls
			checkCall(call)
			return t.say(t.plan.source("inside", t.calls), 100, t.calls, r, t.calls%3 == 0)
		}
		t.runCalls++
		call.protocol = t.run.protocol
		checkCall(call)
		if chance(random, 5) {
			t.next()
		}
		isLast := call.call >= t.run.calls-1
		if t.plan.retries && !isLast && chance(random, 6) {
			return toolsearchtest.Fail(errors.New("overloaded"))
		}
		if t.run.cancel != "" && call.call == t.run.cancelAt {
			if err := t.cancelRun(ctx); err != nil && chance(random, 2) {
				return toolsearchtest.Fail(err)
			}
		}
		isIdless = t.plan.odd && chance(random, 5)
		return t.say(random, t.number, call.call, r, isLast)
	}}), change
}

// say makes a turn and remembers it. The insider does not call itself.
func (t *talker[M]) say(random *rand.Rand, run, call int, r toolsearchtest.Request, isLast bool) toolsearchtest.Turn {
	turn := t.plan.turn(random, run, call, r, isLast)
	if t.isInside {
		turn.Calls = slices.DeleteFunc(turn.Calls, func(c toolsearchtest.Call) bool { return c.Name == "insider" })
	}
	t.log("    says %q and calls %.500q", turn.Text, turn.Calls)
	for _, c := range turn.Calls {
		t.removes = t.removes || strings.HasSuffix(c.Name, "remove_tool") || t.isInside || c.Name == "insider"
		if !t.isInside {
			t.current[c.ID], t.said[c.ID] = true, c
		}
	}
	return turn
}

// cancelRun cancels the run as its plan says. It returns the context's error.
func (c *conversation[M]) cancelRun(ctx context.Context) error {
	c.cancelled, c.tidy = true, false
	switch c.run.cancel {
	case "model":
		c.cancel()
	case "tools":
		c.mu.Lock()
		c.onTool = c.cancel
		c.mu.Unlock()
	case "agent":
		c.cancelAgent(adk.WithAgentCancelMode(adk.CancelImmediate))
	case "agent, safely":
		c.cancelAgent(adk.WithAgentCancelMode(adk.CancelAfterChatModel | adk.CancelAfterToolCalls))
	}
	return ctx.Err()
}
