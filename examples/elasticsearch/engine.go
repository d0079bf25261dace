// The index of a catalog in Elasticsearch: written in parts, read back, searched.

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/cloudwego/eino-ext/components/indexer/es8"
	retrieveres8 "github.com/cloudwego/eino-ext/components/retriever/es8"
	"github.com/cloudwego/eino-ext/components/retriever/es8/search_mode"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"
	"github.com/elastic/go-elasticsearch/v8"
	"github.com/elastic/go-elasticsearch/v8/esapi"
	"github.com/elastic/go-elasticsearch/v8/esutil"

	"github.com/eino-toolsearch/toolsearch/search"
)

// contentField is the field of the index that is searched.
const contentField = "content"

// engine is an index of Elasticsearch that holds a catalog.
type engine struct {
	client *elasticsearch.Client
	index  string
}

// create makes the index. It has one shard, since every shard counts word frequencies by
// itself and a catalog is small. Its mapping is strict, so a misspelled field is an error.
func (e *engine) create(ctx context.Context) error {
	properties := map[string]any{contentField: map[string]any{"type": "text"}}
	for _, key := range []string{search.MetaName, search.MetaNamespace, search.MetaHash, search.MetaTags, search.MetaAliases} {
		properties[key] = map[string]any{"type": "keyword"}
	}
	body := esutil.NewJSONReader(map[string]any{
		"settings": map[string]any{"number_of_shards": 1},
		"mappings": map[string]any{"dynamic": "strict", "properties": properties},
	})
	create := e.client.Indices.Create
	return read(nil)(create(e.index, create.WithContext(ctx), create.WithBody(body)))
}

func (e *engine) drop(ctx context.Context) error {
	return read(nil)(e.client.Indices.Delete([]string{e.index}, e.client.Indices.Delete.WithContext(ctx)))
}

// sync brings the index up to date with a catalog's tools: it writes new and changed tools
// and deletes all others. The index is the catalog's own, so that includes documents that
// others put there. sync returns how many tools it wrote.
func (e *engine) sync(ctx context.Context, infos []*schema.ToolInfo) (written int, _ error) {
	docs, err := search.Documents(infos, nil)
	if err != nil {
		return 0, err
	}
	known, err := e.hashes(ctx)
	if err != nil {
		return 0, err
	}
	ix, err := e.indexer(ctx)
	if err != nil {
		return 0, err
	}
	hashes, gone, err := search.StoreDocuments(ctx, ix, docs, known)
	if err != nil {
		return 0, err
	}
	if err := e.delete(ctx, gone); err != nil {
		return 0, err
	}
	// The es8 indexer does not read the answers to its bulk requests, so refused documents are noticed here.
	stored, err := e.hashes(ctx)
	if err == nil && !maps.Equal(stored, hashes) {
		err = fmt.Errorf("%d of %d documents are stored as they should be", len(stored), len(docs))
	}
	maps.DeleteFunc(hashes, func(id, hash string) bool { return known[id] == hash }) // leaves what was written
	return len(hashes), err
}

// hashes reads the IDs and hashes in the index, page by page.
func (e *engine) hashes(ctx context.Context) (map[string]string, error) {
	refresh := e.client.Indices.Refresh // makes written documents visible to searches
	if err := read(nil)(refresh(refresh.WithIndex(e.index), refresh.WithContext(ctx))); err != nil {
		return nil, err
	}
	const page = 1000
	known := make(map[string]string)
	request := map[string]any{"size": page, "_source": []string{search.MetaHash}, "sort": []any{map[string]string{search.MetaName: "asc"}}}
	for {
		var answer struct {
			Hits struct {
				Hits []struct {
					ID     string `json:"_id"`
					Source struct {
						Hash string `json:"hash"`
					} `json:"_source"`
					Sort []any `json:"sort"`
				} `json:"hits"`
			} `json:"hits"`
		}
		ask := e.client.Search
		if err := read(&answer)(ask(ask.WithContext(ctx), ask.WithIndex(e.index), ask.WithBody(esutil.NewJSONReader(request)))); err != nil {
			return nil, err
		}
		hits := answer.Hits.Hits
		for _, hit := range hits {
			known[hit.ID] = hit.Source.Hash
		}
		if len(hits) < page {
			return known, nil
		}
		request["search_after"] = hits[len(hits)-1].Sort
	}
}

func (e *engine) delete(ctx context.Context, ids []string) error {
	for batch := range slices.Chunk(ids, 1000) {
		var body bytes.Buffer
		for _, id := range batch {
			fmt.Fprintf(&body, "{\"delete\": {\"_id\": %q}}\n", id) // a UUID
		}
		if err := read(nil)(e.client.Bulk(&body, e.client.Bulk.WithIndex(e.index), e.client.Bulk.WithContext(ctx))); err != nil {
			return err
		}
	}
	return nil
}

// indexer writes documents. Content and metadata each get a field.
func (e *engine) indexer(ctx context.Context) (indexer.Indexer, error) {
	return es8.NewIndexer(ctx, &es8.IndexerConfig{
		Client: e.client, Index: e.index, BatchSize: 100,
		DocumentToFields: func(_ context.Context, document *schema.Document) (map[string]es8.FieldValue, error) {
			fields := map[string]es8.FieldValue{contentField: {Value: document.Content}}
			for key, value := range document.MetaData {
				fields[key] = es8.FieldValue{Value: value}
			}
			return fields, nil
		},
	})
}

// retriever searches the content for any of the words, in any order.
func (e *engine) retriever(ctx context.Context) (retriever.Retriever, error) {
	return retrieveres8.NewRetriever(ctx, &retrieveres8.RetrieverConfig{
		Client: e.client, Index: e.index, SearchMode: search_mode.SearchModeExactMatch(contentField), // a match query
	})
}

// read decodes an answer of Elasticsearch, or returns the error in it.
func read(into any) func(*esapi.Response, error) error {
	return func(response *esapi.Response, err error) error {
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode >= http.StatusBadRequest {
			return fmt.Errorf("elasticsearch: %.500s", response.String())
		}
		if into == nil {
			return nil
		}
		return json.NewDecoder(response.Body).Decode(into)
	}
}
