package toolsearchtest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// A scripted model records its requests, and a turn may depend on them. An agent uses it as a chat
// model.
func ExampleModel() {
	ctx := context.Background()
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"weather"}`),
		toolsearchtest.Turn{Decide: func(r toolsearchtest.Request) toolsearchtest.Turn {
			return toolsearchtest.Say("You asked: " + r.Messages[0].Text)
		}},
	)
	for range 2 {
		answer, err := model.Generate(ctx, []*schema.Message{schema.UserMessage("Rain?")})
		if err != nil {
			fmt.Println(err)
			return
		}
		plain := toolsearchtest.Decode(answer)
		fmt.Println(plain.Role, plain.Text, plain.Calls)
	}
	fmt.Println(len(model.Requests()), "calls")
	// Output:
	// assistant  [{call_1 tool_search {"query":"weather"}}]
	// assistant You asked: Rain? []
	// 2 calls
}

// Both of Eino's message types have the same plain form.
func ExampleDecode() {
	plain := toolsearchtest.Message{Role: toolsearchtest.User, Text: "Rain?"}
	fmt.Println(toolsearchtest.Encode[*schema.Message](plain).Content)
	agentic := toolsearchtest.Encode[*schema.AgenticMessage](plain)
	fmt.Println(toolsearchtest.Decode(agentic).Text)
	// Output:
	// Rain?
	// Rain?
}

// In your own test file:
//
//	func TestContract(t *testing.T) { toolsearchtest.TestSearcher(t, myIndex) }
func ExampleTestSearcher() {
	contract := func(t *testing.T) { toolsearchtest.TestSearcher(t, search.BM25Options{K1: 2}.Index) }
	fmt.Println(testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: "TestContract", F: contract}}))
	// Output: true
}

// In your own test file:
//
//	func TestTools(t *testing.T) { ... }
func ExampleTestCatalog() {
	var t *testing.T // of TestTools
	toolsearchtest.TestCatalog(t, toolsearchtest.CatalogTest{
		File: "tools.jsonl", Queries: "queries.jsonl", // or Tools: your agent's tools
		Index: search.BM25, Min: map[string]float64{"R@5": 0.9},
	})
}
