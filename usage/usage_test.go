package usage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/usage"
)

// talk adds a conversation that calls the named tools.
func talk(s *usage.Store, name string, tools ...string) {
	for _, tool := range tools {
		s.Observe(context.Background(), name, &toolsearch.CallEvent{Tool: tool})
	}
}

// ask returns how strongly tools go with the called ones. The run may see every tool but the hidden ones.
func ask(s *usage.Store, called, hidden string) map[string]float64 {
	return s.Snapshot(context.Background())(strings.Fields(called), func(name string) bool {
		return !slices.Contains(strings.Fields(hidden), name)
	})
}

// office returns a store of twenty conversations: in half of them codes are looked up before tickets are bought.
func office() *usage.Store {
	s := new(usage.Store)
	for i := range 20 {
		if i%2 == 0 {
			talk(s, fmt.Sprint("trip", i), "station_code", "buy_ticket")
		} else {
			talk(s, fmt.Sprint("letter", i), "find_address", "send_mail")
		}
	}
	return s
}

func TestToolsCalledTogether(t *testing.T) {
	s := office()
	got := ask(s, "station_code", "")
	require.Len(t, got, 1)
	// ten conversations call both, and five would by chance, of ten and one more
	assert.InDelta(t, (10.0-10*10/20.0)/11, got["buy_ticket"], 0.01)
	assert.InDelta(t, got["buy_ticket"]/2, ask(s, "station_code nobody", "")["buy_ticket"], 1e-9, "the mean of those called")
	assert.Empty(t, ask(s, "nobody", ""))
	assert.Empty(t, ask(new(usage.Store), "station_code", ""))

	before := s.Snapshot(context.Background())
	talk(s, "trip0", "refund")
	assert.NotContains(t, before([]string{"station_code"}, func(string) bool { return true }), "refund", "a snapshot")
	assert.Contains(t, ask(s, "station_code", ""), "refund")
}

// Only a successful call counts, once a conversation.
func TestWhatCounts(t *testing.T) {
	s := office()
	was := testtools.Must(json.Marshal(s))(t)
	for name, event := range map[string]toolsearch.Event{
		"new": &toolsearch.CallEvent{Tool: "buy_ticket", Err: errors.New("sold out")}, "": &toolsearch.CallEvent{Tool: "a"},
		"no tool": &toolsearch.CallEvent{}, "long": &toolsearch.CallEvent{Tool: strings.Repeat("x", 513)},
		"search": &toolsearch.SearchEvent{Query: "q"}, "nil": nil, "typed nil": (*toolsearch.CallEvent)(nil),
		"letter19": &toolsearch.CallEvent{Tool: "send_mail"},
	} {
		s.Observe(context.Background(), name, event)
	}
	assert.JSONEq(t, string(was), string(testtools.Must(json.Marshal(s))(t)))
}

// What a run may not see makes no difference.
func TestHiddenToolsLeaveNoTrace(t *testing.T) {
	s, hidden := office(), office()
	var secrets []string
	for i := range 12 {
		secrets = append(secrets, fmt.Sprint("secret", i))
	}
	for i := range 10 {
		talk(hidden, fmt.Sprint("trip", 2*i), secrets...)
		talk(hidden, fmt.Sprint("hidden", i), secrets...)
		talk(s, fmt.Sprint("trip", 2*i), "station_code") // changes nothing
	}
	// the conversations that were heard again are the newest
	again := new(usage.Store)
	for i := range 10 {
		talk(again, fmt.Sprint("letter", 2*i+1), "find_address", "send_mail")
	}
	for i := range 10 {
		talk(again, fmt.Sprint("trip", 2*i), "station_code", "buy_ticket")
	}
	assert.Equal(t, ask(again, "station_code", ""), ask(hidden, "station_code", strings.Join(secrets, " ")))
}

// The bounds of what one conversation, or a server that is called in every one, can do.
func TestPoison(t *testing.T) {
	var everything []string
	for i := range 30 {
		everything = append(everything, fmt.Sprint("evil", i))
	}
	s := office()
	talk(s, "evil", append([]string{"station_code", "buy_ticket"}, everything...)...)
	for _, tool := range everything {
		assert.LessOrEqual(t, ask(s, "station_code", "")[tool], 1/12.0, "one conversation, beside ten")
	}
	lonely := office()
	talk(lonely, "evil", append([]string{"rare"}, everything...)...)
	for _, tool := range everything {
		assert.LessOrEqual(t, ask(lonely, "rare", "")[tool], 0.5, "one conversation, alone")
	}

	everywhere := new(usage.Store)
	for i := range 20 {
		talk(everywhere, fmt.Sprint(i), [...]string{"station_code", "find_address"}[i%2], [...]string{"buy_ticket", "send_mail"}[i%2], "evil")
	}
	assert.InDelta(t, 0, ask(everywhere, "station_code", "")["evil"], 1e-9, "a tool that all call")
}

func TestBoundsAndForgetting(t *testing.T) {
	s := new(usage.Store)
	for i := range 2_010 {
		talk(s, fmt.Sprint(i), "a", "b")
	}
	for i := range 40 {
		talk(s, "long", fmt.Sprint("tool", i))
	}
	var kept []struct{ Tools []string }
	require.NoError(t, json.Unmarshal(testtools.Must(json.Marshal(s))(t), &kept))
	assert.Len(t, kept, 2_000)
	assert.Len(t, kept[len(kept)-1].Tools, 32)

	s = office()
	s.ForgetTool("buy_ticket")
	assert.Empty(t, ask(s, "station_code", ""))
	s.ForgetConversation("letter1")
	assert.NotContains(t, string(testtools.Must(json.Marshal(s))(t)), "buy_ticket")
	assert.InDelta(t, (9.0-9*9/19.0)/10, ask(s, "find_address", "")["send_mail"], 0.01)
}

func TestJSON(t *testing.T) {
	s, read := office(), new(usage.Store)
	text := testtools.Must(json.Marshal(s))(t)
	require.NoError(t, json.Unmarshal(text, read))
	assert.Equal(t, ask(s, "station_code", ""), ask(read, "station_code", ""))
	assert.NotContains(t, string(text), "trip", "names of conversations")
	assert.Equal(t, "[]", string(testtools.Must(json.Marshal(new(usage.Store)))(t)))
	for _, wrong := range []string{`{}`, `[{"id":"x","tools":["a"]}]`, `[null]`, `[{"id":"0123456789abcdef01234567","tools":[]}]`} {
		assert.Error(t, json.Unmarshal([]byte(wrong), read), wrong)
	}
	assert.NotEmpty(t, ask(read, "station_code", ""), "what it was before")
}
