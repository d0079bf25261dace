package schemacheck

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Sketches of schemas. A sketch is the part of a compiled schema that decides the cost of a
// check. Making it takes microseconds where the compiler takes milliseconds, so a catalog can
// report when it is built which schemas multiply by their references. Calls are still checked
// against the compiled schema, whose cost is computed again.

var (
	errLost   = errors.New("the schema refers to a part that it does not have")
	errSyntax = errors.New("the schema has a pattern that Go has no syntax for")
)

// The older drafts by a part of their addresses, and the drafts that introduced and dropped
// keywords.
var (
	drafts = map[string]int{"/draft-04/": 4, "/draft-06/": 6, "/draft-07/": 7, "/2019-09/": 2019}
	since  = map[string]int{
		"contains": 6, "propertyNames": 6, "const": 6, "if": 7, "then": 7, "else": 7, "$recursiveRef": 2019, "dependentRequired": 2019,
		"dependentSchemas": 2019, "unevaluatedItems": 2019, "unevaluatedProperties": 2019, "$dynamicRef": 2020, "prefixItems": 2020,
	}
	until = map[string]int{"additionalItems": 2019, "format": 7}
)

// sketch makes the sketch of one schema.
type sketch struct {
	root      any
	id        string // the keyword of an address
	draft     int
	sizes     map[string]int                // of the patterns that can be parsed
	made      map[string]*jsonschema.Schema // by JSON pointer
	bases     map[string]*url.URL           // the addresses of the parts that have one, by JSON pointer
	addresses map[string]string             // JSON pointers by address, without or with an anchor
	err       error                         // the first error
}

// sketchOf returns the sketch of a schema. It fails where the compiler does for a reference or a
// pattern.
func sketchOf(definition any, d *document) (*jsonschema.Schema, error) {
	base, err := url.Parse(schemaURL)
	if err != nil {
		return nil, err
	}
	k := &sketch{
		root: definition, id: "$id", draft: 2020, sizes: d.sizes, made: make(map[string]*jsonschema.Schema, d.objects),
		bases: map[string]*url.URL{"": base}, addresses: map[string]string{schemaURL: ""},
	}
	if object, ok := definition.(map[string]any); ok {
		dialect, _ := object["$schema"].(string)
		for name, draft := range drafts {
			if strings.Contains(dialect, name) {
				k.draft = draft
			}
		}
		if k.draft == 4 {
			k.id = "id"
		}
	}
	if d.addresses > 0 {
		k.collect(definition, "", base)
	}
	s := k.schema(definition, "")
	return s, k.err
}

// collect records the addresses in a value of the schema.
func (k *sketch) collect(value any, at string, base *url.URL) {
	switch v := value.(type) {
	case map[string]any:
		id, _ := v[k.id].(string)
		anchors := []any{v["$anchor"], v["$dynamicAnchor"]}
		if address, anchor, _ := strings.Cut(id, "#"); address != "" {
			if joined, err := base.Parse(address); err == nil {
				base = joined
				k.bases[at], k.addresses[base.String()] = base, at
			}
		} else {
			anchors = append(anchors, anchor)
		}
		for _, anchor := range anchors {
			if name, _ := anchor.(string); name != "" {
				k.addresses[base.String()+"#"+name] = at
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if hasParts(v[name]) {
				k.collect(v[name], below(at, name), base)
			}
		}
	case []any:
		for i, inner := range v {
			if hasParts(inner) {
				k.collect(inner, below(at, strconv.Itoa(i)), base)
			}
		}
	}
}

// hasParts reports whether a value is an object or a list. The document bounds the bytes of the paths
// of these, and a sketch makes the paths of no other values.
func hasParts(value any) bool {
	switch value.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

var escaper, unescaper = strings.NewReplacer("~", "~0", "/", "~1"), strings.NewReplacer("~1", "/", "~0", "~")

// below returns the JSON pointer of a value inside another.
func below(at, name string) string { return at + "/" + escaper.Replace(name) }

// refer returns the sketch of what a reference at a place refers to.
func (k *sketch) refer(reference, at string) *jsonschema.Schema {
	for k.bases[at] == nil { // the root has one
		at = at[:strings.LastIndexByte(at, '/')]
	}
	target, err := k.bases[at].Parse(reference)
	if err != nil {
		return k.fail(errLost)
	}
	address, fragment := *target, target.Fragment
	address.Fragment, address.RawFragment = "", ""
	path := ""
	if fragment == "" || fragment[0] == '/' {
		path, fragment = fragment, ""
	} else {
		fragment = "#" + fragment
	}
	start, known := k.addresses[address.String()+fragment]
	if !known {
		return k.fail(errLost)
	}
	value, at := k.root, ""
	if path = start + path; path == "" {
		return k.schema(value, at)
	}
	for _, name := range strings.Split(path[1:], "/") {
		name = unescaper.Replace(name)
		isThere := false
		switch v := value.(type) {
		case map[string]any:
			value, isThere = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if isThere = err == nil && i >= 0 && i < len(v); isThere {
				value, name = v[i], strconv.Itoa(i)
			}
		}
		if !isThere {
			return k.fail(errLost)
		}
		at = below(at, name)
	}
	return k.schema(value, at)
}

func (k *sketch) fail(err error) *jsonschema.Schema {
	if k.err == nil {
		k.err = err
	}
	return anything
}

// schema returns the sketch of the schema at a place.
func (k *sketch) schema(value any, at string) *jsonschema.Schema {
	s, known := k.made[at]
	if known {
		return s
	}
	s = &jsonschema.Schema{}
	k.made[at] = s
	object, _ := value.(map[string]any)
	reference, refers := object["$ref"].(string)
	if refers {
		s.Ref = k.refer(reference, at)
	}
	condition, isThere := object["if"]
	for name, value := range object {
		switch first, last := since[name], until[name]; {
		case k.draft < first || last > 0 && k.draft > last:
		case refers && k.draft < 2019 && first == 0: // beside a $ref, no keyword of draft 4 counts
		case name == "then" && (!isThere || condition == false), name == "else" && (!isThere || condition == true):
		default:
			k.keyword(s, name, value, at)
		}
	}
	return s
}

func (k *sketch) keyword(s *jsonschema.Schema, name string, value any, at string) {
	switch name {
	case "$dynamicRef":
		s.DynamicRef = &jsonschema.DynamicRef{}
	case "$recursiveRef":
		s.RecursiveRef = anything
	case "not":
		s.Not = k.part(value, at, name)
	case "if":
		s.If = k.part(value, at, name)
	case "then":
		s.Then = k.part(value, at, name)
	case "else":
		s.Else = k.part(value, at, name)
	case "allOf":
		s.AllOf = k.list(value, at, name)
	case "anyOf":
		s.AnyOf = k.list(value, at, name)
	case "oneOf":
		s.OneOf = k.list(value, at, name)
	case "prefixItems":
		s.PrefixItems = k.list(value, at, name)
	case "items":
		if _, isList := value.([]any); isList && k.draft < 2020 {
			s.Items = k.list(value, at, name)
		} else {
			s.Items2020 = k.part(value, at, name)
		}
	case "additionalItems":
		s.AdditionalItems = k.part(value, at, name)
	case "unevaluatedItems":
		s.UnevaluatedItems = k.part(value, at, name)
	case "contains":
		s.Contains = k.part(value, at, name)
	case "properties":
		s.Properties = k.named(value, at, name)
	case "patternProperties":
		s.PatternProperties = make(map[jsonschema.Regexp]*jsonschema.Schema)
		for pattern, inner := range k.named(value, at, name) {
			s.PatternProperties[k.pattern(pattern)] = inner
		}
	case "additionalProperties":
		if _, isBool := value.(bool); !isBool {
			s.AdditionalProperties = k.part(value, at, name)
		}
	case "unevaluatedProperties":
		s.UnevaluatedProperties = k.part(value, at, name)
	case "propertyNames":
		s.PropertyNames = k.part(value, at, name)
	case "dependentSchemas":
		s.DependentSchemas = k.named(value, at, name)
	case "dependentRequired", "dependencies":
		dependencies, _ := value.(map[string]any)
		if s.Dependencies == nil {
			s.Dependencies = make(map[string]any, len(dependencies))
		}
		at = below(at, name)
		for property, dependency := range dependencies {
			if list, isList := dependency.([]any); isList {
				s.Dependencies[property] = make([]string, len(list))
			} else {
				s.Dependencies[property] = k.part(dependency, at, property)
			}
		}
	case "required":
		list, _ := value.([]any)
		s.Required = make([]string, len(list))
	case "enum":
		list, _ := value.([]any)
		s.Enum = &jsonschema.Enum{Values: list}
	case "const":
		s.Const = &value
	case "minimum":
		s.Minimum = rational(value)
	case "maximum":
		s.Maximum = rational(value)
	case "exclusiveMinimum":
		s.ExclusiveMinimum = rational(value)
	case "exclusiveMaximum":
		s.ExclusiveMaximum = rational(value)
	case "multipleOf":
		s.MultipleOf = rational(value)
	case "uniqueItems":
		s.UniqueItems = value == true
	case "format":
		s.Format = &jsonschema.Format{}
	case "pattern":
		text, _ := value.(string)
		s.Pattern = k.pattern(text)
	}
}

// part returns the sketch of a part of a schema. The compiler refuses a part that is not a schema.
func (k *sketch) part(value any, at, name string) *jsonschema.Schema {
	if _, isBool := value.(bool); !isBool && !hasParts(value) {
		return anything
	}
	return k.schema(value, below(at, name))
}

func (k *sketch) list(value any, at, name string) (schemas []*jsonschema.Schema) {
	list, _ := value.([]any)
	at = below(at, name)
	for i, inner := range list {
		schemas = append(schemas, k.part(inner, at, strconv.Itoa(i)))
	}
	return schemas
}

func (k *sketch) named(value any, at, name string) map[string]*jsonschema.Schema {
	object, _ := value.(map[string]any)
	schemas := make(map[string]*jsonschema.Schema, len(object))
	at = below(at, name)
	for name, inner := range object {
		schemas[name] = k.part(inner, at, name)
	}
	return schemas
}

// pattern returns a pattern that has a size and matches nothing.
func (k *sketch) pattern(text string) jsonschema.Regexp {
	size, known := k.sizes[text]
	if !known && text != "" {
		k.fail(errSyntax)
	}
	return &sizedPattern{size: size}
}

func rational(value any) *big.Rat {
	number, _ := value.(json.Number)
	r, _ := new(big.Rat).SetString(number.String())
	return r
}
