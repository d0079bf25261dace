package catalog

import (
	"errors"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Definitions as the documents of a catalog.

// Documents makes a document of each definition, in the namespace that a catalog of the same
// file gives it. A schema that cannot be read is left out. wrong has the faults, by document.
func Documents(tools []Definition) (docs []search.Document, wrong map[int]error) {
	docs, wrong = make([]search.Document, len(tools)), make(map[int]error)
	for i := range tools {
		d := &tools[i]
		info := &schema.ToolInfo{Name: d.Name, Desc: d.Description}
		if d.Schema != nil {
			if s, err := schemacheck.Read(d.Schema); err != nil {
				wrong[i] = errors.New("its schema cannot be read")
			} else {
				info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
			}
		}
		docs[i] = search.DocumentOf(info, func(info *schema.ToolInfo) search.Annotation {
			if d.Server != "" {
				return search.Annotation{Namespace: d.Server}
			}
			return search.Annotate(info)
		})
		if len(d.Wrong) > 0 {
			wrong[i] = errors.New("one of its values is of the wrong kind")
		}
	}
	return docs, wrong
}
