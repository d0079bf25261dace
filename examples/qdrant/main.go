// Qdrant keeps the tools of the quickstart in a collection, where an agent searches them. Watch
// three things:
//
//   - The first sync writes the whole catalog, the second only what has changed.
//   - Qdrant, which knows nothing about agents, answers the model's search.
//   - When the collection is gone, the search continues by keywords and the event says why.
//
// It needs no Qdrant and no key: unless QDRANT_HOST is set, it starts a small stand-in, package
// loopback. If it is set, the program and its tests use that server (QDRANT_PORT and
// QDRANT_API_KEY if needed), in a collection with a random name that they delete.
package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/schema"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/qdrant/loopback"
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

// connect makes a client for the server at QDRANT_HOST, or for a stand-in.
func connect() (client *qdrant.Client, stop func(), err error) {
	stop = func() {}
	host, port := os.Getenv("QDRANT_HOST"), 0
	if host == "" {
		server, err := loopback.Start()
		if err != nil {
			return nil, stop, err
		}
		host, port, stop = "127.0.0.1", server.Port, server.Close
	} else if port, err = strconv.Atoi(cmp.Or(os.Getenv("QDRANT_PORT"), "6334")); err != nil {
		return nil, stop, fmt.Errorf("QDRANT_PORT: %w", err)
	}
	key := os.Getenv("QDRANT_API_KEY")
	client, err = clientOf(&qdrant.Config{Host: host, Port: port, APIKey: key, UseTLS: key != ""})
	if err != nil {
		stop()
	}
	return client, stop, err
}

// clientOf makes a client whose writes are visible when they return.
func clientOf(config *qdrant.Config) (*qdrant.Client, error) {
	config.SkipCompatibilityCheck = true // it would log a warning about the stand-in
	config.GrpcOptions = append(config.GrpcOptions, grpc.WithChainUnaryInterceptor(waitForWrites))
	return qdrant.NewClient(config)
}

// throwAway returns a new name for a collection.
func throwAway() string { return "toolsearch-example-" + strings.ToLower(rand.Text()) }

func run(ctx context.Context, out io.Writer) (err error) {
	client, stop, err := connect()
	if err != nil {
		return err
	}
	defer stop()
	defer func() { err = errors.Join(err, client.Close()) }()
	e := &engine{client: client, collection: throwAway(), embedder: hashed{}, dims: hashedDims}
	defer client.DeleteCollection(context.WithoutCancel(ctx), e.collection) // also when the program fails

	tools := services.Tools()
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
		DynamicTools: tools,
		Index:        toolsearch.Retriever(r),
		SendEvents:   true, // for show
	})
	if err != nil {
		return err
	}
	if err := ask(ctx, out, middleware, "Give Ann her money back."); err != nil {
		return err
	}
	if err := client.DeleteCollection(ctx, e.collection); err != nil {
		return err
	}
	fmt.Fprintln(out, "\nThe collection is gone.")
	return ask(ctx, out, middleware, "And Ben his.")
}

// ask asks an agent a question. Its model searches for a tool, and calls it.
func ask(ctx context.Context, out io.Writer, middleware adk.ChatModelAgentMiddleware, question string) error {
	// Put a chat model of eino-ext in its place. This model plays a script and needs no key.
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"refund charge","max_results":1}`),
		toolsearchtest.CallTool("mcp__stripe__refund_charge", `{"charge":"ch_17"}`),
		toolsearchtest.Say("Done."),
	)
	return show.Ask(ctx, out, model, question, middleware)
}
