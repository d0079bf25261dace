package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These tests search as users who may see different parts of a catalog. TestFilteredToolsLeaveNoTrace
// compares what the model gets; these tests say which searcher is asked.

// searchTool returns tool_search of a middleware. Each call of the tool is a run of its own.
func searchTool(t *testing.T, config toolsearch.Config) tool.InvokableTool {
	t.Helper()
	_, runCtx, err := newMiddleware[chat](t, config).BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	return runCtx.Tools[0].(tool.InvokableTool)
}

// as is the context of a user who may have the tools with these names.
func as(names string) context.Context {
	return context.WithValue(context.Background(), allowedKey{}, names)
}

// A word or a namespace that only hidden tools have is read as if no tool had it.
func TestHiddenWordsLeaveNoTrace(t *testing.T) {
	for _, index := range []toolsearch.Indexer{toolsearch.BM25, toolsearch.Hybrid(toolsearch.BM25, toolsearch.Similarity), toolsearch.Hybrid(toolsearch.BM25, toolsearch.LSA)} {
		all := testtools.EchoTools("get_weather: Current weather of a city", "get_secret: The wether of the herd", "vault__open: Opens the vault", "get_time: Current time")
		tools := searchTool(t, toolsearch.Config{DynamicTools: all, Index: index, Filter: byUser})
		const user, admin = "get_weather get_time", "get_weather get_time get_secret vault__open"
		for _, tt := range []struct{ user, query, want string }{
			{user, "wether", "get_weather"}, {admin, "wether", "get_secret"},
			{user, "vault: current weather", "get_weather"}, {admin, "vault: open", "vault__open"},
		} {
			text, err := tools.InvokableRun(as(tt.user), fmt.Sprintf(`{"query":%q,"max_results":1}`, tt.query))
			assert.NoError(t, err, "%q for %s", tt.query, tt.user)
			assert.Equal(t, tt.want, strings.Join(answerOf(t, text).Matches, " "), "%q for %s", tt.query, tt.user)
		}
	}
}

// restrictable is a Restricter that finds its first document, and notes what it was restricted to.
type restrictable struct {
	testtools.Canned
	restrict func(ctx context.Context, docs []int) (toolsearch.Searcher, error)
}

func (r *restrictable) Restrict(ctx context.Context, docs []int) (toolsearch.Searcher, error) {
	return r.restrict(ctx, docs)
}

func (r *restrictable) Index(context.Context, []toolsearch.Document) (toolsearch.Searcher, error) {
	return r, nil
}

// A searcher is restricted once for each part of the catalog that users may see, and not for users
// who may see all. The searchers of eight parts are kept.
func TestRestrictedSearchersAreKept(t *testing.T) {
	var built []string
	index := &restrictable{Canned: testtools.Canned{Hits: []search.Hit{{Doc: 0, Score: 1}}}}
	index.restrict = func(_ context.Context, docs []int) (toolsearch.Searcher, error) {
		built = append(built, fmt.Sprint(docs))
		return testtools.Canned{Hits: []search.Hit{{Doc: docs[len(docs)-1], Score: 1}}}, nil
	}
	tools := searchTool(t, toolsearch.Config{
		DynamicTools: testtools.EchoTools("a: A", "b: B", "c: C", "d: D"), Index: index.Index, Fallback: index.Index, Filter: byUser,
	})
	for _, tt := range []struct{ user, want, built string }{
		{"a b c d", "a", ""}, {"a b", "b", "[0 1]"}, {"b a", "b", ""}, {"a c", "c", "[0 2]"}, {"a b c d", "a", ""}, {"a c", "c", ""},
		{"a", "a", "[0]"}, {"b", "b", "[1]"}, {"c", "c", "[2]"}, {"d", "d", "[3]"}, {"b c", "c", "[1 2]"}, {"b d", "d", "[1 3]"}, // eight
		{"a b", "b", ""}, {"c d", "d", "[2 3]"}, {"a b", "b", ""}, {"a c", "c", "[0 2]"}, {"b d", "d", ""},
	} {
		built = nil
		text, err := tools.InvokableRun(as(tt.user), `{"query":"x"}`)
		assert.NoError(t, err, "%q", tt.user)
		assert.Equal(t, []string{tt.want}, answerOf(t, text).Matches, "%q", tt.user)
		assert.Equal(t, tt.built, strings.Join(built, " "), "%q: what was restricted", tt.user)
	}
}

// A searcher that cannot be restricted has failed: the fallback answers, and in the end the keyword
// search. Hits outside of what the user may see are dropped.
func TestBadRestricters(t *testing.T) {
	down := errors.New("down")
	one := []search.Hit{{Doc: 2, Score: 1}, {Doc: 0, Score: 1}}
	for _, tt := range []struct {
		name     string
		restrict func() (toolsearch.Searcher, error)
		fallback toolsearch.Indexer
		want     string
		failure  string
	}{
		{"fails", func() (toolsearch.Searcher, error) { return nil, down }, testtools.Canned{Hits: one}.Index, "send_mail", "down"},
		{"fails, without a fallback", func() (toolsearch.Searcher, error) { return nil, down }, nil, "list_stocks", "down"},
		{"panics", func() (toolsearch.Searcher, error) { panic("oh") }, nil, "list_stocks", "panic: oh"},
		{"returns nil", func() (toolsearch.Searcher, error) { return (*restrictable)(nil), nil }, nil, "list_stocks", "there is no Searcher"},
		{"finds a hidden tool", func() (toolsearch.Searcher, error) { return testtools.Canned{Hits: one}, nil }, nil, "send_mail", ""},
	} {
		index := &restrictable{Canned: testtools.Canned{Hits: one}}
		index.restrict = func(context.Context, []int) (toolsearch.Searcher, error) { return tt.restrict() }
		config := toolsearch.Config{Index: index.Index, Fallback: tt.fallback, Filter: byUser}
		for range 2 { // a failure is not kept
			a, e, err := eventOf(t, as("send_mail list_stocks"), config, `{"query":"stocks"}`)
			assert.NoError(t, err, tt.name)
			assert.Equal(t, []string{tt.want}, a.Matches, tt.name)
			if tt.failure == "" {
				assert.NoError(t, e.Err, tt.name)
			} else {
				assert.ErrorContains(t, e.Err, tt.failure, tt.name)
			}
		}
	}
}

// Searches of one part wait for the search that restricts the searcher. They do not wait longer than
// their contexts, and if that search is cancelled, one of them goes on in its place.
func TestRestrictAtOnce(t *testing.T) {
	var built atomic.Int32
	begun := make(chan struct{}, 2)
	index := &restrictable{}
	index.restrict = func(ctx context.Context, _ []int) (toolsearch.Searcher, error) {
		if begun <- struct{}{}; built.Add(1) == 1 {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return testtools.Canned{Hits: []search.Hit{{Doc: 0, Score: 1}}}, nil
	}
	tools := searchTool(t, toolsearch.Config{DynamicTools: testtools.NewsTools(), Index: index.Index, Filter: byUser})
	const query = `{"query":"zzz"}`
	first, cancelFirst := context.WithCancel(as("get_weather"))
	var wait sync.WaitGroup
	wait.Add(1)
	go func() {
		defer wait.Done()
		_, err := tools.InvokableRun(first, query)
		assert.ErrorIs(t, err, context.Canceled, "the first search")
	}()
	<-begun
	impatient, cancel := context.WithTimeout(as("get_weather"), 20*time.Millisecond)
	defer cancel()
	_, err := tools.InvokableRun(impatient, query)
	assert.ErrorIs(t, err, context.DeadlineExceeded, "a search that waits for the first")
	for range 4 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			text, err := tools.InvokableRun(as("get_weather"), query)
			assert.NoError(t, err)
			assert.JSONEq(t, `{"matches":["get_weather"]}`, text)
		}()
	}
	cancelFirst()
	wait.Wait()
	assert.EqualValues(t, 2, built.Load(), "how often the searcher was restricted")
}
