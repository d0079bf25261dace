package schemacheck

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Validation that stops. The validator of the library collects every problem and takes no
// context. So it is asked about one value at a time, without the values inside, and the walk
// over the values stops at the last problem to tell and when the context is done.

// shells has each schema of an object or a list without the schemas of its properties and
// items: any value may stand there.
type shells map[*jsonschema.Schema]*jsonschema.Schema

var anything = &jsonschema.Schema{Bool: new(bool)}

func init() { *anything.Bool = true }

func (s shells) add(whole *jsonschema.Schema) {
	if whole.Ref != nil && whole.DraftVersion < 2019 {
		return // a reference alone counts, in those drafts
	}
	shell := *whole
	if len(whole.Properties) > 0 {
		shell.Properties = make(map[string]*jsonschema.Schema, len(whole.Properties))
		for name := range whole.Properties {
			shell.Properties[name] = anything
		}
	}
	if itemsOf(whole) != nil {
		if shell.Items2020 != nil {
			shell.Items2020 = anything
		} else {
			shell.Items = anything
		}
	}
	s[whole] = &shell
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
	path   []string                      // of the value at hand
}

// errEnough ends a validation that has found enough problems.
var errEnough = errors.New("enough problems")

// value validates a value. It fails if the context is done, if the validator fails, and at
// the last problem to tell.
func (v *validation) value(schema *jsonschema.Schema, value any) error {
	if err := v.ctx.Err(); err != nil {
		return err
	}
	shell, walked := v.shells[schema]
	if !walked {
		shell = schema
	}
	_, err := foreign.Guard(func() (struct{}, error) { return struct{}{}, shell.Validate(value) })
	var wrong *jsonschema.ValidationError
	switch {
	case errors.As(err, &wrong):
		if v.add(wrong); len(v.found) == maxProblems {
			return errEnough
		}
	case err != nil:
		return err
	}
	if !walked {
		return nil
	}
	switch inner := value.(type) {
	case map[string]any:
		names := make([]string, 0, min(len(inner), len(schema.Properties)))
		for name := range inner {
			if _, named := schema.Properties[name]; named {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		for _, name := range names {
			if err := v.inside(name, schema.Properties[name], inner[name]); err != nil {
				return err
			}
		}
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

// inside validates a value inside the value at hand.
func (v *validation) inside(name string, schema *jsonschema.Schema, value any) error {
	v.path = append(v.path, name)
	defer func() { v.path = v.path[:len(v.path)-1] }()
	return v.value(schema, value)
}

// add adds the first problems of the value at hand, sorted.
func (v *validation) add(wrong *jsonschema.ValidationError) {
	var first []*jsonschema.ValidationError
	addLeaves(wrong, &first)
	for _, leaf := range first[:min(len(first), maxProblems-len(v.found))] {
		leaf.InstanceLocation = slices.Concat(v.path, leaf.InstanceLocation)
		v.found = append(v.found, leaf)
	}
}
