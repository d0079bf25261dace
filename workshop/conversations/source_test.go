package conversations_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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

func TestSource(t *testing.T) { inAllWays(t, testSource[chat], testSource[agentic]) }

// When one tool of a hundred changes, only its text is embedded.
func TestSourceEmbedsWhatChanged(t *testing.T) {
	for name, config := range map[string]func(toolsearch.Indexer) toolsearch.Config{
		"alone": func(e toolsearch.Indexer) toolsearch.Config { return toolsearch.Config{Index: e} },
		"in a hybrid": func(e toolsearch.Indexer) toolsearch.Config {
			return toolsearch.Config{Index: toolsearch.Hybrid(toolsearch.BM25, e)}
		},
		"a fallback": func(e toolsearch.Indexer) toolsearch.Config {
			return toolsearch.Config{Index: toolsearch.BM25, Fallback: e}
		},
	} {
		e := &countingEmbedder{}
		s := &server{}
		c := config(toolsearch.Embedding(e))
		c.Groups = []toolsearch.Group{{Source: s.source}}
		middleware := newMiddleware[chat](t, c)
		specs := make([]string, 100)
		for i := range specs {
			specs[i] = fmt.Sprintf("tool_%d: Does it", i)
		}
		step := func(texts int64, what string) {
			t.Helper()
			s.serve(specs...)
			e.texts.Store(0)
			o := converse(t, way{}, with(middleware))
			require.NoError(t, o.err)
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

func testSource[M adk.MessageType](t *testing.T, w way) {
	s := &server{}
	middleware := newMiddleware[M](t, s.config())
	built := s.indexed.Load() // New indexes the tool that never changes
	asked := int32(0)
	step := func(name string, indexed int32, names string, turns []turn, saw ...string) outcome {
		t.Helper()
		o := converse(t, w, with(middleware), turns...)
		checkSaw(t, name, o, saw...)
		checkAnnounced(t, o, strings.Fields(names)...)
		asked++
		assert.Equal(t, asked, s.asked.Load(), "%s: Source is asked once a run", name)
		assert.Equal(t, indexed, s.indexed.Load()-built, "%s: how often the catalog was indexed", name)
		return o
	}
	mail, stocks := "send_mail: Sends an e-mail", "list_stocks: Prices of shares"

	s.serve(mail, stocks)
	step("the first answer", 1, "get_weather list_stocks send_mail", []turn{searching(`{"query":"mail"}`), calling("send_mail")},
		"tool_search", "tool_search send_mail", "tool_search send_mail")
	s.serve(mail, stocks)
	step("the same tools as new values", 1, "get_weather list_stocks send_mail", nil, "tool_search")
	s.serve(stocks, mail)
	step("another order", 1, "get_weather list_stocks send_mail", []turn{selecting("list_stocks")}, "tool_search", "tool_search list_stocks")
	s.serve(stocks, mail, "cut_grass: Mows")
	step("a further tool", 2, "get_weather cut_grass list_stocks send_mail", []turn{searching(`{"query":"mows"}`)},
		"tool_search", "tool_search cut_grass")
	s.serve(stocks)
	o := step("two tools fewer", 3, "get_weather list_stocks", []turn{selecting("send_mail,list_stocks"), calling("cut_grass")},
		"tool_search", "tool_search list_stocks", "tool_search list_stocks")
	assert.Equal(t, []string{"send_mail"}, answerOf(t, o.result(t, "call_1")).NotFound, "the search for a tool that is gone")
	assert.Equal(t, []string{"cut_grass"}, answerOf(t, o.result(t, "call_2")).NotFound, "the call of a tool that is gone")
	s.serve("list_stocks: Prices of shares and bonds")
	step("another description", 4, "get_weather list_stocks", []turn{searching(`{"query":"bonds"}`)}, "tool_search", "tool_search list_stocks")
	assert.Empty(t, s.errs, "the failure events")
}

// When Source fails, the last good catalog stays, and an event says what failed.
func TestSourceFails(t *testing.T) { inAllWays(t, testFailingSource[chat], testFailingSource[agentic]) }

func testFailingSource[M adk.MessageType](t *testing.T, w way) {
	s := &server{}
	s.err = errors.New("no route to host")
	config := s.config()
	config.Annotate = func(info *schema.ToolInfo) toolsearch.Annotation {
		if info.Name == "unspeakable" {
			panic("no word for it")
		}
		return toolsearch.Annotate(info)
	}
	middleware := newMiddleware[M](t, config)
	told := func(name, want string) {
		t.Helper()
		require.Len(t, s.errs, 1, "%s: the failure events", name)
		assert.Contains(t, s.errs[0], want, name)
		assert.Contains(t, s.errs[0], "Source", name)
		s.errs = nil
	}
	check := func(name string, names ...string) {
		t.Helper()
		o := converse(t, w, with(middleware), selecting("get_weather"))
		checkSaw(t, name, o, "tool_search", "tool_search get_weather")
		checkAnnounced(t, o, names...)
	}

	check("before it ever answered", "get_weather")
	told("before it ever answered", "no route to host")
	s.serve("send_mail: Sends")
	check("when it answers", "get_weather", "send_mail")

	one := testtools.EchoTools("fax: Faxes")[0]
	s.panics = true
	check("a panic", "get_weather", "send_mail")
	told("a panic", "connection lost")
	s.serve("unspeakable: x")
	check("a tool that cannot be annotated", "get_weather", "send_mail")
	told("a tool that cannot be annotated", "no word for it")
	s.serve("send_mail: Sends")
	indexed := s.indexed.Load()
	check("the last good answer again", "get_weather", "send_mail")
	assert.Equal(t, indexed, s.indexed.Load(), "how often the last good answer is indexed")
	assert.Empty(t, s.errs, "the failure events")

	// One bad tool does not cost the others of its answer.
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
		{"a schema that cannot be written", "wrong, too large",
			[]tool.BaseTool{one, withSchema("bad", &jsonschema.Schema{Type: "object", Default: math.Inf(1)})}},
		{"a schema that contains itself", "wrong, too large", []tool.BaseTool{one, withSchema("bad", circular())}},
		{"a schema nested 250 deep", "wrong, too large", []tool.BaseTool{one, withSchema("deep", nested(250, strings.Repeat("long ", 800)))}},
	} {
		s.serveTools(tt.tools...)
		check(tt.name, "get_weather", "fax")
		told(tt.name, tt.told)
		check(tt.name+", again", "get_weather", "fax")
		assert.Empty(t, s.errs, "%s: the failure events of an answer that has not changed", tt.name)
	}
}

// A source that reconnects gives new values of the same tools. When it fails later, the tools of
// the last connection are used.
func TestFailingSourceKeepsTheNewestTools(t *testing.T) {
	s := &server{}
	middleware := newMiddleware[chat](t, s.config())
	send := &schema.ToolInfo{Name: "send_mail", Desc: "Sends"}
	run := func() string {
		t.Helper()
		o := converse(t, way{}, with(middleware), calling("send_mail"))
		require.NoError(t, o.err)
		return o.result(t, "call_1")
	}
	for _, connection := range []string{"first", "second"} {
		s.serveTools(&fixedTool{testtools.PlainTool{Of: send}, connection})
		assert.Equal(t, connection, run())
	}
	s.err = errors.New("no route to host")
	assert.Equal(t, "second", run())
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
func TestSourceMendsSchemas(t *testing.T) {
	inAllWays(t, testMendedSchemas[chat], testMendedSchemas[agentic])
}

func testMendedSchemas[M adk.MessageType](t *testing.T, w way) {
	s := &server{}
	list := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	list.Properties.Set("names", &jsonschema.Schema{Type: "array"})
	list.Properties.Set("pair", &jsonschema.Schema{Type: "array", PrefixItems: []*jsonschema.Schema{{Type: "string"}}})
	choice := schemaOf(t, `{"type":"object","properties":{"to":{"type":"string"}},"required":["to"],
		"anyOf":[{"properties":{"text":{"type":"string"}},"required":["text"]},{"$ref":"#/$defs/file"}],
		"allOf":[{"properties":{"to":{"type":"number"},"by":{"type":"string"}},"required":["to","by"]}],
		"not":{"required":["from"]},"$defs":{"file":{"type":"object","properties":{"path":{"type":"string"}}}}}`)
	odd := schemaOf(t, oddSchema)
	odd.Properties.Value("number").Extras = map[string]any{"type": 7}
	long := schemaOf(t, `{"type":"object","properties":{"a":{"type":"string","enum":["`+strings.Repeat("x", 512<<10)+`"]}}}`)
	s.serveTools(withSchema("list", list), withSchema("word", &jsonschema.Schema{Type: "string"}), withSchema("choice", choice),
		withSchema("odd", odd), withSchema("long", long))
	o := converse(t, w, agentOver[M](t, s.config()), selecting("list,word,choice,odd,long"))
	checkSaw(t, "the model", o, "tool_search", "tool_search list word choice odd")
	require.Len(t, s.errs, 1, "the failure events")
	assert.Contains(t, s.errs[0], `"list": mended: the schema of its parameters has an array without items`)
	assert.Contains(t, s.errs[0], `"word": mended: the schema of its parameters is not that of an object`)
	assert.Contains(t, s.errs[0], `"choice": mended: the schema of its parameters has anyOf, oneOf, allOf or not at its top`)
	assert.Contains(t, s.errs[0], `"odd": mended: the schema of its parameters has a type that JSON Schema does not have`)
	assert.Contains(t, s.errs[0], `"odd": kept: a parameter has the name "bad name!", which Anthropic refuses`)
	assert.Contains(t, s.errs[0], `"long": the schema of its parameters is longer than 524288 bytes`)
	for _, info := range o.last().Tools {
		definition, err := info.ToJSONSchema()
		require.NoError(t, err)
		text, err := json.Marshal(definition)
		require.NoError(t, err)
		switch info.Name {
		case "list":
			assert.JSONEq(t, `{"type":"object","properties":{"names":{"type":"array","items":{"description":"any value"}},
				"pair":{"type":"array","prefixItems":[{"type":"string"}],"items":{"description":"any value"}}}}`, string(text))
		case "choice":
			assert.JSONEq(t, `{"type":"object","properties":{"to":{"type":"string"},"by":{"type":"string"},"text":{"type":"string"},"path":{"type":"string"}},
				"required":["to","by"],"$defs":{"file":{"type":"object","properties":{"path":{"type":"string"}}}}}`, string(text))
		case "odd":
			assert.JSONEq(t, `{"type":"object","properties":{"bad name!":{"type":"string"},"foo":{"description":"any value"},"number":{"title":"n"},
				"list":{"type":"array","items":{"title":"t","properties":{"any":{"description":"any value"}}}}}}`, string(text))
		case "word":
			assert.JSONEq(t, `{"type":"object"}`, string(text))
		}
	}
	assert.Nil(t, list.Properties.Value("names").Items, "the items of the schema that Source gave")
	assert.Len(t, choice.AnyOf, 2, "the choice of the schema that Source gave")
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

// A tool of a Source whose description is beyond the bound is left out, and the others stay.
func TestSourceBoundsDescriptions(t *testing.T) {
	inAllWays(t, testBoundedDescriptions[chat], testBoundedDescriptions[agentic])
}

func testBoundedDescriptions[M adk.MessageType](t *testing.T, w way) {
	s := &server{}
	s.serve("long: "+strings.Repeat("x", 64<<10+1), "short: "+strings.Repeat("x", 64<<10))
	o := converse(t, w, agentOver[M](t, s.config()), selecting("long,short"))
	checkSaw(t, "the model", o, "tool_search", "tool_search short")
	require.Len(t, s.errs, 1, "the failure events")
	assert.Contains(t, s.errs[0], `"long": a description of 65537 bytes; at most 65536 are taken`)
}

// Tools that are alike but for what cannot be written as JSON are told apart.
func TestUnreadableSchemasAreToldApart(t *testing.T) {
	s := &server{}
	middleware := newMiddleware[chat](t, s.config())
	strange := func(name, description string) tool.BaseTool {
		return echo(&schema.ToolInfo{Name: name, Desc: description, Extra: map[string]any{"f": func() {}, "n": math.NaN()},
			ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&jsonschema.Schema{Type: "object"})})
	}
	for _, name := range []string{"one", "two"} {
		s.serveTools(strange(name, "Does"))
		o := converse(t, way{}, with(middleware))
		checkAnnounced(t, o, "get_weather", name)
	}
	assert.Empty(t, s.errs, "the failure events")
}

// A pattern that no tool matches and a Filter that lets no tool pass are reported.
func TestWhatMatchesNothingIsReported(t *testing.T) {
	s := &server{}
	s.serve("send_mail: Sends")
	config := s.config()
	config.AlwaysLoaded = []string{"github:*", "get_weather", "send_*"}
	config.Filter = toolsearch.FilterTools([]string{"github"}, nil)
	o := converse(t, way{}, agentOver[chat](t, config))
	require.NoError(t, o.err)
	assert.Equal(t, []string{`toolsearch: AlwaysLoaded: no tool matches "github:*"`,
		"toolsearch: Filter lets none of 2 tools pass", `toolsearch: Filter: no tool matches server "github"`}, s.errs)

	var told []string
	_, err := toolsearch.New(t.Context(), &toolsearch.Config{DynamicTools: testtools.NewsTools(), AlwaysLoaded: []string{"slack:*", "tag:x"},
		OnEvent: onFailure(func(err error) { told = append(told, err.Error()) })})
	require.NoError(t, err)
	assert.Equal(t, []string{`toolsearch: AlwaysLoaded: no tool matches "tag:x"`}, told)
}

type ownClock struct{}

func (*ownClock) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: "clock", Desc: "The time"}, nil
}

func (*ownClock) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "the agent's own clock", nil
}

// sourceOf is a Source that always answers with the same tools.
func sourceOf(specs ...string) func(context.Context) ([]tool.BaseTool, error) {
	return func(context.Context) ([]tool.BaseTool, error) { return testtools.EchoTools(specs...), nil }
}
