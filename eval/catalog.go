package eval

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// A Catalog is a set of tools and the servers they come from. A literal with Tools alone
// is a catalog too.
type Catalog struct {
	Tools   []*schema.ToolInfo
	servers map[string]string // name of a tool -> its server, where the file names one
}

// Annotate gives a tool the server that the catalog's file names as its namespace, and
// where it names none what [toolsearch.Annotate] makes of its name. It can be a
// toolsearch.Config's Annotate.
func (c *Catalog) Annotate(info *schema.ToolInfo) toolsearch.Annotation {
	if server := c.servers[info.Name]; server != "" {
		return toolsearch.Annotation{Namespace: server}
	}
	return toolsearch.Annotate(info)
}

// Compile makes the catalog searchable with index, which sees what Annotate knows. Nil is
// toolsearch.Keyword.
func (c *Catalog) Compile(ctx context.Context, index toolsearch.Indexer) (*toolsearch.Catalog, error) {
	if index == nil {
		index = toolsearch.Keyword
	}
	return toolsearch.NewCatalogFromInfos(ctx, c.Tools,
		func(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
			for i := range docs { // a copy of the catalog's, made for this Indexer
				docs[i].Annotation = c.Annotate(docs[i].Info)
			}
			return index(ctx, docs)
		})
}

// searcher builds the searcher that Compile puts into a catalog, and its documents.
func (c *Catalog) searcher(ctx context.Context, index toolsearch.Indexer) (docs []toolsearch.Document, s toolsearch.Searcher, err error) {
	_, err = c.Compile(ctx, func(ctx context.Context, given []toolsearch.Document) (toolsearch.Searcher, error) {
		docs = given
		s, err = index(ctx, given)
		return s, err
	})
	return docs, s, err
}
