package schemacheck

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/regexpcost"
)

// The bounds on a schema before it is compiled. Schemas come from remote servers. A document is the JSON
// of a schema, with a count of what makes the compiler slow or the result large.

const (
	// The time to compile grows with the square of the number of objects. The path of each object also
	// takes time and memory.
	maxSchemaBytes   = 128 << 10
	maxSchemaDepth   = 64
	maxSchemaObjects = 1000 // schemas and all other objects
	maxSchemaValues  = 1 << 14
	maxSchemaPaths   = 512 << 10 // bytes, of all objects and lists together
	maxReferences    = 500
	maxOddReferences = 32 // references to anything but a definition; each copies the compiler's state of the schema
	maxAddresses     = 64 // $id, $anchor and the like
	maxPatterns      = 200
	maxPatternSize   = 8000    // instructions, of all patterns together
	maxParsing       = 1 << 19 // of regexpcost.Parsing, of all patterns together; some 20 ms
)

var (
	errLargeSchema = errors.New("the schema is too large to be checked against")
	errDeepSchema  = errors.New("the schema is nested too deep")
	errReferences  = errors.New("the schema has too many references")
	errPatterns    = errors.New("the schema has too many or too large patterns")
)

type document struct {
	root any
	err  error // the first bound that the schema is beyond; then nothing more is counted

	bytes, objects, values, paths, references, odd, addresses, patterns, patternSize int

	isCompiled bool
	parsing    int            // the cost of parsing the patterns
	sizes      map[string]int // instructions of each pattern that can be parsed
}

// Bound reports why a tool's arguments will not be checked against its schema: the schema is
// beyond the bounds, or cannot be read. It takes some 10 microseconds for a usual schema.
// Other faults of a schema are left to the compiler, and Problem reports them.
func Bound(info *schema.ToolInfo) error {
	_, err := foreign.Guard(func() (*document, error) { return documentOf(info) })
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
	d := &document{bytes: len(text), sizes: make(map[string]int)}
	if d.root, err = jsonschema.UnmarshalJSON(strings.NewReader(text)); err != nil {
		return nil, err
	}
	d.add(d.root, 0, 0)
	return d, d.err
}

// add counts a value of the schema. path is the length of its path in bytes.
func (d *document) add(value any, depth, path int) {
	if d.err != nil {
		return
	}
	d.values++
	switch {
	case depth > maxSchemaDepth:
		d.fail(errDeepSchema)
	case d.objects > maxSchemaObjects || d.values > maxSchemaValues || d.paths > maxSchemaPaths || d.addresses > maxAddresses:
		d.fail(errLargeSchema)
	case d.references > maxReferences || d.odd > maxOddReferences:
		d.fail(errReferences)
	case d.patterns > maxPatterns || d.patternSize > maxPatternSize:
		d.fail(errPatterns)
	}
	switch v := value.(type) {
	case bool: // true and false are schemas too
		d.objects++
		d.paths += path
	case map[string]any:
		d.objects++
		d.paths += path
		for _, name := range slices.Sorted(maps.Keys(v)) {
			d.keyword(name, v[name])
			d.add(v[name], depth+1, path+1+len(name))
		}
	case []any:
		d.paths += path
		for _, inner := range v {
			d.add(inner, depth+1, path+4)
		}
	case json.Number:
		if d.values += digits(v) / 16; digits(v) > maxNumberDigits {
			d.fail(errLongNumber)
		}
	}
}

// fail keeps the first error.
func (d *document) fail(err error) { d.err = cmp.Or(d.err, err) }

func (d *document) keyword(name string, value any) {
	text, _ := value.(string)
	switch name {
	case "$ref", "$dynamicRef", "$recursiveRef":
		d.references++
		definition := strings.TrimPrefix(strings.TrimPrefix(text, "#/$defs/"), "#/definitions/")
		if text != "#" && (definition == text || strings.Contains(definition, "/")) {
			d.odd++
		}
	case "$id", "id", "$anchor", "$dynamicAnchor":
		if text != "" { // a parameter may also have this name
			d.addresses++
		}
	case "pattern":
		if text != "" {
			d.pattern(text)
		}
	case "patternProperties":
		properties, _ := value.(map[string]any)
		for pattern := range properties {
			d.pattern(pattern)
		}
	}
}

// pattern counts a pattern. It parses each text once, and nothing once the patterns are beyond a bound.
func (d *document) pattern(text string) {
	d.patterns++
	if d.patterns > maxPatterns || d.patternSize > maxPatternSize {
		return
	}
	size, known := d.sizes[text]
	if !known {
		if d.parsing += regexpcost.Parsing(text); d.parsing > maxParsing {
			d.patternSize = maxPatternSize + 1
			return
		}
		parsed, err := syntax.Parse(text, syntax.Perl)
		if err != nil {
			return // the compiler reports it where it counts
		}
		size = regexpcost.Size(parsed)
		d.sizes[text] = size
	}
	if d.patternSize += size; size > regexpcost.Max {
		d.patternSize = maxPatternSize + 1
	}
}
