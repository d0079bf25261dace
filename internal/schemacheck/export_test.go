package schemacheck

import (
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Bounds returns why a schema in JSON is beyond the bounds, according to its sketch and to the
// compiled schema. wrong says that it cannot be compiled.
func Bounds(text string) (sketched, compiled error, wrong bool) {
	definition, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return err, err, true
	}
	var d document
	if err := d.add(definition, 0, 0); err != nil {
		return err, err, false
	}
	if d.multiplies(definition) {
		sketched = d.costs(definition)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(newPatterns(&d).compile)
	if err := c.AddResource(schemaURL, definition); err != nil {
		return sketched, err, true
	}
	whole, err := c.Compile(schemaURL)
	if err != nil {
		return sketched, err, true
	}
	_, _, compiled = statesOf(whole)
	return sketched, compiled, false
}
