// Elasticsearch keeps the tools of the quickstart in an index, where an agent searches them.
// Watch three things:
//
//   - The first sync writes the whole catalog, the second only what has changed.
//   - Elasticsearch, which knows nothing about agents, answers the model's search.
//   - When the index is gone, BM25 in this program still finds the tool, and the event says why
//     it answered.
//
// It needs a cluster: ELASTICSEARCH_URL, with ELASTICSEARCH_USERNAME and ELASTICSEARCH_PASSWORD or
// ELASTICSEARCH_API_KEY if needed. It uses an index with a random name and deletes it. Its test has a
// stand-in for the cluster.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/elastic/go-elasticsearch/v8"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func main() {
	log.SetFlags(0)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// connect makes a client for the cluster at ELASTICSEARCH_URL.
func connect() (*elasticsearch.Client, error) {
	url := os.Getenv("ELASTICSEARCH_URL")
	if url == "" {
		return nil, errors.New("set ELASTICSEARCH_URL to the address of a cluster")
	}
	return elasticsearch.NewClient(elasticsearch.Config{
		Addresses: strings.Split(url, ","), Username: os.Getenv("ELASTICSEARCH_USERNAME"),
		Password: os.Getenv("ELASTICSEARCH_PASSWORD"), APIKey: os.Getenv("ELASTICSEARCH_API_KEY"),
	})
}

// throwAway returns a new name for an index.
func throwAway() string { return "toolsearch-example-" + strings.ToLower(rand.Text()) }

func run(ctx context.Context, out io.Writer) (err error) {
	client, err := connect()
	if err != nil {
		return err
	}
	e := &engine{client: client, index: throwAway()}
	if err := e.create(ctx); err != nil {
		return err
	}
	defer e.drop(context.WithoutCancel(ctx)) // also when the program fails

	for _, when := range []string{"first", "second"} {
		written, err := e.sync(ctx, services.Infos())
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s time: %d tools written\n", when, written)
	}

	r, err := e.retriever(ctx)
	if err != nil {
		return err
	}
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(),
		Index:        toolsearch.Retriever(r),
		Fallback:     toolsearch.BM25, // it has the whole catalog in memory
		SendEvents:   true,            // for show
	})
	if err != nil {
		return err
	}
	if err := ask(ctx, out, middleware, "Tell #incidents that checkout fails."); err != nil {
		return err
	}
	if err := e.drop(ctx); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe index is gone.")
	return ask(ctx, out, middleware, "Tell #incidents that it works again.")
}

// ask asks an agent a question. Its model searches for a tool, and calls it.
func ask(ctx context.Context, out io.Writer, middleware adk.ChatModelAgentMiddleware, question string) error {
	// Replace this with a chat model of eino-ext. This model plays a script and needs no key.
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"post message to a channel","max_results":3}`),
		toolsearchtest.CallTool("mcp__slack__send_message", `{"channel":"#incidents","text":"About checkout."}`),
		toolsearchtest.Say("Done."),
	)
	return show.Ask(ctx, out, model, question, middleware)
}
