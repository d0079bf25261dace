package naming_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// plainEdits is the edit distance by its definition.
func plainEdits(a, b string) int {
	if a == "" || b == "" {
		return len(a) + len(b)
	}
	least := min(plainEdits(a[1:], b)+1, plainEdits(a, b[1:])+1)
	same := 1
	if a[0] == b[0] {
		same = 0
	}
	least = min(least, plainEdits(a[1:], b[1:])+same)
	if len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] {
		least = min(least, plainEdits(a[2:], b[2:])+1)
	}
	return least
}

func TestEdits(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"weather", "wether", 1}, {"invoice", "invioce", 1}, {"ca", "abc", 3},
		{"file", "fiel", 1}, {"get", "set", 1}, {"kitten", "sitting", 3},
	} {
		assert.Equal(t, tt.want, naming.Edits([]rune(tt.a), []rune(tt.b), 10), "%s to %s", tt.a, tt.b)
		assert.Equal(t, tt.want, naming.Edits([]byte(tt.b), []byte(tt.a), 10), "%s to %s", tt.b, tt.a)
	}
	long := func(n int, last string) []rune {
		text := make([]rune, n)
		for i := range text {
			text[i] = rune('a' + i%7)
		}
		return append(text, []rune(last)...)
	}
	assert.Equal(t, 2, naming.Edits(append([]rune("x"), long(200, "y")...), append([]rune("z"), long(200, "w")...), 5))
}

// Up to the bound, Edits counts what the definition counts.
func TestEditsOfRandomWords(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		text := make([]byte, random.IntN(8))
		for i := range text {
			text[i] = 'a' + byte(random.IntN(3))
		}
		return string(text)
	}
	for range 3000 {
		a, b := word(), word()
		want := plainEdits(a, b)
		for most := range 9 {
			require.Equal(t, min(want, most+1), naming.Edits([]byte(a), []byte(b), most), "edits from %q to %q within %d", a, b, most)
		}
	}
}

func TestSimilarity(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	word := func() []rune {
		text := make([]rune, random.IntN(12))
		for i := range text {
			text[i] = 'a' + random.Int32N(3)
		}
		return text
	}
	for range 3000 {
		a, b := word(), word()
		exact := naming.Similarity(a, b)
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
