package nativetest

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// A history of one adapter continues with another adapter, in another dialect. Loaded tools
// stay loaded, and no provider gets anything it does not know.

// asText is the reason to skip the rows that need native results turned into text for adapters
// that do not know them. Empty means that the rows run.
const asText = ""

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
		pending string
	}{
		{name: "a default history goes on in default mode", dialect: "default"},
		{name: "a default history goes on natively", dialect: "deferred"},
		{name: "a default history goes on with references", dialect: "references"},
		{name: "a native history goes on in default mode", native: true, dialect: "default", pending: asText},
		{name: "a native history of another adapter goes on natively", native: true, dialect: "deferred", pending: asText},
		{name: "a native history goes on with references", native: true, dialect: "references"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.pending != "" {
				t.Skip(row.pending)
			}
			play := func(d dialect, static bool, requests []provider.Request, err error) {
				t.Helper()
				assert.NoError(t, err)
				before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
				checkRequests(t, requests, d, static, []string{before, after, after})
				assert.Contains(t, lastBody(requests), "list_stocks ran with", "the last request")
				assert.Contains(t, lastBody(requests), "Rome", "the last request")
			}
			inDialects(t, messageAdapters, func(t *testing.T, a adapter[*schema.Message], d dialect, static, stream bool) {
				if d.name == row.dialect {
					server, err := continued(t, a, d, static, stream, leftBehind(row.native))
					play(d, static, server.Requests(), err)
				}
			})
			inDialects(t, agenticAdapters, func(t *testing.T, a adapter[*schema.AgenticMessage], d dialect, static, stream bool) {
				if d.name == row.dialect {
					server, err := continued(t, a, d, static, stream, leftBehind(row.native))
					play(d, static, server.Requests(), err)
				}
			})
		})
	}
}

func continued[M adk.MessageType](t *testing.T, a adapter[M], d dialect, static, stream bool, history []message) (*provider.Server, error) {
	t.Helper()
	server := provider.New(t, a.api, goOn...)
	_, err := run(t, a.model(t, server), setup{config: d.config, static: static, stream: stream, history: history})
	return server, err
}

// TestTurnedOff runs natively first and continues in default mode with the messages of the
// run's events, including the adapter's marks.
func TestTurnedOff(t *testing.T) {
	if asText != "" {
		t.Skip(asText)
	}
	native := agenticAdapters[0]
	for _, then := range agenticAdapters {
		for _, stream := range []bool{false, true} {
			t.Run("then "+then.name+"/"+title(false, stream), func(t *testing.T) {
				server := provider.New(t, native.api,
					calls(selecting("get_weather"), search(`{"query":"zzz"}`)), calls(selecting("send_mail")), calls(calling("get_weather")), provider.Say("Sunny."))
				s := setup{config: toolsearch.Config{UseModelToolSearch: true}, stream: stream}
				question := toolsearchtest.Encode[*schema.AgenticMessage](message{Role: toolsearchtest.User, Text: "What is new?"})
				history := []*schema.AgenticMessage{question}
				events, err := drain(newRunner(t, native.model(t, server), s).Run(context.Background(), history))
				require.NoError(t, err)
				history = append(append(history, inCallOrder(events)...), question)

				server = provider.New(t, then.api, goOn...)
				s.config.UseModelToolSearch = false
				_, err = drain(newRunner(t, then.model(t, server), s).Run(context.Background(), history))
				assert.NoError(t, err, "the second run")
				before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
				checkRequests(t, server.Requests(), dialect{}, false, []string{before, after, after})
				last := lastBody(server.Requests())
				assert.NotContains(t, last, `"type":"tool_search`, "something native is left")
				assert.NotContains(t, last, "defer_loading", "something native is left")
			})
		}
	}
}
