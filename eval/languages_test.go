package eval

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// A languageEmbedder is an encoder that knows the test's texts of some languages by heart. It
// gives each of these texts a direction for its meaning. It counts the words of any other text.
type languageEmbedder struct {
	meanings map[string]int // by text

	mu     sync.Mutex
	asked  []string
	calls  []int                                                    // how many texts each had
	vector func(text string) []float64                              // nil means as above
	after  func(texts []string, v [][]float64) ([][]float64, error) // nil means unchanged
}

const meaningsAndWords = 16 + 256

func (e *languageEmbedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked, e.calls = append(e.asked, texts...), append(e.calls, len(texts))
	made := make([][]float64, len(texts))
	for i, text := range texts {
		if e.vector != nil {
			made[i] = e.vector(text)
			continue
		}
		made[i] = make([]float64, meaningsAndWords)
		if meaning, known := e.meanings[text]; known {
			made[i][meaning] = 1
			continue
		}
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
			made[i][16+hashOf(word)%256]++
		}
	}
	if e.after != nil {
		return e.after(texts, made)
	}
	return made, nil
}

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}

func knowing(tags ...string) *languageEmbedder {
	e := &languageEmbedder{meanings: make(map[string]int)}
	for _, l := range allLanguages() {
		for meaning := range l.requests {
			if slices.Contains(tags, l.tag) {
				e.meanings[l.requests[meaning]], e.meanings[l.descriptions[meaning]] = meaning, meaning
			}
		}
	}
	return e
}

// spelling returns an encoder that counts runs of that many letters.
func spelling(letters int) *languageEmbedder {
	return &languageEmbedder{vector: func(text string) []float64 {
		v, runes := make([]float64, 1<<14), []rune(strings.ToLower(text))
		for i := range len(runes) - letters + 1 {
			v[hashOf(string(runes[i:i+letters]))%uint64(len(v))]++
		}
		return v
	}}
}

func TestLanguages(t *testing.T) {
	everything := []string{"en", "zh", "ja", "ko", "de", "fr", "es", "ru"}
	for _, test := range []struct {
		name    string
		e       *languageEmbedder
		own     []string // the languages whose own tools are found
		english []string // the languages whose requests find tools in English
	}{
		{"an encoder that knows all", knowing(everything...), everything, everything},
		{"that knows English alone", knowing("en"), []string{"en"}, []string{"en"}},
		{"that knows Chinese alone", knowing("zh"), []string{"zh"}, nil},
		{"that knows English and Korean", knowing("en", "ko"), []string{"en", "ko"}, []string{"en", "ko"}},
		{"that counts words", knowing(), nil, nil},
		{"that counts letters", spelling(1), nil, nil},
		{"that counts pairs of letters", spelling(2), nil, nil},
		{"that counts three letters in a row", spelling(3), nil, nil},
		{"that counts four letters in a row", spelling(4), nil, nil},
		{"that guesses", &languageEmbedder{vector: func(text string) []float64 {
			random, v := rand.New(rand.NewPCG(1, hashOf(text))), make([]float64, 64)
			for i := range v {
				v[i] = random.NormFloat64()
			}
			return v
		}}, nil, nil},
		{"that says the same of all", &languageEmbedder{vector: func(string) []float64 { return []float64{1, 1} }}, nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			list := testtools.Must(Languages(t.Context(), test.e))(t)
			require.Len(t, list, len(everything))
			if len(test.english) == len(everything) {
				assert.Equal(t, len(everything), strings.Count(strings.Join(list, ""), "finds 16 of 16"), "no two texts are the same")
			}
			var own, english []string
			for i, tag := range everything {
				if strings.HasPrefix(list[i], "knows") {
					own = append(own, tag)
				}
				if !strings.Contains(list[i], "does not") {
					english = append(english, tag)
				}
			}
			assert.Equal(t, test.own, own, "tools in the language")
			assert.Equal(t, test.english, english, "tools in English")
		})
	}
}

// Only texts of the chosen languages are embedded, and calls are small.
func TestSomeLanguages(t *testing.T) {
	e := knowing("en")
	list := testtools.Must(Languages(t.Context(), e, "zh", "en", "zh"))(t)
	assert.Equal(t, []string{
		"knows English (asked in English, finds 16 of 16 tools in English; a guess finds 1)",
		"does not know Chinese (asked in Chinese, finds 0 of 16 tools in Chinese and 0 in English; a guess finds 1)",
	}, list)
	assert.Len(t, e.asked, 64)
	assert.Len(t, e.calls, 7)
	assert.Equal(t, 10, slices.Max(e.calls), "texts in a call")

	e = knowing("zh")
	assert.Len(t, testtools.Must(Languages(t.Context(), e, "zh"))(t), 1)
	assert.Len(t, e.asked, 48, "the descriptions in English too")

	_, err := Languages(t.Context(), e, "zh", "tlh")
	assert.EqualError(t, err, `eval: languages: no language "tlh"; there are en, zh, ja, ko, de, fr, es, ru`)
}

// Languages fails where an index of vectors would fail, as the tests of search.Embedding show in full.
func TestLanguagesOfAnEncoderThatFails(t *testing.T) {
	down := errors.New("down")
	_, err := Languages(t.Context(), &languageEmbedder{after: func([]string, [][]float64) ([][]float64, error) { return nil, down }})
	assert.ErrorIs(t, err, down)
	assert.ErrorContains(t, err, "eval: languages: ")
	_, err = Languages(t.Context(), (*languageEmbedder)(nil))
	assert.EqualError(t, err, "eval: languages: the embedder is nil")

	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	_, err = Languages(ctx, &languageEmbedder{after: func([]string, [][]float64) ([][]float64, error) {
		cancel()
		<-release // it does not listen to its context, and is not waited for
		return nil, nil
	}})
	assert.Equal(t, context.Canceled, err)
}

func TestSentenceOfLanguage(t *testing.T) {
	for _, test := range []struct {
		own, english int
		want         string
	}{
		{1, 0, "does not know German"},
		{5, 5, "does not know German"},
		{6, 5, "knows German, but does not match it with English"},
		{5, 6, "matches German with English, but not with German"},
		{6, 6, "knows German"},
	} {
		l := languageTexts{tag: "de", name: "German", requests: make([]string, 16)}
		verdict, counts, _ := strings.Cut(l.sentence(test.own, test.english), " (")
		assert.Equal(t, test.want, verdict)
		want := fmt.Sprintf("asked in German, finds %d of 16 tools in German and %d in English; a guess finds 1)", test.own, test.english)
		assert.Equal(t, want, counts)
	}
}
