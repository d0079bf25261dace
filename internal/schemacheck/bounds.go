package schemacheck

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// The bounds on a schema, which may come from a remote server. A document is the JSON of a schema, weighed by what
// makes the compiler slow or the result large: its patterns when the compiler asks for them, the rest before.

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
	parsingUnit       = 64 // of foreign.ParsingCost
)

var (
	errLargeSchema = errors.New("the schema is too large to be checked against")
	errDeepSchema  = errors.New("the schema is nested too deep")
)

// document is a schema, or arguments, of which only depth and digits count.
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

// Bound reports why a tool's arguments will not be checked against its schema: that is beyond the bounds, or cannot be
// read. It takes some 10 microseconds for a usual schema. Other faults, and patterns, are left to the compiler.
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

// add weighs a value. path is the length of its path in bytes.
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

// pattern weighs and compiles a pattern, each text once: the compiler asks twice. Once the schema is compiled, the text
// is an argument for which an old draft demands a pattern, in another syntax than the tool's.
func (d *document) pattern(text string) (jsonschema.Regexp, error) {
	if pattern, known := d.patterns[text]; known {
		return pattern, nil
	}
	if d.isCompiled {
		return &sizedPattern{}, nil
	}
	if d.weight += foreign.ParsingCost(text) / parsingUnit; d.weight > maxWeight {
		return nil, errLargeSchema
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return nil, err
	}
	size := foreign.PatternSize(parsed)
	if d.weight += patternWeight + instructionWeight*size; size > foreign.MaxPatternSize || d.weight > maxWeight {
		return nil, errLargeSchema
	}
	pattern, err := regexp.Compile(text)
	d.patterns[text] = &sizedPattern{pattern, size}
	return d.patterns[text], err
}

// The cost of checking arguments against a schema. Before the validator runs, a walk over the arguments and the
// compiled schema counts the steps that it may take: it goes wherever the validator goes, through references and into
// values, and ends when the budget is spent. Steps are about 0.5 µs and 600 bytes.

const (
	maxCost   = 50_000 // steps of one check
	byteUnit  = 256    // bytes of a value that one visit copies in a step
	itemBytes = 48     // what an item, a name or a number counts for, besides its own bytes

	// How often more than a visit's copy the validator looks at a value.
	patternWork = 8  // for each instruction of a pattern
	formatWork  = 8  // for a format
	nameWork    = 12 // for a schema of names; the validator starts anew for each name
	uniqueWork  = 12 // for unique items, which are compared with each other in a short list, and hashed in a long one

	perStep    = 4  // names or values of a schema that are looked up in a step
	formatCost = 3  // of each string that is checked against a format
	unevalCost = 4  // of a schema for which the validator records every item and property
	depthUnit  = 32 // of values inside values and references to references; each problem records its whole path
)

var errCostly = errors.New("the arguments take too long to check against the schema")

// budget is how many steps a check may still take.
type budget int

// spend counts the steps of a schema with a value, until the budget is spent. Uneval says that the validator records
// which items and properties of the value the schema looks at.
func (b *budget) spend(s *jsonschema.Schema, value any, depth int, uneval bool) {
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		*b = -1 // their targets are known only during validation
	}
	if *b < 0 {
		return
	}
	visit := 1
	if uneval = uneval || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil; uneval {
		visit = unevalCost
	}
	*b -= budget(visit*ownCost(s)*(1+depth/depthUnit) + (visit+work(s))*bytesOf(value, s.UniqueItems)/byteUnit)
	b.all(value, depth, uneval, s.Ref, s.Not, s.If, s.Then, s.Else, s.AllOf, s.AnyOf, s.OneOf, slices.Collect(maps.Values(s.DependentSchemas)))
	b.all(value, depth, uneval, slices.Collect(maps.Values(s.Dependencies))...)
	switch v := value.(type) {
	case map[string]any:
		patterns := slices.Collect(maps.Values(s.PatternProperties))
		for name, value := range v {
			own := s.AdditionalProperties
			if inner, isNamed := s.Properties[name]; isNamed {
				own = inner
			}
			b.all(name, depth, false, s.PropertyNames)
			b.all(value, depth, false, own, s.UnevaluatedProperties, patterns)
		}
	case []any:
		places, items := s.PrefixItems, s.Items
		if list, isList := items.([]*jsonschema.Schema); isList {
			places, items = list, nil
		}
		for i, value := range v {
			b.all(value, depth, false, s.Items2020, s.Contains, s.UnevaluatedItems, s.AdditionalItems, items)
			if i < len(places) {
				b.spend(places[i], value, depth+1, false)
			}
		}
	}
}

// all counts the steps of the schemas among the values of keywords.
func (b *budget) all(value any, depth int, uneval bool, keywords ...any) {
	for _, keyword := range keywords {
		switch k := keyword.(type) {
		case *jsonschema.Schema:
			if k != nil {
				b.spend(k, value, depth+1, uneval)
			}
		case []*jsonschema.Schema:
			for _, s := range k {
				b.spend(s, value, depth+1, uneval)
			}
		}
	}
}

// ownCost is the cost of a schema for any value, with the visit.
func ownCost(s *jsonschema.Schema) int {
	items := len(s.Required) + len(s.DependentRequired) + len(s.Dependencies)
	for _, list := range s.DependentRequired {
		items += len(list)
	}
	for _, dependency := range s.Dependencies {
		list, _ := dependency.([]string)
		items += len(list)
	}
	if s.Enum != nil {
		items += bytesOf(s.Enum.Values, true) / itemBytes
	}
	if s.Const != nil {
		items += bytesOf(*s.Const, true) / itemBytes
	}
	cost := 1 + (items+perStep-1)/perStep
	for _, limit := range [...]*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			cost += 2 + (limit.Num().BitLen()+limit.Denom().BitLen())/64
		}
	}
	if s.Format != nil {
		cost += formatCost
	}
	return cost
}

// work is how often more than a visit's copy a schema looks at a value.
func work(s *jsonschema.Schema) (times int) {
	for _, pattern := range append(slices.Collect(maps.Keys(s.PatternProperties)), s.Pattern) {
		if sized, ok := pattern.(*sizedPattern); ok {
			times += patternWork * sized.size
		}
	}
	if s.Format != nil {
		times += formatWork
	}
	if s.PropertyNames != nil {
		times += nameWork
	}
	if s.UniqueItems {
		times += uniqueWork
	}
	return times
}

// bytesOf is how large a value is, without the values inside unless it is compared with others.
func bytesOf(value any, isCompared bool) (size int) {
	switch v := value.(type) {
	case string:
		return len(v) + itemBytes/4
	case json.Number:
		return digits(v)*4 + itemBytes
	}
	for name, inner := range parts(value) {
		size += itemBytes + len(name)
		if isCompared {
			size += bytesOf(inner, true)
		}
	}
	return size
}
