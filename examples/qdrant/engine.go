package main

import (
	"context"
	"maps"

	indexerqdrant "github.com/cloudwego/eino-ext/components/indexer/qdrant"
	retrieverqdrant "github.com/cloudwego/eino-ext/components/retriever/qdrant"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/indexer"
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
// tools, and deletes tools that have left.
func (e *engine) sync(
	ctx context.Context, infos []*schema.ToolInfo, annotate func(*schema.ToolInfo) search.Annotation,
) (search.Stored, error) {
	docs, err := search.Documents(infos, annotate)
	if err != nil {
		return search.Stored{}, err
	}
	ix, err := indexerqdrant.NewIndexer(ctx, &indexerqdrant.Config{ // makes the collection
		Client: e.client, Collection: e.collection, Embedding: e.embedder,
		VectorDim: e.dims, Distance: qdrant.Distance_Cosine, BatchSize: 100,
	})
	if err != nil {
		return search.Stored{}, err
	}
	known, err := e.hashes(ctx)
	if err != nil {
		return search.Stored{}, err
	}
	stored, err := search.StoreDocuments(ctx, plainLists{ix}, docs, search.StoreOptions{Known: known})
	if err != nil || len(stored.Gone) == 0 {
		return stored, err
	}
	ids := make([]*qdrant.PointId, len(stored.Gone))
	for i, id := range stored.Gone {
		ids[i] = qdrant.NewID(id)
	}
	_, err = e.client.Delete(ctx, &qdrant.DeletePoints{
		CollectionName: e.collection, Wait: qdrant.PtrOf(true), Points: qdrant.NewPointsSelector(ids...),
	})
	return stored, err
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

// plainLists turns lists of strings into lists of any. Qdrant's client knows no other lists,
// and the indexer of eino-ext panics on a tool with tags or aliases.
type plainLists struct{ indexer.Indexer }

func (p plainLists) Store(ctx context.Context, documents []*schema.Document, options ...indexer.Option) ([]string, error) {
	plain := make([]*schema.Document, len(documents))
	for i, document := range documents {
		copied := *document
		copied.MetaData = maps.Clone(document.MetaData)
		for key, value := range copied.MetaData {
			if texts, ok := value.([]string); ok {
				list := make([]any, len(texts))
				for j, text := range texts {
					list[j] = text
				}
				copied.MetaData[key] = list
			}
		}
		plain[i] = &copied
	}
	return p.Indexer.Store(ctx, plain, options...)
}

// retriever searches the collection. The documents' ids are enough to know the tools by.
func (e *engine) retriever(ctx context.Context) (retriever.Retriever, error) {
	return retrieverqdrant.NewRetriever(ctx, &retrieverqdrant.Config{
		Client: e.client, Collection: e.collection, Embedding: e.embedder,
	})
}
