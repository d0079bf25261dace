package nativetest

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

// field is a member of a JSON object with its bytes on the wire. A list is split into its
// elements.
type field struct {
	key      string
	value    string
	elements []string
	list     bool
}

// streamed matches what adapters send differently after a streamed answer: openai gives its
// calls an index, and agenticopenai omits the empty annotations of a text.
var streamed = regexp.MustCompile(`"index":\d+,("id":"call_)|"annotations":\[\],`)

// fields reads the members of a body in order. It leaves out everything that depends only on
// streaming, so a conversation has the same golden file with and without streaming.
func fields(t *testing.T, body []byte) (all []field) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(body))
	_, err := dec.Token()
	require.NoError(t, err)
	for dec.More() {
		key := testtools.Must(dec.Token())(t)
		var value json.RawMessage
		require.NoError(t, dec.Decode(&value))
		f := field{key: key.(string), value: string(value)}
		if f.key == "stream" || f.key == "stream_options" {
			continue
		}
		var elements []json.RawMessage
		if json.Unmarshal(value, &elements) == nil && value[0] == '[' {
			f.list = true
			for _, e := range elements {
				element := streamed.ReplaceAllString(string(e), "$1")
				f.elements = append(f.elements, shortened(element))
			}
		}
		all = append(all, f)
	}
	return all
}

// shortened replaces the search tool's long description by a few words, so the files do not
// change with every word of the prompt.
func shortened(element string) string {
	var tool struct {
		Type, Name, Description string
		Function                struct{ Name, Description string }
	}
	if json.Unmarshal([]byte(element), &tool) != nil {
		return element
	}
	description := tool.Description
	switch {
	case tool.Function.Name == searchTool:
		description = tool.Function.Description
	case tool.Name != searchTool && tool.Type != searchTool || description == "":
		return element
	}
	for _, escape := range []bool{true, false} {
		var form strings.Builder
		enc := json.NewEncoder(&form)
		enc.SetEscapeHTML(escape)
		if enc.Encode(description) == nil {
			element = strings.ReplaceAll(element, strings.TrimSpace(form.String()), `"(what tool_search does)"`)
		}
	}
	return element
}

// transcript writes requests for people to read: what each request adds to the previous
// request, with one line per element of a list.
func transcript(t *testing.T, requests []provider.Request) string {
	t.Helper()
	var b strings.Builder
	before := map[string]field{}
	for i, r := range requests {
		fmt.Fprintf(&b, "-- request %d --\n", i)
		now := map[string]field{}
		for _, f := range fields(t, r.Body) {
			now[f.key] = f
			was := before[f.key]
			if !f.list && f.value != was.value {
				fmt.Fprintf(&b, "%s: %s\n", f.key, f.value)
			}
			if f.list {
				same := commonPrefix(was.elements, f.elements)
				fmt.Fprintf(&b, "%s: %d", f.key, len(f.elements))
				if same > 0 {
					fmt.Fprintf(&b, ", the first %d as before", same)
				}
				b.WriteByte('\n')
				for _, e := range f.elements[same:] {
					fmt.Fprintf(&b, "  %s\n", e)
				}
			}
		}
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if _, there := now[key]; !there {
				fmt.Fprintf(&b, "%s: gone\n", key)
			}
		}
		before = now
	}
	return b.String()
}

func commonPrefix(a, b []string) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return n
}

// checkGolden compares what went over the wire with a file. -update writes the file, but not
// from a stream.
func checkGolden(t *testing.T, name string, stream bool, requests []provider.Request) {
	t.Helper()
	got := transcript(t, requests)
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(goldenText(t, name, got, *update && !stream), "\n")
	n := commonPrefix(gotLines, wantLines) // the first line that differs is easier to read than both files
	assert.Equal(t, at(wantLines, n), at(gotLines, n), "%s, line %d", name, n+1)
}

// goldenText returns a file's text, which write makes got.
func goldenText(t *testing.T, name, got string, write bool) string {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name)+".golden")
	if write {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	return testtools.ReadFile(t, path)
}

// at returns the nth line, or nothing.
func at(lines []string, n int) []string { return append([]string{}, lines[n:min(n+1, len(lines))]...) }

// checkPrefix checks that in every request a list begins with the previous request's list, byte
// for byte. Then a provider's prompt cache stays valid. Deferred tools do not count, since they
// are not part of the prompt. Responses' own search tool does not count either: agenticopenai
// puts it last, after a hidden tool that was called without a search.
func checkPrefix(t *testing.T, requests []provider.Request, key string) {
	t.Helper()
	var before []string
	for i, r := range requests {
		for _, f := range fields(t, r.Body) {
			if f.key != key {
				continue
			}
			now := slices.DeleteFunc(f.elements, func(e string) bool {
				return key == "tools" && (strings.Contains(e, `"defer_loading":true`) || strings.Contains(e, `"type":"tool_search"`))
			})
			if n := commonPrefix(before, now); n < len(before) {
				assert.Equal(t, at(before, n), at(now, n), "request %d: %s[%d] before and now", i, key, n)
			}
			before = now
		}
	}
}
