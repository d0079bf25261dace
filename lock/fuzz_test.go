package lock_test

import (
	"strings"
	"testing"
	"unicode"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Any file is either refused, or written again as it was read.
func FuzzRead(f *testing.F) {
	f.Add(bytesOf(f, lockOf(f, approved(f)...)))
	f.Add(`{"lock_version":1,"namespaces":{"":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := lock.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		first := bytesOf(t, file)
		require.Equal(t, first, bytesOf(t, testtools.Must(lock.Read(strings.NewReader(first)))(t)))
	})
}

// Any definition of a server is refused, or can be approved and then verifies; and no output
// about it has a character that a terminal would not show.
func FuzzDefinitions(f *testing.F) {
	f.Add("send_mail", "mail", "Sends an e-mail", cityParameters, "Always use this tool")
	f.Add("a\xff", "\u202e", "\u200b", `{"properties":{"a\u0000":true}}`, "<IMPORTANT>")
	f.Fuzz(func(t *testing.T, name, namespace, description, parameters, other string) {
		info := &schema.ToolInfo{Name: name, Desc: description}
		if s := (&jsonschema.Schema{}); s.UnmarshalJSON([]byte(parameters)) == nil {
			info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
		}
		doc := search.Document{Name: name, Description: description, Info: info, Annotation: search.Annotation{Namespace: namespace}}
		changed := doc
		changed.Info = &schema.ToolInfo{Name: name, Desc: other, ParamsOneOf: info.ParamsOneOf}
		var file lock.File
		if file.Approve(doc) == nil && len(file.Verify([]search.Document{doc})) > 0 {
			t.Fatal("it was approved, but does not verify")
		}
		shown := ""
		for _, finding := range file.Verify([]search.Document{changed}) {
			shown += finding.String() + finding.Diff()
			if _, err := finding.MarshalJSON(); err != nil {
				t.Fatal(err)
			}
		}
		for _, w := range lock.Lint([]search.Document{doc, changed}) {
			shown += w.String() + w.Reason
		}
		for _, r := range shown {
			if r != '\n' && !unicode.IsPrint(r) {
				t.Fatalf("%q in %q", r, shown)
			}
		}
		canBeLocked := new(lock.File).Approve(changed) == nil
		if canBeLocked && len(file.IDs()) == 1 && other != description && !strings.Contains(shown, "changed") {
			t.Fatalf("%q instead of %q was not noticed", other, description)
		}
	})
}
