package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Patterns that name tools: Config.AlwaysLoaded and FilterTools.

// toolPattern is one pattern. An asterisk stands for any text, nothing included.
type toolPattern struct {
	text      string // the whole, which may also be a name
	tag       string // of "tag:x"
	namespace string // of "namespace:tool"
	tool      string
	kind      patternKind
}

type patternKind int

const (
	patternName patternKind = iota // "get_weather", "get_*"
	patternScoped
	patternTag
)

func parseToolPattern(text string) (toolPattern, error) {
	p := toolPattern{text: strings.TrimSpace(text)}
	if p.text == "" {
		return p, fmt.Errorf("the pattern %q is empty", text)
	}
	before, after, scoped := strings.Cut(p.text, ":")
	switch {
	case !scoped:
	case before == "" || after == "":
		return p, fmt.Errorf("the pattern %q lacks what stands before or after its colon", text)
	case before == "tag":
		p.kind, p.tag = patternTag, after
	default:
		p.kind, p.namespace, p.tool = patternScoped, before, after
	}
	return p, nil
}

func parseToolPatterns(texts []string) ([]toolPattern, error) {
	patterns := make([]toolPattern, 0, len(texts))
	for _, text := range texts {
		p, err := parseToolPattern(text)
		if err != nil {
			return nil, err
		}
		patterns = append(patterns, p)
	}
	return patterns, nil
}

func (p *toolPattern) matches(doc *Document) bool {
	name := doc.Name
	if name == p.text {
		return true
	}
	switch p.kind {
	case patternTag:
		return slices.ContainsFunc(doc.Tags, func(tag string) bool { return glob(p.tag, tag) })
	case patternScoped:
		return glob(naming.Fold(p.namespace), naming.Fold(doc.Namespace)) && (glob(p.tool, name) || glob(p.tool, naming.Bare(name, doc.Namespace)))
	default:
		return glob(p.text, name)
	}
}

func matchesAny(patterns []toolPattern, doc *Document) bool {
	for i := range patterns {
		if patterns[i].matches(doc) {
			return true
		}
	}
	return false
}

// glob reports whether text is pattern, whose asterisks stand for any text.
func glob(pattern, text string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	for {
		part, more, wild := strings.Cut(rest, "*")
		if !wild {
			return strings.HasSuffix(text, part)
		}
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text, rest = after, more
	}
}

// FilterTools returns a Config.Filter that lets pass the tools of the servers and, besides
// those, the tools named: a tool passes if either list has it. A server is a namespace,
// "github", or "github:*"; a tool is a pattern as in Config.AlwaysLoaded, such as
// "github:create_issue", "get_weather" or "tag:read". Two empty lists let nothing pass, so
// that a user with no permissions has none; for no filter at all leave Config.Filter nil.
//
// Namespaces and tags are those that Config.Annotate tells. A pattern that is malformed
// matches nothing.
func FilterTools(servers, tools []string) func(ctx context.Context, doc Document) bool {
	var patterns []toolPattern
	for _, server := range servers {
		server = strings.TrimSuffix(strings.TrimSpace(server), ":*")
		if server != "" && !strings.Contains(server, ":") {
			patterns = append(patterns, toolPattern{kind: patternScoped, namespace: server, tool: "*"})
		}
	}
	for _, text := range tools {
		if p, err := parseToolPattern(text); err == nil {
			patterns = append(patterns, p)
		}
	}
	return func(_ context.Context, doc Document) bool { return matchesAny(patterns, &doc) }
}
