// Package schemacheck checks the arguments of dispatched calls against the tool's JSON
// schema, within bounds, so that the model learns what is wrong from words and not from
// whatever the tool makes of it.
package schemacheck

import (
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

// A Checker is the compiled schemas of a catalog, each compiled when it is first needed.
type Checker struct {
	mu       sync.Mutex
	compiled map[int]*jsonschema.Schema // by document; nil: it cannot be compiled
}

// Bounds on what is said of one call.
const (
	maxProblems     = 5
	maxProblemBytes = 200 // of each; some quote what is wrong, and that may be long
)

// Problem says what is wrong with a tool's arguments; "" if nothing is. A schema that is
// itself wrong, or would take too long, forbids nothing but what no tool takes.
func (s *Checker) Problem(doc int, info *schema.ToolInfo, arguments string) string {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return naming.OneLine("not valid JSON: "+err.Error(), maxProblemBytes)
	}
	if _, isObject := value.(map[string]any); !isObject {
		return "want an object"
	}
	if err := checkPlain(value, 0); err != nil {
		return err.Error()
	}
	compiled, budget := s.of(doc, info), effort(maxEffort)
	if compiled == nil || !budget.allows(compiled, value, 0) {
		return ""
	}
	_, err = foreign.Guard(func() (struct{}, error) { return struct{}{}, compiled.Validate(value) })
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return "" // valid, or the validator failed
	}
	problems := problemsOf(wrong, nil)
	slices.Sort(problems) // they come in the order of maps
	problems = slices.Compact(problems)
	return strings.Join(problems[:min(len(problems), maxProblems)], "; ")
}

func (s *Checker) of(doc int, info *schema.ToolInfo) *jsonschema.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	compiled, known := s.compiled[doc]
	if !known {
		compiled, _ = foreign.Guard(func() (*jsonschema.Schema, error) { return compileSchema(JSON(info)) })
		if s.compiled == nil {
			s.compiled = make(map[int]*jsonschema.Schema)
		}
		s.compiled[doc] = compiled
	}
	return compiled
}

func compileSchema(text string) (*jsonschema.Schema, error) {
	if len(text) > maxSchemaBytes {
		return nil, errTooCostly
	}
	definition, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	if err := checkPlain(definition, 0); err != nil {
		return nil, err
	}
	const url = "tool:///parameters"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(compilePattern)
	if err := c.AddResource(url, definition); err != nil {
		return nil, err
	}
	return c.Compile(url)
}

// noLoader keeps a schema from a remote server from having files or addresses read.
type noLoader struct{}

// Load implements jsonschema.URLLoader.
func (noLoader) Load(string) (any, error) {
	return nil, errors.New("schemas of tools refer to nothing outside")
}

// problemsOf adds the problems at the leaves, which are the ones to mend.
func problemsOf(e *jsonschema.ValidationError, problems []string) []string {
	for _, cause := range e.Causes {
		problems = problemsOf(cause, problems)
	}
	if len(e.Causes) > 0 {
		return problems
	}
	if extra, ok := e.ErrorKind.(*problemkind.AdditionalProperties); ok {
		slices.Sort(extra.Properties)
	}
	at := ""
	if len(e.InstanceLocation) > 0 {
		at = "/" + strings.Join(e.InstanceLocation, "/") + ": "
	}
	return append(problems, naming.OneLine(at+e.ErrorKind.LocalizedString(textmessage.NewPrinter(language.English)), maxProblemBytes))
}
