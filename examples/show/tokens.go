package show

import (
	"encoding/json"

	"github.com/cloudwego/eino/schema"
)

// Tokens estimates how many tokens definitions take in a request, at four bytes a token: the name,
// the description and the schema of the parameters as JSON. An invalid schema does not count.
func Tokens(infos ...*schema.ToolInfo) (tokens int) {
	for _, info := range infos {
		parameters, _ := info.ToJSONSchema()
		definition, err := json.Marshal(map[string]any{"name": info.Name, "description": info.Desc, "parameters": parameters})
		if err == nil {
			tokens += len(definition) / 4
		}
	}
	return tokens
}
