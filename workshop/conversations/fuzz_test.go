package conversations_test

import (
	"context"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Histories made of fuzz bytes.

// FuzzHistory makes histories of fuzz bytes. The hooks neither fail nor write to a history,
// whatever it has, and the model sees what it must see.
func FuzzHistory(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for size := range 64 {
		data := make([]byte, 4+2*size)
		for i := range data {
			data[i] = byte(random.Uint32())
		}
		f.Add(data)
	}
	for i := range byte(8 * historyOps) { // each kind of message twice, with others between
		f.Add([]byte{i / historyOps, i, 1, i, 2, 3, 0, 1, i, 1, 5, i})
	}
	for variant := range byte(8) { // no tool lists, then messages
		f.Add([]byte{variant, 0, 1, 2, 3, 0, 3, 1, 4, 2, 5})             // calls of an unknown name, a static tool and an empty name
		f.Add([]byte{variant, 0, 1, 2, 2, 0, 1, 1, 2})                   // calls of hidden tools
		f.Add([]byte{variant, 0, 1, 2, 1, 0, 3, 4, 4, 0, 0})             // an answer that must be renamed
		f.Add([]byte{variant, 0, 1, 3, 0, 1, 4, 4, 0, 0, 3, 1, 3, 0})    // stand-ins
		f.Add([]byte{variant, 0, 1, 6, 0, 0, 6, 1})                      // two reminders
		f.Add([]byte{variant, 0, 1, 0, 7, 1, 6, 0, 7, 0, 9, 0, 8, 1, 0}) // reminders of every kind
		f.Add([]byte{variant, 1, 5, 2, 3, 0, 1, 0, 5, 2, 3, 0, 1, 5, 0, 3, 2, 2, 0, 0, 1, 1})
	}
	forMessage, forAgentic := historyMiddlewares[chat](f), historyMiddlewares[agentic](f)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4096 {
			t.Skip()
		}
		checkHistory(t, forMessage, data)
		checkHistory(t, forAgentic, data)
	})
}

// historyMiddlewares returns eight middlewares. The bits of the index mean that the protocol is
// native, that unloaded tools are refused, and that unknown names are left to Eino.
func historyMiddlewares[M adk.MessageType](f *testing.F) (list []adk.TypedChatModelAgentMiddleware[M]) {
	for i := range 8 {
		list = append(list, newMiddleware[M](f, toolsearch.Config{
			DynamicTools: testtools.NewsTools(), UseModelToolSearch: i&1 != 0,
			Unloaded: toolsearch.UnloadedPolicy(i >> 1 & 1), Unknown: toolsearch.UnknownPolicy(i >> 2 & 1),
		}))
	}
	return list
}

func checkHistory[M adk.MessageType](t *testing.T, middlewares []adk.TypedChatModelAgentMiddleware[M], data []byte) {
	t.Helper()
	variant := (&history{data: data}).next(8)
	m, native := middlewares[variant], variant&1 != 0
	decode := func() (*history, *adk.TypedChatModelAgentState[M]) {
		h := &history{data: data[min(1, len(data)):]}
		return h, decodeState[M](h)
	}
	mc := &adk.TypedModelContext[M]{Tools: append(staticInfos(), dynamicInfos()...)}
	before := func(state *adk.TypedChatModelAgentState[M]) *adk.TypedChatModelAgentState[M] {
		ctx, _, _ := m.BeforeAgent(context.Background(), &adk.ChatModelAgentContext{})
		_, next, err := m.BeforeModelRewriteState(ctx, state, mc)
		require.NoError(t, err)
		return next
	}

	_, in := decode()
	out := before(in)
	h, untouched := decode()
	assert.Equal(t, untouched, in, "BeforeModelRewriteState wrote to its input")
	checkSeen(t, out, h, native)
	assert.Equal(t, out, before(out), "the second BeforeModelRewriteState changed the state")
	_, after, err := m.AfterModelRewriteState(context.Background(), out, mc)
	require.NoError(t, err)
	assert.Equal(t, out, before(untouched), "a hook wrote to its input, or the same input gave another state")
	shown, earlier := namesOf(after.ToolInfos), namesOf(out.ToolInfos)
	assert.True(t, len(shown) >= len(earlier) && slices.Equal(shown[:len(earlier)], earlier),
		"before the call %v, after it %v", earlier, shown)
	assert.Len(t, sortedSet(shown), len(shown), "%v", shown)
	checkStandIns(t, out, after, before)
}

// checkSeen checks what the model is shown.
func checkSeen[M adk.MessageType](t *testing.T, state *adk.TypedChatModelAgentState[M], h *history, native bool) {
	t.Helper()
	reminders := 0
	for _, msg := range state.Messages {
		m := decodeOrNone(msg)
		isBlock := strings.HasPrefix(m.Text, "<available-deferred-tools>") && strings.HasSuffix(strings.TrimSpace(m.Text),
			"</available-deferred-tools>")
		switch {
		case m.Role != toolsearchtest.User:
		case isBlock || m.Extra["_toolsearch_reminder"] != nil:
			reminders++
			assert.Equal(t, newsReminder, m.Text)
		case strings.Contains(m.Text, "<all_user_messages>"):
			_, after, quoted := strings.Cut(m.Text, "<available-deferred-tools>")
			assert.False(t, quoted && strings.Contains(after, "</available-deferred-tools>"), "a summary quotes the reminder: %q", m.Text)
		}
	}
	assert.Equal(t, 1, reminders, "reminders in %v", state.Messages)
	assert.NotNil(t, state.ToolInfos)
	shown, hidden := namesOf(state.ToolInfos), namesOf(state.DeferredToolInfos)
	all := append(slices.Clone(shown), hidden...)
	assert.Len(t, sortedSet(all), len(all), "tools %v and deferred %v", shown, hidden)
	static := slices.DeleteFunc(namesOf(staticInfos()), func(name string) bool { return native && name == "tool_search" })
	assert.False(t, native && slices.Contains(shown, "tool_search"), "the native search tool is among %v", shown)
	assert.True(t, !slices.Contains(shown, "clock") || slices.Equal(shown[:len(static)], static),
		"the tools %v do not begin with %v", shown, static)
	assert.True(t, !h.theirs || slices.Contains(hidden, "of_another"), "another middleware's deferred tool is missing in %v", hidden)
	for _, name := range h.loads {
		assert.True(t, slices.Contains(shown, name) || native && slices.Contains(hidden, name), "%s was found but is not in %v", name, shown)
	}
}

// checkStandIns answers the calls that were replaced. It checks that before the next model call the
// model's own calls are back, and that the answers have their names.
func checkStandIns[M adk.MessageType](t *testing.T, out, after *adk.TypedChatModelAgentState[M],
	before func(*adk.TypedChatModelAgentState[M]) *adk.TypedChatModelAgentState[M]) {
	t.Helper()
	end := len(out.Messages) - 1
	require.Len(t, after.Messages, end+1)
	require.True(t, slices.Equal(after.Messages[:end], out.Messages[:end]), "more than the last message changed: %v", after.Messages)
	made, sent := decodeOrNone(out.Messages[end]).Calls, decodeOrNone(after.Messages[end]).Calls
	ids := map[string]bool{"": true}
	next := *after
	next.Messages = slices.Clone(after.Messages)
	var names []string
	for i, c := range sent {
		if c == made[i] {
			continue
		}
		if c.Name != "tool_search" || c.ID != made[i].ID || ids[c.ID] {
			return // two calls have the same ID, so an answer fits either
		}
		ids[c.ID] = true
		names = append(names, made[i].Name)
		next.Messages = append(next.Messages, toolsearchtest.Encode[M](toolSays(c.ID, "tool_search", `{"matches":[],"message":"No."}`)))
	}
	for i, c := range made {
		if sent[i] == c && ids[c.ID] {
			return
		}
	}
	restored := before(&next)
	assert.Equal(t, out.Messages[end], restored.Messages[end], "the calls came back")
	for i, name := range names {
		got := decodeOrNone(restored.Messages[end+1+i]).ToolName
		assert.True(t, got == name || name == "", "the answer to %q is named %q", name, got)
	}
}

// history decodes fuzz input to a history. Missing bytes are zero.
type history struct {
	data   []byte
	loads  []string // tools that the decoded results have loaded
	theirs bool     // another middleware defers a tool
}

func (h *history) next(n int) int {
	if len(h.data) == 0 {
		return 0
	}
	b := h.data[0]
	h.data = h.data[1:]
	return int(b) % n
}

func (h *history) text() string {
	n := min(h.next(64), len(h.data))
	text := string(h.data[:n])
	h.data = h.data[n:]
	return text
}

func staticInfos() []*schema.ToolInfo {
	return []*schema.ToolInfo{{Name: "clock"}, {Name: "calculator"}, {Name: "tool_search"}}
}

func dynamicInfos() (infos []*schema.ToolInfo) {
	for _, t := range testtools.NewsTools() {
		infos = append(infos, t.(*testtools.EchoTool).Of)
	}
	return infos
}

func decodeState[M adk.MessageType](h *history) *adk.TypedChatModelAgentState[M] {
	state := &adk.TypedChatModelAgentState[M]{}
	dynamic := func(info *schema.ToolInfo) []*schema.ToolInfo {
		mark := func(tool string) *schema.ToolInfo {
			return &schema.ToolInfo{Name: info.Name, Desc: info.Desc, Extra: map[string]any{"_toolsearch_loaded": tool}}
		}
		return [][]*schema.ToolInfo{{info}, nil, {mark("tool_search")}, {mark("find")}, {nil},
			{mark("tool_search"), info, mark("tool_search")}}[h.next(6)]
	}
	if h.next(4) > 0 {
		state.ToolInfos = staticInfos()
		for _, info := range dynamicInfos() {
			state.ToolInfos = append(state.ToolInfos, dynamic(info)...)
		}
	}
	if h.next(4) == 0 {
		h.theirs = true
		state.DeferredToolInfos = []*schema.ToolInfo{{Name: "of_another"}}
		for _, info := range dynamicInfos() {
			state.DeferredToolInfos = append(state.DeferredToolInfos, dynamic(info)...)
		}
	}
	for len(h.data) > 0 {
		state.Messages = append(state.Messages, decodeMessage[M](h))
	}
	return state
}

const historyOps = 12

var historyResults = []struct {
	text  string
	loads []string
}{
	{`{"matches":["get_weather"]}`, []string{"get_weather"}},
	{`{"matches":["send_mail","no_such_tool","list_stocks"]}`, []string{"send_mail", "list_stocks"}},
	{` {"message":"]","matches":["get_\u0066orecast"]}`, []string{"get_forecast"}},
	{`{"matches":[]}`, nil}, {`{"matches":[],"message":"No."}`, nil}, {`{"matches":null}`, nil}, {`{"matches":[1]}`, nil},
	{`{"matches":["send_mail"`, nil}, {`sunny`, nil}, {``, nil},
}

func decodeMessage[M adk.MessageType](h *history) M {
	ids := []string{"c1", "c2", "c3", ""}
	names := []string{"tool_search", "get_weather", "send_mail", "get_wether", "clock", ""}
	ours := map[string]any{"_toolsearch_reminder": "tool_search"}
	m := userSays("What is new?")
	switch h.next(historyOps) {
	case 0:
	case 1:
		m.Role = []string{toolsearchtest.System, toolsearchtest.User, toolsearchtest.Assistant}[h.next(3)]
		m.Text = h.text()
	case 2:
		m = message{Role: toolsearchtest.Assistant}
		for range h.next(4) {
			m.Calls = append(m.Calls, called(ids[h.next(len(ids))], names[h.next(len(names))], `{}`))
		}
	case 3: // with a call that an earlier run replaced and did not restore
		m = modelCalls(called(ids[h.next(len(ids))], "tool_search", `{}`))
		return withCallExtra(toolsearchtest.Encode[M](m), map[string]any{
			"_toolsearch_call_name": names[h.next(len(names))], "_toolsearch_call_arguments": `{"city":"Rome"}`})
	case 4:
		result := historyResults[h.next(len(historyResults))]
		m = toolSays(ids[h.next(len(ids))], names[h.next(len(names))], result.text)
		if m.ToolName == "tool_search" {
			h.loads = append(h.loads, result.loads...)
		}
	case 5:
		m = message{Role: toolsearchtest.Tool, CallID: ids[h.next(len(ids))], ToolName: "tool_search", Native: true,
			Found: []*schema.ToolInfo{nil, {Name: "no_such_tool"}}}
		for _, info := range dynamicInfos()[:h.next(4)] {
			m.Found, h.loads = append(m.Found, info), append(h.loads, info.Name)
		}
	case 6:
		m.Text, m.Extra = newsReminder, []map[string]any{ours, nil}[h.next(2)]
	case 7: // a stale reminder
		m.Text, m.Extra = strings.Replace(newsReminder, "send_mail", "fax", 1), []map[string]any{ours, nil}[h.next(2)]
	case 8: // a reminder of Eino's own middleware, or a marked and edited reminder
		m.Text, m.Extra = "<available-deferred-tools>\nget_weather\n</available-deferred-tools>", map[string]any{"__toolsearch_reminder__": true}
		if h.next(2) == 1 {
			m.Text, m.Extra = h.text(), ours
		}
	case 9:
		m.Text = "<all_user_messages>\n    - " + newsReminder + "\n    - " + h.text() + "\n    - " + newsReminder + "\n</all_user_messages>"
	case 10:
		m = toolSays(ids[h.next(len(ids))], names[h.next(len(names))], h.text())
		return withManyParts(toolsearchtest.Encode[M](m), historyResults[h.next(len(historyResults))].text)
	case 11:
		var none M
		return none
	}
	return toolsearchtest.Encode[M](m)
}

// withCallExtra puts a copy of extra onto every call.
func withCallExtra[M adk.MessageType](msg M, extra map[string]any) M {
	switch m := any(msg).(type) {
	case *schema.Message:
		for i := range m.ToolCalls {
			m.ToolCalls[i].Extra = extra
		}
	case *schema.AgenticMessage:
		for _, block := range m.ContentBlocks {
			block.Extra = extra
		}
	}
	return msg
}

// withManyParts adds parts to a tool's message: a text, an empty native result, and an empty part.
func withManyParts[M adk.MessageType](msg M, text string) M {
	switch m := any(msg).(type) {
	case *schema.Message:
		m.UserInputMultiContent = []schema.MessageInputPart{
			{Type: schema.ChatMessagePartTypeText, Text: m.Content}, {ToolSearchResult: &schema.ToolSearchResult{}}, {Text: text}}
	case *schema.AgenticMessage:
		result := m.ContentBlocks[0].FunctionToolResult
		result.Content = append(result.Content, nil, &schema.FunctionToolResultContentBlock{Text: &schema.UserInputText{Text: text}})
		other := schema.NewContentBlock(&schema.ToolSearchFunctionToolResult{CallID: result.CallID, Name: result.Name})
		m.ContentBlocks = append(m.ContentBlocks, nil, other, &schema.ContentBlock{})
	}
	return msg
}

func decodeOrNone[M adk.MessageType](msg M) message {
	if reflect.ValueOf(msg).IsNil() {
		return message{}
	}
	return toolsearchtest.Decode(msg)
}

func namesOf(infos []*schema.ToolInfo) []string {
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = "nil"
		if info != nil {
			names[i] = info.Name
		}
	}
	return names
}
