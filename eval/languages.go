package eval

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/vectors"
)

// Which languages an encoder knows. An encoder gives a vector to any text, so nothing fails if it
// knows no word of a language: its ranking is then a guess, or a comparison of spellings.
// languages.txt has requests that share only words like "the" with their descriptions, so a request
// is nearest to its description only for an encoder that knows what both mean. Of 16 requests, this
// many are nearest:
//
//	guesses                                                   1 in the mean, 6 and more in 1 of 3,600 trials
//	counts of words, or of 1 to 4 letters in a row            0 to 3, in every language
//	Universal Sentence Encoder Lite, which knows English      15 in English, 0 to 3 in the others
//
// So leastKnown is twice what spellings reach, and far below what meanings reach.

const (
	leastKnown          = 6  // requests of 16
	languageBatch       = 10 // texts in one call, as in search.EmbeddingOptions
	languageConcurrency = 4  // calls, likewise
)

//go:embed languages.txt
var languagesText string

// languageTexts are the texts of a language. requests[i] asks for the tool of descriptions[i].
type languageTexts struct {
	tag, name              string
	requests, descriptions []string
}

var allLanguages = sync.OnceValue(func() (all []languageTexts) {
	for _, block := range strings.Split(strings.TrimSpace(languagesText), "\n\n")[1:] {
		lines := strings.Split(block, "\n")
		var l languageTexts
		l.tag, l.name, _ = strings.Cut(lines[0], " ")
		for _, line := range lines[1:] {
			request, description, _ := strings.Cut(line, " | ")
			l.requests, l.descriptions = append(l.requests, request), append(l.descriptions, description)
		}
		all = append(all, l)
	}
	return all
})

// A LanguageKnown says how well an encoder knows a language: how many of some short requests are
// nearer to the description of the tool that they ask for than to the descriptions of the other
// tools, by the cosine. An encoder that guesses finds 1 of 16.
type LanguageKnown struct {
	Tag      string `json:"tag"`      // of the language: "zh"
	Name     string `json:"name"`     // of the language, in English: "Chinese"
	Requests int    `json:"requests"` // the number of requests and of tools: 16
	Own      int    `json:"own"`      // requests that find their tool among descriptions in the language
	English  int    `json:"english"`  // requests that find their tool among descriptions in English
}

// KnowsOwn reports whether requests in the language find tools described in it: 6 of 16 or more.
func (k LanguageKnown) KnowsOwn() bool { return k.Own >= leastKnown }

// KnowsEnglish reports whether requests in the language find tools described in English: 6 of 16 or
// more.
func (k LanguageKnown) KnowsEnglish() bool { return k.English >= leastKnown }

// String describes k in a line, such as "does not know Chinese (of 16 requests, 1 finds its
// tool in Chinese and 0 in English; a guess finds 1)".
func (k LanguageKnown) String() string {
	knows := "knows " + k.Name
	switch {
	case !k.KnowsOwn() && !k.KnowsEnglish():
		knows = "does not know " + k.Name
	case !k.KnowsEnglish():
		knows += ", but does not match it with English"
	case !k.KnowsOwn():
		knows = "matches " + k.Name + " with English, but not with " + k.Name
	}
	finds := "finds its tool"
	if k.Own != 1 {
		finds = "find their tool"
	}
	found := fmt.Sprintf("%d %s in %s", k.Own, finds, k.Name)
	if k.Tag != "en" {
		found += fmt.Sprintf(" and %d in English", k.English)
	}
	return fmt.Sprintf("%s (of %d requests, %s; a guess finds 1)", knows, k.Requests, found)
}

// Languages tests which languages an encoder knows: English, Chinese, Japanese, Korean, German,
// French, Spanish and Russian, in this order. An encoder that does not know the language of the
// queries adds no meaning to a search.Hybrid. If most queries are in such languages, give it a weight
// of 0.3, leave it out, or take an encoder that knows more languages. docs/searchers.md has the
// numbers.
//
// tags choose languages: "en", "zh", "ja", "ko", "de", "fr", "es", "ru". None means all. An unknown
// tag is an error.
//
// The embedder gets 32 short texts for each language, and 16 more in English if English is not among
// them, at most 10 in a call and 4 calls at the same time. Like search.Embedding, Languages fails if
// the embedder fails, panics or returns unusable vectors. It waits for the embedder as long as ctx
// allows. When ctx is done, it returns ctx's error. The same vectors give the same answer.
func Languages(ctx context.Context, e embedding.Embedder, tags ...string) ([]LanguageKnown, error) {
	if foreign.IsNil(e) {
		return nil, errors.New("eval: languages: the embedder is nil")
	}
	all := allLanguages()
	english, known := all[0], make([]string, len(all))
	for i := range all {
		known[i] = all[i].tag
	}
	for _, tag := range tags {
		if !slices.Contains(known, tag) {
			return nil, fmt.Errorf("eval: languages: no language %q; there are %s", tag, strings.Join(known, ", "))
		}
	}
	var asked []languageTexts
	texts := slices.Clone(english.descriptions)
	for _, l := range all {
		if len(tags) > 0 && !slices.Contains(tags, l.tag) {
			continue
		}
		asked = append(asked, l)
		texts = append(texts, l.requests...)
		if l.tag != english.tag {
			texts = append(texts, l.descriptions...)
		}
	}
	made, err := vectors.Options{
		Embedder: e, BatchSize: languageBatch, Concurrency: languageConcurrency,
	}.Make(ctx, texts, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("eval: languages: %w", err)
	}
	of := make(map[string][]float32, len(texts))
	for i, text := range texts {
		of[text] = made[i]
	}
	list := make([]LanguageKnown, len(asked))
	for i, l := range asked {
		list[i] = LanguageKnown{
			Tag: l.tag, Name: l.name, Requests: len(l.requests),
			Own: firsts(of, l.requests, l.descriptions), English: firsts(of, l.requests, english.descriptions),
		}
	}
	return list, nil
}

// firsts counts the requests whose own description is nearer than every other.
func firsts(of map[string][]float32, requests, descriptions []string) (count int) {
	for i, request := range requests {
		nearest := true
		own := vectors.Dot(of[request], of[descriptions[i]])
		for j, other := range descriptions {
			nearest = nearest && (j == i || vectors.Dot(of[request], of[other]) < own)
		}
		if nearest {
			count++
		}
	}
	return count
}
