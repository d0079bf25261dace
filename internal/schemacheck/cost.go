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
	patterns := append(slices.Collect(maps.Keys(s.PatternProperties)), s.Pattern)
	for _, pattern := range patterns {
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
