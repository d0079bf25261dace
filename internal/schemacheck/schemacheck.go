// Package schemacheck checks the arguments of dispatched calls against the tool's JSON
// schema, within bounds, so that the model learns what is wrong from words and not from
// whatever the tool makes of it.
package schemacheck

import (
	"cmp"
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

// A Checker is the compiled schemas of a catalog, each compiled when it is first needed. It
// is safe for concurrent use, and no call waits for the schema of another tool.
type Checker struct {
	mu   sync.Mutex
	kept map[int]*compiled // by document
	size int               // of the schemas in kept, in bytes
}

// compiled is a schema, once it is compiled.
type compiled struct {
	once   sync.Once
	schema *jsonschema.Schema
	states *state
	err    error // why nothing is checked against it
}

// What compiled schemas take, about, in bytes, measured.
const (
	maxKept      = 64 << 20 // of all; then they are forgotten, and compiled again when needed
	minKept      = 500
	schemaBytes  = 4    // for each byte of the text
	objectBytes  = 1000 // for each object in it
	patternBytes = 100  // for each instruction of its patterns
)

// Bounds on what is said of one call.
const (
	maxProblems     = 5
	maxProblemBytes = 200 // of each; some quote what is wrong, and that may be long
)

// Problem says what is wrong with a tool's arguments, the first five things of it; "" if
// nothing is. Unchecked says why the arguments were not held against the schema, where it is
// itself wrong or something is beyond the bounds: then nothing is forbidden but what no tool
// takes.
func (c *Checker) Problem(doc int, info *schema.ToolInfo, arguments string) (problem string, unchecked error) {
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
	_, err = foreign.Guard(func() (struct{}, error) { return struct{}{}, s.schema.Validate(value) })
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return "", err // nil, or the validator failed
	}
	return problemsOf(wrong), nil
}

// of returns a tool's schema. Only calls of the same tool wait while it is compiled.
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

// compile makes what is checked against of a tool's schema, and returns about how large that
// is.
func (s *compiled) compile(info *schema.ToolInfo) (size int, err error) {
	text, err := written(info)
	switch {
	case err != nil:
		return 0, err
	case len(text) > maxSchemaBytes:
		return 0, errLargeSchema
	}
	definition, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return 0, err
	}
	var d document
	if err := d.add(definition, 0, 0); err != nil {
		return 0, err
	}
	const url = "tool:///parameters"
	var p patterns
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(p.compile)
	if err := c.AddResource(url, definition); err != nil {
		return 0, errWrongSchema
	}
	compiled, err := c.Compile(url)
	switch { // the compiler's error may be longer than the schema
	case p.beyond:
		return 0, errPatterns
	case err != nil:
		return 0, errWrongSchema
	}
	states, err := statesOf(compiled)
	if err != nil {
		return 0, err
	}
	s.schema, s.states = compiled, states
	return schemaBytes*len(text) + objectBytes*d.objects + patternBytes*p.size, nil
}

// noLoader keeps a schema from a remote server from having files or addresses read.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas of tools refer to nothing outside")
}

// problemsOf writes out the first problems at the leaves, which are the ones to mend. They
// come in the order of maps, and there may be very many.
func problemsOf(e *jsonschema.ValidationError) string {
	var first []*jsonschema.ValidationError
	addLeaves(e, &first)
	texts := make([]string, len(first))
	for i, leaf := range first {
		texts[i] = problemText(leaf)
	}
	return strings.Join(slices.Compact(texts), "; ")
}

// addLeaves adds the leaves to the first ones, which stay in order and few.
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

// compareProblems orders problems by where they are, what is inside before what holds it.
// Equal are problems of the same keyword of the same schema with the same value.
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

// propertyName is the name that a problem is with, "" where it is with a value.
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
