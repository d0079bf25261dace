package internal_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// JSON that nests too deep is refused after a look at its brackets, which keeps nothing.
func TestNestingCostsNothing(t *testing.T) {
	data := []byte(strings.Repeat("[", 1<<20))
	allocations := testing.AllocsPerRun(10, func() {
		if !toolfile.TooDeep(data) {
			panic("not refused")
		}
	})
	assert.Zero(t, allocations)
}

// Any data gives tools whose values are JSON, or an error with a place in the data.
func FuzzTools(f *testing.F) {
	for _, seed := range []string{
		`{"name": "a", "description": "b\"]}", "parameters": {"type": "object"}} {"name":"c"}`,
		`[{"type": "function", "function": {"name": "a"}, "server": "s"}, [], {"tools": [{"n\u0061me": 5}]}]`,
		`{"result": {"tools": [{"name": "a", "inputSchema": null, "input_schema": {}}], "nextCursor": "x"}}`,
		"\ufeff\n{\"name\": \"a\"}\r\n{\"name\": \"b\"", `"`, `{"`, `{"a`, `{"a\`, `{"tools"`, `{"tools":`, `[,]`, `]`, `{"name":tru}`, `7,8`,
		strings.Repeat("[", 70), strings.Repeat("[", 10) + strings.Repeat("]", 10),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		last := -1
		err := toolfile.Tools(data, func(tool toolfile.Tool) error {
			if tool.Offset <= last || tool.Offset >= len(data) {
				t.Errorf("a tool at %d after one at %d, of %d bytes", tool.Offset, last, len(data))
			}
			last = tool.Offset
			for key, raw := range tool.Keys {
				if !json.Valid(raw) {
					t.Errorf("%q is %q, which is not JSON", key, raw)
				}
			}
			if schema := tool.Schema(); schema != nil && !json.Valid(schema) {
				t.Errorf("the schema %q is not JSON", schema)
			}
			return nil
		})
		if wrong := (*toolfile.Error)(nil); err != nil && (!errors.As(err, &wrong) || wrong.Offset < 0 || wrong.Offset > len(data)) {
			t.Errorf("error %v without a place", err)
		}
	})
}
