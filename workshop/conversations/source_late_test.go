package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/sources"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These tests ask Sources that answer late, and build indexes that take too long.

// An index that stalls stops no run: while it is built, the last good catalog goes on.
func TestStalledIndexStopsNoRun(t *testing.T) { synctest.Test(t, testStalledIndex) }

func testStalledIndex(t *testing.T) {
	s := &server{}
	s.serve("send_mail: Sends")
	config := s.config()
	config.Limits.SourceTimeout = 300 * time.Millisecond
	stalled, release := make(chan struct{}, 10), make(chan struct{})
	config.Index = func(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
		if slices.ContainsFunc(docs, func(d toolsearch.Document) bool { return d.Name == "list_stocks" }) {
			stalled <- struct{}{}
			<-release // whatever its context says
		}
		return toolsearch.Keyword(ctx, docs)
	}
	run := running(t, way{}, config)
	checkAnnounced(t, run(), "get_weather", "send_mail")

	s.serve("send_mail: Sends", "list_stocks: Prices")
	first := make(chan outcome, 1)
	go func() { first <- run() }()
	<-stalled
	checkAnnounced(t, run(), "get_weather", "send_mail") // although the first run waits
	checkAnnounced(t, <-first, "get_weather", "send_mail")
	checkAnnounced(t, run(), "get_weather", "send_mail")
	assert.Empty(t, stalled, "indexes that are built besides")
	close(release)
	require.Eventually(t, func() bool { return len(announced(run().requests[0])) == 3 },
		10*time.Second, 10*time.Millisecond, "the new catalog comes when its index is there")
	require.NotEmpty(t, s.errs, "the failure events")
	assert.Contains(t, s.errs[0], "no index within 300ms")
}

// A run that waits for the first catalog ends with its own context, and so does a run whose Source
// ignores the context.
func TestWaitingEndsWithTheRun(t *testing.T) {
	for _, name := range []string{"the source", "the index"} {
		release := make(chan struct{})
		waits := func() { <-release }
		config := toolsearch.Config{
			Groups: []toolsearch.Group{{Source: func(context.Context) ([]tool.BaseTool, error) {
				if name == "the source" {
					waits()
				}
				return testtools.NewsTools(), nil
			}}},
			Index: func(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
				if name == "the index" && len(docs) > 0 {
					waits()
				}
				return toolsearch.Keyword(ctx, docs)
			},
		}
		middleware := newMiddleware[chat](t, config)
		var group sync.WaitGroup
		for range 3 {
			group.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
				defer cancel()
				_, _, err := middleware.BeforeAgent(ctx, &adk.ChatModelAgentContext{})
				assert.ErrorIs(t, err, context.DeadlineExceeded, name)
			})
		}
		group.Wait()
		close(release)
	}
}

// A group that hangs before its first answer holds a run for SourceTimeout, and not the next runs. An older answer that
// comes late does not take the place of a newer answer.
func TestLateAnswerIsNotTheLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := make(chan struct{})
		s := newServers("a", "b")
		s.config.Limits.SourceTimeout = time.Second
		asked := s.ask(1, func(_ context.Context, call int32) ([]tool.BaseTool, error) {
			if call == 1 {
				<-late // whatever its context says
				return testtools.EchoTools("old_tool: Old"), nil
			}
			return testtools.EchoTools("new_tool: New"), nil
		})
		run := running(t, way{}, s.config)
		names := func() []string { return run(selecting("a_tool,old_tool,new_tool")).last().ToolNames() }
		assert.Equal(t, []string{"tool_search", "a_tool"}, names())
		told, _ := s.reset()
		require.Len(t, told, 1)
		assert.Contains(t, told[0], `group "b": no answer within 1s`)
		s.of["a"].serve("a_tool: Does", "another: Does")
		assert.Equal(t, []string{"tool_search", "a_tool"}, names())
		assert.EqualValues(t, 1, asked.Load(), "b rests")
		time.Sleep(2 * time.Second) // until the Source is asked again
		assert.Equal(t, []string{"tool_search", "a_tool", "new_tool"}, names())
		close(late)
		time.Sleep(time.Second) // until it has come
		assert.Equal(t, []string{"tool_search", "a_tool", "new_tool"}, names())
	})
}

// A Source with another answer for every run, whose index takes a second, costs no run more than the grace,
// and the processors a tenth of the time, once five seconds are used up.
func TestBuildsAreSpaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		withGrace(t, 200*time.Millisecond)
		s := &server{}
		s.serve("a_tool: Does")
		config := s.config()
		config.Index = func(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
			time.Sleep(time.Second)
			return s.index(ctx, docs)
		}
		run := running(t, way{}, config)
		checkAnnounced(t, run(), "get_weather", "a_tool")
		built := s.indexed.Load()
		for i := range 100 {
			s.serve(fmt.Sprintf("a_tool: Does %d", i))
			start := time.Now()
			checkAnnounced(t, run(), "get_weather", "a_tool")
			assert.LessOrEqual(t, time.Since(start), sources.Grace)
			time.Sleep(time.Second - time.Since(start))
		}
		assert.LessOrEqual(t, s.indexed.Load()-built, int32(5+100/10+1))
		assert.GreaterOrEqual(t, s.indexed.Load()-built, int32(100/10))
	})
}

// withGrace sets the time that a run waits for a late Source, until the test ends.
func withGrace(t *testing.T, grace time.Duration) {
	before := sources.Grace
	sources.Grace = grace
	t.Cleanup(func() { sources.Grace = before })
}

// ask replaces the Source of a group, and returns how often it has been asked.
func (s *servers) ask(group int, source func(ctx context.Context, call int32) ([]tool.BaseTool, error)) (calls *atomic.Int32) {
	calls = new(atomic.Int32)
	s.config.Groups[group].Source = func(ctx context.Context) ([]tool.BaseTool, error) { return source(ctx, calls.Add(1)) }
	return calls
}

// A run that is cancelled while its index is built reports no failure of the Source. The index is for
// the next run.
func TestCancelledBuildIsLeftToTheNext(t *testing.T) {
	s := &server{}
	config := s.config()
	ctx, cancel := context.WithCancel(context.Background())
	config.Index = func(given context.Context, docs []toolsearch.Document) (search.Searcher, error) {
		if len(docs) > 1 {
			cancel()
		}
		return s.index(given, docs)
	}
	run := playing(t, way{}, config)
	s.serve("send_mail: Sends")
	assert.ErrorIs(t, run(conversation{ctx: ctx}).err, context.Canceled)
	checkSaw(t, "the next run", run(conversation{turns: []turn{selecting("send_mail")}}), "tool_search", "tool_search send_mail")
	assert.Empty(t, s.errs, "the failure events")
	assert.EqualValues(t, 2, s.indexed.Load(), "indexes: of New, and of the cancelled run")
}

// A Source that has answered before holds no run when it hangs, and is not asked besides. When its
// answer comes, the next run has it.
func TestLateGroupHoldsNoRun(t *testing.T) {
	everyWay(t, func(t *testing.T, w way) {
		synctest.Test(t, func(t *testing.T) { testLateAnswers(t, w) })
	})
}

func testLateAnswers(t *testing.T, w way) {
	withGrace(t, 500*time.Millisecond)
	s := newServers("a", "b")
	isCancelled, gate := false, make(chan struct{})
	calls := s.ask(1, func(ctx context.Context, call int32) ([]tool.BaseTool, error) {
		if call == 1 {
			return testtools.EchoTools("b_tool: Does"), nil
		}
		<-gate
		isCancelled = isCancelled || ctx.Err() != nil
		return testtools.EchoTools("b_tool: Does", "b_more: Does"), nil
	})
	agent := playing(t, w, s.config)
	run := func() []string {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel() // the end of a run does not end the call
		o := agent(conversation{ctx: ctx, turns: []turn{selecting("a_tool,b_tool,a_more,b_more")}})
		require.NoError(t, o.err)
		return o.last().ToolNames()
	}
	assert.Equal(t, []string{"tool_search", "a_tool", "b_tool"}, run())
	s.reset()
	s.of["a"].serve("a_tool: Does", "a_more: Does")
	for range 3 {
		assert.Equal(t, []string{"tool_search", "a_tool", "b_tool", "a_more"}, run(), "while b hangs")
	}
	assert.EqualValues(t, 2, calls.Load(), "calls of b while it hangs")
	told, _ := s.reset()
	require.Len(t, told, 1, "the failure events")
	assert.Contains(t, told[0], `Source of b: toolsearch: Source of group "b": no answer within 500ms`)
	close(gate)
	require.Eventually(t, func() bool { return slices.Contains(run(), "b_more") }, time.Minute, time.Millisecond, "b's answer comes")
	assert.False(t, isCancelled, "the context of the late call")
	told, _ = s.reset()
	assert.Empty(t, told, "the failure events after the answer")
}

// An answer that comes after SourceTimeout counts too, even a Source's first.
func TestAnswerAfterSourceTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServers("a", "b")
		s.config.Limits.SourceTimeout = time.Second
		gate := make(chan struct{})
		s.ask(1, func(_ context.Context, call int32) ([]tool.BaseTool, error) {
			if call > 1 {
				return nil, errors.New("only the first call is answered")
			}
			<-gate
			return testtools.EchoTools("b_tool: Does"), nil
		})
		agent := running(t, way{}, s.config)
		run := func() []string { return agent(selecting("a_tool,b_tool")).last().ToolNames() }
		assert.Equal(t, []string{"tool_search", "a_tool"}, run())
		close(gate)
		require.Eventually(t, func() bool { return slices.Contains(run(), "b_tool") }, time.Minute, time.Millisecond)
		assert.Contains(t, run(), "b_tool")
	})
}
