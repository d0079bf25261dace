package naming

import (
	"fmt"
	"slices"
	"strings"
)

// Patterns name tools: "get_*", "github:*", "tag:read". An asterisk matches any text, even none.

// A Tool is what patterns match.
type Tool struct {
	Name      string
	Original  string // its own name, if Name is altered; "" if not
	Namespace string // "" means none
	Tags      []string
}

// A Pattern is a parsed pattern.
type Pattern struct {
	text      string // the whole pattern, which may also be a name
	tag       string // of "tag:x"; "" means none
	namespace string // of "namespace:tool"; "" means none
	tool      string
}

// ParsePattern reads a pattern. It fails on an empty one, and on a colon with nothing before or after it.
func ParsePattern(text string) (Pattern, error) {
	p := Pattern{text: strings.TrimSpace(text)}
	if p.text == "" {
		return p, fmt.Errorf("the pattern %q is empty", text)
	}
	before, after, scoped := strings.Cut(p.text, ":")
	switch {
	case !scoped:
	case before == "" || after == "":
		return p, fmt.Errorf("the pattern %q has nothing before or after its colon", text)
	case before == "tag":
		p.tag = after
	default:
		p.namespace, p.tool = before, after
	}
	return p, nil
}

// String returns the text of a parsed pattern, without blanks at its ends.
func (p *Pattern) String() string { return p.text }

// Matches reports whether the pattern matches a tool, by its name or by what its name would be without an alteration.
// The name of a tool matches itself, whatever its characters. Namespaces match in any spelling, as Fold says.
func (p *Pattern) Matches(t *Tool) bool {
	if t.Original != "" {
		whole := Tool{Name: t.Original, Namespace: t.Namespace}
		prefix := PrefixOf(t.Namespace) + "__"
		if strings.HasPrefix(t.Name, prefix) && !strings.HasPrefix(whole.Name, prefix) {
			whole.Name = prefix + whole.Name
		}
		if p.Matches(&whole) || p.namespace != "" && p.Matches(&Tool{Name: t.Original, Namespace: t.Namespace}) {
			return true
		}
	}
	switch {
	case t.Name == p.text:
		return true
	case p.tag != "":
		return slices.ContainsFunc(t.Tags, func(tag string) bool { return glob(p.tag, tag) })
	case p.namespace != "":
		return glob(Fold(p.namespace), Fold(t.Namespace)) && (glob(p.tool, t.Name) || glob(p.tool, Bare(t.Name, t.Namespace)))
	}
	return glob(p.text, t.Name)
}

// glob reports whether the whole text matches pattern. An asterisk matches any text.
func glob(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, found := strings.CutPrefix(text, head)
	for part := ""; found; _, text, found = strings.Cut(text, part) {
		if part, rest, wild = strings.Cut(rest, "*"); !wild {
			return strings.HasSuffix(text, part)
		}
	}
	return false
}
