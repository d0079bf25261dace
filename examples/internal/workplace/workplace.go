// Package workplace has the tools of single quickstart services, for examples that do not
// need all of them.
package workplace

import (
	"context"
	"fmt"
	"slices"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// Tools returns the tools of these services, in the catalog's order. It panics if a service
// does not exist.
func Tools(names ...string) []tool.BaseTool {
	var tools []tool.BaseTool
	found := map[string]bool{}
	for _, t := range services.Tools() {
		if info, err := t.Info(context.Background()); err == nil {
			if service := toolsearch.Annotate(info).Namespace; slices.Contains(names, service) {
				tools, found[service] = append(tools, t), true
			}
		}
	}
	for _, name := range names {
		if !found[name] {
			panic(fmt.Sprintf("workplace: no service %q", name))
		}
	}
	return tools
}

// Tool returns the tool with this name. It panics if the tool does not exist.
func Tool(name string) tool.InvokableTool {
	for _, t := range services.Tools() {
		if info, err := t.Info(context.Background()); err == nil && info.Name == name {
			return t.(tool.InvokableTool)
		}
	}
	panic(fmt.Sprintf("workplace: no tool %q", name))
}
