package schemacheck

import (
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// The cost of checking arguments against a schema. Before the validator runs, a walk over the arguments
// and the compiled schema counts the steps that it may take: it goes wherever the validator goes, through
// references and into values, and ends when the budget is spent. Steps are about 0.5 µs and 600 bytes.

const (
	maxCost     = 50_000 // steps of one check
	shortList   = 20     // in a list of up to this length, the validator compares every two items
	regexpUnit  = 32     // instructions of a pattern times bytes of a text, in a step
	numberSize  = 8      // a number is compared as a fraction, which takes longer than for any other value
	stringUnit  = 128    // bytes of a string that are compared as fast as a value
	formatUnit  = 32     // bytes of a string that are checked against a format in a step
	copyUnit    = 256    // bytes of a string that are copied in a step
	lookups     = 4      // values of an object that are looked up in a step
	namesInStep = 4
	nameCost    = 3  // of each name that is checked by itself; the validator starts anew for it
	formatCost  = 3  // of each string that is checked against a format
	unevalCost  = 4  // of a schema for which the validator records every item and property
	depthUnit   = 32 // of values inside values and references to references; each problem records its whole path
)

var errCostly = errors.New("the arguments take too long to check against the schema")

// budget is how many steps a check may still take.
type budget int

// spend counts the steps of a schema with a value, until the budget is spent. Uneval says that the
// validator records which items and properties of the value the schema looks at.
func (b *budget) spend(s *jsonschema.Schema, value any, depth int, uneval bool) {
	if *b < 0 {
		return
	}
	if s.DynamicRef != nil || s.RecursiveRef != nil {
		*b = -1 // their targets are known only during validation
		return
	}
	visit := 1
	if uneval = uneval || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil; uneval {
		visit = unevalCost
	}
	*b -= budget(visit*ownCost(s)*(1+depth/depthUnit) + valueCost(s, value, visit))
	same := schemas(s.Ref, s.Not, s.If, s.Then, s.Else, s.AllOf, s.AnyOf, s.OneOf)
	same = slices.AppendSeq(same, maps.Values(s.DependentSchemas))
	for _, dependency := range s.Dependencies {
		same = append(same, schemas(dependency)...)
	}
	for _, inner := range same {
		b.spend(inner, value, depth+1, uneval)
	}
	switch v := value.(type) {
	case map[string]any:
		every := slices.AppendSeq(schemas(s.UnevaluatedProperties), maps.Values(s.PatternProperties))
		for name, value := range v {
			if s.PropertyNames != nil {
				b.spend(s.PropertyNames, name, depth+1, false)
			}
			own := s.AdditionalProperties
			if inner, isNamed := s.Properties[name]; isNamed {
				own = inner
			}
			b.inside(value, depth, schemas(own, every))
		}
	case []any:
		every, places := schemas(s.Items2020, s.Contains, s.UnevaluatedItems, s.AdditionalItems), s.PrefixItems
		switch items := s.Items.(type) {
		case *jsonschema.Schema:
			every = append(every, items)
		case []*jsonschema.Schema:
			places = items
		}
		for i, value := range v {
			b.inside(value, depth, every)
			if i < len(places) {
				b.spend(places[i], value, depth+1, false)
			}
		}
	}
}

func (b *budget) inside(value any, depth int, list []*jsonschema.Schema) {
	for _, s := range list {
		b.spend(s, value, depth+1, false)
	}
}

// schemas returns the schemas among the values of keywords.
func schemas(values ...any) (list []*jsonschema.Schema) {
	for _, value := range values {
		switch v := value.(type) {
		case *jsonschema.Schema:
			if v != nil {
				list = append(list, v)
			}
		case []*jsonschema.Schema:
			list = append(list, v...)
		}
	}
	return list
}

// ownCost is the cost of a schema for any value, with the visit.
func ownCost(s *jsonschema.Schema) int {
	names, values := len(s.Required)+len(s.DependentRequired)+len(s.Dependencies), 0
	for _, list := range s.DependentRequired {
		names += len(list)
	}
	for _, dependency := range s.Dependencies {
		if list, ok := dependency.([]string); ok {
			names += len(list)
		}
	}
	cost := 1 + (names+namesInStep-1)/namesInStep
	for _, limit := range [...]*big.Rat{s.Minimum, s.Maximum, s.ExclusiveMinimum, s.ExclusiveMaximum, s.MultipleOf} {
		if limit != nil {
			cost += 2 + (limit.Num().BitLen()+limit.Denom().BitLen())/64
		}
	}
	if s.Enum != nil {
		values = sizeOf(s.Enum.Values)
	}
	if s.Const != nil {
		values += sizeOf(*s.Const)
	}
	return cost + values/lookups
}

// valueCost is the cost of a value for a schema, without the values inside. A visit copies the value, or
// looks at it.
func valueCost(s *jsonschema.Schema, value any, visit int) (cost int) {
	switch v := value.(type) {
	case map[string]any:
		cost = visit * len(v) / lookups
		if s.PropertyNames != nil {
			cost += nameCost * len(v)
		}
		if len(s.PatternProperties) > 0 {
			match := 0
			for pattern := range s.PatternProperties {
				match += sizeOfPattern(pattern)
			}
			for name := range v {
				cost += match * (len(name) + 16) / regexpUnit
			}
		}
	case []any:
		if visit > 1 {
			cost = visit * len(v) / lookups
		}
		if s.UniqueItems {
			compared := 3 // each item is hashed, and compared with an item of the same hash
			if len(v) <= shortList {
				compared = len(v)
			}
			cost += sizeOf(v) * compared / lookups
		}
	case string:
		cost = visit*len(v)/copyUnit + sizeOfPattern(s.Pattern)*(len(v)+16)/regexpUnit
		if s.Format != nil {
			cost += formatCost + len(v)/formatUnit
		}
	case json.Number:
		cost = visit * (digits(v) + 16) / 32 // a schema of integers or with limits parses the number
	}
	return cost
}

func sizeOfPattern(pattern jsonschema.Regexp) int {
	if sized, ok := pattern.(*sizedPattern); ok {
		return sized.size
	}
	return 0
}

// sizeOf is the size of a value for comparisons.
func sizeOf(value any) int {
	size := 1
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			size += len(name)/stringUnit + sizeOf(inner)
		}
	case []any:
		for _, inner := range v {
			size += sizeOf(inner)
		}
	case string:
		size += len(v) / stringUnit
	case json.Number:
		size = numberSize + digits(v)/16
	}
	return size
}
