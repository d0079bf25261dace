package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// These tests ask Sources whose answers depend on who asks.

var durations = regexp.MustCompile(`Duration:\S+`)

type callerKey struct{}

func callerOf(ctx context.Context) string { return ctx.Value(callerKey{}).(string) }

func by(caller string) context.Context {
	return context.WithValue(context.Background(), callerKey{}, caller)
}

// personal is a group with other tools for each caller: those of a function, and who, which says whose it is.
func personal(name string, toolsOf func(caller string) []tool.BaseTool) toolsearch.Group {
	return toolsearch.Group{Name: name, PerCaller: callerOf, Source: func(ctx context.Context) ([]tool.BaseTool, error) {
		caller := callerOf(ctx)
		if caller == "eve" {
			return nil, errors.New("eve is locked out")
		}
		who := &fixedTool{testtools.PlainTool{Of: &schema.ToolInfo{Name: name + "_who", Desc: "Says whose tool it is"}}, caller}
		return append(toolsOf(caller), who), nil
	}}
}

// The tools of another caller are as if they were not in the catalog, by any door. Some have the names of one's own.
func TestCallersLeaveNoTrace(t *testing.T) {
	inAllWays(t, testCallersLeaveNoTrace[chat], testCallersLeaveNoTrace[agentic])
}

func testCallersLeaveNoTrace[M adk.MessageType](t *testing.T, w way) {
	lies := testtools.EchoTools("send_mail: Lies", "list_stocks: Lies", "add_tool: Lies", "clock: Lies", "bad name: Lies", "x_who: Lies")
	toolsOf := func(caller string) []tool.BaseTool {
		if caller == "bob" {
			return append(append(lies, toolsWithSecrets()...), nil)
		}
		return append(withoutSecrets(), testtools.EchoTools("send_mail: Once more", "list_stocks: Prices of shares")...)
	}
	for _, p := range protocols {
		for _, more := range []bool{false, true} {
			config := p.config
			config.Groups = []toolsearch.Group{
				personal("x", toolsOf), personal("y", toolsOf),
				{Name: "z", Source: func(context.Context) ([]tool.BaseTool, error) { return testtools.EchoTools("secret_mail: Public"), nil }},
			}
			if more {
				config.AlwaysLoaded = []string{"list_stocks", "secret_mail", "*:send_*", "*:x_*"}
				config.Limits.MaxLoaded, config.Preselect = 3, 2
				config.Filter = toolsearch.FilterTools([]string{"y"}, []string{"secret_mail", "x:list_stocks"})
				config.Reminder = toolsearch.ReminderConfig{MaxTokens: 60, Describe: true, Position: toolsearch.ReminderInstruction}
			}
			shown := func(before ...string) string {
				var events []string
				config.OnEvent = func(_ context.Context, e toolsearch.Event) {
					events = append(events, durations.ReplaceAllString(fmt.Sprintf("%T%+v", e, e), ""))
				}
				middleware := newMiddleware[M](t, config)
				for _, caller := range before {
					converseIn(by(caller), t, w, with(middleware), selecting("secret_mail,send_mail"), calling("x_who"))
				}
				events = nil
				return pryIn(by("ann"), t, w, with(middleware), true, p.search) + strings.Join(events, "\n")
			}
			what := fmt.Sprintf("%s, more %v", p.name, more)
			assert.Equal(t, shown("cid"), shown("cid", "bob", "eve"), "%s: the first run", what)
			assert.Equal(t, shown("ann"), shown("bob", "ann", "bob", "eve"), "%s: a later run", what)
		}
	}
}

// Runs at the same time have the tools of their callers, and call them. Definitions of several are indexed once.
// Run this test with -race.
func TestCallersAtTheSameTime(t *testing.T) {
	s := &server{}
	s.serve("shared: For all")
	config := s.config()
	config.Groups = append(config.Groups, personal("x", func(caller string) []tool.BaseTool {
		if strings.HasPrefix(caller, "user") {
			return nil
		}
		return testtools.EchoTools(caller+"_tool: Does", "same: Does it for "+caller)
	}))
	middleware := newMiddleware[chat](t, config)
	// has returns the tools of a caller, and what the last, x_who, answers.
	has := func(caller string) (had []string) {
		_, runCtx, err := middleware.BeforeAgent(by(caller), &adk.ChatModelAgentContext{})
		assert.NoError(t, err)
		for _, tl := range runCtx.Tools {
			info, err := tl.Info(context.Background())
			assert.NoError(t, err)
			had = append(had, info.Name+": "+info.Desc)
		}
		text, err := runCtx.Tools[len(runCtx.Tools)-1].(tool.InvokableTool).InvokableRun(context.Background(), "{}")
		assert.NoError(t, err)
		return append(had[1:], text)
	}
	weather, shared, who := "get_weather: Current weather of a city", "shared: For all", "x_who: Says whose tool it is"
	var runs sync.WaitGroup
	for i := range 60 {
		caller := []string{"ann", "bob", ""}[i%3]
		runs.Add(1)
		go func() {
			defer runs.Done()
			assert.Equal(t, []string{weather, shared, caller + "_tool: Does", "same: Does it for " + caller, who, caller}, has(caller))
		}()
	}
	runs.Wait()
	built := s.indexed.Load()
	for i := range 20 {
		user := fmt.Sprint("user", i)
		assert.Equal(t, []string{weather, shared, who, user}, has(user))
	}
	assert.Equal(t, built, s.indexed.Load(), "indexes for users whose definitions are known")
}

// A call that hangs holds the runs of its caller alone, and each caller has one call at a time.
func TestCallerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, asked := make(chan struct{}), make(chan string, 100)
		group := personal("x", func(caller string) []tool.BaseTool {
			if asked <- caller; caller == "bob" {
				<-release // whatever its context says
			}
			return nil
		})
		middleware := newMiddleware[chat](t, toolsearch.Config{Groups: []toolsearch.Group{group}})
		var runs sync.WaitGroup
		for range 5 {
			run := conversing(by("bob"), t, way{}, with(middleware), question)
			runs.Add(1)
			go func() { defer runs.Done(); checkAnnounced(t, run()) }()
		}
		start := time.Now()
		checkAnnounced(t, converseIn(by("ann"), t, way{}, with(middleware)), "x (1)", "x_who")
		assert.Zero(t, time.Since(start))
		runs.Wait()
		assert.Equal(t, toolsearch.DefaultSourceTimeout, time.Since(start))
		assert.Len(t, asked, 2)
		close(release)
	})
}

// A run whose PerCaller panics has the tools of nobody.
func TestPerCallerPanics(t *testing.T) {
	var told []string
	group := personal("x", func(string) []tool.BaseTool { return nil })
	group.PerCaller = func(ctx context.Context) string { return callerOf(ctx)[1:] }
	middleware := newMiddleware[chat](t, toolsearch.Config{Groups: []toolsearch.Group{group},
		DynamicTools: testtools.EchoTools("clock: The time"),
		OnEvent:      onFailure(func(err error) { told = append(told, err.Error()) })})
	checkAnnounced(t, converseIn(by("1"), t, way{}, with(middleware)), "x (1)", "x_who", "clock")
	checkAnnounced(t, converseIn(by(""), t, way{}, with(middleware)), "clock")
	require.Len(t, told, 1)
	assert.Contains(t, told[0], `toolsearch: Source of group "x": PerCaller: panic: `)
}

// A run that another caller resumes has the tools of that caller, and so has one that shares a session.
func TestAnotherCallerGoesOn(t *testing.T) { inRestarts(t, testAnotherCaller) }

func testAnotherCaller(t *testing.T, w way) {
	toolsOf := func(caller string) []tool.BaseTool {
		return append(testtools.EchoTools(caller+"_tool: Does", "same: Does it for "+caller), confirming("delete_all"))
	}
	config := func(caller string) toolsearch.Config {
		group := personal("x", toolsOf)
		source := group.Source
		group.PerCaller = func(context.Context) string { return caller }
		group.Source = func(context.Context) ([]tool.BaseTool, error) { return source(by(caller)) }
		return toolsearch.Config{Groups: []toolsearch.Group{group}}
	}
	before := conversation{config: config("ann"), turns: []turn{selecting("ann_tool,same,delete_all"), calling("delete_all")}}
	o := restarted(t, w, before, config("bob"), callTools(called("w", "ann_tool", `{}`)))
	require.NoError(t, o.err)
	for _, r := range o.requests {
		assert.Equal(t, []string{"tool_search", "same", "delete_all"}, r.ToolNames())
		assert.Equal(t, "Does it for bob", r.Tools[1].Desc)
	}
	assert.Equal(t, []string{"ann_tool"}, answerOf(t, o.result(t, "w")).NotFound)
	if w.agentic {
		return
	}
	session := toolsearch.NewSession("ann_tool", "same")
	o = converseIn(toolsearch.WithSession(t.Context(), session), t, w, agentOver[chat](t, config("bob")))
	assert.Equal(t, []string{"tool_search", "same"}, o.last().ToolNames())
}

// A Source without PerCaller whose answers alternate is told once.
func TestAnswersAlternate(t *testing.T) {
	s := &server{}
	middleware := newMiddleware[chat](t, s.config())
	for i := range 12 {
		assert.Empty(t, s.errs, "run %d", i)
		s.serve(fmt.Sprint("tool_", i, ": Does"))
		converse(t, way{}, with(middleware))
	}
	for i := range 12 {
		s.serve([]string{"ann_tool: Does", "bob_tool: Does", "cid_tool: Does"}[i%3])
		converse(t, way{}, with(middleware))
	}
	assert.Equal(t, []string{"toolsearch: Source: tools went and came back, several times; " +
		"if they depend on who asks, set Group.PerCaller"}, s.errs)
}
