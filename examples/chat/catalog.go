package main

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/eval"
)

// load makes tools from the definitions in a file. annotate returns the server that the file
// names for a tool.
func load(path string) (tools []tool.BaseTool, annotate func(*schema.ToolInfo) toolsearch.Annotation, err error) {
	catalog, err := eval.LoadCatalog(path)
	if err != nil {
		return nil, nil, err
	}
	tools = make([]tool.BaseTool, len(catalog.Tools))
	for i, info := range catalog.Tools {
		tools[i] = definition{info}
	}
	return tools, catalog.Annotate, nil
}

// A definition is a tool that cannot run, since a file has only its definition. Its result
// says so.
type definition struct{ info *schema.ToolInfo }

func (d definition) Info(context.Context) (*schema.ToolInfo, error) { return d.info, nil }

func (d definition) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	return "Not run: only the definition of " + d.info.Name + " is known here. Tell the user that it would be called with " + arguments, nil
}
