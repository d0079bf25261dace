package lock

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The kinds of a Finding: what is wrong with a tool. Lint has kinds of its own.
const (
	New     = "new"     // no tool of that namespace and name is approved
	Changed = "changed" // its description or its parameters differ from the approved ones
	Copied  = "copied"  // a new tool with the description and parameters of an approved tool
	Missing = "missing" // an approved tool that the catalog does not have
	Refused = "refused" // its definition cannot be locked
)

// A Finding is one tool that is not as approved, or a place that Lint warns of. Its texts come from
// a server: String and Diff are safe to print, the fields are not. Diff and MarshalJSON tell what changed.
type Finding struct {
	Kind string // New, Changed, Copied, Missing or Refused; of Lint Hidden, Instructions or ForeignNames
	ID
	Original ID     // the approved tool that it copies, also for a Changed tool; zero means none
	Reason   string // why it is Refused, or what Lint has found

	was *definition // as approved; nil means not approved: New, Copied and Refused
	is  *definition // as it is now; nil for Missing and Refused
}

func compareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}

// String describes the finding on a line for a terminal or a log.
func (f Finding) String() string {
	text := fmt.Sprintf("%v: %s", f.ID, f.Kind)
	if f.Kind == Changed {
		var parts []string
		for _, c := range f.changes() {
			part, _, _ := strings.Cut(c.path, ".")
			parts = append(parts, part)
		}
		text += ": " + strings.Join(slices.Compact(parts), ", ")
	}
	if f.Original != (ID{}) {
		text += fmt.Sprintf(": the definition of %v", f.Original)
	}
	if f.Reason != "" {
		text += ": " + naming.Visible(f.Reason, 200)
	}
	return text
}

// LogValue implements slog.LogValuer. The definitions are left out.
func (f Finding) LogValue() slog.Value {
	attrs := []slog.Attr{
		slog.String("kind", f.Kind),
		slog.String("namespace", naming.Visible(f.Namespace, naming.MaxBytes)),
		slog.String("tool", naming.Visible(f.Name, naming.MaxBytes)),
	}
	if f.Original != (ID{}) {
		attrs = append(attrs, slog.String("original", f.Original.String()))
	}
	return slog.GroupValue(attrs...)
}

// MarshalJSON implements json.Marshaler. The texts are whole, with hidden characters as escapes:
//
//	{"kind": "changed", "namespace": "", "name": "send_mail", "sha256": "...",
//	 "changes": [{"path": "description", "was": "...", "is": "..."}]}
//
// "sha256" is the hash of the definition as it is now: of the canonical form of {"description": ..., "name": ...,
// "parameters": ...}, without the namespace. As long as both write numbers alike, in Python it is
//
//	hashlib.sha256(json.dumps(definition, sort_keys=True, ensure_ascii=False,
//		separators=(",", ":")).encode()).hexdigest()
//
// A copy also has "original". A refused tool and what Lint finds have "reason".
func (f Finding) MarshalJSON() ([]byte, error) {
	changes := []any{}
	for _, c := range f.changes() {
		changes = append(changes, map[string]any{"path": c.path, "was": c.was, "is": c.is})
	}
	object := map[string]any{"kind": f.Kind, "namespace": f.Namespace, "name": f.Name, "changes": changes}
	if f.is != nil {
		object["sha256"] = f.is.sum.String()
	}
	if f.Original != (ID{}) {
		object["original"] = map[string]any{"namespace": f.Original.Namespace, "name": f.Original.Name}
	}
	if f.Reason != "" {
		object["reason"] = f.Reason
	}
	return escapeHidden(appendCanonical(nil, object)), nil
}

// A change is one part of a definition that has changed.
type change struct {
	path string // "name", "description", or within "parameters", such as "parameters.properties.city.type"
	was  string // "" means that it was not there. Parts of parameters are JSON
	is   string // "" means that it is gone
}

// changes lists what is different between was and is. A new tool, with nothing before, and a
// missing tool, with nothing after, have a change for each of their parts. A copy has a change of
// its name.
func (f Finding) changes() (list []change) {
	add := func(path, was, is string) {
		if was != is {
			list = append(list, change{path, was, is})
		}
	}
	if f.Kind == Copied {
		add("name", f.Original.String(), f.ID.String())
		return list
	}
	was, is := cmp.Or(f.was, &definition{}), cmp.Or(f.is, &definition{})
	add("description", was.description, is.description)
	before, errBefore := readJSON([]byte(was.parameters))
	after, errAfter := readJSON([]byte(is.parameters))
	if errBefore != nil || errAfter != nil { // new or missing
		add("parameters", was.parameters, is.parameters)
		return list
	}
	compareJSON("parameters", before, after, add)
	return list
}

// compareJSON adds the innermost parts that differ.
func compareJSON(path string, was, is any, add func(path, was, is string)) {
	switch a := was.(type) {
	case map[string]any:
		b, ok := is.(map[string]any)
		if !ok {
			break
		}
		keys := maps.Clone(b)
		maps.Copy(keys, a)
		for _, key := range slices.Sorted(maps.Keys(keys)) {
			before, wasThere := a[key]
			after, isThere := b[key]
			switch inner := path + "." + key; {
			case !wasThere:
				add(inner, "", string(appendCanonical(nil, after)))
			case !isThere:
				add(inner, string(appendCanonical(nil, before)), "")
			default:
				compareJSON(inner, before, after, add)
			}
		}
		return
	case []any:
		b, ok := is.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			compareJSON(fmt.Sprintf("%s[%d]", path, i), a[i], b[i], add)
		}
		return
	}
	add(path, string(appendCanonical(nil, was)), string(appendCanonical(nil, is)))
}

// Bounds on Diff, so that one tool does not fill the terminal.
const (
	maxShownChanges = 20
	maxShownPath    = 120 // characters
	maxShownText    = 300 // characters
	shownBefore     = 40  // bytes of a long text before the first difference
)

// Diff shows what is different on lines for a terminal: the path, and below it the text before with a
// "-" and the text after with a "+". It shows hidden characters as escapes, long texts from where
// they begin to differ, and at most 20 changes. Each line ends with a line feed.
func (f Finding) Diff() string {
	var b strings.Builder
	changes := f.changes()
	for i, c := range changes {
		if i == maxShownChanges {
			fmt.Fprintf(&b, "and %d more changes\n", len(changes)-i)
			break
		}
		fmt.Fprintln(&b, naming.Visible(c.path, maxShownPath))
		from, dots := 0, ""
		if len(c.was) > maxShownText || len(c.is) > maxShownText {
			for from < len(c.was)-1 && from < len(c.is)-1 && c.was[from] == c.is[from] {
				from++
			}
			from = max(0, from-shownBefore)
			for from > 0 && !utf8.RuneStart(c.was[from]) {
				from--
			}
		}
		if from > 0 {
			dots = "…"
		}
		for _, line := range []struct{ sign, text string }{{"-", c.was}, {"+", c.is}} {
			if line.text != "" {
				fmt.Fprintf(&b, "  %s %s%s\n", line.sign, dots, naming.Visible(line.text[from:], maxShownText))
			}
		}
	}
	return b.String()
}
