package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// demo stands in for a chat model, so that the service runs without a key. It calls a loaded tool
// whose name shares two words with the question, and searches with the question if there is none.
type demo struct{}

func (demo) Generate(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.Message, error) {
	return scripted().Generate(ctx, input, options...)
}

func (demo) Stream(
	ctx context.Context, input []*schema.Message, options ...model.Option,
) (*schema.StreamReader[*schema.Message], error) {
	return scripted().Stream(ctx, input, options...)
}

func scripted() *toolsearchtest.Model[*schema.Message] {
	return toolsearchtest.NewModel[*schema.Message](toolsearchtest.Turn{Decide: decide})
}

func decide(r toolsearchtest.Request) toolsearchtest.Turn {
	question := ""
	for _, message := range r.Messages {
		if message.Role == toolsearchtest.User {
			question = message.Text
		}
	}
	last := r.Messages[len(r.Messages)-1]
	switch {
	case last.Role != toolsearchtest.Tool: // a question
		for _, t := range r.Tools {
			if t.Name != toolsearch.DefaultToolName && sharedWords(t.Name, question) >= 2 {
				return call(r, t.Name, argumentsOf(t, question))
			}
		}
		return call(r, toolsearch.DefaultToolName, map[string]any{"query": question, "max_results": 1})
	case last.ToolName != toolsearch.DefaultToolName:
		return toolsearchtest.Say(fmt.Sprintf("I called %s, which answered:\n\n%s", last.ToolName, last.Text))
	}
	var found struct{ Matches []string }
	_ = json.Unmarshal([]byte(last.Text), &found)
	for _, t := range r.Tools {
		if slices.Contains(found.Matches, t.Name) {
			return call(r, t.Name, argumentsOf(t, question))
		}
	}
	return toolsearchtest.Say("I found no tool of yours for that. Try other words.")
}

func call(r toolsearchtest.Request, name string, arguments map[string]any) toolsearchtest.Turn {
	text, _ := json.Marshal(arguments)
	return toolsearchtest.CallTools(toolsearchtest.Call{ID: fmt.Sprint("call_", len(r.Messages)), Name: name, Arguments: string(text)})
}

// sharedWords counts the words of a tool's name that a question has.
func sharedWords(name, question string) (shared int) {
	words := strings.Fields(strings.ToLower(question))
	for word := range strings.SplitSeq(name, "_") {
		if slices.Contains(words, word) {
			shared++
		}
	}
	return shared
}

// argumentsOf makes up the required arguments of a tool.
func argumentsOf(t *schema.ToolInfo, question string) map[string]any {
	byType := map[string]any{"string": question, "integer": 1, "number": 1, "boolean": true, "array": []any{}, "object": map[string]any{}}
	arguments := map[string]any{}
	if definition, err := t.ToJSONSchema(); err == nil {
		for _, name := range definition.Required {
			property, _ := definition.Properties.Get(name)
			arguments[name] = byType[property.Type]
			if len(property.Enum) > 0 {
				arguments[name] = property.Enum[0]
			}
		}
	}
	return arguments
}
