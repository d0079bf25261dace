package eval

import (
	"context"
	"errors"
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

// A languageEmbedder is an encoder whose vectors are a function of the text.
type languageEmbedder struct {
	vector func(text string) []float64
	fails  func() error // nil means never

	mu    sync.Mutex
	asked []string
	calls []int // how many texts each had
}

func (e *languageEmbedder) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	if e.fails != nil {
		return nil, e.fails()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked, e.calls = append(e.asked, texts...), append(e.calls, len(texts))
	made := make([][]float64, len(texts))
	for i, text := range texts {
		made[i] = e.vector(text)
	}
	return made, nil
}

func hashOf(text string) uint64 {
	hash := fnv.New64a()
	hash.Write([]byte(text))
	return hash.Sum64()
}

// knowing returns an encoder that knows the test's texts of some languages by heart. It counts the words of any other.
func knowing(tags ...string) *languageEmbedder {
	meanings := make(map[string]int)
	for _, l := range allLanguages() {
		for meaning := range l.requests {
			if slices.Contains(tags, l.tag) {
				meanings[l.requests[meaning]], meanings[l.descriptions[meaning]] = meaning, meaning
			}
		}
	}
	return &languageEmbedder{vector: func(text string) []float64 {
		v := make([]float64, 16+256)
		if meaning, known := meanings[text]; known {
			v[meaning] = 1
			return v
		}
		for _, word := range strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) }) {
			v[16+hashOf(word)%256]++
		}
		return v
	}}
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
		{"that counts three letters in a row", spelling(3), nil, nil},
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
	_, err := Languages(t.Context(), &languageEmbedder{fails: func() error { return down }})
	assert.ErrorIs(t, err, down)
	assert.ErrorContains(t, err, "eval: languages: ")
	_, err = Languages(t.Context(), (*languageEmbedder)(nil))
	assert.EqualError(t, err, "eval: languages: the embedder is nil")

	ctx, cancel := context.WithCancel(t.Context())
	release := make(chan struct{})
	defer close(release)
	_, err = Languages(ctx, &languageEmbedder{fails: func() error {
		cancel()
		<-release // it does not listen to its context, and is not waited for
		return nil
	}})
	assert.Equal(t, context.Canceled, err)
}

func TestSentenceOfLanguage(t *testing.T) {
	for counts, want := range map[[2]int]string{
		{5, 5}: "does not know German (asked in German, finds 5 of 16 tools in German and 5 in English; a guess finds 1)",
		{6, 5}: "knows German, but does not match it with English (asked in German, finds 6 of 16 tools in German and 5 in English; a guess finds 1)",
		{5, 6}: "matches German with English, but not with German (asked in German, finds 5 of 16 tools in German and 6 in English; a guess finds 1)",
	} {
		l := languageTexts{tag: "de", name: "German", requests: make([]string, 16)}
		assert.Equal(t, want, l.sentence(counts[0], counts[1]))
	}
}
