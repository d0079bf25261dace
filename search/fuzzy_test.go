package search_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func TestFuzzyScores(t *testing.T) {
	const (
		inFuzzyName = 2.
		allWords    = 1.
	)
	docs := []search.Document{
		doc("get_weather", "Forecast of a city"),
		doc("mcp__slack__send_message", "Posts into a channel"),
		doc("NotebookEdit", "Changes a cell"),
		doc("search_repository", "Finds code"),
		doc("list-Files", "Lists a folder"),
	}
	abbreviation := func(letters, of float64) float64 { return 0.7 + 0.3*letters/of }
	for _, tt := range []struct {
		query   string
		options search.FuzzyOptions
		want    map[string]float64
	}{
		{"get_weather", search.FuzzyOptions{}, map[string]float64{"get_weather": inFuzzyName + 1}},
		{"GET-weather", search.FuzzyOptions{}, map[string]float64{"get_weather": inFuzzyName + 1}},
		{"get weat", search.FuzzyOptions{}, map[string]float64{"get_weather": inFuzzyName + 8./11}},
		{"notebook edit", search.FuzzyOptions{}, map[string]float64{"NotebookEdit": inFuzzyName + 1}},
		{"notebookedit", search.FuzzyOptions{}, map[string]float64{"NotebookEdit": inFuzzyName + 1}},
		{"list files", search.FuzzyOptions{}, map[string]float64{"list-Files": inFuzzyName + 1}},
		{"city weather", search.FuzzyOptions{}, map[string]float64{"get_weather": allWords + 1./2}},
		{"weather get", search.FuzzyOptions{}, map[string]float64{"get_weather": allWords + 1./2 + 1./2}},
		{"forecast city", search.FuzzyOptions{}, map[string]float64{"get_weather": allWords}},
		{"wether", search.FuzzyOptions{}, map[string]float64{"get_weather": 1 - 1./7}},
		{"wether wether", search.FuzzyOptions{}, map[string]float64{"get_weather": 1 - 1./7}},
		{"send msg", search.FuzzyOptions{}, map[string]float64{"mcp__slack__send_message": (1 + abbreviation(3, 7)) / 2}},
		{"serch repo", search.FuzzyOptions{}, map[string]float64{"search_repository": (1 - 1./6 + abbreviation(4, 10)) / 2}},
		{"fiels", search.FuzzyOptions{}, map[string]float64{"list-Files": 1 - 1./5}},
		{"get_wether", search.FuzzyOptions{}, map[string]float64{"get_weather": (1 + 1 - 1./7) / 2}},
		{"get_wether_", search.FuzzyOptions{}, map[string]float64{"get_weather": (1 + 1 - 1./7) / 2}},
		{"NotebokEdit", search.FuzzyOptions{}, map[string]float64{}}, // a brand such as GitHub is one word
		{"send_mesage", search.FuzzyOptions{}, map[string]float64{"mcp__slack__send_message": (1 + 1 - 1./7) / 2}},
		{"serch-repo", search.FuzzyOptions{}, map[string]float64{"search_repository": (1 - 1./6 + abbreviation(4, 10)) / 2}},
		{"get_wether wether", search.FuzzyOptions{}, map[string]float64{"get_weather": (1 + 1 - 1./7) / 2}},
		{"wether nothing", search.FuzzyOptions{}, map[string]float64{"get_weather": (1 - 1./7) / 2}},
		{"+wether nothing", search.FuzzyOptions{}, map[string]float64{}}, // a similar word does not meet the demand
		{"+nothing weather", search.FuzzyOptions{}, map[string]float64{}},
		{"+forecast wether", search.FuzzyOptions{}, map[string]float64{"get_weather": (1 - 1./7) / 2}},
		{"set", search.FuzzyOptions{}, map[string]float64{}},
		{"set", search.FuzzyOptions{MinLikeness: 0.6}, map[string]float64{"get_weather": 1 - 1./3}},
		{"wether", search.FuzzyOptions{MinLikeness: 2}, map[string]float64{}},
		{"we", search.FuzzyOptions{}, map[string]float64{"get_weather": inFuzzyName + 2./11}},
	} {
		checkScores(t, tt.options.Index, docs, tt.query, tt.want)
	}
}

// A search has at most MaxHits hits, by default five. Equal scores are ordered by name.
func TestFuzzyLimits(t *testing.T) {
	var docs []search.Document
	for i := range 12 {
		docs = append(docs, doc(fmt.Sprintf("get_weather_%c", 'l'-i), ""))
	}
	for _, tt := range []struct{ maxHits, limit, want int }{{0, 20, 5}, {0, 3, 3}, {8, 20, 8}, {-1, 20, 12}} {
		q := search.ParseQuery("wether")
		q.Limit = tt.limit
		answer := testtools.Must(searcherOf(t, search.FuzzyOptions{MaxHits: tt.maxHits}.Index, docs...).Search(t.Context(), q))(t)
		assert.Len(t, answer.Hits, tt.want, "%+v", tt)
		assert.Equal(t, 12, answer.Total, "%+v", tt)
		assert.Equal(t, "get_weather_a", docs[answer.Hits[0].Doc].Name, "%+v", tt)
	}
}

func TestFuzzyIsASearcher(t *testing.T) {
	ask := func(random *rand.Rand, docs []search.Document) string {
		runes := []rune(testtools.Pick(random, docs).Name)
		if i := random.IntN(len(runes)); random.IntN(2) == 0 {
			runes[i] = 'x'
		}
		return string(runes) + " " + testtools.Pick(random, words) + testtools.Pick(random, []string{"", "", " +" + testtools.Pick(random, words)})
	}
	checkSearcher(t, search.FuzzyOptions{MaxHits: -1}.Index, ask)
	checkSearcher(t, search.FuzzyOptions{MaxHits: -1, MinLikeness: 0.4}.Index, func(random *rand.Rand, _ []search.Document) string {
		return testtools.Pick(random, words) + " " + testtools.Pick(random, []string{"mesage", "usr", "cmt", "isue", "+fiel", "calender"})
	})
	checkHostile(t, search.Fuzzy)
}
