// Package nativetest plays whole conversations through eino-ext's real model adapters against
// servers that check every request against the provider's rules. testdata has what went over
// the wire, one file per conversation. go test -update rewrites the files.
package nativetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

type (
	message = toolsearchtest.Message
	turn    = provider.Turn
)

const searchTool = "tool_search"

// search is a call of the search tool.
func search(arguments string) provider.Call {
	return provider.Call{Name: searchTool, Arguments: arguments}
}

func selecting(names string) provider.Call { return search(`{"query":"select:` + names + `"}`) }

func calling(name string) provider.Call {
	return provider.Call{Name: name, Arguments: `{"city":"Rome"}`}
}

func calls(of ...provider.Call) turn { return turn{Calls: of} }

// echo is a tool that returns its own name and arguments.
type echo struct{ info *schema.ToolInfo }

func (e echo) Info(context.Context) (*schema.ToolInfo, error) { return e.info, nil }

func (e echo) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return e.info.Name + " ran with " + arguments, nil
}

func echoTool(name, description string) tool.BaseTool {
	return echo{&schema.ToolInfo{Name: name, Desc: description, ParamsOneOf: schema.NewParamsOneOfByParams(
		map[string]*schema.ParameterInfo{"city": {Type: schema.String, Desc: "Where"}})}}
}

func catalog() []tool.BaseTool {
	return []tool.BaseTool{
		echoTool("get_weather", "Current weather of a city"),
		echoTool("get_forecast", "Weather of the coming days"),
		echoTool("send_mail", "Sends an e-mail"),
		echoTool("list_stocks", "Prices of shares"),
		confirm{echo{&schema.ToolInfo{Name: "delete_all", Desc: "Deletes everything", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})}}},
	}
}

// confirm is a tool without parameters that interrupts the run at its first call.
type confirm struct{ echo }

func (c confirm) InvokableRun(ctx context.Context, _ string, _ ...tool.Option) (string, error) {
	if was, _, _ := tool.GetInterruptState[any](ctx); !was {
		return "", tool.Interrupt(ctx, "really?")
	}
	return "confirmed", nil
}

// setup is everything needed to run an agent.
type setup struct {
	config  toolsearch.Config // without DynamicTools
	dynamic []tool.BaseTool   // nil means the catalog
	static  bool              // the agent has a static tool, clock
	stream  bool
	store   adk.CheckPointStore
	history []message
}

func newRunner[M adk.MessageType](t *testing.T, m model.BaseModel[M], s setup, change ...func(*adk.TypedChatModelAgentConfig[M])) *adk.TypedRunner[M] {
	t.Helper()
	ctx := context.Background()
	s.config.DynamicTools = s.dynamic
	if s.dynamic == nil {
		s.config.DynamicTools = catalog()
	}
	middleware := testtools.Must(toolsearch.NewTyped[M](ctx, &s.config))(t)
	config := &adk.TypedChatModelAgentConfig[M]{
		Name: "helper", Description: "Helps", Instruction: "Be brief.", Model: m,
		Handlers: []adk.TypedChatModelAgentMiddleware[M]{middleware},
	}
	if s.static {
		config.ToolsConfig.Tools = []tool.BaseTool{echoTool("clock", "The time")}
	}
	for _, c := range change {
		c(config)
	}
	agent := testtools.Must(adk.NewTypedChatModelAgent(ctx, config))(t)
	return adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent, EnableStreaming: s.stream, CheckPointStore: s.store})
}

// run asks the question and returns the messages of the events.
func run[M adk.MessageType](t *testing.T, m model.BaseModel[M], s setup, change ...func(*adk.TypedChatModelAgentConfig[M])) ([]M, error) {
	t.Helper()
	return drain(newRunner(t, m, s, change...).Run(context.Background(), input[M](s)))
}

// runTwice asks the question twice, the second time of another model. The history of the second run has
// the events of the first.
func runTwice[M adk.MessageType](t *testing.T, s setup, first, second model.BaseModel[M], change func(*setup)) {
	t.Helper()
	question := input[M](s)
	events := testtools.Must(drain(newRunner(t, first, s).Run(context.Background(), question)))(t)
	change(&s)
	_, err := drain(newRunner(t, second, s).Run(context.Background(), slices.Concat(question, inCallOrder(events), question)))
	require.NoError(t, err, "the second run")
}

// input returns the history and the question.
func input[M adk.MessageType](s setup) (all []M) {
	for _, m := range append(slices.Clone(s.history), message{Role: toolsearchtest.User, Text: "What is new?"}) {
		all = append(all, toolsearchtest.Encode[M](m))
	}
	return all
}

func drain[M adk.MessageType](events *adk.AsyncIterator[*adk.TypedAgentEvent[M]]) (messages []M, err error) {
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		err = errors.Join(err, event.Err)
		if event.Output == nil || event.Output.MessageOutput == nil {
			continue
		}
		msg, msgErr := event.Output.MessageOutput.GetMessage()
		if err = errors.Join(err, msgErr); msgErr == nil {
			messages = append(messages, msg)
		}
	}
	return messages, err
}

// inCallOrder puts the results of each round into the order of the calls. Events come in the
// order of completion, which varies.
func inCallOrder[M adk.MessageType](messages []M) []M {
	place := make(map[string]int) // call id -> its place among all calls
	for _, m := range messages {
		for _, c := range toolsearchtest.Decode(m).Calls {
			place[c.ID] = len(place)
		}
	}
	ordered := slices.Clone(messages)
	for from := 0; from < len(ordered); {
		to := from
		for to < len(ordered) && toolsearchtest.Decode(ordered[to]).Role == toolsearchtest.Tool {
			to++
		}
		slices.SortStableFunc(ordered[from:to], func(a, b M) int {
			return place[toolsearchtest.Decode(a).CallID] - place[toolsearchtest.Decode(b).CallID]
		})
		from = to + 1
	}
	return ordered
}

// memoryStore is a checkpoint store.
type memoryStore struct{ data sync.Map }

func (s *memoryStore) Get(_ context.Context, id string) ([]byte, bool, error) {
	value, ok := s.data.Load(id)
	data, _ := value.([]byte)
	return data, ok, nil
}

func (s *memoryStore) Set(_ context.Context, id string, data []byte) error {
	s.data.Store(id, data)
	return nil
}

// checkRequests checks that the provider accepted every request, and which tools the model
// could call at each: the static tool, the search tool if it is ordinary, and the loaded tools.
func checkRequests(t *testing.T, got []provider.Request, d dialect, static bool, loaded []string) {
	t.Helper()
	var before []string
	if static {
		before = append(before, "clock")
	}
	if !d.hidden {
		before = append(before, searchTool)
	}
	for i, r := range got {
		assert.Empty(t, r.Refused, "request %d was refused\n%s", i, r.Body)
		if i >= len(loaded) {
			continue
		}
		want := append(slices.Clone(before), strings.Fields(loaded[i])...)
		callable := slices.Clone(r.Callable)
		if d.name != "default" { // found tools come after ordinary tools, in any order of loading
			slices.Sort(want)
			slices.Sort(callable)
		}
		assert.Equal(t, want, callable, "what the model could call at request %d", i)
	}
	assert.Len(t, got, len(loaded))
}

// lastBody returns the body of the last request, or "" if there was none.
func lastBody(requests []provider.Request) string {
	if len(requests) == 0 {
		return ""
	}
	return string(requests[len(requests)-1].Body)
}

func title(static, stream bool) string {
	name := map[bool]string{false: "bare", true: "static"}[static]
	return fmt.Sprintf("%s/%s", name, map[bool]string{false: "whole", true: "stream"}[stream])
}
