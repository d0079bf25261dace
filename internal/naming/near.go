package naming

import (
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// Names like a name: character trigrams propose names, and the edit distance decides.

const (
	maxCandidates = 32  // proposals whose edit distance is computed
	floor         = 0.6 // the likeness a name must have
)

// A NearIndex finds names by the trigrams of their parts. The parts are joined by underscores and padded at both ends,
// so that the beginning and the end of a name count. It never changes and is safe for concurrent use.
type NearIndex struct {
	names    []string
	parts    []string // joined
	postings map[[3]byte][]int32
}

// NewNearIndex indexes names.
func NewNearIndex(names []string) *NearIndex {
	x := &NearIndex{names: names, postings: make(map[[3]byte][]int32)}
	for i, name := range names {
		parts := JoinParts(name)
		x.parts = append(x.parts, parts)
		for _, gram := range trigrams(parts) {
			list := x.postings[gram]
			if len(list) == 0 || list[len(list)-1] != int32(i) {
				x.postings[gram] = append(list, int32(i))
			}
		}
	}
	return x
}

func trigrams(s string) (grams [][3]byte) {
	padded := []byte("_" + s + "_")
	for i := 3; i <= len(padded); i++ {
		grams = append(grams, [3]byte(padded[i-3:i]))
	}
	return grams
}

// Near returns at most limit names like text, the best first. The whole name is like the text, or a run of as many of
// its parts as there are in the text. Only names whose numbers are in allowed count; nil means all.
func (x *NearIndex) Near(text string, limit int, allowed docset.Set) []string {
	text = JoinParts(text)
	shared := make([]uint16, len(x.names))
	for _, gram := range trigrams(text) {
		for _, i := range x.postings[gram] {
			shared[i]++
		}
	}
	// Of names that share equally many trigrams, the shorter name has fewer others.
	candidates := docset.NewTop(maxCandidates, len(x.names), nil)
	for i, n := range shared {
		if n > 0 && (allowed == nil || allowed.Has(i)) {
			candidates.Add(float64(n)-float64(len(x.parts[i]))/1024, int32(i))
		}
	}
	best := docset.NewTop(limit, maxCandidates, nil)
	for _, c := range candidates.Best() {
		if score := likeness(text, x.parts[c.Number]); score >= floor {
			best.Add(score, c.Number)
		}
	}
	var names []string
	for _, s := range best.Best() {
		names = append(names, x.names[s.Number])
	}
	return names
}

// Likeness returns 1 for equal names and 0 for names that share nothing.
func Likeness(a, b string) float64 { return likeness(JoinParts(a), JoinParts(b)) }

// likeness compares joined parts: the text and the whole name or, for a little less, the likest run of its parts.
func likeness(text, name string) float64 {
	wanted := []rune(text)
	whole := SimilarityAbove(wanted, []rune(name), 0)
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	best, width := whole, strings.Count(text, "_")+1
	for i := 0; i+width <= len(parts); i++ {
		run := strings.Join(parts[i:i+width], "_")
		best = max(best, 0.9*SimilarityAbove(wanted, []rune(run), 0)+0.1*whole)
	}
	return best
}
