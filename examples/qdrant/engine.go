package main

import (
	"context"
	"maps"

	indexerqdrant "github.com/cloudwego/eino-ext/components/indexer/qdrant"
	retrieverqdrant "github.com/cloudwego/eino-ext/components/retriever/qdrant"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
	"github.com/qdrant/go-client/qdrant"
	"google.golang.org/grpc"

	"github.com/eino-toolsearch/toolsearch/search"
)

// The catalog in Qdrant: documents in, hashes back, stale documents out.

// engine is a collection of Qdrant that holds a catalog.
type engine struct {
	client     *qdrant.Client
	collection string
	embedder   embedding.Embedder
	dims       int // of the embedder's vectors
}

// waitForWrites makes every write wait until searches see it. The indexer of eino-ext does not ask
// for that, so a search just after a sync could miss tools.
func waitForWrites(
	ctx context.Context, method string, request, reply any, connection *grpc.ClientConn, invoke grpc.UnaryInvoker, options ...grpc.CallOption,
) error {
	if upsert, ok := request.(*qdrant.UpsertPoints); ok {
		upsert.Wait = qdrant.PtrOf(true)
	}
	return invoke(ctx, method, request, reply, connection, options...)
}

// sync brings the collection up to date with a catalog's tools: it writes new and changed
// tools, and deletes tools that have left. It returns how many it wrote.
func (e *engine) sync(ctx context.Context, infos []*schema.ToolInfo) (written int, _ error) {
	docs, err := search.Documents(infos, nil) // with tags or aliases, make []any of them: the indexer panics on []string
	if err != nil {
		return 0, err
	}
	ix, err := indexerqdrant.NewIndexer(ctx, &indexerqdrant.Config{ // makes the collection
		Client: e.client, Collection: e.collection, Embedding: e.embedder,
		VectorDim: e.dims, Distance: qdrant.Distance_Cosine, BatchSize: 100,
	})
	if err != nil {
		return 0, err
	}
	known, err := e.hashes(ctx)
	if err != nil {
		return 0, err
	}
	hashes, gone, err := search.StoreDocuments(ctx, ix, docs, known)
	maps.DeleteFunc(hashes, func(id, hash string) bool { return known[id] == hash }) // leaves what was written
	if err != nil || len(gone) == 0 {
		return len(hashes), err
	}
	ids := make([]*qdrant.PointId, len(gone))
	for i, id := range gone {
		ids[i] = qdrant.NewID(id)
	}
	_, err = e.client.Delete(ctx, &qdrant.DeletePoints{
		CollectionName: e.collection, Wait: qdrant.PtrOf(true), Points: qdrant.NewPointsSelector(ids...),
	})
	return len(hashes), err
}

// hashes reads the ids and hashes in the collection, page by page.
func (e *engine) hashes(ctx context.Context) (map[string]string, error) {
	known := make(map[string]string)
	request := &qdrant.ScrollPoints{
		CollectionName: e.collection, Limit: qdrant.PtrOf(uint32(1000)),
		WithPayload: qdrant.NewWithPayloadInclude("metadata." + search.MetaHash),
	}
	for {
		points, next, err := e.client.ScrollAndOffset(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, point := range points {
			metadata := point.Payload["metadata"].GetStructValue().GetFields()
			known[point.GetId().GetUuid()] = metadata[search.MetaHash].GetStringValue()
		}
		if next == nil {
			return known, nil
		}
		request.Offset = next
	}
}

// retriever searches the collection. The documents' ids are enough to know the tools by.
func (e *engine) retriever(ctx context.Context) (retriever.Retriever, error) {
	return retrieverqdrant.NewRetriever(ctx, &retrieverqdrant.Config{
		Client: e.client, Collection: e.collection, Embedding: e.embedder,
	})
}
