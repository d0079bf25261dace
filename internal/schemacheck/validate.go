package schemacheck

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
	problemkind "github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Validation that stops. The library's validator collects every problem and takes no context. So it
// is asked about one value and one schema at a time, without the values inside and without the
// schemas of $ref and allOf. The walk over these stops at the last problem to report, and when the
// context is done. Where schemas depend on one another (anyOf, oneOf, not, if, contains,
// patternProperties, dependent and unevaluated keywords), the validator is asked about the whole,
// which the cost bounds.

// shells says how each schema is validated.
type shells map[*jsonschema.Schema]shell

// shell is a schema in parts. The walk asks the validator about each.
type shell struct {
	// own is the schema without same, and with any value allowed for its properties and items. Nil
	// means that nothing is left.
	own *jsonschema.Schema

	same       []*jsonschema.Schema // $ref and allOf: these apply to the same value
	additional *jsonschema.Schema   // of the unnamed properties, nil if own has it
}

var anything = &jsonschema.Schema{Bool: new(bool)}

func init() { *anything.Bool = true }

func (s shells) add(whole *jsonschema.Schema) {
	if whole.Ref != nil && whole.DraftVersion < 2019 { // in those drafts, only the reference counts
		s[whole] = shell{same: []*jsonschema.Schema{whole.Ref}}
		return
	}
	own := *whole
	parts := shell{own: &own}
	if len(whole.Properties) > 0 {
		own.Properties = make(map[string]*jsonschema.Schema, len(whole.Properties))
		for name := range whole.Properties {
			own.Properties[name] = anything
		}
	}
	if additional, ok := whole.AdditionalProperties.(*jsonschema.Schema); ok && len(whole.PatternProperties) == 0 {
		parts.additional, own.AdditionalProperties = additional, anything
	}
	if itemsOf(whole) != nil {
		if own.Items2020 != nil {
			own.Items2020 = anything
		} else {
			own.Items = anything
		}
	}
	if whole.UnevaluatedProperties == nil && whole.UnevaluatedItems == nil { // otherwise own must know what same has looked at
		if whole.Ref != nil {
			parts.same = append(parts.same, whole.Ref)
		}
		parts.same = append(parts.same, whole.AllOf...)
		own.Ref, own.AllOf = nil, nil
	}
	s[whole] = parts
}

// itemsOf returns the schema of all items of a list, or nil if there is none.
func itemsOf(s *jsonschema.Schema) *jsonschema.Schema {
	if s.Items2020 != nil {
		return s.Items2020
	}
	items, _ := s.Items.(*jsonschema.Schema)
	return items
}

// validation is one validation of arguments.
type validation struct {
	ctx    context.Context
	shells shells
	found  []*jsonschema.ValidationError // at most maxProblems, in the order of the walk
	path   []string                      // of the current value
}

// errEnough ends a validation that has found enough problems.
var errEnough = errors.New("enough problems")

// value validates a value. It fails if the context is done, if the validator fails, and at
// the last problem to report.
func (v *validation) value(schema *jsonschema.Schema, value any) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	parts, known := v.shells[schema]
	if !known {
		parts.own = schema
	}
	if parts.own != nil {
		if isDone, err := v.own(parts.own, value); isDone || err != nil {
			return err
		}
	}
	for _, same := range parts.same {
		if err := v.value(same, value); err != nil {
			return err
		}
	}
	if !known {
		return nil
	}
	switch inner := value.(type) {
	case map[string]any:
		return v.properties(schema, parts.additional, inner)
	case []any:
		items := itemsOf(schema)
		if items == nil {
			return nil
		}
		for i := min(len(schema.PrefixItems), len(inner)); i < len(inner); i++ {
			if err := v.inside(strconv.Itoa(i), items, inner[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// own asks the validator about a value. It reports whether the value is wrong as a whole, so that
// the validator looks at nothing inside.
func (v *validation) own(schema *jsonschema.Schema, value any) (isDone bool, err error) {
	_, err = foreign.Guard(func() (struct{}, error) { return struct{}{}, schema.Validate(value) })
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return false, err
	}
	if len(wrong.Causes) == 1 && wrong.Causes[0].SchemaURL == schema.Location {
		switch wrong.Causes[0].ErrorKind.(type) {
		case *problemkind.Type, *problemkind.Const, *problemkind.Enum, *problemkind.Format, *problemkind.FalseSchema:
			isDone = true
		}
	}
	if v.add(wrong); len(v.found) == maxProblems {
		return true, errEnough
	}
	return isDone, nil
}

// properties validates the values in an object, the properties in the order of their names.
func (v *validation) properties(schema, additional *jsonschema.Schema, object map[string]any) error {
	var names []string
	for name := range object {
		if _, named := schema.Properties[name]; named || additional != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if err := v.inside(name, cmp.Or(schema.Properties[name], additional), object[name]); err != nil {
			return err
		}
	}
	return nil
}

// inside validates a value inside the current value.
func (v *validation) inside(name string, schema *jsonschema.Schema, value any) error {
	v.path = append(v.path, name)
	defer func() { v.path = v.path[:len(v.path)-1] }()
	return v.value(schema, value)
}

// add adds the first problems of the current value, sorted, unless they were found before: a schema
// may apply to a value more than once.
func (v *validation) add(wrong *jsonschema.ValidationError) {
	var first []*jsonschema.ValidationError
	addLeaves(wrong, &first)
	for _, leaf := range first {
		leaf.InstanceLocation = slices.Concat(v.path, leaf.InstanceLocation)
		isKnown := slices.ContainsFunc(v.found, func(known *jsonschema.ValidationError) bool { return compareProblems(known, leaf) == 0 })
		if !isKnown && len(v.found) < maxProblems {
			v.found = append(v.found, leaf)
		}
	}
}
