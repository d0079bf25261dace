package naming_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

func matches(t *testing.T, pattern string, tool naming.Tool) bool {
	t.Helper()
	p, err := naming.ParsePattern(pattern)
	require.NoError(t, err)
	return p.Matches(&tool)
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
