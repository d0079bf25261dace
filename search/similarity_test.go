package search_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// ratio returns the searcher's ratio of two texts, without the other parts of a score. The query has
// no keywords, and the tool has only a name.
func ratio(t testing.TB, a, b string) float64 {
	t.Helper()
	s := searcherOf(t, search.SimilarityOptions{Floor: -1}.Index, doc(b, ""))
	e := explained(t, s, search.Query{Text: a}, 0)
	hits := hitsOf(t, s, search.Query{Text: a})
	found := len(hits) == 1
	assert.Equal(t, e.Score > 0, found, "%.60q, %.60q: whether there is a hit; explained as %v, found %v", a, b, e.Score, hits)
	if found {
		assert.Equal(t, hits[0].Score, e.Score, "%.60q, %.60q", a, b)
	}
	return e.Score
}

// A ratio is that of Python's difflib. CPython 3.11 wrote testdata/similarity.json, with each ratio
// by difflib.SequenceMatcher(None, a, b).ratio().
func TestSimilarityEqualsPython(t *testing.T) {
	data := testtools.ReadFile(t, "testdata/similarity.json")
	var pairs []struct {
		A, B  string
		Ratio float64
	}
	require.NoError(t, json.Unmarshal([]byte(data), &pairs))
	for _, p := range pairs {
		assert.InDelta(t, p.Ratio, ratio(t, p.A, p.B), 5e-7, "%.60q, %.60q", p.A, p.B)
	}
}

// slowRatio computes the ratio by its definition, without an index.
func slowRatio(a, b []rune) float64 {
	if len(a)+len(b) == 0 {
		return 1
	}
	count := make(map[rune]int)
	for _, char := range b {
		count[char]++
	}
	popular := func(char rune) bool { return len(b) >= 200 && count[char] > len(b)/100+1 }
	var matched func(alo, ahi, blo, bhi int) int
	matched = func(alo, ahi, blo, bhi int) int {
		x, y, size := alo, blo, 0
		for i := alo; i < ahi; i++ {
			for j := blo; j < bhi; j++ {
				k := 0
				for i+k < ahi && j+k < bhi && a[i+k] == b[j+k] && !popular(b[j+k]) {
					k++
				}
				if k > size {
					x, y, size = i, j, k
				}
			}
		}
		for x > alo && y > blo && a[x-1] == b[y-1] {
			x, y, size = x-1, y-1, size+1
		}
		for x+size < ahi && y+size < bhi && a[x+size] == b[y+size] {
			size++
		}
		if size == 0 {
			return 0
		}
		return size + matched(alo, x, blo, y) + matched(x+size, ahi, y+size, bhi)
	}
	return 2 * float64(matched(0, len(a), 0, len(b))) / float64(len(a)+len(b))
}

func FuzzSimilarityRatio(f *testing.F) {
	f.Add("create issue", "mcp__github__create_issue opens an issue", 1)
	f.Add("abab", "ba", 130)
	f.Add("天气\xff", "查询天气", 60)
	f.Fuzz(func(t *testing.T, a, b string, times int) {
		a, b = strings.ToLower(a), strings.ToLower(b)
		if b == "" || strings.ToLower(a) != a || strings.ToLower(b) != b {
			t.Skip()
		}
		b = strings.Repeat(b, 1+min(max(times, 0), 300/len(b)))
		if len(a) > 150 || len(b) > 500 {
			t.Skip()
		}
		if got, want := ratio(t, a, b), slowRatio([]rune(a), []rune(b)); got != want {
			t.Errorf("%q, %q: got %v, want %v", a, b, got, want)
		}
	})
}

func TestSimilarityScores(t *testing.T) {
	const word = 0.12
	hinted := doc("get_weather", "Current Weather")
	hinted.Hint = "rain SUN"
	docs := []search.Document{hinted, doc("send_message", ""), doc("send_mail", ""), doc("send_mali", "")}
	weather := "get_weather current weather rain sun"
	for _, tt := range []struct {
		query   string
		options search.SimilarityOptions
		want    map[string]float64
	}{
		{"Weather", search.SimilarityOptions{}, map[string]float64{
			"get_weather": 2*7./float64(7+len(weather)) + word, "send_message": 2 * 3. / (7 + 12), "send_mail": 2 * 2. / (7 + 9), "send_mali": 2 * 2. / (7 + 9)}},
		{"+weather sun", search.SimilarityOptions{}, map[string]float64{
			"get_weather": 2*11./float64(11+len(weather)) + word + word}},
		{"+sun +snow", search.SimilarityOptions{}, map[string]float64{}},
		{"mail mail", search.SimilarityOptions{Floor: 0.5}, map[string]float64{"send_mail": 2*4./(9+9) + word + word}},
		{"mail", search.SimilarityOptions{WordBonus: 0.5, Floor: 0.6}, map[string]float64{"send_mail": 2*4./(4+9) + 0.5}},
		{"mail", search.SimilarityOptions{WordBonus: -1, Floor: 0.6}, map[string]float64{"send_mail": 2 * 4. / (4 + 9)}},
		{"zzz", search.SimilarityOptions{Floor: -1}, map[string]float64{}},
	} {
		checkScores(t, tt.options.Index, docs, tt.query, tt.want)
	}
}

// A tool whose score equals the floor does not match. Equal scores are in the order of the documents.
func TestSimilarityFloorAndTies(t *testing.T) {
	docs := []search.Document{doc("zxx", ""), doc("axx", ""), doc("qqq", "")}
	for _, tt := range []struct {
		floor float64
		want  string
	}{
		{2 * 1. / (1 + 3), "[]"},
		{2*1./(1+3) - 1e-9, "[{0 0.5} {1 0.5}]"},
	} {
		index := search.SimilarityOptions{Floor: tt.floor, WordBonus: -1}.Index
		assert.Equal(t, tt.want, fmt.Sprint(hitsOf(t, searcherOf(t, index, docs...), search.ParseQuery("x"))), "floor %v", tt.floor)
	}
}

func TestSimilarityIsASearcher(t *testing.T) {
	ask := func(random *rand.Rand, docs []search.Document) string {
		if random.IntN(3) == 0 {
			return testtools.Pick(random, docs).Description
		}
		return testtools.Pick(random, docs).Name + " " + testtools.Pick(random, words) + testtools.Pick(random, []string{"", " +" + testtools.Pick(random, words)})
	}
	checkSearcher(t, search.Similarity, ask)
	checkSearcher(t, search.SimilarityOptions{Floor: 0.3, WordBonus: -1}.Index, ask)
	checkHostile(t, search.Similarity)
}
