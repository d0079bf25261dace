package toolsearch_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What Eino's own package does wrong at the version in go.mod, and this one does not.

// TestEinosDefects plays what goes wrong with Eino's own middleware at v0.9.21, with it
// and with ours. Where Eino's no longer errs, the row and what is said of it may go.
func TestEinosDefects(t *testing.T) {
	sawTwice := func(o outcome) bool {
		return slices.ContainsFunc(o.requests, func(r request) bool {
			all := append(r.ToolNames(), r.DeferredNames()...)
			return len(sortedSet(all)) != len(all)
		})
	}
	lost := func(name string) func(o outcome) bool {
		return func(o outcome) bool {
			return !slices.Contains(append(o.last().ToolNames(), o.last().DeferredNames()...), name)
		}
	}
	failed := func(o outcome) bool { return o.err != nil }
	agentic := way{agentic: true}
	tests := []struct {
		name    string
		way     way
		native  bool
		static  []tool.BaseTool
		history []message
		turns   []turn
		shows   func(o outcome) bool
	}{
		{"native: every tool twice in the second call", way{}, true, nil, nil, []turn{search(`{"query":"mail"}`)}, sawTwice},
		{"native: every tool twice in the second call, agentic", way{agentic: true, runner: true}, true, nil, nil, []turn{search(`{"query":"mail"}`)}, sawTwice},
		{"native: the deferred tools are lost without a Runner", agentic, true, echoTools("clock: The time"), nil, []turn{search(`{"query":"mail"}`)}, lost("get_weather")},
		{"arguments that are no JSON end the run", way{}, false, nil, nil, []turn{search(`{"query":`)}, failed},
		{"an empty query ends the run", agentic, false, nil, nil, []turn{search(`{"query":""}`)}, failed},
		{"a call to a name no tool has ends the run", way{}, false, nil, nil, []turn{toolsearchtest.CallTool("get_wether", `{}`)}, failed},
		{"no match is null", way{}, false, nil, nil, []turn{search(`{"query":"zzz"}`)}, func(o outcome) bool {
			return slices.ContainsFunc(o.last().Messages, func(m message) bool { return strings.Contains(m.Text, `"matches":null`) })
		}},
		{"a history without the names of its tools loads nothing", way{}, false, nil, changed(loadedHistory(), func(m *message) { m.ToolName = "" }), nil, lost("get_weather")},
		{"a history without Extra gets a second reminder", agentic, false, nil, []message{{Role: toolsearchtest.User, Text: newsReminder}}, nil, func(o outcome) bool {
			reminders := slices.DeleteFunc(o.last().Messages, func(m message) bool { return !strings.HasPrefix(m.Text, "<available") })
			return len(reminders) > 1
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turns := append(slices.Clone(tt.turns), toolsearchtest.Say("done"))
			var ours, theirs outcome
			if tt.way.agentic {
				ours, theirs = bothWith[*schema.AgenticMessage](t, tt.way, tt.native, tt.static, tt.history, turns)
			} else {
				ours, theirs = bothWith[*schema.Message](t, tt.way, tt.native, tt.static, tt.history, turns)
			}
			if ours.err != nil || tt.shows(ours) {
				t.Errorf("ours does it too: %v, %v, %+v", ours.err, ours.saw(), ours.last().Messages)
			}
			if !tt.shows(theirs) {
				t.Errorf("Eino's own no longer does: %v", theirs.saw())
			}
		})
	}
}

func bothWith[M adk.MessageType](t *testing.T, w way, native bool, static []tool.BaseTool, history []message, turns []turn) (ours, theirs outcome) {
	t.Helper()
	its, err := oracle.NewTyped[M](context.Background(), &oracle.Config{DynamicTools: newsTools(), UseModelToolSearch: native})
	if err != nil {
		t.Fatal(err)
	}
	run := func(middleware adk.TypedChatModelAgentMiddleware[M]) outcome {
		var input []M
		for _, m := range append(slices.Clone(history), message{Role: toolsearchtest.User, Text: "What is new?"}) {
			input = append(input, toolsearchtest.Encode[M](m))
		}
		model, events, err := runWith(t, w, middleware, static, input, turns...)
		return outcome{model.Requests(), events, err}
	}
	return run(newMiddleware[M](t, toolsearch.Config{DynamicTools: newsTools(), UseModelToolSearch: native})), run(its)
}
