// Package schemacheck checks the arguments of dispatched calls against the tool's JSON schema, within bounds. So the
// model reads what is wrong, and does not have to guess it from the tool's failure.
//
// Three walks keep the bounds, because each goes through another tree. document.add weighs a schema as JSON before
// it is compiled, and sees keywords that Eino's type of a schema does not know. budget.spend follows arguments and
// the compiled schema together, through references, before the validator runs. printer goes through Eino's type of
// a schema before it is written as JSON, which may be too large to write, or without end.
package schemacheck

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Neither the compiler nor the validator can be stopped. So both run behind a gate too, which a call waits for no
// longer than maxDuration. Arguments that are nested too deep, or have too long a number, are refused. Others beyond a
// bound, or for a schema beyond a bound, reach the tool unchecked. So no check takes more than about 100 ms or 64 MB.

const (
	maxDepth        = 256 // of nested arguments
	maxNumberDigits = 400 // written out, including the exponent's zeros; a float64 has 309 at most

	// Bounds on arguments. Marks are commas, braces and brackets: each value has one. An object with one name takes 300
	// bytes in memory and 8 in the text.
	maxArgumentBytes = 1 << 20
	maxArgumentMarks = 1 << 15

	maxDuration = 5 * time.Second // of one check; only a machine at its limits needs more than 100 ms
)

var (
	errLongNumber     = fmt.Errorf("it has a number of more than %d digits", maxNumberDigits)
	errLargeArguments = errors.New("the arguments are too large to be checked")
	errWrongSchema    = errors.New("the schema is wrong")
)

// A Checker holds the compiled schemas of a catalog, each compiled when it is first needed. It is safe for concurrent
// use, and no call waits for the schema of another tool.
type Checker struct {
	kept sync.Map     // document -> *checked
	size atomic.Int64 // of the schemas in kept, in bytes
}

// checked is a tool whose arguments are checked. What goes through the gate reads and writes the fields.
type checked struct {
	gate   foreign.Gate // of one call, so that a check that hangs occupies one goroutine
	schema *jsonschema.Schema
	err    error // why nothing is checked against the schema; both nil mean that it was not read yet
}

// The approximate memory of compiled schemas in bytes, measured.
const (
	maxKept     = 64 << 20 // of all schemas; beyond it they are dropped, and compiled again when needed
	minKept     = 1000
	weightBytes = 100 // of a document's weight
)

// Problem returns the first five problems of a tool's arguments: those of a value before those of the values inside it,
// which come in the order of their names. Unchecked says why the arguments were not checked against the schema: the
// schema is wrong, something is beyond the bounds, or ctx is done. problem is then empty.
func (c *Checker) Problem(ctx context.Context, doc int, info *schema.ToolInfo, arguments string) (problem string, unchecked error) {
	marks := strings.Count(arguments, ",") + strings.Count(arguments, "{") + strings.Count(arguments, "[")
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
	given := &document{}
	switch given.add(value, 0, 0); {
	case given.depth > maxDepth:
		return fmt.Sprintf("it is nested more than %d deep", maxDepth), nil
	case given.digits > maxNumberDigits:
		return errLongNumber.Error(), nil
	}
	kept, _ := c.kept.LoadOrStore(doc, &checked{gate: make(foreign.Gate, 1)})
	t := kept.(*checked)
	timed, cancel := context.WithTimeout(ctx, maxDuration)
	defer cancel()
	problem, unchecked = foreign.Through(timed, t.gate, func(context.Context) (string, error) {
		if t.schema == nil && t.err == nil {
			size, err := foreign.Guard(func() (int, error) { return t.read(info) })
			t.err = err
			if c.size.Add(int64(size)+minKept) > maxKept {
				c.size.Store(0)
				c.kept.Clear()
			}
		}
		if t.err != nil {
			return "", t.err
		}
		steps := budget(maxCost)
		if steps.spend(t.schema, value, 0, false); steps < 0 {
			return "", errCostly
		}
		return problems(t.schema.Validate(value))
	})
	if ctx.Err() == nil && errors.Is(unchecked, context.DeadlineExceeded) {
		unchecked = errCostly
	}
	return problem, unchecked
}

const schemaURL = "tool:///parameters" // the address of each schema

// read compiles a tool's schema, and returns the approximate size of the result in memory.
func (t *checked) read(info *schema.ToolInfo) (size int, err error) {
	d, err := documentOf(info)
	if err != nil {
		return 0, err
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(jsonschema.SchemeURLLoader{}) // a server must not make the program read files or addresses
	c.UseRegexpEngine(d.pattern)
	_ = c.AddResource(schemaURL, d.root)                  // fails on a wrong address, or one that is taken
	if t.schema, err = c.Compile(schemaURL); err != nil { // the compiler's error may be longer than the schema
		return 0, errWrongSchema
	}
	d.isCompiled = true
	return weightBytes * d.weight, nil
}

// parts are the values of an object with their names, or the items of a list.
func parts(value any) iter.Seq2[string, any] {
	return func(yield func(name string, inner any) bool) {
		switch v := value.(type) {
		case map[string]any:
			maps.All(v)(yield)
		case []any:
			slices.Values(v)(func(inner any) bool { return yield("", inner) })
		}
	}
}

// digits is how many digits a number has when it is written out.
func digits(n json.Number) int {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(n.String()), "e")
	zeros, err := strconv.Atoi("0" + strings.TrimLeft(exponent, "+-"))
	if err != nil {
		return maxNumberDigits + 1
	}
	return len(mantissa) + min(zeros, maxNumberDigits+1)
}
