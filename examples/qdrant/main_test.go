package main

import (
	"context"
	"os"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/qdrant/go-client/qdrant"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/examples/qdrant/loopback"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func Example() {
	os.Unsetenv("QDRANT_HOST") // another server words its errors differently
	main()
	// Output:
	// first time: 166 tools written
	// second time: 0 tools written
	// user: Give Ann her money back.
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"refund charge","max_results":1}
	//   gets   {"matches":["mcp__stripe__refund_charge"]}
	// model call 2
	//   sees   tool_search, mcp__stripe__refund_charge
	//   calls  mcp__stripe__refund_charge {"charge":"ch_17"}
	//   gets   {"id":"re_b652d1dc","charge":"ch_17","amount":null,"reason":"requested_by_customer","status":"succeeded"}
	// model call 3
	//   sees   tool_search, mcp__stripe__refund_charge
	//   says   Done.
	//
	// The collection is gone.
	// user: And Ben his.
	// model call 1
	//   sees   tool_search
	//   calls  tool_search {"query":"refund charge","max_results":1}
	//   from   keyword, toolsearch: the retriever failed: [Retriever] qdrant search ...
	//   gets   {"matches":["mcp__stripe__refund_charge"]}
	// model call 2
	//   sees   tool_search, mcp__stripe__refund_charge
	//   calls  mcp__stripe__refund_charge {"charge":"ch_17"}
	//   gets   {"id":"re_b652d1dc","charge":"ch_17","amount":null,"reason":"requested_by_customer","status":"succeeded"}
	// model call 3
	//   sees   tool_search, mcp__stripe__refund_charge
	//   says   Done.
}

// everywhere runs a test against the stand-in, and against the server at QDRANT_HOST if that is set.
func everywhere(t *testing.T, test func(t *testing.T, e *engine)) {
	t.Run("loopback", func(t *testing.T) {
		server := testtools.Must(loopback.Start())(t)
		t.Cleanup(server.Close)
		client := testtools.Must(clientOf(&qdrant.Config{Host: "127.0.0.1", Port: server.Port}))(t)
		t.Cleanup(func() { assert.NoError(t, client.Close()) })
		test(t, newEngine(t, client))
	})
	t.Run("server", func(t *testing.T) {
		if os.Getenv("QDRANT_HOST") == "" {
			t.Skip("QDRANT_HOST is not set")
		}
		client, _, err := connect()
		require.NoError(t, err)
		test(t, newEngine(t, client))
	})
}

func newEngine(t *testing.T, client *qdrant.Client) *engine {
	t.Helper()
	e := &engine{client: client, collection: throwAway(), embedder: hashed{}, dims: hashedDims}
	t.Cleanup(func() {
		if exists, err := client.CollectionExists(context.Background(), e.collection); err == nil && exists {
			assert.NoError(t, client.DeleteCollection(context.Background(), e.collection))
		}
	})
	return e
}

// A sync writes new and changed tools, and deletes tools that have left.
func TestSync(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine) {
		infos := services.Infos()
		written := testtools.Must(e.sync(t.Context(), infos))(t)
		assert.Equal(t, 166, written)

		changed := *infos[3]
		changed.Desc += " Also on Sundays."
		infos[3] = &changed
		gone := infos[len(infos)-1].Name
		written = testtools.Must(e.sync(t.Context(), infos[:len(infos)-1]))(t)
		assert.Equal(t, 1, written)
		known := testtools.Must(e.hashes(t.Context()))(t)
		assert.Len(t, known, 165)
		assert.NotContains(t, known, search.DocumentID(gone))
	})
}

// More tools than a page of hashes has.
func TestManyTools(t *testing.T) {
	everywhere(t, func(t *testing.T, e *engine) {
		var infos []*schema.ToolInfo
		for _, info := range services.Infos() {
			for _, suffix := range []string{"", "_a", "_b", "_c", "_d", "_e", "_f"} {
				copied := *info
				copied.Name += suffix
				infos = append(infos, &copied)
			}
		}
		written := testtools.Must(e.sync(t.Context(), infos))(t)
		assert.Equal(t, len(infos), written)
		written = testtools.Must(e.sync(t.Context(), infos))(t)
		assert.Zero(t, written, "written at the second sync")
	})
}
