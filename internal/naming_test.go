package internal_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// word returns fewer than n of the letters.
func word(random *rand.Rand, letters string, n int) string {
	var b strings.Builder
	for range random.IntN(n) {
		b.WriteByte(letters[random.IntN(len(letters))])
	}
	return b.String()
}

// plainEdits is the edit distance by its definition.
func plainEdits(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	least := min(plainEdits(a[1:], b), plainEdits(a, b[1:]), plainEdits(a[1:], b[1:])) + 1
	if a[0] == b[0] {
		least = min(least, plainEdits(a[1:], b[1:]))
	}
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, plainEdits(a[2:], b[2:])+1)
	}
	return least
}

// Up to the bound, Edits counts what the definition counts.
func TestEditsOfRandomWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		a, b := word(random, "abc", 8), word(random, "abc", 8)
		want := plainEdits(a, b)
		for most := range 9 {
			require.Equal(t, min(want, most+1), naming.Edits([]byte(a), []byte(b), most), "edits from %q to %q within %d", a, b, most)
		}
	}
}

func TestSimilarity(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		a, b := []rune(word(random, "abc", 12)), []rune(word(random, "abc", 12))
		exact := naming.SimilarityAbove(a, b, 0)
		for _, floor := range []float64{-1, 0, 0.3, 0.6, 0.7, 0.75, 1, 2} {
			got := naming.SimilarityAbove(a, b, floor)
			if exact >= floor {
				require.InDelta(t, exact, got, 0, "%q and %q, above %v", string(a), string(b), floor)
			} else {
				require.Less(t, got, floor, "%q and %q", string(a), string(b))
			}
		}
	}
}

func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"get_weather":         "get_weather",
		"查询天气 é ☺ <b>":        "查询天气 é ☺ <b>",
		"a\nb\tc\rd":          `a\nb\tc\rd`,
		"\x1b[2J\u009b\x7f":   `\u001b[2J\u009b\u007f`,
		"\u200b\u202e\u00ad":  `\u200b\u202e\u00ad`,
		"\U000e0041\ufe0f":    `\U000e0041\ufe0f`,
		"\u3164\u2800\u034f":  `\u3164\u2800\u034f`,
		"a\xffb":              `a\xffb`,
		"0123456789abcdef":    "0123456789abcdef",
		"0123456789abcdef+":   "0123456789abcdef…",
		"\u2028\u3000\u00a0x": `\u2028\u3000\u00a0x`,
	} {
		assert.Equal(t, want, naming.Visible(text, 16), "%q", text)
	}
}

func TestShortLine(t *testing.T) {
	for text, want := range map[string]string{
		"Gets all data. It is fast and never wrong": "Gets all data…",
		"Sends it to Dr. Who and to nobody else":    "Sends it to Dr. Who and to…",
		"Uses the same e.g. as all":                 "Uses the same e.g. as all",
	} {
		assert.Equal(t, want, naming.ShortLine(text, 30))
	}
}

func TestPrefixOf(t *testing.T) {
	for namespace, want := range map[string]string{
		"GitHub": "GitHub", "my server": "my_server", "__a..b__": "a_b", "Café": "Cafe", "日历": "", "x-1": "x-1",
	} {
		assert.Equal(t, want, naming.PrefixOf(namespace), namespace)
	}
}

func TestShown(t *testing.T) {
	assert.Equal(t, "create", naming.Shown("", "create"))
	assert.Equal(t, "hub__create", naming.Shown("hub", "create"))
	assert.Equal(t, "hub__"+strings.Repeat("a", 59), naming.Shown("hub", strings.Repeat("a", 59)), "64 letters")
	seen := make(map[string]bool)
	for _, prefix := range []string{"", "hub"} {
		for _, name := range []string{"a.b", "a/b", "a_b", "日历", "é", strings.Repeat("a", 65), strings.Repeat("a", 66), strings.Repeat("a.", 64)} {
			shown := naming.Shown(prefix, name)
			assert.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, shown)
			assert.False(t, seen[shown], "%s twice", shown)
			seen[shown] = true
		}
	}
	assert.Equal(t, "hub__a_b_1b1ee3d3", naming.Shown("hub", "a.b"), "the same in every replica")
}

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
