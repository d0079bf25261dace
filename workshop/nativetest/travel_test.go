package nativetest

import (
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// A history of one adapter continues with another adapter, in another dialect. Loaded tools
// stay loaded, and no provider gets anything it does not know.

// leftBehind is a conversation in which two tools were loaded, with the results of the
// searches as text or in native form.
func leftBehind(native bool) []message {
	called := func(id, name, arguments string) message {
		return message{Role: toolsearchtest.Assistant, Calls: []toolsearchtest.Call{{ID: id, Name: name, Arguments: arguments}}}
	}
	searched := func(id string, names ...string) message {
		m := message{Role: toolsearchtest.Tool, CallID: id, ToolName: searchTool}
		if native {
			m.Native, m.Found = true, infos(names...)
		} else {
			m.Text = `{"matches":["` + strings.Join(names, `","`) + `"]}`
		}
		return m
	}
	return []message{
		{Role: toolsearchtest.User, Text: "How is the weather?"},
		called("c1", searchTool, `{"query":"select:get_weather"}`), searched("c1", "get_weather"),
		called("c2", "get_weather", `{"city":"Rome"}`),
		{Role: toolsearchtest.Tool, CallID: "c2", ToolName: "get_weather", Text: "get_weather ran in Rome"},
		called("c3", searchTool, `{"query":"select:send_mail"}`), searched("c3", "send_mail"),
		{Role: toolsearchtest.Assistant, Text: "Sunny."},
	}
}

// goOn is how each conversation continues.
var goOn = []turn{calls(calling("send_mail"), selecting("list_stocks,get_weather")), calls(calling("list_stocks")), provider.Say("Done.")}

func TestTravel(t *testing.T) {
	for _, row := range []struct {
		name    string
		native  bool // the history
		dialect string
	}{
		{"a default history goes on in default mode", false, "default"},
		{"a default history goes on natively", false, "deferred"},
		{"a default history goes on with references", false, "references"},
		{"a native history goes on in default mode", true, "default"},
		{"a native history of another adapter goes on natively", true, "deferred"},
		{"a native history goes on with references", true, "references"},
	} {
		t.Run(row.name, func(t *testing.T) {
			inDialects(t, messageAdapters, func(t *testing.T, a adapter[*schema.Message], d dialect, static, stream bool) {
				if d.name == row.dialect {
					testTravel(t, a, d, setup{static: static, stream: stream, history: leftBehind(row.native)})
				}
			})
			inDialects(t, agenticAdapters, func(t *testing.T, a adapter[*schema.AgenticMessage], d dialect, static, stream bool) {
				if d.name == row.dialect {
					testTravel(t, a, d, setup{static: static, stream: stream, history: leftBehind(row.native)})
				}
			})
		})
	}
}

func testTravel[M adk.MessageType](t *testing.T, a adapter[M], d dialect, s setup) {
	server := provider.New(t, a.api, goOn...)
	s.config = d.config
	_, err := run(t, a.model(t, server), s)
	assert.NoError(t, err)
	before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
	checkRequests(t, server.Requests(), d, s.static, []string{before, after, after})
	assert.Contains(t, lastBody(server.Requests()), "list_stocks ran with", "the last request")
	assert.Contains(t, lastBody(server.Requests()), "Rome", "the last request")
}

// TestTurnedOff runs natively first and continues in default mode with the messages of the
// run's events, including the adapter's marks.
func TestTurnedOff(t *testing.T) {
	native := agenticAdapters[0]
	for _, then := range agenticAdapters {
		for _, stream := range []bool{false, true} {
			t.Run("then "+then.name+"/"+title(false, stream), func(t *testing.T) {
				first := provider.New(t, native.api,
					calls(selecting("get_weather"), search(`{"query":"zzz"}`)), calls(selecting("send_mail")), calls(calling("get_weather")),
					provider.Say("Sunny."))
				second := provider.New(t, then.api, goOn...)
				s := setup{config: toolsearch.Config{UseModelToolSearch: true}, stream: stream}
				runTwice(t, s, native.model(t, first), then.model(t, second), func(s *setup) { s.config.UseModelToolSearch = false })
				before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
				checkRequests(t, second.Requests(), dialect{}, false, []string{before, after, after})
				last := lastBody(second.Requests())
				assert.NotContains(t, last, `"type":"tool_search`, "something native is left")
				assert.NotContains(t, last, "defer_loading", "something native is left")
			})
		}
	}
}
