package cost

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Conversations that are described by numbers.

// A Shape describes a conversation.
type Shape struct {
	History int // tokens of the turns before
	Calls   int // model calls if every tool is shown; each search adds a call
	Loads   int // distinct tools that are called, each in an equal share of the calls
	Result  int // tokens of a tool's answer; 0 means that it says "done"
}

// String names a shape as tables do: "20k, 10, 3".
func (s Shape) String() string {
	history := fmt.Sprint(s.History)
	if s.History >= 1000 && s.History%1000 == 0 {
		history = fmt.Sprintf("%dk", s.History/1000)
	}
	return fmt.Sprintf("%s, %d, %d", history, s.Calls, s.Loads)
}

// Shapes are the conversations that the documentation measures: a question, an assistant's
// working day, and a long task, each with few and with more loads.
var Shapes = []Shape{
	{History: 2_000, Calls: 10, Loads: 1},
	{History: 2_000, Calls: 10, Loads: 3},
	{History: 20_000, Calls: 10, Loads: 1},
	{History: 20_000, Calls: 10, Loads: 3},
	{History: 50_000, Calls: 30, Loads: 3},
}

// Script makes a conversation of a shape over tools. It calls tools from all parts of the list,
// with arguments made from their schemas, and searches for them by the words of their names. It
// leaves out tools whose schemas ask for more than an example of each type. If no tool is left,
// the conversation has no steps.
func Script(tools []*schema.ToolInfo, s Shape) Conversation {
	c := Conversation{History: s.History}
	var steps []Step
	for i := range s.Loads {
		from, to := i*len(tools)/s.Loads, (i+1)*len(tools)/s.Loads
		for at := range to - from {
			info := tools[from+(at+(to-from)/2)%(to-from)] // starting at the middle of its part
			if arguments, ok := argumentsFor(info); ok {
				namespace := search.Annotate(info).Namespace // which a model would search by, with the words of the bare name
				query := strings.TrimSpace(namespace + " " + strings.Join(naming.Parts(naming.Bare(info.Name, namespace)), " "))
				steps = append(steps, Step{Tool: info.Name, Arguments: arguments, Query: query, Result: s.Result})
				break
			}
		}
	}
	for call := range s.Calls - 1 {
		if len(steps) > 0 {
			c.Steps = append(c.Steps, steps[call*len(steps)/(s.Calls-1)])
		}
	}
	return c
}

// argumentsFor makes arguments that a tool's schema allows.
func argumentsFor(info *schema.ToolInfo) (arguments string, ok bool) {
	definition := schemacheck.JSON(info)
	var parameters map[string]any
	if json.Unmarshal([]byte(definition), &parameters) != nil {
		return "", false
	}
	arguments = string(text(example(parameters, false, 0)))
	if !strings.HasPrefix(arguments, "{") {
		return "", false
	}
	var checker schemacheck.Checker
	problem, unchecked := checker.Problem(context.Background(), 0, info, arguments)
	return arguments, problem == "" && unchecked == nil
}

// Answer makes an answer that a tool's output schema allows. Same schema, same answer. It is "" if there is no schema.
func Answer(output json.RawMessage) string {
	var s map[string]any
	if json.Unmarshal(output, &s) != nil || s == nil {
		return ""
	}
	return string(text(example(s, true, 0)))
}

// Bounds of examples. A schema may come from anywhere.
const (
	maxExampleDepth      = 6
	maxExampleProperties = 20 // of an object that is whole
)

// example returns a value of a schema: its default, its first example or choice, or a value of its type. An object has the
// required properties; if it is whole, the others too, and a list an item.
func example(s map[string]any, whole bool, depth int) any {
	if value, ok := s["default"]; ok {
		return value
	}
	if value, ok := s["const"]; ok {
		return value
	}
	for _, key := range []string{"examples", "enum"} {
		if choices, ok := s[key].([]any); ok && len(choices) > 0 {
			return choices[0]
		}
	}
	kind, _ := s["type"].(string)
	if kinds, ok := s["type"].([]any); ok && len(kinds) > 0 {
		kind, _ = kinds[0].(string)
	}
	switch kind {
	case "integer", "number":
		if least, ok := s["minimum"]; ok {
			return least
		}
		return 1
	case "boolean":
		return true
	case "array":
		if items, ok := s["items"].(map[string]any); ok && whole && depth < maxExampleDepth {
			return []any{example(items, whole, depth+1)}
		}
		return []any{}
	case "null":
		return nil
	case "string":
		return "example"
	}
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	var names []string
	required, _ := s["required"].([]any)
	for _, name := range required {
		name, _ := name.(string)
		names = append(names, name)
	}
	if all := slices.Sorted(maps.Keys(properties)); whole {
		names = append(names, all[:min(len(all), maxExampleProperties)]...)
	}
	for _, name := range names {
		if property, _ := properties[name].(map[string]any); depth < maxExampleDepth {
			object[name] = example(property, whole, depth+1)
		}
	}
	return object
}

// Tools makes a catalog of n tools of about size tokens each, for questions about catalogs that
// do not exist yet. No tool is smaller than its name and one parameter.
func Tools(n, size int) []*schema.ToolInfo {
	const phrase = "Does one thing more with it. "
	each := tokens.Of(phrase)
	text := strings.Repeat(phrase, max(0, size)/each+1) // the descriptions are beginnings of it
	list := make([]*schema.ToolInfo, max(0, n))
	for i := range list {
		info := &schema.ToolInfo{Name: fmt.Sprintf("service_%d__action_%d", i/10, i%10), ParamsOneOf: schema.NewParamsOneOfByParams(
			map[string]*schema.ParameterInfo{"id": {Type: schema.String, Desc: "What it is about", Required: true}})}
		if rest := size - tokensOf([]*schema.ToolInfo{info}); rest > 0 {
			info.Desc = text[:(rest+each-1)/each*len(phrase)] + strconv.Itoa(i/10) // no copy of another service's
		}
		list[i] = info
	}
	return list
}
