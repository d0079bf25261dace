package main

import (
	"context"
	"hash/fnv"
	"strings"
	"unicode"

	"github.com/cloudwego/eino/components/embedding"
)

// hashed is an embedder without a model, so that the example needs neither a key nor a download. A
// text is the sum of its words' directions, and a hash gives each word its direction. It finds
// shared words, not meanings: take an embedder of eino-ext in its place.
type hashed struct{}

const hashedDims = 2048

func (hashed) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, hashedDims)
		vectors[i][0] = 0.01 // the zero vector has no direction
		isSpace := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
		for _, word := range strings.FieldsFunc(strings.ToLower(text), isSpace) {
			sum := fnv.New32a()
			sum.Write([]byte(word))
			vectors[i][sum.Sum32()%hashedDims]++
		}
	}
	return vectors, nil
}
