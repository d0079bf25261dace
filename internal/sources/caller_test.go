package sources_test

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
)

// The keys that have not asked for the longest time are forgotten, and the others keep their last good answers.
func TestCallersAreForgotten(t *testing.T) {
	list, isDown, caller := make([]string, 6000), false, ""
	for i := range list {
		list[i] = fmt.Sprint("tool_", i)
	}
	group := sources.Group{
		PerCaller: func(context.Context) string { return caller },
		Source: func(context.Context) ([]tool.BaseTool, error) {
			if isDown {
				return nil, errors.New("down")
			}
			return tools(list...), nil
		},
		Named: func(info *schema.ToolInfo) *schema.ToolInfo { return info },
	}
	rules := sources.Rules{Timeout: time.Hour, MaxDescription: 1000, IsMeta: func(string) bool { return false }}
	s, _, err := sources.New(t.Context(), []sources.Group{group}, rules)
	require.NoError(t, err)
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
	assert.Len(t, s.Current().Infos, 6000, "definitions that all have")
	isDown = true
	for _, of := range []string{"a", "c", "d"} {
		assert.Equal(t, 6000, ask(of), of)
	}
	assert.Zero(t, ask("b"), "forgotten")
}
