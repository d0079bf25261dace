package toolsearch_test

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	oracle "github.com/cloudwego/eino/adk/middlewares/dynamictool/toolsearch"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// A program moves over from Eino's package by a change of the import path. The constructors and
// the fields of Config therefore have the names and types of Eino's.
func TestConfigLiteralsOfEinoCompileUnchanged(t *testing.T) {
	ctx, tools := context.Background(), testtools.NewsTools()
	for i, build := range []func() (adk.ChatModelAgentMiddleware, error){
		func() (adk.ChatModelAgentMiddleware, error) {
			return oracle.New(ctx, &oracle.Config{DynamicTools: tools, UseModelToolSearch: true})
		},
		func() (adk.ChatModelAgentMiddleware, error) {
			return toolsearch.New(ctx, &toolsearch.Config{DynamicTools: tools, UseModelToolSearch: true})
		},
		func() (adk.ChatModelAgentMiddleware, error) {
			return toolsearch.NewTyped[*schema.Message](ctx, &toolsearch.Config{DynamicTools: tools})
		},
	} {
		middleware, err := build()
		assert.NoError(t, err, "%d", i)
		assert.NotNil(t, middleware, "%d", i)
	}

	// A field that a later release of Eino adds fails here.
	theirs, ours := reflect.TypeFor[oracle.Config](), reflect.TypeFor[toolsearch.Config]()
	for i := range theirs.NumField() {
		want := theirs.Field(i)
		got, _ := ours.FieldByName(want.Name)
		assert.True(t, got.Type == want.Type, "the field %s has Eino's type %s, not %v", want.Name, want.Type, got.Type)
	}
}

// buildAll calls the constructors for both message types and returns their errors. A panic fails
// the test.
func buildAll(t *testing.T, config *toolsearch.Config) map[string]error {
	t.Helper()
	ctx, failures := context.Background(), map[string]error{}
	build := func(name string, construct func() (any, error)) {
		assert.NotPanics(t, func() {
			middleware, err := construct()
			assert.Equal(t, err != nil, middleware == nil, "%s returns either a middleware or an error, not %v and %v", name, middleware, err)
			failures[name] = err
		}, name)
	}
	build("New", func() (any, error) { return toolsearch.New(ctx, config) })
	build("NewTyped, message", func() (any, error) { return toolsearch.NewTyped[*schema.Message](ctx, config) })
	build("NewTyped, agentic", func() (any, error) { return toolsearch.NewTyped[*schema.AgenticMessage](ctx, config) })
	return failures
}

// checkMessage checks that the text of an error has each of the wanted parts.
func checkMessage(t *testing.T, where string, err error, want []string) {
	t.Helper()
	for _, part := range append(want, "toolsearch: ") {
		assert.ErrorContains(t, err, part, where)
	}
}

// None of these tools can be used. Each has another reason.
type (
	infoTool   func() (*schema.ToolInfo, error) // is its Info
	hollowTool struct{ tool.InvokableTool }
	otherTool  struct{ testtools.InfoOnly }
)

var errUnwell = errors.New("the server is down")

func (i infoTool) Info(context.Context) (*schema.ToolInfo, error) { return i() }

// InvokableRun has the name of tool.InvokableTool's method, but another signature.
func (otherTool) InvokableRun(context.Context, []byte) (string, error) { return "", nil }

func TestNewNamesTheToolThatIsWrong(t *testing.T) {
	bare := testtools.InfoOnly{Of: &schema.ToolInfo{Name: "cut_grass"}}
	for _, tt := range []struct {
		name     string
		tool     tool.BaseTool // is tool 2 of the catalog
		toolName string
		want     []string
		wraps    error
	}{
		{name: "nil", tool: nil, want: []string{"is nil"}},
		{name: "a nil pointer", tool: (*testtools.EchoTool)(nil), want: []string{"is nil", "*testtools.EchoTool"}},
		{name: "a nil function", tool: infoTool(nil), want: []string{"is nil", "toolsearch_test.infoTool"}},
		{name: "nothing inside", tool: hollowTool{}, want: []string{"toolsearch_test.hollowTool"}},
		{name: "Info fails", tool: infoTool(func() (*schema.ToolInfo, error) { return nil, errUnwell }),
			want: []string{"toolsearch_test.infoTool", "Info", errUnwell.Error()}, wraps: errUnwell},
		{name: "Info returns nil", tool: infoTool(func() (*schema.ToolInfo, error) { return nil, nil }),
			want: []string{"toolsearch_test.infoTool", "Info", "nil"}},
		{name: "Info panics", tool: infoTool(func() (*schema.ToolInfo, error) { panic("no connection") }),
			want: []string{"toolsearch_test.infoTool", "Info", "no connection"}},
		{name: "no name", tool: testtools.EchoTools(": Nameless")[0], want: []string{"name", "*testtools.EchoTool"}},
		{name: "a name twice", tool: testtools.EchoTools("send_mail: Sends again")[0], want: []string{`"send_mail"`, "tool 1"}},
		{name: "the search tool's name", tool: testtools.EchoTools("tool_search: Mine")[0], want: []string{`"tool_search"`, "ToolName"}},
		{name: "the search tool's other name", tool: testtools.EchoTools("find: Mine")[0], toolName: "find",
			want: []string{`"find"`, "ToolName"}},
		{name: "no way to call it", tool: bare, want: []string{`"cut_grass"`, "testtools.InfoOnly", "invokable"}},
		{name: "no way to call it that Eino knows", tool: otherTool{bare},
			want: []string{`"cut_grass"`, "toolsearch_test.otherTool", "invokable"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tools := append(testtools.EchoTools("get_weather: Weather", "send_mail: Sends"), tt.tool)
			for where, err := range buildAll(t, &toolsearch.Config{DynamicTools: tools, ToolName: tt.toolName}) {
				checkMessage(t, where, err, append(tt.want, "tool 2"))
				if tt.wraps != nil {
					assert.ErrorIs(t, err, tt.wraps, where)
				}
			}
		})
	}
}

func TestNewRefusesWhatAConfigCannotMean(t *testing.T) {
	long := strings.Repeat("x", 64)
	for _, tt := range []struct {
		name   string
		config *toolsearch.Config // its DynamicTools are set below
		want   []string           // nil means that the config is good
	}{
		{"no config", nil, []string{"config"}},
		{"the zero config", &toolsearch.Config{}, nil},
		{"a negative default", &toolsearch.Config{MaxResults: -1}, []string{"MaxResults", "-1"}},
		{"a negative ceiling", &toolsearch.Config{Limits: toolsearch.Limits{MaxResultsCap: -7}}, []string{"MaxResultsCap", "-7"}},
		{"a default above the ceiling", &toolsearch.Config{MaxResults: 9, Limits: toolsearch.Limits{MaxResultsCap: 8}},
			[]string{"MaxResults 9", "MaxResultsCap 8"}},
		{"a default at the ceiling", &toolsearch.Config{MaxResults: 8, Limits: toolsearch.Limits{MaxResultsCap: 8}}, nil},
		{"a default above the usual ceiling", &toolsearch.Config{MaxResults: 80}, nil},
		{"a ceiling below the usual default", &toolsearch.Config{Limits: toolsearch.Limits{MaxResultsCap: 1}}, nil},
		{"a blank in the tool name", &toolsearch.Config{ToolName: "tool search"}, []string{"ToolName", `"tool search"`}},
		{"a dot in the tool name", &toolsearch.Config{ToolName: "tool.search"}, []string{"ToolName", `"tool.search"`}},
		{"markup in the tool name", &toolsearch.Config{ToolName: `a"><b`}, []string{"ToolName", `"a\"><b"`}},
		{"a line break at the end of the tool name", &toolsearch.Config{ToolName: "find\n"}, []string{"ToolName", `"find\n"`}},
		{"letters beyond ASCII in the tool name", &toolsearch.Config{ToolName: "搜索"}, []string{"ToolName", `"搜索"`}},
		{"a tool name that is too long", &toolsearch.Config{ToolName: long + "x"}, []string{"ToolName", "64"}},
		{"the longest tool name", &toolsearch.Config{ToolName: long}, nil},
		{"a tool name that is too long as a prefix", &toolsearch.Config{ToolName: long, Protocol: toolsearch.ProtocolSearchAdd},
			[]string{"ToolName", "search_add", "64"}},
		{"the longest tool name as a prefix", &toolsearch.Config{ToolName: long[:64-len("_show_all_tools")],
			Protocol: toolsearch.ProtocolSearchAdd}, nil},
		{"a tool name too long by one as a prefix", &toolsearch.Config{ToolName: long[:64-len("_call_tool")+1],
			Protocol: toolsearch.ProtocolDispatch}, []string{"ToolName", "dispatch"}},
		{"every kind of character in the tool name", &toolsearch.Config{ToolName: "Find_tools-2"}, nil},
		{"a tool name that resembles the name of a dynamic tool", &toolsearch.Config{ToolName: "send-mail"}, nil},
		{"a negative UnloadedPolicy", &toolsearch.Config{Unloaded: -1}, []string{"UnloadedPolicy", "-1"}},
		{"an unknown UnloadedPolicy", &toolsearch.Config{Unloaded: toolsearch.UnloadedRefuse + 1}, []string{"UnloadedPolicy", "2"}},
		{"a negative UnknownPolicy", &toolsearch.Config{Unknown: -1}, []string{"UnknownPolicy", "-1"}},
		{"a negative ToolErrorsPolicy", &toolsearch.Config{ToolErrors: -1}, []string{"ToolErrorsPolicy", "-1"}},
		{"an unknown ToolErrorsPolicy", &toolsearch.Config{ToolErrors: toolsearch.ToolErrorsExplain + 1}, []string{"ToolErrorsPolicy", "2"}},
		{"a Preselect below the automatic", &toolsearch.Config{Preselect: -2}, []string{"Preselect -2"}},
		{"an unknown UnknownPolicy", &toolsearch.Config{Unknown: toolsearch.UnknownFail + 1}, []string{"UnknownPolicy", "2"}},
		{"a negative Language", &toolsearch.Config{Language: -1}, []string{"Language", "-1"}},
		{"an unknown Language", &toolsearch.Config{Language: toolsearch.Chinese + 1}, []string{"Language", "2"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.config != nil {
				tt.config.DynamicTools = testtools.NewsTools()
			}
			for where, err := range buildAll(t, tt.config) {
				if tt.want != nil {
					checkMessage(t, where, err, tt.want)
				} else {
					assert.NoError(t, err, where)
				}
			}
		})
	}
	for _, tools := range [][]tool.BaseTool{nil, {}} {
		for where, err := range buildAll(t, &toolsearch.Config{DynamicTools: tools}) {
			checkMessage(t, where, err, []string{"DynamicTools"})
		}
	}
}

var saysZero = regexp.MustCompile(`(Zero|Nil|False|"") means|is required`)

// The doc comment of every field says what its zero value means.
func TestConfigFieldsSayWhatZeroMeans(t *testing.T) {
	file := testtools.Must(parser.ParseFile(token.NewFileSet(), "config.go", nil, parser.ParseComments))(t)
	fields := 0
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !slices.Contains([]string{"Config", "Limits", "Group", "ReminderConfig"}, spec.Name.Name) {
			return true
		}
		for _, field := range spec.Type.(*ast.StructType).Fields.List {
			fields++
			text := strings.Join(strings.Fields(field.Doc.Text()), " ")
			assert.Regexp(t, saysZero, text, "%s.%s does not say what zero means", spec.Name.Name, field.Names[0])
		}
		return false
	})
	assert.Equal(t, 23+6+6+5, fields, "fields found")
}

// What New says about groups.
func TestNewChecksGroups(t *testing.T) {
	group := func(names ...string) (groups []toolsearch.Group) {
		for _, name := range names {
			groups = append(groups, toolsearch.Group{Name: name, Tools: testtools.EchoTools(fmt.Sprintf("tool%d: Does", len(groups)))})
		}
		return groups
	}
	prefixed := func(groups []toolsearch.Group) []toolsearch.Group {
		for i := range groups {
			groups[i].Prefix = true
		}
		return groups
	}
	files := testtools.EchoTools("read_file: Reads a file", "search: Searches for files")
	clashing := func() []toolsearch.Group {
		return []toolsearch.Group{{Name: "a", Tools: files}, {Name: "b", Tools: files}}
	}
	for _, tt := range []struct {
		name   string
		config toolsearch.Config
		want   []string
	}{
		{"a prefix without a name", toolsearch.Config{Groups: prefixed(group("a", ""))}, []string{"Groups[1]", "need a Name; set"}},
		{"a description without a name", toolsearch.Config{Groups: []toolsearch.Group{{Description: "Mail"}}},
			[]string{"Groups[0]", "need a Name; set"}},
		{"a name twice", toolsearch.Config{Groups: group("My-Server", "x", "my_server")},
			[]string{`Groups[2], "my_server"`, `Groups[0], "My-Server"`, "rename"}},
		{"a long name", toolsearch.Config{Groups: group(strings.Repeat("n", 129))}, []string{"129 bytes", "shorten it to 128"}},
		{"a control character", toolsearch.Config{Groups: group("a\nb")}, []string{`"a\nb"`, "not visible"}},
		{"a colon", toolsearch.Config{Groups: group("a:b")}, []string{"colon"}},
		{"half a character", toolsearch.Config{Groups: group("a\xff")}, []string{"not visible"}},
		{"a prefix without letters", toolsearch.Config{Groups: prefixed(group("文件"))}, []string{"Prefix", "this one has 0"}},
		{"a long prefix", toolsearch.Config{Groups: prefixed(group(strings.Repeat("n", 33)))}, []string{"Prefix", "this one has 33"}},
		{"a prefix twice", toolsearch.Config{Groups: prefixed(group("a.b", "a b"))}, []string{"the same prefix, a_b__", "rename"}},
		{"a tool of two groups", toolsearch.Config{Groups: clashing()},
			[]string{`group "b": tool 0: duplicate name "read_file", tool 0 of Tools of group "a"`, "Prefix"}},
		{"a tool of DynamicTools", toolsearch.Config{DynamicTools: files, Groups: clashing()[:1]},
			[]string{`group "a": tool 0`, "of DynamicTools", "Prefix"}},
		{"a meta-tool's name", toolsearch.Config{Groups: []toolsearch.Group{{Name: "a",
			Tools: testtools.EchoTools("tool_search: Mine")}}}, []string{`group "a": tool 0`, `"tool_search"`}},
		{"a nil tool", toolsearch.Config{Groups: []toolsearch.Group{{Name: "a", Tools: []tool.BaseTool{nil}}}},
			[]string{`group "a": tool 0`, "nil"}},
	} {
		for where, err := range buildAll(t, &tt.config) {
			checkMessage(t, tt.name+", "+where, err, tt.want)
		}
	}
	groups := clashing()
	groups[0].Prefix = true
	for where, err := range buildAll(t, &toolsearch.Config{Groups: groups}) {
		assert.NoError(t, err, where)
	}
}
