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
// is nearest to its description only for an encoder that knows what both mean. Of 16 requests, guesses
// find 6 and more in 1 of 3,600 trials, spellings 0 to 3, and an encoder that knows the language 15.

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

// sentence says how well an encoder knows the language, by how many tools it finds for the requests.
func (l *languageTexts) sentence(own, english int) string {
	knows := "knows " + l.name
	switch {
	case own < leastKnown && english < leastKnown:
		knows = "does not know " + l.name
	case english < leastKnown:
		knows += ", but does not match it with English"
	case own < leastKnown:
		knows = "matches " + l.name + " with English, but not with " + l.name
	}
	found := fmt.Sprintf("finds %d of %d tools in %s", own, len(l.requests), l.name)
	if l.tag != "en" {
		found += fmt.Sprintf(" and %d in English", english)
	}
	return fmt.Sprintf("%s (asked in %s, %s; a guess finds 1)", knows, l.name, found)
}

// Languages tests which languages an encoder knows: English, Chinese, Japanese, Korean, German,
// French, Spanish and Russian, in this order. It returns a sentence for each, such as "does not know
// Chinese (asked in Chinese, finds 1 of 16 tools in Chinese and 0 in English; a guess finds 1)". A
// request finds its tool if the cosine of their vectors is above that of the request and any other
// tool. To know a language, an encoder must find 6 tools of 16 or more.
//
// An encoder that does not know the language of the queries adds no meaning to a search.Hybrid. If
// most queries are in such languages, give it a weight of 0.3, leave it out, or take an encoder that
// knows more languages. docs/searchers.md has the numbers.
//
// tags choose languages: "en", "zh", "ja", "ko", "de", "fr", "es", "ru". None means all. An unknown
// tag is an error.
//
// The embedder gets 32 short texts for each language, and 16 more in English if English is not among
// them, at most 10 in a call and 4 calls at the same time. Like search.Embedding, Languages fails if
// the embedder fails, panics or returns unusable vectors. It waits for the embedder as long as ctx
// allows. When ctx is done, it returns ctx's error. The same vectors give the same answer.
func Languages(ctx context.Context, e embedding.Embedder, tags ...string) ([]string, error) {
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
	of, err := vectors.Options{
		Embedder: e, BatchSize: languageBatch, Concurrency: languageConcurrency,
	}.Make(ctx, texts, nil)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("eval: languages: %w", err)
	}
	sentences := make([]string, len(asked))
	for i, l := range asked {
		sentences[i] = l.sentence(firsts(of, l.requests, l.descriptions), firsts(of, l.requests, english.descriptions))
	}
	return sentences, nil
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
