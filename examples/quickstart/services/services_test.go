package services

import (
	"context"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/cloudwego/eino/components/tool"
)

func TestCatalog(t *testing.T) {
	if n := len(Tools()); n < 130 {
		t.Errorf("%d tools, want at least 130", n)
	}
	legal := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	seen := map[string]bool{}
	for _, b := range Tools() {
		info, err := b.Info(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if !legal.MatchString(info.Name) {
			t.Errorf("%q is no legal tool name", info.Name)
		}
		if seen[info.Name] {
			t.Errorf("%s is there twice", info.Name)
		}
		seen[info.Name] = true
		if len(info.Desc) < 30 {
			t.Errorf("%s: description %q is too short", info.Name, info.Desc)
		}
		checkProperties(t, info.Name, schemaOf(t, b))
	}
}

// checkProperties looks into nested objects and arrays too.
func checkProperties(t *testing.T, at string, s jsonSchema) {
	t.Helper()
	if s.Items != nil {
		checkProperties(t, at+"[]", *s.Items)
	}
	for name, p := range s.Properties {
		if p.Description == "" || p.Type == "" {
			t.Errorf("%s.%s: type %q, description %q; want both", at, name, p.Type, p.Description)
		}
		checkProperties(t, at+"."+name, p)
	}
}

func TestToolsIsStable(t *testing.T) {
	first, second := Tools(), Tools()
	if len(first) != len(second) {
		t.Fatalf("%d tools, then %d", len(first), len(second))
	}
	for i := range first {
		a, _ := first[i].Info(context.Background())
		b, _ := second[i].Info(context.Background())
		if !reflect.DeepEqual(a, b) {
			t.Errorf("tool %d is %+v, then %+v", i, a, b)
		}
	}
}

// A table as long as this hides slips, such as a placeholder that names no
// parameter. They all come out as a null that no argument accounts for.
func TestEveryToolRuns(t *testing.T) {
	null := regexp.MustCompile(`\bnull\b`)
	for _, b := range Tools() {
		s, name := schemaOf(t, b), nameOf(t, b)

		every := map[string]any{}
		for param, p := range s.Properties {
			every[param] = sample(param, p)
		}
		if result := mustRun(t, b, every); null.MatchString(result) {
			t.Errorf("%s has a null although it got all arguments: %s", name, result)
		}

		needed := map[string]any{}
		for _, param := range s.Required {
			needed[param] = every[param]
		}
		result := mustRun(t, b, needed)
		if null.MatchString(strings.ReplaceAll(result, `:null`, "")) {
			t.Errorf("%s splices an argument without a default into a text: %s", name, result)
		}
		if again := mustRun(t, b, needed); again != result {
			t.Errorf("%s returns %s, then %s", name, result, again)
		}
		if len(s.Required) > 0 && !strings.Contains(result, "sample") && !strings.Contains(result, "4711") {
			t.Errorf("%s echoes none of its arguments: %s", name, result)
		}

		// Models do send values of the wrong type, and text is what people write.
		for _, odd := range []any{`a "quoted" \ text`, 1.5, true, []any{"x"}, map[string]any{"k": "v"}} {
			all := map[string]any{}
			for param := range s.Properties {
				all[param] = odd
			}
			mustRun(t, b, all)
		}

		for _, missing := range s.Required {
			fewer := map[string]any{}
			for param, value := range needed {
				if param != missing {
					fewer[param] = value
				}
			}
			wantComplaint(t, run(t, b, encode(t, fewer)), missing)
			fewer[missing] = nil
			wantComplaint(t, run(t, b, encode(t, fewer)), missing)
		}
		for _, arguments := range []string{"", "{}", "null", "[]", `"text"`, `{"open":`} {
			wantComplaint(t, run(t, b, arguments), s.Required...)
		}
	}
}

func wantComplaint(t *testing.T, result string, missing ...string) {
	t.Helper()
	for _, param := range missing {
		if want := `missing required parameter "` + param + `"`; !strings.Contains(result, want) {
			t.Errorf("result %q does not say %s", result, want)
		}
	}
}

func TestRun(t *testing.T) {
	for _, tc := range []struct{ name, arguments, want string }{
		{
			"mcp__slack__send_direct_message", `{"users": ["U017"], "text": "say \"hi\" to <all> {users}"}`,
			`{"ok":true,"users":["U017"],"message_id":"4468c041","text":"say \"hi\" to <all> {users}"}`,
		},
		{
			"mcp__gmail__modify_labels", `{"thread_id": "t-1", "add": ["Receipts", "Travel"]}`,
			`{"thread_id":"t-1","added":["Receipts","Travel"],"removed":null}`,
		},
		{
			"mcp__kubernetes__scale_deployment", `{"name": "web", "replicas": 5}`,
			`{"name":"web","namespace":"default","replicas":5,"status":"scaling"}`,
		},
		{
			"mcp__zendesk__merge_tickets", `{"target_id": 12345678901234567890, "source_ids": [1, 2]}`,
			`{"ticket_id":12345678901234567890,"merged":[1,2]}`,
		},
		{
			"mcp__weather__daily_forecast", `{"location": "Oslo", "days": 1, "units": "imperial"}`,
			`{"days":[{"high":73.4,"in_days":0,"low":59,"sky":"windy"}],"location":"Oslo","units":"imperial"}`,
		},
		{
			"mcp__github__create_issue", `{"owner": "acme", "repo": "gateway"}`,
			`mcp__github__create_issue: missing required parameter "title"`,
		},
		{
			"mcp__postgres__terminate_connection", `4182`,
			`mcp__postgres__terminate_connection: the arguments must be a JSON object; missing required parameter "pid"`,
		},
		{
			"mcp__s3__list_buckets", `[]`,
			`mcp__s3__list_buckets: the arguments must be a JSON object`,
		},
	} {
		if got := run(t, find(t, tc.name), tc.arguments); got != tc.want {
			t.Errorf("%s(%s)\n got %s\nwant %s", tc.name, tc.arguments, got, tc.want)
		}
	}
}

func TestCreatedThingsDiffer(t *testing.T) {
	create := find(t, "mcp__github__create_issue")
	first := run(t, create, `{"owner": "acme", "repo": "gateway", "title": "One"}`)
	second := run(t, create, `{"owner": "acme", "repo": "gateway", "title": "Two"}`)
	reordered := run(t, create, `{ "title": "One", "repo": "gateway", "owner": "acme" }`)
	if first == second || first != reordered {
		t.Errorf("want the first to differ from the second and equal the third:\n%s\n%s\n%s", first, second, reordered)
	}
}

type jsonSchema struct {
	Type        string                `json:"type"`
	Description string                `json:"description"`
	Enum        []string              `json:"enum"`
	Items       *jsonSchema           `json:"items"`
	Properties  map[string]jsonSchema `json:"properties"`
	Required    []string              `json:"required"`
}

// schemaOf takes the schema through JSON, the way a model is going to see it.
func schemaOf(t *testing.T, b tool.BaseTool) jsonSchema {
	t.Helper()
	info, err := b.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	converted, err := info.ToJSONSchema()
	if err != nil {
		t.Fatalf("%s: %v", info.Name, err)
	}
	text, err := json.Marshal(converted)
	if err != nil {
		t.Fatalf("%s: %v", info.Name, err)
	}
	var s jsonSchema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v in %s", info.Name, err, text)
	}
	if s.Type != "object" {
		t.Fatalf("%s: schema %s is not that of an object", info.Name, text)
	}
	return s
}

func sample(name string, s jsonSchema) any {
	switch {
	case len(s.Enum) > 0:
		return s.Enum[0]
	case s.Type == "integer" || s.Type == "number":
		return 4711
	case s.Type == "boolean":
		return true
	case s.Type == "array":
		return []any{sample(name, *s.Items)}
	case s.Type == "object":
		fields := map[string]any{}
		for field, f := range s.Properties {
			fields[field] = sample(field, f)
		}
		return fields
	}
	return "sample " + name
}

func nameOf(t *testing.T, b tool.BaseTool) string {
	t.Helper()
	info, err := b.Info(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return info.Name
}

func find(t *testing.T, name string) tool.BaseTool {
	t.Helper()
	for _, b := range Tools() {
		if nameOf(t, b) == name {
			return b
		}
	}
	t.Fatalf("no tool %s", name)
	return nil
}

func run(t *testing.T, b tool.BaseTool, arguments string) string {
	t.Helper()
	invokable, ok := b.(tool.InvokableTool)
	if !ok {
		t.Fatalf("%s cannot be invoked", nameOf(t, b))
	}
	result, err := invokable.InvokableRun(context.Background(), arguments)
	if err != nil {
		t.Fatalf("%s(%s): %v", nameOf(t, b), arguments, err)
	}
	return result
}

func mustRun(t *testing.T, b tool.BaseTool, arguments map[string]any) string {
	t.Helper()
	result := run(t, b, encode(t, arguments))
	if !strings.HasPrefix(result, "{") || !json.Valid([]byte(result)) {
		t.Errorf("%s returns no JSON object: %s", nameOf(t, b), result)
	}
	return result
}

func encode(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
