// Package tokens estimates for the examples and the README how many tokens tool definitions take in a
// request, at four bytes a token. It is not in examples/internal, since the README is made elsewhere.
package tokens

import (
	"encoding/json"

	"github.com/cloudwego/eino/schema"
)

// Of estimates the tokens of definitions: the name, the description and the schema of the
// parameters as JSON. An invalid schema does not count.
func Of(infos ...*schema.ToolInfo) (tokens int) {
	for _, info := range infos {
		parameters, _ := info.ToJSONSchema()
		definition, err := json.Marshal(map[string]any{"name": info.Name, "description": info.Desc, "parameters": parameters})
		if err == nil {
			tokens += len(definition) / 4
		}
	}
	return tokens
}
