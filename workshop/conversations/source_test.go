package conversations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These tests change the catalog from run to run.

// server is a Source whose answer can be set. It counts how often it is asked and indexed.
type server struct {
	mu     sync.Mutex
	tools  []tool.BaseTool
	err    error
	panics bool

	asked, indexed atomic.Int32
	errs           []string
}

func (s *server) serve(specs ...string) { s.serveTools(testtools.EchoTools(specs...)...) }

func (s *server) serveTools(tools ...tool.BaseTool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools, s.err, s.panics = tools, nil, false
}

func (s *server) source(context.Context) ([]tool.BaseTool, error) {
	s.asked.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.panics {
		panic("connection lost")
	}
	return slices.Clone(s.tools), s.err
}

func (s *server) index(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
	s.indexed.Add(1)
	return toolsearch.Keyword(ctx, docs)
}

// config returns a config with the server's tools and a tool that never changes.
func (s *server) config() toolsearch.Config {
	return toolsearch.Config{
		DynamicTools: testtools.EchoTools("get_weather: Current weather of a city"),
		Groups:       []toolsearch.Group{{Source: s.source}}, Index: s.index,
		OnEvent: onFailure(func(err error) { s.errs = append(s.errs, err.Error()) }),
	}
}

// When one tool of a hundred changes, only its text is embedded.
func TestSourceEmbedsWhatChanged(t *testing.T) {
	e := &countingEmbedder{}
	index := toolsearch.Embedding(e)
	for name, config := range map[string]toolsearch.Config{
		"alone": {Index: index}, "in a hybrid": {Index: toolsearch.Hybrid(toolsearch.BM25, index)},
		"a fallback": {Index: toolsearch.BM25, Fallback: index},
	} {
		s := &server{}
		config.Groups = []toolsearch.Group{{Source: s.source}}
		run := running(t, way{}, config)
		specs := make([]string, 100)
		for i := range specs {
			specs[i] = fmt.Sprintf("tool_%d: Does it", i)
		}
		step := func(texts int64, what string) {
			t.Helper()
			s.serve(specs...)
			e.texts.Store(0)
			run()
			assert.Equal(t, texts, e.texts.Load(), "%s, %s: the texts that are embedded", name, what)
		}
		step(100, "the first answer")
		specs[7] = "tool_7: Does that"
		step(1, "another description")
		step(0, "the same")
		specs = specs[1:]
		step(0, "a tool fewer")
		specs = append(specs, "another: Does more")
		step(1, "a tool more")
	}
}

// countingEmbedder counts the texts that it embeds.
type countingEmbedder struct{ texts atomic.Int64 }

func (e *countingEmbedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) (vectors [][]float64, err error) {
	e.texts.Add(int64(len(texts)))
	for _, text := range texts {
		vectors = append(vectors, []float64{1, float64(len(text))})
	}
	return vectors, nil
}

// Source is asked once a run. A CatalogEvent says how its answer changed the catalog. An answer that changes nothing
// is not indexed, and has no event.
func TestSource(t *testing.T) { everyWay(t, testSource) }

func testSource(t *testing.T, w way) {
	s := &server{}
	config := s.config()
	var changes []*toolsearch.CatalogEvent
	failed, changed := config.OnEvent, hearing(&changes)
	config.OnEvent = func(ctx context.Context, e toolsearch.Event) {
		failed(ctx, e)
		changed(ctx, e)
	}
	run := running(t, w, config)
	indexed, asked := s.indexed.Load(), int32(0) // New indexes the tool that never changes
	const mail, stocks, grass = "send_mail: Sends an e-mail", "list_stocks: Prices of shares", "cut_grass: Mows"
	for _, tt := range []struct {
		name              string
		serves            []string
		event             toolsearch.CatalogEvent // with 0 tools there is none
		names, query, saw string                  // what the reminder lists, a query, and what it loads
	}{
		{"the first answer", []string{mail, stocks}, toolsearch.CatalogEvent{Tools: 3, Added: 2}, "list_stocks send_mail", "mail", "send_mail"},
		{"the same tools as new values", []string{mail, stocks}, toolsearch.CatalogEvent{}, "list_stocks send_mail", "mail", "send_mail"},
		{"another order", []string{stocks, mail}, toolsearch.CatalogEvent{}, "list_stocks send_mail", "select:list_stocks", "list_stocks"},
		{"a further tool", []string{stocks, mail, grass}, toolsearch.CatalogEvent{Tools: 4, Added: 1}, "cut_grass list_stocks send_mail",
			"mows", "cut_grass"},
		{"two tools fewer", []string{stocks}, toolsearch.CatalogEvent{Tools: 2, Removed: 2}, "list_stocks", "prices", "list_stocks"},
		{"another description", []string{stocks + " and bonds"}, toolsearch.CatalogEvent{Tools: 2}, "list_stocks", "bonds", "list_stocks"},
		{"two tools in place of one", []string{mail, grass}, toolsearch.CatalogEvent{Tools: 3, Added: 2, Removed: 1}, "cut_grass send_mail",
			"mows", "cut_grass"},
		{"one other tool", []string{stocks}, toolsearch.CatalogEvent{Tools: 2, Added: 1, Removed: 2}, "list_stocks", "prices", "list_stocks"},
	} {
		s.serve(tt.serves...)
		changes = nil
		o := run(searching(`{"query":"` + tt.query + `"}`))
		checkSaw(t, tt.name, o, "tool_search", "tool_search "+tt.saw)
		checkAnnounced(t, o, strings.Fields("get_weather "+tt.names)...)
		asked++
		assert.Equal(t, asked, s.asked.Load(), "%s: how often Source was asked", tt.name)
		if tt.event.Tools == 0 {
			assert.Empty(t, changes, tt.name)
		} else if indexed++; assert.Len(t, changes, 1, tt.name) {
			e := changes[0]
			assert.Positive(t, e.Duration, tt.name)
			assert.Greater(t, e.Tokens, e.ListTokens, "%s: tokens of the definitions, and of the list", tt.name)
			assert.Positive(t, e.ListTokens, tt.name)
			e.Duration, e.Tokens, e.ListTokens = 0, 0, 0
			assert.Equal(t, &tt.event, e, tt.name)
		}
		assert.Equal(t, indexed, s.indexed.Load(), "%s: how often a catalog was indexed", tt.name)
	}
	o := run(selecting("send_mail"), calling("cut_grass"))
	assert.Equal(t, []string{"send_mail"}, answerOf(t, o.result(t, "call_1")).NotFound, "the search for a tool that is gone")
	assert.Equal(t, []string{"cut_grass"}, answerOf(t, o.result(t, "call_2")).NotFound, "the call of a tool that is gone")
	assert.Empty(t, s.errs, "the failure events")
}

// When Source fails, the last good catalog stays, and an event says what failed.
func TestSourceFails(t *testing.T) { everyWay(t, testFailingSource) }

func testFailingSource(t *testing.T, w way) {
	s := &server{}
	run := running(t, w, s.config())
	check := func(name, told string, names ...string) {
		t.Helper()
		s.errs = nil
		o := run(selecting("get_weather"))
		checkSaw(t, name, o, "tool_search", "tool_search get_weather")
		checkAnnounced(t, o, names...)
		if told == "" {
			assert.Empty(t, s.errs, "%s: the failure events", name)
		} else if assert.Len(t, s.errs, 1, "%s: the failure events", name) {
			assert.Contains(t, s.errs[0], told, name)
			assert.Contains(t, s.errs[0], "Source", name)
		}
	}
	s.serve("send_mail: Sends")
	check("when it answers", "", "get_weather", "send_mail")
	s.panics = true
	check("a panic", "connection lost", "get_weather", "send_mail")
	s.serve("send_mail: Sends")
	indexed := s.indexed.Load()
	check("the last good answer again", "", "get_weather", "send_mail")
	assert.Equal(t, indexed, s.indexed.Load(), "how often the last good answer is indexed")

	// One bad tool does not cost the others of its answer.
	one, long := testtools.EchoTools("fax: Faxes")[0], strings.Repeat("x", 64<<10)
	enum := schemaOf(t, `{"type":"object","properties":{"a":{"type":"string","enum":["`+strings.Repeat(long, 8)+`"]}}}`)
	for _, tt := range []struct {
		name, told string
		tools      []tool.BaseTool
	}{
		{"a nil tool", "nil", []tool.BaseTool{one, nil}},
		{"a typed nil", "nil", []tool.BaseTool{one, (*testtools.EchoTool)(nil)}},
		{"a tool without a name", "empty name", []tool.BaseTool{one, echo(&schema.ToolInfo{})}},
		{"a tool without Info", "no mower", []tool.BaseTool{one, wrongTool(func() (*schema.ToolInfo, error) { return nil, errMower })}},
		{"a tool whose Info panics", "no info", []tool.BaseTool{one, wrongTool(func() (*schema.ToolInfo, error) { panic("no info") })}},
		{"a tool that cannot be called", "none of the four ways", []tool.BaseTool{one, testtools.InfoOnly{Of: &schema.ToolInfo{Name: "stone"}}}},
		{"a name twice", "another dynamic tool", append(testtools.EchoTools("fax: Faxes once more"), one)},
		{"the name of a tool of DynamicTools", "another dynamic tool", testtools.EchoTools("get_weather: Lies", "fax: Faxes")},
		{"the name of the search tool", "meta-tool", testtools.EchoTools("fax: Faxes", "tool_search: Phishes")},
		{"a name of 200 KB", "200000 bytes", testtools.EchoTools("fax: Faxes", strings.Repeat("n", 200_000)+": Longest")},
		{"a long description", `"long": a description of 65537 bytes; at most 65536 are taken`,
			testtools.EchoTools("long: "+long+"x", "fax: "+long)},
		{"a long schema", `"long": the schema of its parameters is longer than 524288 bytes`, []tool.BaseTool{one, withSchema("long", enum)}},
		{"a schema that cannot be written", "wrong, too large",
			[]tool.BaseTool{one, withSchema("bad", &jsonschema.Schema{Type: "object", Default: math.Inf(1)})}},
		{"a schema that contains itself", "wrong, too large", []tool.BaseTool{one, withSchema("bad", circular())}},
		{"a schema nested 250 deep", "wrong, too large", []tool.BaseTool{one, withSchema("deep", nested(250, strings.Repeat("long ", 800)))}},
	} {
		s.serveTools(tt.tools...)
		check(tt.name, tt.told, "get_weather", "fax")
		check(tt.name+", again", "", "get_weather", "fax")
	}
}

func withSchema(name string, parameters *jsonschema.Schema) tool.BaseTool {
	return echo(&schema.ToolInfo{Name: name, Desc: "Does", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(parameters)})
}

func circular() *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object"}
	s.Items = s
	return s
}

// nested returns a schema with schemas inside one another, each with a description.
func nested(depth int, description string) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: description}
	for range depth {
		outer := &jsonschema.Schema{Type: "object", Description: description, Properties: jsonschema.NewProperties()}
		outer.Properties.Set("inner", s)
		s = outer
	}
	return s
}

// A schema that providers refuse is mended, and an event says so.
func TestSourceMendsSchemas(t *testing.T) { everyWay(t, testMendedSchemas) }

func testMendedSchemas(t *testing.T, w way) {
	list := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	list.Properties.Set("names", &jsonschema.Schema{Type: "array"})
	list.Properties.Set("pair", &jsonschema.Schema{Type: "array", PrefixItems: []*jsonschema.Schema{{Type: "string"}}})
	choice := schemaOf(t, `{"type":"object","properties":{"to":{"type":"string"}},"required":["to"],
		"anyOf":[{"properties":{"text":{"type":"string"}},"required":["text"]},{"$ref":"#/$defs/file"}],
		"allOf":[{"properties":{"to":{"type":"number"},"by":{"type":"string"}},"required":["to","by"]}],
		"not":{"required":["from"]},"$defs":{"file":{"type":"object","properties":{"path":{"type":"string"}}}}}`)
	odd := schemaOf(t, oddSchema)
	odd.Properties.Value("number").Extras = map[string]any{"type": 7}
	s := &server{}
	s.serveTools(withSchema("list", list), withSchema("word", &jsonschema.Schema{Type: "string"}), withSchema("choice", choice),
		withSchema("odd", odd))
	o := running(t, w, s.config())(selecting("list,word,choice,odd"))
	checkSaw(t, "the model", o, "tool_search", "tool_search list word choice odd")
	require.Len(t, s.errs, 1, "the failure events")
	for _, want := range []string{
		`"list": mended: the schema of its parameters has an array without items`,
		`"word": mended: the schema of its parameters is not that of an object`,
		`"choice": mended: the schema of its parameters has anyOf, oneOf, allOf or not at its top`,
		`"odd": mended: the schema of its parameters has a type that JSON Schema does not have`,
		`"odd": kept: a parameter has the name "bad name!", which Anthropic refuses`,
	} {
		assert.Contains(t, s.errs[0], want)
	}
	for i, want := range []string{
		`{"type":"object","properties":{"names":{"type":"array","items":{"description":"any value"}},
			"pair":{"type":"array","prefixItems":[{"type":"string"}],"items":{"description":"any value"}}}}`,
		`{"type":"object"}`,
		`{"type":"object","properties":{"to":{"type":"string"},"by":{"type":"string"},"text":{"type":"string"},"path":{"type":"string"}},
			"required":["to","by"],"$defs":{"file":{"type":"object","properties":{"path":{"type":"string"}}}}}`,
		`{"type":"object","properties":{"bad name!":{"type":"string"},"foo":{"description":"any value"},"number":{"title":"n"},
			"list":{"type":"array","items":{"title":"t","properties":{"any":{"description":"any value"}}}}}}`,
	} {
		assert.JSONEq(t, want, parametersOf(t, o.last().Tools[1+i]))
	}
	assert.Nil(t, list.Properties.Value("names").Items, "the items of the schema that Source gave")
	assert.Len(t, choice.AnyOf, 2, "the choice of the schema that Source gave")
}

// parametersOf returns a tool's schema as JSON.
func parametersOf(t *testing.T, info *schema.ToolInfo) string {
	t.Helper()
	definition := testtools.Must(info.ToJSONSchema())(t)
	text := testtools.Must(json.Marshal(definition))(t)
	return string(text)
}

// oddSchema has types that JSON Schema does not have, and a parameter whose name Anthropic refuses.
const oddSchema = `{"type":"object","properties":{"bad name!":{"type":"string"},"foo":{"type":"foo"},"number":{"title":"n"},
	"list":{"type":"array","items":{"title":"t","type":["object","foo"],"properties":{"any":{"type":"any"}}}}}}`

func schemaOf(t testing.TB, text string) *jsonschema.Schema {
	t.Helper()
	s := &jsonschema.Schema{}
	require.NoError(t, json.Unmarshal([]byte(text), s))
	return s
}

// A pattern that no tool matches and a Filter that lets no tool pass are reported.
func TestWhatMatchesNothingIsReported(t *testing.T) {
	s := &server{}
	s.serve("send_mail: Sends")
	config := s.config()
	config.AlwaysLoaded = []string{"github:*", "get_weather", "send_*"}
	config.Filter = toolsearch.FilterTools([]string{"github"}, nil)
	running(t, way{}, config)()
	assert.Equal(t, []string{`toolsearch: AlwaysLoaded: no tool matches "github:*"`,
		"toolsearch: Filter lets none of 2 tools pass", `toolsearch: Filter: no tool matches server "github"`}, s.errs)

	var told []*toolsearch.FailureEvent
	newMiddleware[chat](t, toolsearch.Config{AlwaysLoaded: []string{"slack:*", "tag:x"}, OnEvent: hearing(&told)})
	require.Len(t, told, 1)
	assert.EqualError(t, told[0].Err, `toolsearch: AlwaysLoaded: no tool matches "tag:x"`)
}

// sourceOf is a Source that always answers with the same tools.
func sourceOf(specs ...string) func(context.Context) ([]tool.BaseTool, error) {
	return func(context.Context) ([]tool.BaseTool, error) { return testtools.EchoTools(specs...), nil }
}

// sourced are groups with a Source that always answers with the same tools.
func sourced(specs ...string) []toolsearch.Group {
	return []toolsearch.Group{{Source: sourceOf(specs...)}}
}

// These tests ask Sources whose answers depend on who asks.

var durations = regexp.MustCompile(`Duration:\S+`)

type callerKey struct{}

func callerOf(ctx context.Context) string { return ctx.Value(callerKey{}).(string) }

func by(caller string) context.Context {
	return context.WithValue(context.Background(), callerKey{}, caller)
}

// personal is a group with other tools for each caller: those of a function, and who, which says whose it is.
func personal(name string, toolsOf func(caller string) []tool.BaseTool) toolsearch.Group {
	return toolsearch.Group{Name: name, PerCaller: callerOf, Source: func(ctx context.Context) ([]tool.BaseTool, error) {
		caller := callerOf(ctx)
		if caller == "eve" {
			return nil, errors.New("eve is locked out")
		}
		who := fixed(name+"_who", "Says whose tool it is", caller)
		return append(toolsOf(caller), who), nil
	}}
}

// The tools of another caller are as if they were not in the catalog, by any door. Some have the names of one's own.
func TestCallersLeaveNoTrace(t *testing.T) {
	inAllWays(t, testCallersLeaveNoTrace[chat], testCallersLeaveNoTrace[agentic])
}

func testCallersLeaveNoTrace[M adk.MessageType](t *testing.T, w way) {
	lies := testtools.EchoTools("send_mail: Lies", "list_stocks: Lies", "add_tool: Lies", "clock: Lies", "bad name: Lies", "x_who: Lies")
	toolsOf := func(caller string) []tool.BaseTool {
		if caller == "bob" {
			return append(append(lies, toolsWithSecrets()...), nil)
		}
		return append(withoutSecrets(), testtools.EchoTools("send_mail: Once more", "list_stocks: Prices of shares")...)
	}
	for i, p := range protocols {
		for _, more := range []bool{false, true} {
			if !playedIn(i, w) || testing.Short() && !more {
				continue
			}
			config := p.config
			config.Groups = []toolsearch.Group{
				personal("x", toolsOf), personal("y", toolsOf),
				{Name: "z", Source: func(context.Context) ([]tool.BaseTool, error) { return testtools.EchoTools("secret_mail: Public"), nil }},
			}
			if more {
				config.AlwaysLoaded = []string{"list_stocks", "secret_mail", "*:send_*", "*:x_*"}
				config.Limits.MaxLoaded, config.Preselect = 3, 2
				config.Filter = toolsearch.FilterTools([]string{"y"}, []string{"secret_mail", "x:list_stocks"})
				config.Reminder = toolsearch.ReminderConfig{MaxTokens: 60, Describe: true, Position: toolsearch.ReminderInstruction}
			}
			shown := func(before ...string) string {
				var mu sync.Mutex
				var events []string
				config.OnEvent = func(_ context.Context, e toolsearch.Event) { // parallel calls end at the same time
					mu.Lock()
					defer mu.Unlock()
					events = append(events, durations.ReplaceAllString(fmt.Sprintf("%T%+v", e, e), ""))
				}
				middleware := newMiddleware[M](t, config)
				for _, caller := range before {
					converseOn(by(caller), t, w, with(middleware), question, selecting("secret_mail,send_mail"), calling("x_who"))
				}
				events = nil // those of calls at the same time are in no order
				return pryIn(by("ann"), t, w, with(middleware), true, p.search) + strings.Join(slices.Sorted(slices.Values(events)), "\n")
			}
			what := fmt.Sprintf("%s, more %v", p.name, more)
			assert.Equal(t, shown("cid"), shown("cid", "bob", "eve"), "%s: the first run", what)
			assert.Equal(t, shown("ann"), shown("bob", "ann", "bob", "eve"), "%s: a later run", what)
		}
	}
}

// Runs at the same time have the tools of their callers, and call them. Definitions of several are indexed once.
// Run this test with -race.
func TestCallersAtTheSameTime(t *testing.T) {
	s := &server{}
	s.serve("shared: For all")
	config := s.config()
	config.Groups = append(config.Groups, personal("x", func(caller string) []tool.BaseTool {
		if strings.HasPrefix(caller, "user") {
			return nil
		}
		return testtools.EchoTools(caller+"_tool: Does", "same: Does it for "+caller)
	}))
	middleware := newMiddleware[chat](t, config)
	// has returns the tools of a caller, and what the last, x_who, answers.
	has := func(caller string) (had []string) {
		_, runCtx, err := middleware.BeforeAgent(by(caller), &adk.ChatModelAgentContext{})
		assert.NoError(t, err)
		for _, tl := range runCtx.Tools {
			info, err := tl.Info(context.Background())
			assert.NoError(t, err)
			had = append(had, info.Name+": "+info.Desc)
		}
		text, err := runCtx.Tools[len(runCtx.Tools)-1].(tool.InvokableTool).InvokableRun(context.Background(), "{}")
		assert.NoError(t, err)
		return append(had[1:], text)
	}
	weather, shared, who := "get_weather: Current weather of a city", "shared: For all", "x_who: Says whose tool it is"
	var runs sync.WaitGroup
	for i := range 60 {
		caller := []string{"ann", "bob", ""}[i%3]
		runs.Go(func() {
			assert.Equal(t, []string{weather, shared, caller + "_tool: Does", "same: Does it for " + caller, who, caller}, has(caller))
		})
	}
	runs.Wait()
	built := s.indexed.Load()
	for i := range 20 {
		user := fmt.Sprint("user", i)
		assert.Equal(t, []string{weather, shared, who, user}, has(user))
	}
	assert.Equal(t, built, s.indexed.Load(), "indexes for users whose definitions are known")
}

// A call that hangs holds the runs of its caller alone, and each caller has one call at a time.
func TestCallerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release, asked := make(chan struct{}), make(chan string, 100)
		group := personal("x", func(caller string) []tool.BaseTool {
			if asked <- caller; caller == "bob" {
				<-release // whatever its context says
			}
			return nil
		})
		middleware := newMiddleware[chat](t, toolsearch.Config{Groups: []toolsearch.Group{group}})
		var runs sync.WaitGroup
		for range 5 {
			run := conversing(by("bob"), t, way{}, with(middleware), question)
			runs.Go(func() { checkAnnounced(t, run()) })
		}
		start := time.Now()
		checkAnnounced(t, converseOn(by("ann"), t, way{}, with(middleware), question), "x (1)", "x_who")
		assert.Zero(t, time.Since(start))
		runs.Wait()
		assert.Equal(t, toolsearch.DefaultSourceTimeout, time.Since(start))
		assert.Len(t, asked, 2)
		close(release)
	})
}

// A run whose PerCaller panics has the tools of nobody.
func TestPerCallerPanics(t *testing.T) {
	var told []string
	group := personal("x", func(string) []tool.BaseTool { return nil })
	group.PerCaller = func(ctx context.Context) string { return callerOf(ctx)[1:] }
	middleware := newMiddleware[chat](t, toolsearch.Config{Groups: []toolsearch.Group{group},
		DynamicTools: testtools.EchoTools("clock: The time"),
		OnEvent:      onFailure(func(err error) { told = append(told, err.Error()) })})
	checkAnnounced(t, converseOn(by("1"), t, way{}, with(middleware), question), "x (1)", "x_who", "clock")
	checkAnnounced(t, converseOn(by(""), t, way{}, with(middleware), question), "clock")
	require.Len(t, told, 1)
	assert.Contains(t, told[0], `toolsearch: Source of group "x": PerCaller: panic: `)
}

// A run that another caller resumes has the tools of that caller, and so has one that shares a session.
func TestAnotherCallerGoesOn(t *testing.T) { inRestarts(t, testAnotherCaller) }

func testAnotherCaller(t *testing.T, w way) {
	toolsOf := func(caller string) []tool.BaseTool {
		return append(testtools.EchoTools(caller+"_tool: Does", "same: Does it for "+caller), confirming("delete_all"))
	}
	config := func(caller string) toolsearch.Config {
		group := personal("x", toolsOf)
		source := group.Source
		group.PerCaller = func(context.Context) string { return caller }
		group.Source = func(context.Context) ([]tool.BaseTool, error) { return source(by(caller)) }
		return toolsearch.Config{Groups: []toolsearch.Group{group}}
	}
	before := conversation{config: config("ann"), turns: []turn{selecting("ann_tool,same,delete_all"), calling("delete_all")}}
	o := restarted(t, w, before, config("bob"), callTools(called("w", "ann_tool", `{}`)))
	require.NoError(t, o.err)
	for _, r := range o.requests {
		assert.Equal(t, []string{"tool_search", "same", "delete_all"}, r.ToolNames())
		assert.Equal(t, "Does it for bob", r.Tools[1].Desc)
	}
	assert.Equal(t, []string{"ann_tool"}, answerOf(t, o.result(t, "w")).NotFound)
	if w.agentic {
		return
	}
	session := toolsearch.NewSession("ann_tool", "same")
	o = converseOn(toolsearch.WithSession(t.Context(), session), t, w, agentOver[chat](t, config("bob")), question)
	assert.Equal(t, []string{"tool_search", "same"}, o.last().ToolNames())
}

// A Source without PerCaller whose answers alternate is told once.
func TestAnswersAlternate(t *testing.T) {
	s := &server{}
	middleware := newMiddleware[chat](t, s.config())
	for i := range 12 {
		assert.Empty(t, s.errs, "run %d", i)
		s.serve(fmt.Sprint("tool_", i, ": Does"))
		converse(t, way{}, with(middleware))
	}
	for i := range 12 {
		s.serve([]string{"ann_tool: Does", "bob_tool: Does", "cid_tool: Does"}[i%3])
		converse(t, way{}, with(middleware))
	}
	assert.Equal(t, []string{"toolsearch: Source: tools went and came back, several times; " +
		"if they depend on who asks, set Group.PerCaller"}, s.errs)
}
