package naming_test

import (
	"context"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

func matches(t *testing.T, pattern string, tool naming.Tool) bool {
	t.Helper()
	p := testtools.Must(naming.ParsePattern(pattern))(t)
	return p.Matches(&tool)
}

func TestMatches(t *testing.T) {
	issue := naming.Tool{Name: "mcp__My-Hub__create_issue", Namespace: "My-Hub", Tags: []string{"writes"}}
	for pattern, want := range map[string]bool{
		"mcp__My-Hub__create_issue": true,
		" mcp__*_issue ":            true,
		"create_issue":              false, // a name without a namespace is the whole name
		"my_hub:create_issue":       true,
		"*hub:create_*":             true,
		"My-Hub:mcp__*":             true,
		"other:create_issue":        false,
		"tag:writes":                true,
		"tag:w*":                    true,
		"tag:reads":                 false,
	} {
		assert.Equal(t, want, matches(t, pattern, issue), pattern)
	}
	assert.True(t, matches(t, "a:b", naming.Tool{Name: "a:b"}), "a name that looks like a pattern")
}

func TestParseRefuses(t *testing.T) {
	for _, text := range []string{"", "  ", ":tool", "server:", "tag:"} {
		_, err := naming.ParsePatterns([]string{"good", text})
		assert.Error(t, err, "%q", text)
	}
}

// An asterisk of a pattern matches what ".*" of a regular expression matches.
func TestPatternsAreGlobs(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 1))
	matched := 0
	for range 20_000 {
		pattern, name := "x"+word(random, "ab*", 7), "x"+word(random, "ab", 9)
		want := regexp.MustCompile("^" + strings.ReplaceAll(pattern, "*", ".*") + "$").MatchString(name)
		require.Equal(t, want, matches(t, pattern, naming.Tool{Name: name}), "whether %q matches %q", pattern, name)
		if want {
			matched++
		}
	}
	assert.GreaterOrEqual(t, matched, 1000, "patterns that match")
}

// A pattern with thousands of asterisks is matched in good time.
func TestPatternsOfManyAsterisks(t *testing.T) {
	assert.False(t, matches(t, strings.Repeat("*a", 1<<12), naming.Tool{Name: strings.Repeat("a", 1<<12-1) + "b"}))
}

// A Watch lists the entries that match no tool, of the Filters that were asked about any tool.
func TestIdle(t *testing.T) {
	filter := naming.NewFilter([]string{"hub", "a:b"}, []string{"writes", " "}, []string{"send_mail", "x:"})
	ctx, watch := naming.NewWatch(context.Background())
	mail := &naming.Tool{Name: "send_mail"}
	assert.True(t, filter.Passes(ctx, mail))
	assert.False(t, filter.Passes(ctx, &naming.Tool{Name: "get_mail"}))
	assert.Equal(t, []string{`server "hub"`, `server "a:b" (malformed)`, `tag "writes"`, `tag " " (malformed)`, `tool "x:" (malformed)`},
		watch.Idle(func(p *naming.Pattern) bool { return p.Matches(mail) }))

	before := watch.Texts()
	filter.Passes(ctx, mail)
	assert.Equal(t, before, watch.Texts(), "the same entries")
	naming.NewFilter(nil, nil, []string{"other"}).Passes(ctx, mail)
	assert.NotEqual(t, before, watch.Texts(), "more entries")
	assert.False(t, filter.Passes(context.Background(), &naming.Tool{Name: "x"}), "without a Watch")
}
