package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// languageTexts returns the texts by which encoders are tested, in some languages, and the number of the
// meaning of each.
func languageTexts(t *testing.T, tags ...string) map[string]int {
	t.Helper()
	data, err := os.ReadFile("../../eval/languages.txt")
	require.NoError(t, err)
	texts := make(map[string]int)
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n")[1:] {
		lines := strings.Split(block, "\n")
		for _, tag := range tags {
			if !strings.HasPrefix(lines[0], tag+" ") {
				continue
			}
			for meaning, line := range lines[1:] {
				request, description, _ := strings.Cut(line, " | ")
				texts[request], texts[description] = meaning, meaning
			}
		}
	}
	require.Len(t, texts, 32*len(tags))
	return texts
}

const (
	englishTools = `{"name": "track", "description": "Where a shipment is, for the sender"}
{"name": "ring", "description": "Rings the bell of a door"}
`
	chineseTools = `{"name": "track", "description": "查询包裹在哪里"}
{"name": "ring", "description": "按门铃"}
`
	englishQueries = `{"query": "where is my parcel", "gold": ["track"]}
`
	twoLanguages = englishQueries + `{"query": "我的包裹在哪里？", "gold": ["track"]}
{"query": "按一下门铃", "gold": ["ring"]}
`
	fourLanguages = twoLanguages + `{"query": "Wo ist der Brief und wann kommt er an?", "gold": ["track"]}
{"query": "Где моя посылка?", "gold": ["track"]}
`
)

// eval says which languages of the queries and tools the encoder does not know, and nothing of
// those that it knows.
func TestLanguagesOfTheEncoder(t *testing.T) {
	for _, test := range []struct {
		golden         string
		known          []string
		tools, queries string
		args           []string
		sent           int // texts of eval.Languages
	}{
		{"languages-english", []string{"en"}, englishTools, fourLanguages, nil, 128},
		{"languages-two", []string{"en"}, englishTools, twoLanguages, []string{"-searcher", "bm25,hybrid"}, 64},
		{"languages-json", []string{"en"}, englishTools, twoLanguages, []string{"-json"}, 64},
		{"languages-chinese", []string{"zh"}, englishTools, twoLanguages, nil, 64},
		{"languages-chinese-tools", []string{"en"}, chineseTools, englishQueries, nil, 64},
		{"languages-known", []string{"zh"}, chineseTools, twoLanguages[len(englishQueries):], nil, 48},
		{"languages-all", []string{"en", "zh", "de", "ru"}, englishTools, fourLanguages, nil, 128},
	} {
		t.Run(test.golden, func(t *testing.T) {
			s := newEmbedServer(t)
			s.known = languageTexts(t, test.known...)
			folder := t.TempDir()
			tools, queries := filepath.Join(folder, "tools.jsonl"), filepath.Join(folder, "queries.jsonl")
			require.NoError(t, os.WriteFile(tools, []byte(test.tools), 0o666))
			require.NoError(t, os.WriteFile(queries, []byte(test.queries), 0o666))
			args := append([]string{"eval", "-resamples", "0", "-searcher", "hybrid", "-embed", s.URL + "/v1", "-model", "m", tools, queries}, test.args...)
			code, stdout, stderr := runWith(t, "", args...)
			require.Equal(t, found, code, stderr)
			assert.Empty(t, stderr)
			golden := filepath.Join("testdata", test.golden+".golden")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(stdout), 0o666))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			assert.Equal(t, string(want), stdout, "go test ./cmd/toolsearch -update rewrites the golden file")

			sent, ours := 0, languageTexts(t, "en", "zh", "ja", "ko", "de", "fr", "es", "ru")
			for _, batch := range s.batches {
				assert.LessOrEqual(t, len(batch), 10)
				for _, text := range batch {
					if _, is := ours[text]; is {
						sent++
					}
				}
			}
			assert.Equal(t, test.sent, sent, "texts that test the encoder")
			requests := s.requests
			_, again, _ := runWith(t, "", args...)
			assert.Equal(t, stdout, again)
			assert.Equal(t, requests, s.requests, "the second time all is known")
		})
	}
}

// An encoder is not tested where no searcher needs it, nor for a language that hardly occurs.
func TestEncodersThatAreNotTested(t *testing.T) {
	s := newEmbedServer(t)
	rare := englishQueries + strings.Repeat(`{"query": "parcel", "gold": ["track"]}`+"\n", 100)
	args := []string{"eval", "-json", "-resamples", "0", "-searcher", "hybrid", "-embed", s.URL + "/v1", "-model", "m", parcels(t, 2), "-"}
	code, stdout, stderr := runWith(t, rare, args...)
	require.Equal(t, found, code, stderr)
	assert.NotContains(t, stdout, "languages")
	code, stdout, stderr = runWith(t, twoLanguages, "eval", "-json", "-resamples", "0", "-searcher", "bm25", parcels(t, 2), "-")
	require.Equal(t, found, code, stderr)
	assert.True(t, json.Valid([]byte(stdout)))
	assert.NotContains(t, stdout, "languages")
}

func TestLanguageOfAText(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "",
		"1234 ...":                           "",
		"weather":                            "",
		"weather of today":                   "",
		"where is the parcel":                "en",
		"the hotels of La Paz and Las Vegas": "en",
		"明天天气怎么样":                            "zh",
		"帮我在 GitHub 上创建一个 issue":             "zh",
		"translate 谢谢 to the customer":       "en",
		"明日の天気":                              "ja",
		"東京の hotel を予約して":                    "ja",
		"내일 날씨":                              "ko",
		"погода на завтра":                   "ru",
		"Wetter in der Stadt und im Umland":  "de",
		"Le temps dans les villes":           "fr",
		"El tiempo en las ciudades":          "es",
		"Eliminar facturas":                  "",
	} {
		assert.Equal(t, want, languageOf(text), text)
	}
}

// An endpoint that fails in the test of the encoder fails the command, as it does for the tools.
func TestLanguagesOfAnEncoderThatFails(t *testing.T) {
	s := newEmbedServer(t)
	s.instead = func(w http.ResponseWriter, request int) bool {
		if request > 1 { // the first is for the queries
			http.Error(w, "no more", http.StatusBadRequest)
		}
		return request > 1
	}
	code, stdout, stderr := runWith(t, twoLanguages, "eval", "-searcher", "hybrid", "-embed", s.URL+"/v1", "-model", "m", parcels(t, 2), "-")
	assert.Equal(t, failed, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "toolsearch: languages: ")
	assert.Contains(t, stderr, "400 Bad Request: no more")
}
