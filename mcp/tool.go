package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// Tools: from a server's definition to Eino's, and from a result to the text that the model reads.

// remote is a tool of a server.
type remote struct {
	of         *server
	definition json.RawMessage
	info       *schema.ToolInfo
	problem    error // why there is no info
}

var _ tool.InvokableTool = (*remote)(nil)

// isObject reports whether JSON is an object, as a definition must be.
func isObject(raw json.RawMessage) bool { return raw[0] == '{' }

// toolsOf returns the tools of definitions.
func (s *server) toolsOf(definitions []json.RawMessage) (tools []tool.BaseTool) {
	for _, definition := range definitions {
		tools = append(tools, s.toolOf(definition))
	}
	return tools
}

// Keys of the Extra of a ToolInfo, which toolsearch.Annotate reads. Eino's checkpoints keep strings.
const (
	extraTitle = "mcp.title"
	extraTags  = "mcp.tags" // with commas between them
)

// toolOf reads a definition. A value of the wrong kind is as if it were not there, unless it is the name or the schema.
func (s *server) toolOf(definition json.RawMessage) *remote {
	t := &remote{of: s, definition: definition}
	var keys, annotations, meta map[string]json.RawMessage
	_ = json.Unmarshal(definition, &keys)
	_ = json.Unmarshal(keys["annotations"], &annotations)
	_ = json.Unmarshal(keys["_meta"], &meta)
	info := &schema.ToolInfo{Name: textIn(keys["name"]), Desc: textIn(keys["description"]), Extra: make(map[string]any)}
	if info.Name == "" {
		t.problem = errors.New("a tool without a name")
		return t
	}
	if raw := keys["inputSchema"]; raw != nil && string(raw) != "null" {
		params, err := schemacheck.Read(raw)
		if err != nil {
			t.problem = fmt.Errorf("the schema of %q cannot be read: %w", info.Name, err)
			return t
		}
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(params)
	}
	if title := cmp.Or(textIn(keys["title"]), textIn(annotations["title"])); title != "" {
		info.Extra[extraTitle] = title
	}
	var tags []string
	for _, mark := range [...]struct {
		in        map[string]json.RawMessage
		name, tag string
	}{
		{annotations, "readOnlyHint", "read-only"}, {annotations, "destructiveHint", "destructive"},
		{annotations, "idempotentHint", "idempotent"}, {annotations, "openWorldHint", "open-world"},
		{meta, "anthropic/alwaysLoad", "always-load"},
	} {
		if string(mark.in[mark.name]) == "true" {
			tags = append(tags, mark.tag)
		}
	}
	if tags != nil {
		info.Extra[extraTags] = strings.Join(tags, ",")
	}
	t.info = info
	return t
}

// textIn returns a JSON string, or "" for any other value.
func textIn(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text)
	return text
}

// Info implements tool.BaseTool.
func (t *remote) Info(context.Context) (*schema.ToolInfo, error) { return t.info, t.problem }

// Definition returns the definition as the server sent it.
func (t *remote) Definition() json.RawMessage { return t.definition }

// InvokableRun implements tool.InvokableTool.
func (t *remote) InvokableRun(ctx context.Context, arguments string, _ ...tool.Option) (string, error) {
	text, err := t.of.caller(ctx).call(ctx, t.info.Name, arguments)
	if strings.HasPrefix(text, failed) {
		foreign.TellFailure(ctx, errors.New(text))
	}
	return text, err
}

// failed is how the result of a call that failed begins.
const failed = "error: "

// textOf returns what the model reads of a result: its texts. What is not text is named. Structured content counts where
// there is no text; servers give it as text too.
func textOf(result *sdk.CallToolResult) string {
	var parts []string
	for _, content := range result.Content {
		switch c := content.(type) {
		case *sdk.TextContent:
			parts = append(parts, c.Text)
		case *sdk.ImageContent:
			parts = append(parts, leftOut("image", c.MIMEType, len(c.Data)))
		case *sdk.AudioContent:
			parts = append(parts, leftOut("audio", c.MIMEType, len(c.Data)))
		case *sdk.ResourceLink:
			parts = append(parts, fmt.Sprintf("[%s: %s]", cmp.Or(c.Title, c.Name), c.URI))
		case *sdk.EmbeddedResource:
			if r := c.Resource; r != nil && r.Blob == nil {
				parts = append(parts, r.Text)
			} else if r != nil {
				parts = append(parts, leftOut(r.URI, r.MIMEType, len(r.Blob)))
			}
		}
	}
	if len(parts) == 0 && result.StructuredContent != nil {
		data, _ := json.Marshal(result.StructuredContent)
		parts = append(parts, string(data))
	}
	text := strings.Join(parts, "\n")
	switch {
	case result.NeedsInput():
		return failed + "the tool asks its user for input, which this program cannot give"
	case result.IsError:
		return failed + text
	}
	return text
}

func leftOut(what, kind string, size int) string {
	return fmt.Sprintf("[%s, %s: %d bytes that are not text]", what, cmp.Or(kind, "unknown"), size)
}
