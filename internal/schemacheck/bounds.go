package schemacheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp/syntax"
	"strconv"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/regexpcost"
)

// The bounds on schemas and arguments before anything is compiled or validated. Schemas come from
// remote servers and arguments from a model. The compiler cannot be stopped, nor can the validator
// within one value. Arguments that are nested too deep, or have too long a number, are refused. Other
// arguments beyond a bound, or for a schema beyond a bound, reach the tool unchecked. So no check takes
// more than about 100 ms or 64 MB.

const (
	maxDepth        = 256 // of nested arguments
	maxNumberDigits = 400 // written out, including the exponent's zeros; a float64 has 309 at most

	// Bounds on arguments. Marks are commas, braces and brackets. Each value has one mark. An
	// object with one name takes 300 bytes in memory and 8 in the text.
	maxArgumentBytes = 1 << 20
	maxArgumentMarks = 1 << 15

	// Bounds on a schema. The time to compile grows with the square of the number of objects.
	// The path of each object also takes time and memory.
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
	errTooDeep    = fmt.Errorf("it is nested more than %d deep", maxDepth)
	errLongNumber = fmt.Errorf("it has a number of more than %d digits", maxNumberDigits)

	errLargeArguments = errors.New("the arguments are too large to be checked")
	errCostly         = errors.New("the arguments take too long to check against the schema")
	errWrongSchema    = errors.New("the schema is wrong")
	errLargeSchema    = errors.New("the schema is too large to be checked against")
	errDeepSchema     = errors.New("the schema is nested too deep")
	errReferences     = errors.New("the schema has too many references")
	errMultiplies     = errors.New("the schema multiplies too much by its references")
	errPatterns       = errors.New("the schema has too many or too large patterns")
	errDynamic        = errors.New("the schema has dynamic references")
	errCircular       = errors.New("the schema refers to itself")
)

// checkPlain fails on JSON that is nested too deep or has too long a number.
func checkPlain(value any, depth int) error {
	if depth > maxDepth {
		return errTooDeep
	}
	switch v := value.(type) {
	case map[string]any:
		for _, inner := range v {
			if err := checkPlain(inner, depth+1); err != nil {
				return err
			}
		}
	case []any:
		for _, inner := range v {
			if err := checkPlain(inner, depth+1); err != nil {
				return err
			}
		}
	case json.Number:
		if digits(v) > maxNumberDigits {
			return errLongNumber
		}
	}
	return nil
}

// digits is how many digits a number has when it is written out.
func digits(n json.Number) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	zeros, err := strconv.Atoi("0" + strings.TrimLeft(exponent, "+-"))
	if err != nil {
		return maxNumberDigits + 1
	}
	return len(mantissa) + min(zeros, maxNumberDigits+1)
}

// Bound reports why a tool's arguments will not be checked against its schema: the schema is
// beyond the bounds, or cannot be read. It takes some 10 microseconds for a usual schema.
// Faults of a schema within the bounds are left to the compiler, and Problem reports them.
func Bound(info *schema.ToolInfo) error {
	_, err := foreign.Guard(func() (any, error) {
		_, _, err := bounded(info)
		return nil, err
	})
	return err
}

// bounded reads a tool's schema, and fails if it is beyond the bounds.
func bounded(info *schema.ToolInfo) (definition any, d document, err error) {
	text, err := written(info)
	if d.bytes = len(text); err != nil {
		return nil, d, err
	}
	if d.bytes > maxSchemaBytes {
		return nil, d, errLargeSchema
	}
	if definition, err = jsonschema.UnmarshalJSON(strings.NewReader(text)); err != nil {
		return nil, d, err
	}
	if err = d.add(definition, 0, 0); err == nil && d.multiplies(definition) {
		err = d.costs(definition)
	}
	return definition, d, err
}

// costs fails if a check of a value costs too much because of references, or because several
// schemas apply to the same properties.
func (d *document) costs(definition any) error {
	s, err := sketchOf(definition, d)
	if err == nil {
		_, _, err = statesOf(s)
	}
	return err
}

// document counts the contents of a schema.
type document struct {
	bytes, objects, values, paths, references, odd, addresses, patterns, patternSize int

	combined, unnamed int // keywords that make schemas share a value, and that make them share properties
	unread            int // patterns that cannot be parsed

	parsing int            // the cost of parsing the patterns
	sizes   map[string]int // instructions of each pattern that can be parsed
}

// multiplies reports whether the schema may cost too much although its document is within the
// bounds, or has a pattern that cannot be parsed. A schema is cheap if each part of it, with
// references written out, applies to values in only one place.
func (d *document) multiplies(definition any) bool {
	if d.unread > 0 || d.unnamed > 0 && d.combined > 0 || d.references > 0 && d.addresses > 0 {
		return true
	}
	return d.references > 0 && newUnfolding(definition).size(definition) > maxStates
}

// unfolding counts the values of a schema with references to definitions written out.
type unfolding struct {
	definitions [2]map[string]any
	sizes       [2]map[string]int
}

func newUnfolding(definition any) *unfolding {
	u := &unfolding{sizes: [2]map[string]int{{}, {}}}
	object, _ := definition.(map[string]any)
	for i, keyword := range definitionKeywords {
		u.definitions[i], _ = object[keyword].(map[string]any)
	}
	return u
}

var (
	definitionKeywords = [...]string{"$defs", "definitions"}
	definitionPrefixes = [...]string{"#/$defs/", "#/definitions/"}
)

// size returns the number of values, or more than maxStates if a reference leads in a circle
// or to anything but a definition.
func (u *unfolding) size(value any) int {
	size := 1
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			switch text, isText := inner.(string); {
			case isText && (name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef"):
				size += u.referred(name, text)
			default:
				size += u.size(inner)
			}
			if size > maxStates {
				return size
			}
		}
	case []any:
		for _, inner := range v {
			if size += u.size(inner); size > maxStates {
				return size
			}
		}
	case json.Number:
		size += digits(v) / 16
	}
	return size
}

// referred returns the size of the target of a keyword.
func (u *unfolding) referred(keyword, reference string) int {
	for i, prefix := range definitionPrefixes {
		name, found := strings.CutPrefix(reference, prefix)
		definition, isThere := u.definitions[i][name]
		if !found || !isThere || keyword != "$ref" {
			continue
		}
		size, known := u.sizes[i][name]
		if !known {
			u.sizes[i][name] = maxStates + 1 // until it is known
			size = u.size(definition)
			u.sizes[i][name] = size
		}
		return size
	}
	return maxStates + 1
}

// add counts a value of the schema. path is the length of its path in bytes.
func (d *document) add(value any, depth, path int) error {
	if depth > maxSchemaDepth {
		return errDeepSchema
	}
	d.values++
	switch v := value.(type) {
	case bool: // true and false are schemas too
		d.objects++
		d.paths += path
	case map[string]any:
		d.objects++
		d.paths += path
		if _, refers := v["$ref"]; refers && len(v) > 1 {
			d.combined++
		}
		for name, inner := range v {
			d.count(name, inner)
			if err := d.add(inner, depth+1, path+1+len(name)); err != nil {
				return err
			}
		}
	case []any:
		d.paths += path
		for _, inner := range v {
			if err := d.add(inner, depth+1, path+4); err != nil {
				return err
			}
		}
	case json.Number:
		if digits(v) > maxNumberDigits {
			return errLongNumber
		}
		d.values += digits(v) / 16
	}
	switch {
	case d.objects > maxSchemaObjects || d.values > maxSchemaValues || d.paths > maxSchemaPaths || d.addresses > maxAddresses:
		return errLargeSchema
	case d.references > maxReferences || d.odd > maxOddReferences:
		return errReferences
	case d.patterns > maxPatterns || d.patternSize > maxPatternSize:
		return errPatterns
	}
	return nil
}

func (d *document) count(name string, value any) {
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
	case "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas", "dependencies":
		d.combined++
	case "unevaluatedProperties", "additionalProperties":
		if _, isBool := value.(bool); !isBool {
			d.unnamed++
		}
	case "pattern":
		if text != "" {
			d.pattern(text)
		}
	case "patternProperties":
		d.combined++
		d.unnamed++
		properties, _ := value.(map[string]any)
		for pattern := range properties {
			d.pattern(pattern)
		}
	}
}

// pattern counts a pattern. It parses each text once, and nothing once the patterns are
// beyond a bound. A sketch fails on a pattern that cannot be parsed.
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
			d.unread++
			return
		}
		if d.sizes == nil {
			d.sizes = make(map[string]int)
		}
		size = regexpcost.Size(parsed)
		d.sizes[text] = size
	}
	if d.patternSize += size; size > regexpcost.Max {
		d.patternSize = maxPatternSize + 1
	}
}
