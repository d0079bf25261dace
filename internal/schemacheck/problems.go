package schemacheck

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	problemkind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The texts of problems. The validator reports all problems as a tree, in the random order of maps. The model reads the
// first leaves of the tree, which are the problems to fix.

// Bounds on the problems reported for one call.
const (
	maxProblems     = 5
	maxProblemBytes = 200 // of each problem; some quote a value, which may be long
)

// problems writes out the first problems of a validation. It fails if the validator failed.
func problems(err error) (string, error) {
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return "", err
	}
	var texts []string
	for _, problem := range firstLeaves(nil, wrong.Causes) {
		texts = append(texts, problemText(problem))
	}
	return strings.Join(slices.Compact(texts), "; "), nil
}

// firstLeaves adds the leaves of trees to first, which stays sorted and at most maxProblems long.
func firstLeaves(first, trees []*jsonschema.ValidationError) []*jsonschema.ValidationError {
	for _, e := range trees {
		_, isOfName := e.ErrorKind.(*problemkind.PropertyNames)
		if len(e.Causes) > 0 && !isOfName {
			first = firstLeaves(first, e.Causes)
		} else if at, known := slices.BinarySearchFunc(first, e, compareProblems); !known {
			first = slices.Insert(first, at, e)
			first = first[:min(len(first), maxProblems)]
		}
	}
	return first
}

// compareProblems orders problems by their location, a value before the values inside it. Problems of the same keyword
// of the same schema with the same value are equal.
func compareProblems(a, b *jsonschema.ValidationError) int {
	return cmp.Or(
		slices.CompareFunc(a.InstanceLocation, b.InstanceLocation, compareNames),
		strings.Compare(a.SchemaURL, b.SchemaURL),
		slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()),
		strings.Compare(propertyName(a), propertyName(b)),
	)
}

// compareNames orders items by their number and properties by their name.
func compareNames(a, b string) int {
	number := func(name string) int {
		n, err := strconv.Atoi(name)
		if err != nil {
			return math.MaxInt
		}
		return n
	}
	return cmp.Or(cmp.Compare(number(a), number(b)), strings.Compare(a, b))
}

// propertyName is the property name that a problem is about, or "" if it is about a value.
func propertyName(e *jsonschema.ValidationError) string {
	if k, ok := e.ErrorKind.(*problemkind.PropertyNames); ok {
		return k.Property
	}
	return ""
}

func problemText(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *problemkind.AdditionalProperties:
		slices.Sort(k.Properties)
		k.Properties = k.Properties[:min(len(k.Properties), maxProblemBytes)] // more than there is room for
	case *problemkind.Pattern:
		k.Got = naming.Cut(k.Got, maxProblemBytes)
	case *problemkind.Format:
		if text, ok := k.Got.(string); ok {
			k.Got = naming.Cut(text, maxProblemBytes)
		}
	}
	text := e.ErrorKind.LocalizedString(textmessage.NewPrinter(language.English))
	if len(e.InstanceLocation) > 0 {
		text = "/" + strings.Join(e.InstanceLocation, "/") + ": " + text
	}
	if ofName := firstLeaves(nil, e.Causes); len(ofName) > 0 { // the problems of a property's name
		text += ": " + problemText(ofName[0])
	}
	return naming.OneLine(text, maxProblemBytes)
}
