package schemacheck

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/regexpcost"
)

// What checking arguments may cost. Schemas come from remote servers and the arguments from
// a model, and together they can ask for more work than there is time: where each of forty
// definitions refers to the next one twice, the last is looked at 2^40 times, and the number
// 1e1000000 takes 0.2 s to read. The validator cannot be stopped. So what it would do is
// counted beforehand, at about 0.5 µs a step, and too much of it is not done: as with a
// schema that is wrong, the tool is left to judge for itself.

const (
	maxEffort       = 1 << 17   // steps of one check
	maxEffortDepth  = 256       // of references, arguments and schemas in one another
	maxSchemaBytes  = 256 << 10 // of a schema that is compiled
	maxNumberDigits = 400       // written out, the exponent's zeros included; a float64 has 309 at most
	maxSchemaParts  = 1 << 16   // schemas in a schema that is written out
	effortPerByte   = 50        // instructions of a pattern that run on a byte in one step
)

var (
	errTooCostly  = errors.New("it takes too long to validate")
	errTooDeep    = fmt.Errorf("it is nested more than %d deep", maxEffortDepth)
	errLongNumber = fmt.Errorf("it has a number of more than %d digits", maxNumberDigits)
)

// effort is what is left of maxEffort.
type effort int

// allows counts what checking value against s takes, as the validator goes about it, and
// reports whether that is allowed.
func (e *effort) allows(s *jsonschema.Schema, value any, depth int) bool {
	if s == nil || s.Bool != nil {
		return true
	}
	*e--
	if s.Enum != nil {
		*e -= effort(len(s.Enum.Values))
	}
	// What a dynamic reference refers to is known only on the way.
	if *e < 0 || depth > maxEffortDepth || s.DynamicRef != nil || s.RecursiveRef != nil {
		return false
	}
	for _, same := range [...]*jsonschema.Schema{s.Ref, s.Not, s.If, s.Then, s.Else} {
		if !e.allows(same, value, depth+1) {
			return false
		}
	}
	for _, list := range [...][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		for _, same := range list {
			if !e.allows(same, value, depth+1) {
				return false
			}
		}
	}
	switch v := value.(type) {
	case map[string]any:
		return e.allowsObject(s, v, depth+1)
	case []any:
		return e.allowsArray(s, v, depth+1)
	case string:
		return e.allowsMatch(s.Pattern, v)
	default:
		return true
	}
}

func (e *effort) allowsObject(s *jsonschema.Schema, object map[string]any, depth int) bool {
	for _, same := range s.DependentSchemas {
		if !e.allows(same, object, depth) {
			return false
		}
	}
	for _, dependency := range s.Dependencies {
		if same, ok := dependency.(*jsonschema.Schema); ok && !e.allows(same, object, depth) {
			return false
		}
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for name, value := range object {
		*e--
		for _, one := range [...]*jsonschema.Schema{s.Properties[name], additional, s.UnevaluatedProperties} {
			if !e.allows(one, value, depth) {
				return false
			}
		}
		for pattern, one := range s.PatternProperties {
			if !e.allowsMatch(pattern, name) || !e.allows(one, value, depth) {
				return false
			}
		}
		if !e.allows(s.PropertyNames, name, depth) {
			return false
		}
	}
	return true
}

func (e *effort) allowsArray(s *jsonschema.Schema, array []any, depth int) bool {
	items := []*jsonschema.Schema{s.Items2020, s.Contains, s.UnevaluatedItems}
	for _, more := range [...]any{s.Items, s.AdditionalItems} {
		if one, ok := more.(*jsonschema.Schema); ok {
			items = append(items, one)
		}
	}
	byPlace, _ := s.Items.([]*jsonschema.Schema)
	if s.UniqueItems {
		*e -= effort(4 * len(array))
	}
	for i, value := range array {
		*e--
		for _, one := range items {
			if !e.allows(one, value, depth) {
				return false
			}
		}
		for _, places := range [...][]*jsonschema.Schema{s.PrefixItems, byPlace} {
			if i < len(places) && !e.allows(places[i], value, depth) {
				return false
			}
		}
	}
	return true
}

func (e *effort) allowsMatch(pattern jsonschema.Regexp, text string) bool {
	if sized, ok := pattern.(*sizedPattern); ok {
		*e -= effort(1 + len(text)*sized.size/effortPerByte)
	}
	return *e >= 0
}

// sizedPattern is a pattern in a schema, with the number of its instructions.
type sizedPattern struct {
	*regexp.Regexp
	size int
}

// compilePattern is the jsonschema.RegexpEngine. Patterns for which Go has no syntax, such
// as look-ahead, cannot be compiled, and neither can a schema that has one.
func compilePattern(text string) (jsonschema.Regexp, error) {
	parsed, err := regexpcost.Parse(text)
	if err != nil {
		return nil, err
	}
	size := regexpcost.Size(parsed)
	if size > regexpcost.Max {
		return nil, errTooCostly
	}
	pattern, err := regexp.Compile(text)
	if err != nil {
		return nil, err
	}
	return &sizedPattern{pattern, size}, nil
}

// checkPlain fails on JSON that is nested too deep, or has a number too long to reckon with.
func checkPlain(value any, depth int) error {
	if depth > maxEffortDepth {
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
		digits, exponent, _ := strings.Cut(strings.ToLower(v.String()), "e")
		zeros, err := strconv.Atoi("0" + strings.TrimLeft(exponent, "+-"))
		if err != nil || len(digits)+zeros > maxNumberDigits {
			return errLongNumber
		}
	}
	return nil
}
