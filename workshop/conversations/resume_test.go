package conversations_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Runs that are interrupted and resumed from a checkpoint.

// memoryStore is a checkpoint store.
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
		s.data = map[string][]byte{}
	}
	s.data[id] = data
	return nil
}

// confirmTool interrupts at its call and runs at the resume.
type confirmTool struct{ testtools.PlainTool }

func (c *confirmTool) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if was, _, _ := tool.GetInterruptState[any](ctx); !was {
		return "", tool.Interrupt(ctx, "really?")
	}
	return "confirmed", nil
}

// A run that is interrupted within a round of tool calls can be resumed from a checkpoint. The
// resumed run has new instances of everything, as after a restart of the process.
func TestResume(t *testing.T) {
	for _, streaming := range []bool{false, true} {
		for _, native := range []bool{false, true} {
			for _, static := range []bool{false, true} {
				title := map[bool]string{false: "generate", true: "stream"}[streaming] + map[bool]string{true: ", native"}[native] + map[bool]string{true: ", static tools"}[static]
				t.Run("message, "+title, func(t *testing.T) { testResume[chat](t, streaming, native, static) })
				t.Run("agentic, "+title, func(t *testing.T) { testResume[agentic](t, streaming, native, static) })
			}
		}
	}
}

func testResume[M adk.MessageType](t *testing.T, streaming, native, static bool) {
	store := &memoryStore{}
	agent := func() *adk.TypedChatModelAgentConfig[M] {
		config := agentOver[M](t, toolsearch.Config{
			DynamicTools: append(testtools.NewsTools(), confirming("delete_all")), UseModelToolSearch: native,
			SendEvents: true, // which Eino keeps in the checkpoint
		})
		if static {
			config.ToolsConfig = toolsConfig(testtools.EchoTools("clock: The time")...)
		}
		return config
	}
	interrupted(t, store, streaming, agent(), selecting("get_weather"),
		// This round has a search, an unknown name, and a tool that interrupts.
		callTools(
			called("s", "tool_search", `{"query":"select:send_mail"}`), called("u", "send_male", `{}`), called("d", "delete_all", `{}`)))
	o := resumed(t, store, streaming, agent(), callTools(called("w", "get_weather", `{}`)))
	require.NoError(t, o.err)
	require.Len(t, o.requests, 2, "model calls after the resume")
	for i, r := range o.requests {
		names := r.ToolNames()
		assert.Subset(t, reachable(r), []string{"get_weather", "send_mail", "delete_all"}, "call %d: within reach; tools %v", i, names)
		assert.NotContains(t, names, "list_stocks", "call %d: the tools, of which list_stocks was not loaded", i)
		assert.Equal(t, !native, slices.Contains(names, "tool_search"), "call %d: the tool list", i)
		assert.Equal(t, static, slices.Contains(names, "clock"), "call %d: whether the static tool is in %v", i, names)
	}
	checkCallAsMade(t, o, called("u", "send_male", `{}`))
}

// A run is resumed at the call of a tool that is no longer in the catalog or no longer allowed.
// The tool does not run. The run ends with Eino's error, unless the agent has an
// UnknownToolsHandler that answers the call.
func TestResumeWithoutTheTool(t *testing.T) {
	gone := toolsearch.Config{DynamicTools: testtools.NewsTools()}
	denied := toolsearch.Config{
		DynamicTools: append(testtools.NewsTools(), confirming("delete_all")),
		Filter:       toolsearch.FilterTools(nil, []string{"send_mail", "get_weather"}),
	}
	for title, config := range map[string]toolsearch.Config{"gone": gone, "denied": denied} {
		for _, native := range []bool{false, true} {
			for _, handled := range []bool{false, true} {
				config.UseModelToolSearch = native
				title := fmt.Sprintf("%s/native=%v/handled=%v", title, native, handled)
				t.Run("message/"+title, func(t *testing.T) { testResumeWithoutTheTool[chat](t, config, handled) })
				t.Run("agentic/"+title, func(t *testing.T) { testResumeWithoutTheTool[agentic](t, config, handled) })
			}
		}
	}
}

func testResumeWithoutTheTool[M adk.MessageType](t *testing.T, config toolsearch.Config, handled bool) {
	store := &memoryStore{}
	before := config
	before.DynamicTools, before.Filter = append(testtools.NewsTools(), confirming("delete_all")), nil
	interrupted(t, store, false, agentOver[M](t, before), selecting("send_mail"),
		callTools(called("d", "delete_all", "{}"), called("w", "get_weather", "{}")))
	agent := agentOver[M](t, config)
	if handled {
		agent.ToolsConfig.UnknownToolsHandler = func(_ context.Context, name, _ string) (string, error) {
			return name + " is not there any more", nil
		}
	}
	o := resumed(t, store, false, agent, callTool("get_weather", "{}"))
	if !handled {
		assert.ErrorContains(t, o.err, "delete_all not found")
		assert.Empty(t, o.requests, "model calls")
		return
	}
	require.NoError(t, o.err)
	assert.Equal(t, "delete_all is not there any more", o.result(t, "d"), "the answer to the call")
	for i, r := range o.requests {
		names := append(r.ToolNames(), r.DeferredNames()...)
		assert.NotContains(t, names, "delete_all", "call %d: the tools", i)
		assert.NotContains(t, announced(r), "delete_all", "call %d: the reminder", i)
		assert.Subset(t, reachable(r), []string{"send_mail", "get_weather"}, "call %d: within reach", i)
	}
}

// approving is a middleware that interrupts before remove_tool runs.
type approving[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
}

func (approving[M]) WrapInvokableToolCall(_ context.Context, next adk.InvokableToolCallEndpoint, call *adk.ToolContext) (adk.InvokableToolCallEndpoint, error) {
	return func(ctx context.Context, arguments string, opts ...tool.Option) (string, error) {
		if was, _, _ := tool.GetInterruptState[any](ctx); !was && call.Name == "remove_tool" {
			return "", tool.Interrupt(ctx, "really?")
		}
		return next(ctx, arguments, opts...)
	}, nil
}

// A run is resumed at a call of remove_tool. The tool is removed, although the resumed run has had
// no model call that says what is loaded.
func TestResumeRemoves(t *testing.T) {
	ofBothTypes(t, testResumeRemoves[chat], testResumeRemoves[agentic])
}

func testResumeRemoves[M adk.MessageType](t *testing.T) {
	store := &memoryStore{}
	agent := func() *adk.TypedChatModelAgentConfig[M] {
		adding := newMiddleware[M](t, toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd, AlwaysLoaded: []string{"list_stocks"}})
		return with(adding, approving[M]{&adk.TypedBaseChatModelAgentMiddleware[M]{}})
	}
	interrupted(t, store, false, agent(), callTool("add_tool", `{"tool_names":["get_weather","send_mail"]}`),
		callTools(called("r", "remove_tool", `{"tool_names":["get_weather","list_stocks"]}`)))
	o := resumed(t, store, false, agent())
	require.NoError(t, o.err)
	result := o.result(t, "r")
	assert.True(t, strings.HasPrefix(result, `{"removed":["get_weather"],"not_found":["list_stocks"]`), "the beginning of the answer %s", result)
	assert.Equal(t, "search_tools add_tool show_all_tools remove_tool list_stocks send_mail", o.saw()[0])
}
