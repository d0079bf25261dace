package toolsearch

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Patterns that name tools, of Config.AlwaysLoaded and FilterTools.

// toolPattern is a parsed pattern. An asterisk stands for any text, even none.
type toolPattern struct {
	text      string // the whole pattern, which may also be a name
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
		return p, fmt.Errorf("the pattern %q has nothing before or after its colon", text)
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

// glob reports whether the whole text matches pattern. An asterisk stands for any text.
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

// FilterTools returns a Config.Filter that passes the tools of the servers and the listed
// tools: a tool passes if it is in either list. A server is a namespace, such as "github" or
// "github:*". A tool is a pattern as in Config.AlwaysLoaded, such as "github:create_issue",
// "get_weather" or "tag:read". Tools of the tags pass in any case: with "human", a user may ask a
// human whatever else the user may do. Empty lists and no tags pass nothing: a user without
// permissions has no tools. For no filter at all leave Config.Filter nil.
//
// Config.Annotate sets namespaces and tags. A malformed pattern matches nothing.
func FilterTools(servers, tools []string, tags ...string) func(ctx context.Context, doc Document) bool {
	var patterns []toolPattern
	for _, server := range servers {
		server = strings.TrimSuffix(strings.TrimSpace(server), ":*")
		if server != "" && !strings.Contains(server, ":") {
			patterns = append(patterns, toolPattern{kind: patternScoped, namespace: server, tool: "*"})
		}
	}
	for _, tag := range tags {
		if tag = strings.TrimSpace(tag); tag != "" {
			patterns = append(patterns, toolPattern{kind: patternTag, tag: tag})
		}
	}
	for _, text := range tools {
		if p, err := parseToolPattern(text); err == nil {
			patterns = append(patterns, p)
		}
	}
	return func(_ context.Context, doc Document) bool { return matchesAny(patterns, &doc) }
}
