package eval

import (
	"context"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/search"
)

// A Catalog is a set of tools and the servers they come from. A Catalog literal needs only
// Tools.
type Catalog struct {
	Tools   []*schema.ToolInfo
	servers map[string]string // tool name -> server, for the tools whose file names a server
}

// Annotate returns the tool's server in the catalog's file as its namespace. If the file
// names no server, Annotate returns what [search.Annotate] derives from the tool's name.
// It fits toolsearch.Config.Annotate.
func (c *Catalog) Annotate(info *schema.ToolInfo) search.Annotation {
	if server := c.servers[info.Name]; server != "" {
		return search.Annotation{Namespace: server}
	}
	return search.Annotate(info)
}

// Compile makes the catalog searchable with index. The documents have the annotations of
// [Catalog.Annotate]. A nil index means search.Keyword.
func (c *Catalog) Compile(ctx context.Context, index search.Indexer) (*toolsearch.Catalog, error) {
	return toolsearch.NewCatalogFromInfos(ctx, c.Tools, &toolsearch.CatalogOptions{Annotate: c.Annotate, Index: index})
}
