// Package schemacheck checks the arguments of dispatched calls against the tool's JSON
// schema, within bounds. So the model reads what is wrong, and does not have to guess it
// from the tool's failure.
package schemacheck

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	problemkind "github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A Checker holds the compiled schemas of a catalog. It compiles each schema when it is
// first needed. It is safe for concurrent use, and no call waits for the schema of another
// tool.
type Checker struct {
	mu   sync.Mutex
	kept map[int]*compiled // by document
	size int               // of the schemas in kept, in bytes
}

// compiled is a schema that is compiled once.
type compiled struct {
	once   sync.Once
	schema *jsonschema.Schema
	shells shells
	states *state
	err    error // why nothing is checked against the schema
}

// The approximate memory of compiled schemas in bytes, measured.
const (
	maxKept      = 64 << 20 // of all schemas; beyond it they are dropped, and compiled again when needed
	minKept      = 500
	schemaBytes  = 4    // for each byte of the text
	objectBytes  = 1800 // for each object in it
	patternBytes = 400  // for each instruction of its patterns; patterns with ^ and $ may be kept twice
)

// Bounds on the problems reported for one call.
const (
	maxProblems     = 5
	maxProblemBytes = 200 // of each problem; some quote a value, which may be long
)

// Problem returns the first five problems of a tool's arguments, in the order of a walk: a schema's own
// demands on a value, its demands through $ref and allOf, and the values inside. It looks for no more
// than five, and stops when ctx is done. An empty problem means that none was found. Unchecked says why
// the arguments were not checked against the schema: the schema is wrong, something is beyond the
// bounds, or ctx is done. problem is then empty.
func (c *Checker) Problem(ctx context.Context, doc int, info *schema.ToolInfo, arguments string) (problem string, unchecked error) {
	marks := 0
	for _, mark := range [...]string{",", "{", "["} {
		marks += strings.Count(arguments, mark)
	}
	if len(arguments) > maxArgumentBytes || marks > maxArgumentMarks {
		return "", errLargeArguments
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return naming.OneLine("not valid JSON: "+err.Error(), maxProblemBytes), nil
	}
	if _, isObject := value.(map[string]any); !isObject {
		return "want an object", nil
	}
	if err := checkPlain(value, 0); err != nil {
		return err.Error(), nil
	}
	s := c.of(doc, info)
	if s.err != nil {
		return "", s.err
	}
	var cost check
	if cost.add(s.states, value, 0); cost.cost > maxCost {
		return "", errCostly
	}
	v := validation{ctx: ctx, shells: s.shells}
	if err := v.value(s.schema, value); err != nil && err != errEnough {
		return "", err
	}
	return problemsOf(v.found), nil
}

// of returns a tool's schema. Only calls of the same tool wait for its compilation.
func (c *Checker) of(doc int, info *schema.ToolInfo) *compiled {
	c.mu.Lock()
	s, known := c.kept[doc]
	if !known {
		if c.kept == nil {
			c.kept = make(map[int]*compiled)
		}
		s = &compiled{}
		c.kept[doc] = s
	}
	c.mu.Unlock()
	s.once.Do(func() {
		size, err := foreign.Guard(func() (int, error) { return s.compile(info) })
		s.err = err
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.size += size + minKept; c.size > maxKept {
			c.kept, c.size = map[int]*compiled{doc: s}, size+minKept
		}
	})
	return s
}

const schemaURL = "tool:///parameters" // the address of each schema

// compile compiles a tool's schema, and returns the approximate size of the result in
// memory.
func (s *compiled) compile(info *schema.ToolInfo) (size int, err error) {
	definition, d, err := bounded(info)
	if err != nil {
		return 0, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(newPatterns(&d).compile)
	if err := c.AddResource(schemaURL, definition); err != nil {
		return 0, errWrongSchema
	}
	compiled, err := c.Compile(schemaURL)
	if err != nil { // the compiler's error may be longer than the schema
		return 0, errWrongSchema
	}
	if s.states, s.shells, err = statesOf(compiled); err != nil {
		return 0, err
	}
	s.schema = compiled
	return schemaBytes*d.bytes + objectBytes*d.objects + patternBytes*d.patternSize, nil
}

// noLoader loads nothing. A schema from a remote server must not make the program read
// files or addresses.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas of tools cannot refer to anything outside")
}

// problemsOf writes out problems.
func problemsOf(found []*jsonschema.ValidationError) string {
	texts := make([]string, len(found))
	for i, problem := range found {
		texts[i] = problemText(problem)
	}
	return strings.Join(slices.Compact(texts), "; ")
}

// addLeaves adds the leaves to first, which stays sorted and at most maxProblems long. The
// leaves are the problems to fix. They come in the random order of maps.
func addLeaves(e *jsonschema.ValidationError, first *[]*jsonschema.ValidationError) {
	_, ofName := e.ErrorKind.(*problemkind.PropertyNames)
	if len(e.Causes) > 0 && !ofName {
		for _, cause := range e.Causes {
			addLeaves(cause, first)
		}
		return
	}
	at, known := slices.BinarySearchFunc(*first, e, compareProblems)
	if known || at == maxProblems {
		return
	}
	*first = slices.Insert(*first, at, e)
	*first = (*first)[:min(len(*first), maxProblems)]
}

// compareProblems orders problems by their location. Inner values come before the values
// that contain them. Problems of the same keyword of the same schema with the same value are
// equal.
func compareProblems(a, b *jsonschema.ValidationError) int {
	at, other := a.InstanceLocation, b.InstanceLocation
	shared := min(len(at), len(other))
	for _, n := range [...]int{slices.Compare(at[:shared], other[:shared]), cmp.Compare(len(other), len(at)), strings.Compare(a.SchemaURL, b.SchemaURL)} {
		if n != 0 {
			return n
		}
	}
	return cmp.Or(slices.Compare(a.ErrorKind.KeywordPath(), b.ErrorKind.KeywordPath()), strings.Compare(propertyName(a), propertyName(b)))
}

// propertyName is the property name that a problem is about, or "" if it is about a value.
func propertyName(e *jsonschema.ValidationError) string {
	if k, ok := e.ErrorKind.(*problemkind.PropertyNames); ok {
		return k.Property
	}
	return ""
}

// firstNames returns the first names in sorted order, more than a problem has room for.
func firstNames(names []string) (first []string) {
	const most = maxProblemBytes / len(`'', `)
	for _, name := range names {
		if at, _ := slices.BinarySearch(first, name); at < most {
			first = slices.Insert(first, at, name)
			first = first[:min(len(first), most)]
		}
	}
	return first
}

func problemText(e *jsonschema.ValidationError) string {
	switch k := e.ErrorKind.(type) {
	case *problemkind.AdditionalProperties:
		k.Properties = firstNames(k.Properties)
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
	if len(e.Causes) > 0 { // of a property's name
		var first []*jsonschema.ValidationError
		for _, cause := range e.Causes {
			addLeaves(cause, &first)
		}
		if len(first) > 0 {
			text += ": " + problemText(first[0])
		}
	}
	return naming.OneLine(text, maxProblemBytes)
}
