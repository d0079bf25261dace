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
			assert.Greater(t, tool.Offset, last, "the place of a tool, after the one before")
			assert.Less(t, tool.Offset, len(data), "the place of a tool")
			last = tool.Offset
			for key, raw := range tool.Keys {
				assert.True(t, json.Valid(raw), "%q is JSON: %q", key, raw)
			}
			schema := tool.Schema()
			assert.True(t, schema == nil || json.Valid(schema), "the schema is JSON: %q", schema)
			return nil
		})
		wrong := (*toolfile.Error)(nil)
		assert.True(t, err == nil || errors.As(err, &wrong) && 0 <= wrong.Offset && wrong.Offset <= len(data), "%v has a place", err)
	})
}
