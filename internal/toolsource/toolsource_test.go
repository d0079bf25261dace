package toolsource_test

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

	"github.com/eino-toolsearch/toolsearch/internal/toolsource"
)

// plain is a tool that can be called.
type plain struct{ info *schema.ToolInfo }

func (p *plain) Info(context.Context) (*schema.ToolInfo, error) { return p.info, nil }

func (p *plain) InvokableRun(context.Context, string, ...tool.Option) (string, error) { return "", nil }

func tools(names ...string) (list []tool.BaseTool) {
	for _, name := range names {
		list = append(list, &plain{&schema.ToolInfo{Name: name, Desc: "Does " + name}})
	}
	return list
}

// answering returns a source that gives the answers in turn. The last answer is repeated.
func answering(answers ...[]tool.BaseTool) *toolsource.Source {
	return toolsource.New(func(context.Context) ([]tool.BaseTool, error) {
		answer := answers[0]
		if len(answers) > 1 {
			answers = answers[1:]
		}
		return answer, nil
	}, time.Minute, time.Minute)
}

func newest(t *testing.T, s *toolsource.Source, current *toolsource.Answer) *toolsource.Answer {
	t.Helper()
	a, err := s.Newest(context.Background(), current)
	require.NoError(t, err)
	require.NotNil(t, a)
	return a
}

func TestAnswersAreCompared(t *testing.T) {
	first, again := tools("b", "a"), tools("a", "b")
	s := answering(first, first, again, tools("a", "c"))
	a := newest(t, s, nil)
	s.Accept(a.Number)

	same := newest(t, s, a)
	assert.True(t, same.Repeats(a), "the same tools")
	assert.True(t, same.SameAs(a))

	s.Accept(same.Number)
	reconnected := newest(t, s, same)
	assert.False(t, reconnected.Repeats(a), "other tools")
	assert.True(t, reconnected.SameAs(a), "with the same definitions in another order")
	assert.False(t, reconnected.SameTools(a))
	replaced, kept := reconnected.Refreshed(a, []int{0})
	assert.Equal(t, again[1:], replaced, "for the tool b")
	assert.Equal(t, []int{1}, kept)

	changed := newest(t, s, same)
	assert.False(t, changed.SameAs(a))
	assert.Equal(t, 4, changed.Number)
}

func TestAdmit(t *testing.T) {
	a := newest(t, answering(append(tools("b", "a", "a", "bad name", "secret"), nil)), nil)
	taken := make(map[string]bool)
	admitted, infos, places, left := a.Admit(taken,
		func(info *schema.ToolInfo) *schema.ToolInfo { return info },
		func(info *schema.ToolInfo) error {
			if info.Name == "secret" || taken[info.Name] {
				return errors.New("refused " + info.Name)
			}
			return nil
		})
	assert.Equal(t, []int{1, 0}, places, "by name")
	assert.Len(t, admitted, 2)
	assert.Equal(t, "a", infos[0].Name)
	assert.Equal(t, map[string]bool{"a": true, "b": true}, taken)
	assert.Equal(t, []string{
		`tool 5, "": it is nil (<nil>)`, `tool 2, "a": refused a`,
		`tool 3, "bad name": providers take 1 to 64 letters, digits, underscores and hyphens for a name`,
		`tool 4, "secret": refused secret`,
	}, left)
}

// A late answer is for whoever asks next. Meanwhile the source is not asked.
func TestLateAnswer(t *testing.T) {
	hang, asked := make(chan struct{}), 0
	s := toolsource.New(func(context.Context) ([]tool.BaseTool, error) {
		if asked++; asked > 1 {
			<-hang
		}
		return tools("a"), nil
	}, time.Hour, time.Millisecond)
	a := newest(t, s, nil)
	s.Accept(a.Number)

	late, err := s.Newest(context.Background(), a)
	assert.Nil(t, late)
	assert.ErrorContains(t, err, "a later run takes it")
	late, err = s.Newest(context.Background(), a)
	assert.Nil(t, late)
	assert.NoError(t, err, "reported once")

	close(hang)
	require.Eventually(t, func() bool {
		late, err = s.Newest(context.Background(), a)
		return late != nil
	}, time.Minute, time.Millisecond)
	assert.NoError(t, err)
	assert.Greater(t, late.Number, a.Number)
}

func TestBadSources(t *testing.T) {
	broken := errors.New("no server")
	for name, c := range map[string]struct {
		ask  func(context.Context) ([]tool.BaseTool, error)
		want string
	}{
		"fails":    {func(context.Context) ([]tool.BaseTool, error) { return nil, broken }, "no server"},
		"is empty": {func(context.Context) ([]tool.BaseTool, error) { return nil, nil }, "it returned no tools"},
		"panics":   {func(context.Context) ([]tool.BaseTool, error) { panic("oh") }, "panic: oh"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := toolsource.New(c.ask, time.Minute, time.Minute).Newest(context.Background(), nil)
			assert.Nil(t, a)
			assert.ErrorContains(t, err, c.want)
		})
	}
}

// An answer that was not used comes again, until it is dropped.
func TestDrop(t *testing.T) {
	asked := 0
	s := toolsource.New(func(context.Context) ([]tool.BaseTool, error) {
		if asked++; asked > 1 {
			return nil, errors.New("no server")
		}
		return tools("a"), nil
	}, time.Minute, time.Minute)
	a := newest(t, s, nil)
	again, err := s.Newest(context.Background(), nil)
	assert.ErrorContains(t, err, "no server")
	assert.Same(t, a, again)
	s.Drop(a)
	again, err = s.Newest(context.Background(), nil)
	assert.ErrorContains(t, err, "no server")
	assert.Nil(t, again)
}

func TestDefinitions(t *testing.T) {
	infos, err := toolsource.Definitions(context.Background(), "", tools("a", "b"))
	require.NoError(t, err)
	assert.Equal(t, "b", infos[1].Name)
	_, err = toolsource.Definitions(context.Background(), `group "x": `, append(tools("a"), nil))
	assert.EqualError(t, err, `toolsearch: group "x": tool 1: it is nil (<nil>)`)
}

func TestProblemsAreBounded(t *testing.T) {
	lines := make([]string, 12)
	for i := range lines {
		lines[i] = fmt.Sprint(i)
	}
	assert.EqualError(t, toolsource.Problems("wrong:", lines), "toolsearch: wrong: 0; 1; 2; 3; 4; 5; 6; 7; 8; 9; and 2 more")
}
