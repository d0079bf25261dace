package internal_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/sources"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// These tests ask the Source of one group. The tests of the root package ask those of several.

func init() { sources.Grace = time.Minute }

// plain is a tool that can be called.
type plain struct{ info *schema.ToolInfo }

func (p *plain) Info(context.Context) (*schema.ToolInfo, error) { return p.info, nil }

func (p *plain) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return fmt.Sprintf("%p", p), nil
}

func tools(names ...string) (list []tool.BaseTool) {
	for _, name := range names {
		list = append(list, &plain{&schema.ToolInfo{Name: name, Desc: "Does " + name}})
	}
	return list
}

// server is a Source whose next answer can be set.
type server struct {
	*sources.Sources
	tools []tool.BaseTool
	run   sources.Callers
}

func newServer(t *testing.T) *server {
	t.Helper()
	s := &server{}
	s.Sources = sourcesOf(t, sources.Group{
		Name: "x", Source: func(context.Context) ([]tool.BaseTool, error) { return s.tools, nil },
	})
	return s
}

// sourcesOf returns the Sources of one group, whose tools keep their names.
func sourcesOf(t *testing.T, group sources.Group) *sources.Sources {
	t.Helper()
	group.Named = func(info *schema.ToolInfo) *schema.ToolInfo { return info }
	rules := sources.Rules{Timeout: time.Hour, MaxDescription: 1000, IsMeta: func(string) bool { return false }}
	s, _, err := sources.New(t.Context(), []sources.Group{group}, rules)
	require.NoError(t, err)
	return s
}

// change asks for the tools and returns the change; nil means none.
func (s *server) change(t *testing.T, list []tool.BaseTool) *sources.Change {
	t.Helper()
	s.tools = list
	run, errs := s.Ask(context.Background())
	require.Equal(t, []error{nil}, errs)
	s.run = run
	return s.Pending(run)
}

// While a snapshot is compiled, its Source may reconnect, and so may the others.
func TestAcceptKeepsTheNewestTools(t *testing.T) {
	s := newServer(t)
	next, err := s.Apply(s.change(t, tools("a")))
	require.NoError(t, err)
	newest := tools("a")
	require.NotNil(t, s.change(t, newest))
	s.Accept(next)
	assert.Nil(t, s.Pending(s.run))
	seen := s.Offer(s.run, make([]error, 1)).Tools
	require.Len(t, seen, 1)
	result := testtools.Must(seen[0].(tool.InvokableTool).InvokableRun(t.Context(), ""))(t)
	assert.Equal(t, fmt.Sprintf("%p", newest[0]), result)
}

// A change that was refused is gone. If it took too long, the Source fails, and is not asked.
func TestRefuse(t *testing.T) {
	s := newServer(t)
	s.Refuse(s.change(t, tools("a")), errors.New("too large"), false)
	assert.Nil(t, s.Pending(s.run))
	again := s.change(t, tools("a"))
	require.NotNil(t, again, "it may be better now")
	s.Refuse(again, errors.New("too slow"), true)
	s.tools = tools("b")
	_, errs := s.Ask(context.Background())
	if assert.Len(t, errs, 1) {
		assert.EqualError(t, errs[0], "too slow")
	}
	assert.Nil(t, s.Pending(s.run))
}

func TestProblemsAreBounded(t *testing.T) {
	lines := make([]string, 12)
	for i := range lines {
		lines[i] = fmt.Sprint(i)
	}
	assert.EqualError(t, sources.Problems("wrong:", lines), "toolsearch: wrong: 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; and 2 more")
}

// The keys that have not asked for the longest time are forgotten, and the others keep their last good answers.
func TestCallersAreForgotten(t *testing.T) {
	list, isDown, caller := make([]string, 6000), false, ""
	for i := range list {
		list[i] = fmt.Sprint("tool_", i)
	}
	s := sourcesOf(t, sources.Group{
		PerCaller: func(context.Context) string { return caller },
		Source: func(context.Context) ([]tool.BaseTool, error) {
			if isDown {
				return nil, errors.New("down")
			}
			return tools(list...), nil
		},
	})
	ask := func(of string) int {
		caller = of
		run, errs := s.Ask(t.Context())
		if change := s.Pending(run); change != nil {
			next, err := s.Apply(change)
			require.NoError(t, err)
			s.Accept(next)
		}
		return s.Offer(run, errs).Docs.Len()
	}
	for _, of := range []string{"a", "b", "c", "a", "d"} {
		assert.Equal(t, 6000, ask(of), of)
	}
	assert.Len(t, s.Offer(nil, nil).Infos, 6000, "definitions that all have")
	isDown = true
	for _, of := range []string{"a", "c", "d"} {
		assert.Equal(t, 6000, ask(of), of)
	}
	assert.Zero(t, ask("b"), "forgotten")
}
