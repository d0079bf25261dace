package anchor_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/anchor"
)

// base answers requests with a script, and then with 200. It is the transport below the one under test.
type base struct {
	mu      sync.Mutex
	script  []answer
	got     []*http.Request
	bodies  []string
	unclear int // bodies of answers that were not closed
}

type answer struct {
	status int
	text   string // also where a redirect leads to
	err    error
}

func (b *base) RoundTrip(r *http.Request) (*http.Response, error) {
	text, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.got, b.bodies = append(b.got, r), append(b.bodies, string(text))
	next := answer{status: 200}
	if len(b.script) > 0 {
		next, b.script = b.script[0], b.script[1:]
	}
	if next.err != nil {
		return nil, next.err
	}
	response := &http.Response{StatusCode: next.status, Header: http.Header{"Location": {next.text}}, Request: r}
	if next.text != "" { // an http.Client takes an answer without a body, too
		b.unclear++
		response.Body = &counted{strings.NewReader(next.text), func() { b.unclear-- }}
	}
	return response, nil
}

// counted is a body that tells when it is closed for the first time.
type counted struct {
	io.Reader
	closed func()
}

func (c *counted) Close() error {
	c.closed()
	c.closed = func() {}
	return nil
}

// form is a request of one of the providers, after a search that found tools and an answer to it.
type form struct {
	url, body, definition, added string
}

var forms = map[string]form{
	"chat": {
		"https://one.test/v1/chat/completions",
		`{"model":"kimi-k3","messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c1"}]},` +
			`{"role":"tool","tool_call_id":"c1","content":"found"}ADDED,END`,
		`{"type":"function","function":{"name":"NAME","description":"]}</system>"}}`, `,{"role":"system","tools":[TOOLS]}`,
	},
	"messages": {
		"https://one.test/v1/messages",
		`{"model":"claude-opus-5-5","messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"c1"}]},` +
			`{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1"}]}ADDED,END`,
		`{"name":"NAME","description":"]}</system>"}`, `,{"role":"system","content":[TOOLS]}`,
	},
	"responses": {
		"https://one.test/v1/responses",
		`{"model":"gpt-5","input":[{"role":"user","content":"Hi"},{"type":"function_call","call_id":"c1"},` +
			`{"type":"function_call_output","call_id":"c1","output":"found"}ADDED,END`,
		`{"type":"function","name":"NAME","description":"]}</system>"}`, `,{"type":"additional_tools","role":"developer","tools":[TOOLS]}`,
	},
}

// define returns the definitions of tools as the list has them.
func (f form) define(names string) string {
	var all []string
	for _, name := range strings.Fields(names) {
		all = append(all, strings.ReplaceAll(f.definition, "NAME", name))
	}
	return strings.Join(all, ",")
}

// add returns what the conversation gets for definitions.
func (f form) add(definitions ...string) string {
	if len(definitions) == 0 {
		return ""
	}
	definitions = slices.Clone(definitions)
	if f.url == forms["messages"].url {
		for i, d := range definitions {
			definitions[i] = `{"type":"tool_addition","tool":{"type":"tool_definition","definition":` + d + `}}`
		}
	}
	return strings.ReplaceAll(f.added, "TOOLS", strings.Join(definitions, ","))
}

// with returns a request with a tool list, and with what was added behind the search and at the end.
func (f form) with(list, added, last string) string {
	const end = `{"role":"assistant","content":"<&>"},{"role":"user","content":"Go on"}LAST],"tools":[TOOLS],"stream":true}`
	return strings.NewReplacer("ADDED", added, "LAST", last, "TOOLS", list).Replace(strings.Replace(f.body, "END", end, 1))
}

var (
	found = anchor.At{Call: "c1"}       // behind the search
	now   = anchor.At{User: 2, Item: 2} // the end
)

func mail() anchor.Tool { return anchor.Tool{Name: "mail", First: found} }

// send sends a request that follows a plan for tools, and returns the reports.
func send(t testing.TB, through http.RoundTripper, url, body string, tools []anchor.Tool, change ...func(*http.Request)) []anchor.Report {
	t.Helper()
	_, reports, err := trip(t, through, url, body, tools, change...)
	require.NoError(t, err)
	return reports
}

// trip is send with the answer.
func trip(
	t testing.TB, through http.RoundTripper, url, body string, tools []anchor.Tool, change ...func(*http.Request),
) (response *http.Response, reports []anchor.Report, err error) {
	t.Helper()
	ctx := anchor.With(context.Background(), &anchor.Plan{
		Search: "tool_search", Tools: tools, Now: now, Report: func(r anchor.Report) { reports = append(reports, r) },
	})
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	require.NoError(t, err)
	for _, c := range change {
		c(r)
	}
	response, err = through.RoundTrip(r)
	return response, reports, err
}

// TestMoves: what moves, and where to, in the forms of all providers.
func TestMoves(t *testing.T) {
	for name, f := range forms {
		one, other, b := f.define("mail"), f.define("fax"), f.define("b")
		old, changes := strings.Replace(one, "]}", "old", 1), name == "messages"
		placed := func(wire, json string, at anchor.At) []anchor.Tool {
			steps := []anchor.Step{{At: at, Wire: wire, JSON: json}}
			return []anchor.Tool{{Name: "mail", First: found, Steps: steps, HasRoom: at == found}}
		}
		newer := strings.Replace(old, "old", "new", 1)
		changed := func(wire, json string) []anchor.Tool { // since the run began
			tools := placed(name, old, found)
			tools[0].Begun = 1
			tools[0].Steps = append(tools[0].Steps, anchor.Step{At: now, Wire: wire, JSON: json})
			return tools
		}
		for _, row := range []struct {
			name, list  string
			tools       []anchor.Tool
			left        string
			added, last []string // definitions behind the search, and at the end
			err         bool
		}{
			{"a found tool", "tool_search mail", []anchor.Tool{mail()}, "tool_search", []string{one}, nil, false},
			{"tools of two places, by their names", "a tool_search mail fax b", []anchor.Tool{mail(), {Name: "fax", First: now}, {Name: "b", First: found}},
				"a tool_search", []string{b, one}, []string{other}, false},
			{"a definition keeps its bytes", "tool_search mail", placed(name, old, now), "tool_search", nil, []string{old}, false},
			{"a definition of another provider", "tool_search mail", placed("x", old, now), "tool_search", []string{one}, nil, false},
			{"a definition of another name", "tool_search mail", placed(name, other, now), "tool_search", []string{one}, nil, false},
			{"a definition whose keys are no keys", "tool_search mail", placed(name, strings.Replace(one, `"name"`, `"Name"`, 1), now), "tool_search",
				[]string{one}, nil, false},
			{"a definition with two names", "tool_search mail", placed(name, strings.Replace(one, `"name"`, `"name":"mail","name"`, 1), now),
				"tool_search", []string{one}, nil, false},
			{"a definition that changed", "tool_search mail", placed(name, old, found), "tool_search", []string{old},
				map[bool][]string{true: {one}}[changes], false},
			{"a definition that changed in this run, elsewhere", "tool_search mail", changed("x", one), "tool_search", []string{old},
				map[bool][]string{true: {one}}[changes], false},
			{"a definition that changed in this run", "tool_search mail", changed(name, newer), "tool_search",
				map[bool][]string{true: {old}}[changes], []string{newer}, false},
			{"a tool that is gone but was never there", "tool_search", []anchor.Tool{{Name: "mail", First: found, Gone: true}},
				"tool_search", nil, nil, false},
			{"a tool that the list does not have", "tool_search", []anchor.Tool{mail()}, "tool_search", nil, nil, false},
			{"a tool without a place", "tool_search mail fax", []anchor.Tool{{Name: "mail", First: anchor.At{User: 9, Item: 9}}, {Name: "fax", First: found}},
				"tool_search mail", []string{other}, nil, true},
		} {
			t.Run(name+"/"+row.name, func(t *testing.T) {
				b := &base{}
				reports := send(t, anchor.Transport(b), f.url, f.with(f.define(row.list), "", ""), row.tools)
				added, last := f.add(row.added...), f.add(row.last...)
				assert.Equal(t, []string{f.with(f.define(row.left), added, last)}, b.bodies)
				assert.EqualValues(t, len(b.bodies[0]), b.got[0].ContentLength)
				again, err := b.got[0].GetBody()
				require.NoError(t, err)
				text, _ := io.ReadAll(again)
				assert.Equal(t, b.bodies[0], string(text), "a retry of the base")
				require.Len(t, reports, 1)
				assert.Equal(t, row.err, reports[0].Err != nil, "%v", reports[0].Err)
				assert.Equal(t, changes && added+last != "", b.got[0].Header.Get("Anthropic-Beta") != "", "the header")
			})
		}
	}
}

// TestMessages: what only Anthropic has. Its mark of the cache moves behind the last tool, removals are blocks, and
// user's messages that follow results come before what is added.
func TestMessages(t *testing.T) {
	f, mark := forms["messages"], `"cache_control":{"type":"ephemeral"}`
	marked := strings.TrimSuffix(f.define("mail"), "}") + "," + mark + "}"
	block := f.add(f.define("mail"))
	b := &base{}
	through := anchor.Transport(b)
	betas := func(r *http.Request) { r.Header["Anthropic-Beta"] = []string{"one,inline-tools-2026-09-15"} }
	two := []anchor.Tool{mail(), {Name: "zip", First: found}}
	reports := send(t, through, f.url, f.with(f.define("tool_search fax zip")+","+marked, "", ""), two, betas)
	added := strings.Replace(f.add(f.define("mail"), f.define("zip")), "}}}]", "}},"+mark+"}]", 1)
	assert.Equal(t, f.with(f.define("tool_search fax"), added, ""), b.bodies[0], "the mark moves to the end")
	assert.Equal(t, []string{"one,inline-tools-2026-09-15"}, b.got[0].Header["Anthropic-Beta"], "the header had it")
	steps := reports[0].Steps["mail"]
	assert.Equal(t, []anchor.Step{{At: found, Wire: "messages", JSON: f.define("mail")}}, steps, "without the mark")

	hour := strings.Replace(mark, "}", `,"ttl":"1h"}`, 1)
	for before, after := range map[string]string{`"no":"mark"`: hour, hour: hour, mark: mark} {
		for old, now := range map[string]string{`{"model"`: `{"system":[{` + before + `}],"model"`, `"Hi"`: `[{` + before + `}]`} {
			body := f.with(f.define("tool_search")+","+strings.Replace(marked, mark, hour, 1), "", "")
			marks := &base{}
			send(t, anchor.Transport(marks), f.url, strings.Replace(body, old, now, 1), []anchor.Tool{mail()})
			assert.Contains(t, marks.bodies[0], `"}},`+after+`}]`, "an hour behind %s of %s", before, old)
		}
	}

	betas = func(r *http.Request) { r.Header["Anthropic-Beta"] = []string{"one"} }
	gone := []anchor.Tool{{Name: "mail", Steps: steps, Gone: true, HasRoom: true}}
	send(t, through, f.url, f.with(f.define("tool_search"), "", ""), gone, betas)
	removal := `,{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"mail"}}]}`
	assert.Equal(t, f.with(f.define("tool_search"), block, removal), b.bodies[1], "a tool that is gone")
	assert.Equal(t, []string{"one", "inline-tools-2026-09-15"}, b.got[1].Header["Anthropic-Beta"], "beside another")

	gone[0].Steps = append(gone[0].Steps, anchor.Step{At: now, Wire: "messages"})
	send(t, through, f.url, f.with(f.define("tool_search"), "", ""), gone)
	assert.Equal(t, b.bodies[1], b.bodies[2], "it is taken back once")

	b.bodies = nil
	said := `,{"role":"user","content":"And quickly"}`
	send(t, through, f.url, f.with(f.define("tool_search mail"), said, ""), []anchor.Tool{mail()})
	assert.Equal(t, f.with(f.define("tool_search"), said+block, ""), b.bodies[0], "the order of roles")
	chat := forms["chat"]
	send(t, through, chat.url, chat.with(chat.define("tool_search mail"), said, ""), []anchor.Tool{mail()})
	assert.Equal(t, chat.with(chat.define("tool_search"), chat.add(chat.define("mail"))+said, ""), b.bodies[1], "no such order elsewhere")
}

// TestPasses: what the transport does not know, and what may not be changed, goes to the base as it was.
func TestPasses(t *testing.T) {
	header := func(key, value string) func(*http.Request) { return func(r *http.Request) { r.Header.Set(key, value) } }
	replace := func(old, now string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, now, 1) }
	}
	same := func(s string) string { return s }
	for _, row := range []struct {
		name    string
		body    func(string) string
		change  func(*http.Request)
		reports int
	}{
		{"without a plan", same, func(r *http.Request) { *r = *r.WithContext(context.Background()) }, 0},
		{"another path", same, func(r *http.Request) { r.URL.Path += "/count_tokens" }, 0},
		{"another method", same, func(r *http.Request) { r.Method = http.MethodPut }, 0},
		{"compressed", same, header("Content-Encoding", "gzip"), 0},
		{"signed", same, header("Authorization", "AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host, Signature=c"), 0},
		{"signed in the address", same, func(r *http.Request) { r.URL.RawQuery = "X-Amz-Signature=c" }, 0},
		{"signed in its own header", same, header("Signature", "sig1=:c:"), 0},
		{"signed with a list of what is", same, header("Signature-Input", `sig1=("content-digest")`), 0},
		{"with a sum of its content", same, header("Content-Digest", "sha-256=:c:"), 0},
		{"with a sum", same, header("Digest", "SHA-256=c"), 0},
		{"with an old sum", same, header("Content-MD5", "c"), 0},
		{"with a sum for Amazon", same, header("X-Amz-Content-Sha256", "c"), 0},
		{"redirected", same, func(r *http.Request) { r.Response = &http.Response{} }, 0},
		{"another conversation", replace("tool_search", "other_search"), nil, 0},
		{"no JSON", replace("stream", `"`), nil, 0},
		{"text behind it", func(s string) string { return s + "{}" }, nil, 0},
		{"a list", func(s string) string { return "[" + s + "]" }, nil, 0},
		{"nothing", func(string) string { return "" }, nil, 0},
		{"a key twice", replace(`"stream":true`, `"stream":true,"stream":true`), nil, 0},
		{"a model without a name", replace(`{"model":"`, `{"model":7,"was":"`), nil, 0},
		{"tools in an object", replace(`"tools":[{`, `"tools":{},"were":[{`), nil, 0},
		{"a conversation in a text", replace(`":[{"role":"user"`, `":"Hi","was":[{"role":"user"`), nil, 0},
		{"too deep", replace("true", strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)), nil, 0},
		{"too long", func(s string) string { return s + strings.Repeat(" ", 32<<20) }, nil, 0},
		{"a stored conversation", replace(`"stream"`, `"previous_response_id":"r1","stream"`), nil, 0},
		{"an unknown model", replace(`"model":"`, `"model":"my-`), nil, 1},
		{"a demanded tool", replace(`"stream"`, `"tool_choice":{"type":"function","function":{"name":"mail"}},"stream"`), nil, 1},
		{"allowed tools", replace(`"stream"`, `"tool_choice":{"tools":[{"name":"mail"}]},"stream"`), nil, 1},
	} {
		for name, f := range forms {
			t.Run(name+"/"+row.name, func(t *testing.T) {
				b, body, change := &base{}, row.body(f.with(f.define("tool_search mail"), "", "")), row.change
				if change == nil { // its length is not known
					change = func(r *http.Request) { r.ContentLength = -1 }
				}
				var sent *http.Request
				keep := func(r *http.Request) { sent = r.Clone(r.Context()) }
				reports := send(t, anchor.Transport(b), f.url, body, []anchor.Tool{mail()}, change, keep)
				require.Len(t, b.bodies, 1)
				assert.True(t, body == b.bodies[0], "the bytes of the body")
				assert.Equal(t, sent.Header, b.got[0].Header)
				assert.Contains(t, []int64{sent.ContentLength, int64(len(body))}, b.got[0].ContentLength)
				require.Len(t, reports, row.reports)
				for _, report := range reports {
					assert.Error(t, report.Err)
				}
			})
		}
	}
}

// TestAccepts: the user names models that no document names.
func TestAccepts(t *testing.T) {
	f := forms["chat"]
	for model, want := range map[string]bool{"kimi-k3-fast": true, "mine": true, "mine-2": false, "ours-2": true, "gpt-5": false} {
		b := &base{}
		body := strings.Replace(f.with(f.define("tool_search mail"), "", ""), "kimi-k3", model, 1)
		send(t, anchor.Transport(b, "mine", "ours*"), f.url, body, []anchor.Tool{mail()})
		assert.Equal(t, want, b.bodies[0] != body, model)
	}
}

// TestChoices: tool_choice keeps the tools that it names in the list, and no others.
func TestChoices(t *testing.T) {
	for choice, moves := range map[string]bool{
		`"auto"`: true, `{"type":"auto"}`: true, `null`: true, `{"type": "tool", "name": "auto"}`: false, `{"function":{"name": "auto"}}`: false,
	} {
		for name, f := range forms {
			b := &base{}
			body := strings.Replace(f.with(f.define("tool_search auto"), "", ""), `"stream"`, `"tool_choice":`+choice+`,"stream"`, 1)
			send(t, anchor.Transport(b), f.url, body, []anchor.Tool{{Name: "auto", First: found}})
			assert.Equal(t, moves, b.bodies[0] != body, "%s: %s", name, choice)
		}
	}
}

// TestAnswers: a refusal of the added field costs one request more, and is remembered for the host and the model
// if the ordinary list is accepted. Other answers are the caller's.
func TestAnswers(t *testing.T) {
	no := answer{status: 400, text: "messages.3: tool_addition, tools and additional_tools are unknown"}
	long := answer{status: 400, text: strings.Repeat("content_filter ", 10_000)}
	broken := answer{err: errors.New("broken")}
	for _, row := range []struct {
		name       string
		script     []answer
		requests   int
		last       answer // what the caller gets
		remembered bool
	}{
		{"accepted", nil, 1, answer{status: 200}, false},
		{"refused", []answer{no}, 2, answer{status: 200}, true},
		{"refused as unprocessable", []answer{{status: 422, text: no.text}}, 2, answer{status: 200}, true},
		{"refused with either list", []answer{no, {status: 400, text: "tools"}}, 2, answer{status: 400, text: "tools"}, false},
		{"refused, then overloaded", []answer{no, {status: 529}}, 2, answer{status: 529}, false},
		{"refused, then broken", []answer{no, broken}, 2, broken, false},
		{"another error", []answer{long}, 1, long, false},
		{"another error without a body", []answer{{status: 400}}, 1, answer{status: 400}, false},
		{"overloaded", []answer{{status: 429, text: no.text}}, 1, answer{status: 429, text: no.text}, false},
		{"broken", []answer{broken}, 1, broken, false},
	} {
		for name, f := range forms {
			t.Run(name+"/"+row.name, func(t *testing.T) {
				b, body := &base{script: row.script}, f.with(f.define("tool_search mail"), "", "")
				through := anchor.Transport(b)
				response, reports, err := trip(t, through, f.url, body, []anchor.Tool{mail()})
				assert.Equal(t, row.last.err, err)
				if err == nil {
					body := cmp.Or[io.ReadCloser](response.Body, http.NoBody)
					text, _ := io.ReadAll(body)
					_ = body.Close()
					assert.Equal(t, row.last, answer{status: response.StatusCode, text: string(text)})
				}
				assert.Zero(t, b.unclear, "bodies that were not closed")
				require.Len(t, b.bodies, row.requests)
				if row.requests == 2 {
					assert.Equal(t, body, b.bodies[1], "the ordinary list")
					assert.Empty(t, b.got[1].Header, "the header goes with the definitions")
				}
				require.Len(t, reports, 1)
				assert.Equal(t, row.remembered, reports[0].Err != nil)
				problem := reports[0].Err
				b.bodies = nil
				for i, url := range []string{f.url, strings.Replace(f.url, "one", "two", 1)} {
					reports = send(t, through, url, body, []anchor.Tool{mail()})
					assert.True(t, i > 0 || reports[0].Err == problem, "another text for the same problem")
				}
				send(t, through, f.url, strings.Replace(body, `",`, `-5",`, 1), []anchor.Tool{mail()})
				assert.Equal(t, row.remembered, b.bodies[0] == body, "the same host and model")
				assert.NotEqual(t, body, b.bodies[1], "another host")
				assert.Contains(t, b.bodies[2], f.add(f.define("mail")), "another model")
			})
		}
	}
}

// TestTiedThinking: Claude gets a request once more, and is asked to leave out thinking whose beginning changed.
func TestTiedThinking(t *testing.T) {
	f, tied := forms["messages"], answer{status: 400, text: "bound to a different conversation: set `thinking.block_binding.prefix_mismatch_behavior`"}
	for given, want := range map[string]string{
		``: `{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
		`"thinking":{"type":"enabled","budget_tokens":9},`:                                     `{"type":"enabled","budget_tokens":9,"block_binding":{"prefix_mismatch_behavior":"drop_block"}}`,
		`"thinking":{"type":"adaptive","block_binding":{"prefix_mismatch_behavior":"error"}},`: "",
		`"thinking":null,`: "", `"thinking":[],`: "",
	} {
		for _, model := range []string{"claude", "my"} {
			b := &base{script: []answer{tied}}
			body := strings.NewReplacer(`"claude`, `"`+model, `"stream"`, given+`"stream"`).Replace(f.with(f.define("tool_search mail"), "", ""))
			reports := send(t, anchor.Transport(b), f.url, body, []anchor.Tool{mail()})
			require.Len(t, reports, 1)
			assert.Equal(t, want != "", reports[0].Dropped, given)
			assert.Equal(t, model == "my", reports[0].Err != nil, "tools in the list")
			require.Len(t, b.bodies, map[bool]int{true: 1, false: 2}[want == ""], given)
			if want != "" {
				assert.Zero(t, b.unclear, "bodies that were not closed")
				again := strings.Replace(strings.Replace(b.bodies[0], given, "", 1), `"stream":true`, `"stream":true,"thinking":`+want, 1)
				assert.JSONEq(t, again, b.bodies[1])
				assert.Contains(t, b.got[1].Header["Anthropic-Beta"], "thinking-binding-controls-2026-08-01")
			}
		}
	}
}

// TestRefusals: what is a refusal, in the words of servers, and on which wires.
func TestRefusals(t *testing.T) {
	ours := strings.NewReplacer("claude-opus-5-5", "kimi-k3", "gpt-5", "kimi-k3") // what one wire refuses, another may take
	for text, wires := range map[string]string{
		`{"error":{"message":"System message must be at the beginning.","param":null,"code":400}}`:              "chat",
		`{"error":{"message":"Conversation roles must alternate user/assistant/user/assistant/..."}}`:           "chat messages",
		`{"detail":"System messages are not allowed"}`:                                                          "chat",
		`{"error":{"message":"1 validation error for SystemMessage\ncontent\n  Field required"}}`:               "chat",
		`{"error":{"message":"Unrecognized field \u0027tools\u0027 in a message"}}`:                             "chat",
		`{"error":{"message":"Input tag \u0060tool_addition\u0060 is unknown"}}`:                                "messages",
		`{"detail":[{"loc":["body","input",3,"type"],"input":"additional\u005ftools"}]}`:                        "responses",
		`{"error":{"code":"content_filter","innererror":{"content_filter_result":{"hate":{"filtered":true}}}}}`: "",
	} {
		b := &base{}
		through := anchor.Transport(b, "kimi-k3")
		for name, f := range forms {
			b.script, b.bodies = []answer{{status: 400, text: text}}, nil
			send(t, through, f.url, ours.Replace(f.with(f.define("tool_search mail"), "", "")), []anchor.Tool{mail()})
			assert.Equal(t, strings.Contains(wires, name), len(b.bodies) == 2, "%s: %s", name, text)
		}
	}
}

// TestRedirect: a client follows a redirect with the body that it was given, and without the header.
func TestRedirect(t *testing.T) {
	f, b := forms["messages"], &base{script: []answer{{status: 307, text: "https://two.test/v1/messages"}}}
	body := f.with(f.define("tool_search mail"), "", "")
	reports := send(t, client{anchor.Transport(b)}, f.url, body, []anchor.Tool{mail()})
	require.Len(t, b.bodies, 2)
	assert.Equal(t, "two.test", b.got[1].URL.Host)
	assert.Equal(t, body, b.bodies[1])
	assert.Empty(t, b.got[1].Header.Get("Anthropic-Beta"))
	require.Len(t, reports, 1)
	assert.ErrorContains(t, reports[0].Err, "redirects")
}

type client struct{ transport http.RoundTripper }

func (c client) RoundTrip(r *http.Request) (*http.Response, error) {
	return (&http.Client{Transport: c.transport}).Do(r)
}

// TestBrokenBody: a body that cannot be read is closed, and nothing is sent.
func TestBrokenBody(t *testing.T) {
	b, closed := &base{}, 0
	broken := io.MultiReader(strings.NewReader("{"), iotest.ErrReader(io.ErrUnexpectedEOF))
	_, reports, err := trip(t, anchor.Transport(b), forms["chat"].url, "", nil, func(r *http.Request) {
		r.Body = &counted{broken, func() { closed++ }}
	})
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Equal(t, 1, closed)
	assert.Empty(t, b.bodies)
	assert.Empty(t, reports)
}

// TestConcurrentRequests: requests at once, one of which is refused, get what each would get alone or the ordinary list.
func TestConcurrentRequests(t *testing.T) {
	f := forms["responses"]
	b := &base{script: []answer{{status: 400, text: "additional_tools"}}}
	through, body := anchor.Transport(b), f.with(f.define("tool_search mail"), "", "")
	moved := f.with(f.define("tool_search"), f.add(f.define("mail")), "")
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { _, _, _ = trip(t, through, f.url, body, []anchor.Tool{mail()}) })
	}
	all.Wait()
	assert.Len(t, b.bodies, 21)
	assert.False(t, slices.ContainsFunc(b.bodies, func(s string) bool { return s != body && s != moved }), "another body")
}

// FuzzBodies: no body makes the transport panic. It reports on a conversation with the search tool alone; any other
// body reaches the base byte for byte, and one that changes is JSON as before.
func FuzzBodies(f *testing.F) {
	for _, form := range forms {
		f.Add(form.url, form.with(form.define("tool_search mail"), "", ""))
		f.Add(form.url, form.with(form.define("tool_search mail mail"), form.add(form.define("mail")), ""))
	}
	for _, body := range []string{``, `{"tools":[null,7,{"name":{}}]}`, `{"tools":[{"name":"tool_search"},{"name":"a"}],"input":[7]}`} {
		f.Add(forms["responses"].url, body)
	}
	f.Fuzz(func(t *testing.T, url, body string) {
		if r, err := http.NewRequest(http.MethodPost, url, nil); err != nil || r.URL == nil {
			return
		}
		b := &base{}
		tools := []anchor.Tool{mail(), {Name: "fax", First: now, Gone: true}, {Name: "a", First: anchor.At{User: 1, Item: 1}}}
		reports := send(t, anchor.Transport(b, "*"), url, body, tools)
		require.Len(t, b.bodies, 1)
		if len(reports) == 0 || len(reports[0].Steps) == 0 {
			assert.Equal(t, body, b.bodies[0])
		} else {
			assert.True(t, json.Valid([]byte(b.bodies[0])), b.bodies[0])
		}
	})
}
