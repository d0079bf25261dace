package main

import (
	"context"
	"encoding/json"
	"fmt"
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
	return toolsearchtest.NewModel[*schema.Message](toolsearchtest.Turn{Decide: decide}).Generate(ctx, input, options...)
}

func (demo) Stream(ctx context.Context, input []*schema.Message, options ...model.Option) (*schema.StreamReader[*schema.Message], error) {
	return toolsearchtest.NewModel[*schema.Message](toolsearchtest.Turn{Decide: decide}).Stream(ctx, input, options...)
}

func decide(r toolsearchtest.Request) toolsearchtest.Turn {
	call := func(name string, arguments map[string]any) toolsearchtest.Turn {
		text, _ := json.Marshal(arguments)
		return toolsearchtest.CallTools(toolsearchtest.Call{ID: fmt.Sprintf("call_%d", len(r.Messages)), Name: name, Arguments: string(text)})
	}
	question, searched := "", false
	for _, message := range r.Messages {
		switch {
		case message.Role == toolsearchtest.User:
			question, searched = message.Text, false
		case message.Role == toolsearchtest.Tool:
			searched = true
		}
	}
	last := r.Messages[len(r.Messages)-1]
	switch {
	case last.Role == toolsearchtest.Tool && last.ToolName != toolsearch.DefaultToolName:
		return toolsearchtest.Say(fmt.Sprintf("I called %s, which answered:\n\n%s", last.ToolName, last.Text))
	case last.Role == toolsearchtest.Tool:
		var found struct{ Matches []string }
		_ = json.Unmarshal([]byte(last.Text), &found)
		for _, t := range r.Tools {
			if len(found.Matches) > 0 && t.Name == found.Matches[0] {
				return call(t.Name, argumentsOf(t, question))
			}
		}
		return toolsearchtest.Say("I found no tool of yours for that. Try other words.")
	case !searched:
		for _, t := range r.Tools {
			if t.Name != toolsearch.DefaultToolName && sharedWords(t.Name, question) >= 2 {
				return call(t.Name, argumentsOf(t, question))
			}
		}
	}
	return call(toolsearch.DefaultToolName, map[string]any{"query": question, "max_results": 1})
}

// sharedWords counts the words of a tool's name that a question has.
func sharedWords(name, question string) (shared int) {
	words := map[string]bool{}
	for _, word := range strings.FieldsFunc(strings.ToLower(question), func(r rune) bool { return r < 'a' || r > 'z' }) {
		words[word] = true
	}
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' }) {
		if words[word] {
			shared++
		}
	}
	return shared
}

// argumentsOf makes up the required arguments of a tool.
func argumentsOf(t *schema.ToolInfo, question string) map[string]any {
	arguments := map[string]any{}
	definition, err := t.ToJSONSchema()
	if err != nil || definition == nil {
		return arguments
	}
	for _, name := range definition.Required {
		property, _ := definition.Properties.Get(name)
		switch {
		case property == nil:
		case len(property.Enum) > 0:
			arguments[name] = property.Enum[0]
		case property.Type == "string":
			arguments[name] = question
		case property.Type == "integer" || property.Type == "number":
			arguments[name] = 1
		case property.Type == "boolean":
			arguments[name] = true
		case property.Type == "array":
			arguments[name] = []any{}
		default:
			arguments[name] = map[string]any{}
		}
	}
	return arguments
}
