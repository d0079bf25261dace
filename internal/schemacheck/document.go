package schemacheck

import (
	"encoding/json"
	"errors"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/regexpcost"
)

// The bounds on a schema. Schemas come from remote servers. A document is the JSON of a schema, weighed by
// what makes the compiler slow or the result large: its patterns when the compiler asks for them, the rest
// before.

const (
	maxSchemaBytes = 128 << 10
	maxSchemaDepth = 64
	maxWeight      = 1 << 15 // some 10 ms or 7 MB

	objectWeight      = 25  // the time to compile grows with the square of the number of objects
	pathUnit          = 16  // bytes of the path of an object or a list that weigh 1
	referenceWeight   = 25  // a reference to a definition
	oddWeight         = 800 // a reference to anything else, which copies the compiler's state of the schema
	addressWeight     = 500 // $id, $anchor and the like
	patternWeight     = 25
	instructionWeight = 2
	parsingUnit       = 64 // of regexpcost.Parsing
)

var (
	errLargeSchema = errors.New("the schema is too large to be checked against")
	errDeepSchema  = errors.New("the schema is nested too deep")
)

type document struct {
	root   any
	weight int
	depth  int // of the value that is nested deepest
	digits int // of the longest number

	patterns   map[string]*sizedPattern // the patterns that were compiled
	isCompiled bool
}

// sizedPattern is a pattern in a schema, with the number of its instructions.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// Bound reports why a tool's arguments will not be checked against its schema: the schema is
// beyond the bounds, or cannot be read. It takes some 10 microseconds for a usual schema.
// Other faults of a schema, and its patterns, are left to the compiler, and Problem reports them.
func Bound(info *schema.ToolInfo) error {
	_, err := documentOf(info)
	return err
}

// documentOf reads a tool's schema, and fails if it is beyond the bounds.
func documentOf(info *schema.ToolInfo) (*document, error) {
	text, err := written(info)
	if err != nil {
		return nil, err
	}
	if len(text) > maxSchemaBytes {
		return nil, errLargeSchema
	}
	d := &document{patterns: make(map[string]*sizedPattern)}
	if d.root, err = jsonschema.UnmarshalJSON(strings.NewReader(text)); err != nil {
		return nil, err
	}
	d.add(d.root, 0, 0)
	switch {
	case d.depth > maxSchemaDepth:
		return nil, errDeepSchema
	case d.weight > maxWeight:
		return nil, errLargeSchema
	case d.digits > maxNumberDigits:
		return nil, errLongNumber
	}
	return d, nil
}

// add weighs a value of the schema. path is the length of its path in bytes.
func (d *document) add(value any, depth, path int) {
	d.weight, d.depth = d.weight+2, max(d.depth, depth)
	switch v := value.(type) {
	case bool, map[string]any: // true and false are schemas too
		d.weight += objectWeight + path/pathUnit
	case []any:
		d.weight += path / pathUnit
	case json.Number:
		d.weight, d.digits = d.weight+digits(v)/16, max(d.digits, digits(v))
	}
	for name, inner := range parts(value) {
		d.keyword(name, inner)
		d.add(inner, depth+1, path+4+len(name))
	}
}

func (d *document) keyword(name string, value any) {
	text, _ := value.(string)
	switch name {
	case "$ref", "$dynamicRef", "$recursiveRef":
		d.weight += referenceWeight
		definition := strings.TrimPrefix(strings.TrimPrefix(text, "#/$defs/"), "#/definitions/")
		if text != "#" && (definition == text || strings.Contains(definition, "/")) {
			d.weight += oddWeight
		}
	case "$id", "id", "$anchor", "$dynamicAnchor":
		if text != "" { // a parameter may also have this name
			d.weight += addressWeight
		}
	}
}

// pattern weighs and compiles a pattern, each text once: the compiler asks twice. Once the schema is
// compiled, the text is an argument for which an old draft demands a pattern, in another syntax than the
// tool's.
func (d *document) pattern(text string) (jsonschema.Regexp, error) {
	if pattern, known := d.patterns[text]; known {
		return pattern, nil
	}
	if d.isCompiled {
		return &sizedPattern{}, nil
	}
	if d.weight += regexpcost.Parsing(text) / parsingUnit; d.weight > maxWeight {
		return nil, errLargeSchema
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := regexpcost.Size(parsed)
	if d.weight += patternWeight + instructionWeight*size; size > regexpcost.Max || d.weight > maxWeight {
		return nil, errLargeSchema
	}
	pattern, err := regexp.Compile(text)
	d.patterns[text] = &sizedPattern{pattern, size}
	return d.patterns[text], err
}
