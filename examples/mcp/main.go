// Mcp gives an agent the tools of the servers in an mcp.json, and prints the list that its model sees:
//
//	go run ./examples/mcp mcp.json
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/mcp"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: mcp FILE, an mcp.json")
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, path string) error {
	file, err := mcp.ReadFile(path)
	if err != nil {
		return err
	}
	servers, err := mcp.Connect(ctx, file)
	if err != nil {
		return err
	}
	defer servers.Close()
	search, err := toolsearch.New(ctx, &toolsearch.Config{
		Groups: servers.Groups(),
		Index:  toolsearch.BM25, // it reads "filesystem: find a note" and the servers' instructions
		OnEvent: func(_ context.Context, e toolsearch.Event) {
			if failure, ok := e.(*toolsearch.FailureEvent); ok { // the other servers still work
				log.Print(failure.Err)
			}
		},
	})
	if err != nil {
		return err
	}
	// Replace this with a real chat model.
	model := toolsearchtest.NewModel[*schema.Message](toolsearchtest.Say("I have seen the list."))
	if err := show.Ask(ctx, io.Discard, model, "What can you do?", search); err != nil {
		return err
	}
	fmt.Println(model.Requests()[0].Messages[0].Text)
	return nil
}
