package letters_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

func TestScores(t *testing.T) {
	names := []string{"send_message", "getWeather"}
	x, err := letters.NewFuzzy(t.Context(), len(names), letters.DefaultLikeness, func(number int) (name, description string) {
		return names[number], "Sends a text to a person"
	})
	require.NoError(t, err)
	for _, c := range []struct {
		words []string
		tool  int
		want  float64
		why   string
	}{
		{[]string{"send", "mes"}, 0, 2 + 8./12, "send_mes is eight of the twelve letters of the name"},
		{[]string{"get_weather"}, 1, 2 + 1, "the name itself, in its other spelling"},
		{[]string{"message", "person"}, 0, 1 + 1./2, "the name has one of the two words"},
		{[]string{"get_wether"}, 1, (1 + (1 - 1./7)) / 2, "get, and one letter of seven is missing"},
		{[]string{"wether", "forecast"}, 1, (1 - 1./7) / 2, "no part is like the second word"},
		{[]string{"invoice"}, 0, 0, "no word is like it"},
	} {
		score, err := x.Scores(t.Context(), letters.NewFuzzyQuery(c.words))
		require.NoError(t, err)
		assert.InDelta(t, c.want, score(c.tool), 1e-12, "%v: %s", c.words, c.why)
	}
}

func TestScoresEndWithTheContext(t *testing.T) {
	x, err := letters.NewFuzzy(t.Context(), 1, letters.DefaultLikeness, func(int) (name, description string) { return "a", "" })
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = x.Scores(ctx, letters.NewFuzzyQuery([]string{"b"}))
	require.ErrorIs(t, err, context.Canceled)
	_, err = letters.NewFuzzy(ctx, 1, letters.DefaultLikeness, func(int) (name, description string) { return "a", "" })
	assert.ErrorIs(t, err, context.Canceled)
}
