package search

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A Document is a tool as a Searcher sees it.
type Document struct {
	Name        string
	Original    string // the tool's own name, if Name is another because providers refuse it; "" if not
	Description string
	Parameters  []Parameter // every parameter, nested ones included, outer before inner
	Annotation

	// NamespaceDescription is the Description of the tool's Group, on one line. BM25 lifts the tools of a namespace
	// whose description matches the query.
	NamespaceDescription string

	Info *schema.ToolInfo // shared; do not change it
}

// A Parameter is one property of a tool's JSON schema.
type Parameter struct {
	Name        string // the property's own name; "" means an unnamed part of a schema
	Description string
	Enum        []string // the allowed values, as text
}

// An Annotation is information about a tool that its definition does not have.
type Annotation struct {
	Namespace string   // the server or group it belongs to
	Hint      string   // when to use it: searched, and shown in the results of ProtocolRanked
	Aliases   []string // other names to find it by
	Tags      []string // labels
}

// Keys in the Extra of tools of eino-ext's official MCP adapter (officialmcp v0.1.1), and of this module's package mcp.
const (
	mcpServerName  = "mcp.server_name" // set by the connection, so a server cannot choose it
	mcpAnnotations = "mcp.annotations"
	mcpRawTool     = "mcp.raw_tool" // the whole definition, if MetadataMode is MetadataFull
	mcpTitle       = "mcp.title"    // of package mcp
	mcpTags        = "mcp.tags"     // likewise, with commas between them
)

// mcpHints are the hints in MCP's annotations of a tool, and the tags that they become.
var mcpHints = [...]struct{ hint, tag string }{
	{"readOnlyHint", "read-only"}, {"destructiveHint", "destructive"}, {"idempotentHint", "idempotent"}, {"openWorldHint", "open-world"},
}

// Annotate derives an Annotation from a tool's definition. It is the default of Config.Annotate.
//
// It knows the tools of package mcp and of eino-ext's official MCP adapter: the title is an alias, and the hints
// read-only, destructive, idempotent and open-world are tags. So is always-load, for tools that the server marks so;
// the adapter tells with a MetadataMode of MetadataFull. Config.AlwaysLoaded may name "tag:always-load". The
// adapter's ServerName is the namespace. Where there is none, the namespace of mcp__server__tool and server__tool is
// server.
func Annotate(info *schema.ToolInfo) Annotation {
	server, _ := info.Extra[mcpServerName].(string)
	a := Annotation{Namespace: cmp.Or(server, naming.Namespace(info.Name))}
	annotations, _ := info.Extra[mcpAnnotations].(map[string]any)
	title, _ := annotations["title"].(string)
	own, _ := info.Extra[mcpTitle].(string)
	if title = cmp.Or(own, title); title != "" {
		a.Aliases = []string{naming.Cut(title, naming.MaxBytes)}
	}
	for _, h := range mcpHints {
		if is, ok := annotations[h.hint].(bool); ok && is {
			a.Tags = append(a.Tags, h.tag)
		}
	}
	if tags, _ := info.Extra[mcpTags].(string); tags != "" {
		a.Tags = append(a.Tags, strings.Split(tags, ",")...)
	}
	raw, _ := info.Extra[mcpRawTool].(map[string]any)
	meta, _ := raw["_meta"].(map[string]any)
	// The mark by which a server asks clients not to defer the tool (https://code.claude.com/docs/en/mcp, 2026-11).
	if isMarked, ok := meta["anthropic/alwaysLoad"].(bool); ok && isMarked {
		a.Tags = append(a.Tags, "always-load")
	}
	return a
}

// Documents makes the documents of tools, for use without a catalog. Hit.Doc is an index into them. A nil annotate
// means Annotate. Documents fails on a nil info and on an empty or repeated name, and keeps copies of the infos.
func Documents(infos []*schema.ToolInfo, annotate func(*schema.ToolInfo) Annotation) ([]Document, error) {
	if err := naming.CheckDistinct(infos); err != nil {
		return nil, err
	}
	docs := make([]Document, len(infos))
	for i, info := range infos {
		docs[i] = DocumentOf(info, annotate)
		docs[i].Parameters = ParametersOf(info)
	}
	return docs, nil
}

// DocumentOf makes a tool's document without its Parameters, which ParametersOf reads: most of the work, and not
// every searcher needs them. A nil annotate means Annotate.
func DocumentOf(info *schema.ToolInfo, annotate func(*schema.ToolInfo) Annotation) Document {
	if annotate == nil {
		annotate = Annotate
	}
	// The tool may later change the info it returned.
	own := *info
	own.Extra = maps.Clone(info.Extra)
	// Without parameters some model adapters send no schema, which providers refuse.
	if own.ParamsOneOf == nil || reflect.ValueOf(*own.ParamsOneOf).IsZero() {
		own.ParamsOneOf = schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{})
	}
	return Document{Name: own.Name, Description: own.Desc, Annotation: annotate(&own), Info: &own}
}

// Bounds on reading one tool's definition, which may come from a remote server.
const (
	MaxDescriptionBytes = 64 << 10
	maxSchemaDepth      = 16
	maxParameters       = 512
	maxEnumValues       = 1000 // of all parameters; the richest tool of eight public catalogs has 73
)

// ParametersOf lists the properties of a tool's schema, outer before inner, or none for a schema that does not
// convert. It reads up to 16 levels, 512 properties, 64 KiB of their descriptions, and 1,000 values of their enums.
// Names and values are read up to 128 bytes.
func ParametersOf(info *schema.ToolInfo) []Parameter {
	root, err := foreign.Guard(info.ToJSONSchema) // Eino panics on a nil parameter
	if err != nil || root == nil {
		return nil
	}
	var list []Parameter
	values, text := maxEnumValues, MaxDescriptionBytes
	var walk func(name string, s *jsonschema.Schema, depth int)
	walk = func(name string, s *jsonschema.Schema, depth int) {
		if s == nil || depth > maxSchemaDepth || len(list) == maxParameters {
			return
		}
		enum := s.Enum[:min(len(s.Enum), values)]
		p := Parameter{Name: naming.Cut(name, naming.MaxBytes), Description: naming.Cut(s.Description, text), Enum: make([]string, 0, len(enum))}
		for _, value := range enum {
			if value != nil {
				p.Enum = append(p.Enum, naming.CutWords(fmt.Sprint(value), naming.MaxBytes))
			}
		}
		if depth > 0 && (p.Name != "" || p.Description != "" || len(p.Enum) > 0) {
			list = append(list, p)
			values -= len(enum)
			text -= len(p.Description)
		}
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			walk(pair.Key, pair.Value, depth+1)
		}
		walk("", s.Items, depth+1)
		walk("", s.AdditionalProperties, depth+1)
		for _, alternative := range slices.Concat(s.AllOf, s.AnyOf, s.OneOf) {
			walk("", alternative, depth+1)
		}
		for _, definition := range slices.Sorted(maps.Keys(s.Definitions)) {
			walk("", s.Definitions[definition], depth+1)
		}
	}
	walk("", root, 0)
	return list
}
