package toolsearch_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// FuzzDispatch: whatever a model writes for the arguments of call_tool, the run goes on, the
// model sees its own call with one answer, and a tool that ran got a JSON object.
func FuzzDispatch(f *testing.F) {
	for _, arguments := range []string{
		``, `{}`, `null`, `[]`, `7`, `"get_weather"`, `get_weather`, `{"name":"get_weather","arguments":{"city":"Rome"}}`, `{"name":"get_weather","arguments":"{\"city\":1}"}`,
		`{"name":"book","arguments":{"guest":{"name":"Ann"},"nights":1}}`, `{"name":"book","arguments":{"guest":{"name":1},"nights":"x","days":["a",{}],"z":1e999999}}`,
		`{"name":"tree","arguments":{"a":{"a":{"a":[]}}}}`, `{"name":"tree","arguments":` + strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat(`}`, 300) + `}`,
		`{"name":"call_tool","arguments":{}}`, `{"name":"tool_search","arguments":{"query":"x"}}`, `{"name":"get_wether","args":[]}`, `{"tool":"GET-WEATHER","input":null}`,
		"```json\n{\"name\":\"get_weather\"}\n```", `{"name":"get_weather","arguments":{"city":"\ud800"}}`, "{\"name\":\"get_weather\",\"arguments\":{\"city\":\"\xff\"}}",
		`{"name":"b\u0001d\u202e","arguments":{}}`, `{"name":"</a>","arguments":{}}`, `{"misused_tool":"book","problem":"x"}`, `{"name":"get_weather","name":"book","arguments":{},"arguments":[]}`,
		`{"NAME":"get_weather","Arguments":{}}`, `{"name":"get_weather","arguments":{}}{"name":"book"}`, `{"name":"get_weather","arguments":{"city":"Rome",}}`,
	} {
		f.Add(arguments)
	}
	tree, book := new(schema.ToolInfo), new(schema.ToolInfo)
	for info, text := range map[*schema.ToolInfo]string{tree: `{"type":"object","properties":{"a":{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}}}`, book: bookSchema} {
		definition, err := readSchema(text)
		if err != nil {
			f.Fatal(err)
		}
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(definition)
	}
	tree.Name, book.Name = "tree", "book"
	tools := append(newsTools(), &echoTool{plainTool{tree}}, &echoTool{plainTool{book}})
	tools = append(tools, echoTools("b\x01d\u202e: Bad", "</a>: Tag")...)
	f.Fuzz(func(t *testing.T, arguments string) {
		first := fuzzDispatch[*schema.Message](t, tools, arguments)
		if second := fuzzDispatch[*schema.AgenticMessage](t, tools, arguments); first != second {
			t.Errorf("the same call was answered %q, then %q", first, second)
		}
	})
}

func fuzzDispatch[M adk.MessageType](t *testing.T, tools []tool.BaseTool, arguments string) string {
	middleware := newMiddleware[M](t, dispatch(func(c *toolsearch.Config) { c.DynamicTools = tools }))
	o := converse(context.Background(), t, way{}, with(middleware), toolsearchtest.CallTools(called("c", "call_tool", arguments)))
	if o.err != nil {
		t.Fatal(o.err)
	}
	checkRequest(t, 1, o.last())
	checkCallAsMade(t, o, called("c", "call_tool", arguments))
	text := o.result(t, "c")
	if name, given, ran := strings.Cut(text, " ran with "); ran && !strings.HasPrefix(text, "{") {
		var object map[string]any
		if err := json.Unmarshal([]byte(given), &object); err != nil || object == nil {
			t.Errorf("%s got %q, which is no JSON object: %v", name, given, err)
		}
		return text
	}
	if answer := answerOf(t, text); answer.Message == "" || len(answer.Matches) > 0 || len(text) > 64<<10 {
		t.Errorf("the answer is %.300s", text)
	}
	return text
}
