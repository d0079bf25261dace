package toolsearch

import (
	"errors"
	"strings"
	"sync"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	textmessage "golang.org/x/text/message"
)

// Arguments of dispatched calls are checked against the tool's JSON schema, so that the
// model learns what is wrong from words and not from whatever the tool makes of it.

// schemas are the compiled schemas of a catalog, each compiled when it is first needed.
type schemas struct {
	mu       sync.Mutex
	compiled map[int]*jsonschema.Schema // by document; nil: it cannot be compiled
}

// Bounds on what is said of one call.
const (
	maxProblems     = 5
	maxProblemBytes = 1 << 10
)

// problem says what is wrong with a tool's arguments; "" if nothing is. A schema that is
// itself wrong forbids nothing.
func (s *schemas) problem(doc int, info *schema.ToolInfo, arguments string) string {
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return oneLine(err.Error(), maxProblemBytes)
	}
	compiled := s.of(doc, info)
	if compiled == nil {
		return ""
	}
	_, err = guard(func() (struct{}, error) { return struct{}{}, compiled.Validate(value) })
	var wrong *jsonschema.ValidationError
	if !errors.As(err, &wrong) {
		return "" // valid, or the validator failed
	}
	var problems []string
	collectProblems(wrong, &problems)
	return oneLine(strings.Join(problems, "; "), maxProblemBytes)
}

func (s *schemas) of(doc int, info *schema.ToolInfo) *jsonschema.Schema {
	s.mu.Lock()
	defer s.mu.Unlock()
	compiled, known := s.compiled[doc]
	if !known {
		compiled, _ = guard(func() (*jsonschema.Schema, error) { return compileSchema(schemaJSON(info)) })
		if s.compiled == nil {
			s.compiled = make(map[int]*jsonschema.Schema)
		}
		s.compiled[doc] = compiled
	}
	return compiled
}

func compileSchema(text string) (*jsonschema.Schema, error) {
	definition, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return nil, err
	}
	const url = "tool:///parameters"
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
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

// collectProblems gathers the problems at the leaves, which are the ones to mend.
func collectProblems(e *jsonschema.ValidationError, problems *[]string) {
	for _, cause := range e.Causes {
		collectProblems(cause, problems)
	}
	if len(e.Causes) == 0 && len(*problems) < maxProblems {
		at := ""
		if len(e.InstanceLocation) > 0 {
			at = "/" + strings.Join(e.InstanceLocation, "/") + ": "
		}
		*problems = append(*problems, at+e.ErrorKind.LocalizedString(textmessage.NewPrinter(language.English)))
	}
}
