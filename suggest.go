package toolsearch

import (
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/top"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Near names for what was not found: character trigrams propose, edit distance decides.

const (
	maxNearQueries = 8  // texts that near names are looked for, in one search
	nearCandidates = 32 // proposals whose edit distance is computed
	nearFloor      = 0.6
)

// nameIndex finds names by the trigrams of their parts joined by underscores, padded at
// both ends so that how a name begins and ends counts.
type nameIndex struct {
	names    []string
	parts    []string // joined
	postings map[[3]byte][]int32
}

func newNameIndex(docs []search.Document) *nameIndex {
	x := &nameIndex{postings: make(map[[3]byte][]int32)}
	for i := range docs {
		x.names = append(x.names, docs[i].Name)
		parts := naming.JoinParts(docs[i].Name)
		x.parts = append(x.parts, parts)
		for gram := range trigrams(parts) {
			list := x.postings[gram]
			if len(list) == 0 || list[len(list)-1] != int32(i) {
				x.postings[gram] = append(list, int32(i))
			}
		}
	}
	return x
}

func trigrams(s string) func(yield func([3]byte) bool) {
	padded := "_" + s + "_"
	return func(yield func([3]byte) bool) {
		for i := 0; i+3 <= len(padded); i++ {
			if !yield([3]byte{padded[i], padded[i+1], padded[i+2]}) {
				return
			}
		}
	}
}

// near returns the names most like text, best first: those of which a whole name, or a
// run of as many parts as text has, is like it for the most part. Of allowed alone, unless
// that is nil.
func (x *nameIndex) near(text string, limit int, allowed docset.Set) []string {
	text = naming.JoinParts(text)
	if text == "" {
		return nil
	}
	shared := make([]uint16, len(x.names))
	for gram := range trigrams(text) {
		for _, i := range x.postings[gram] {
			shared[i]++
		}
	}
	// Of names that share equally many, the shorter has less else in it.
	candidates := top.New(nearCandidates, len(x.names), nil)
	for i, n := range shared {
		if n > 0 && (allowed == nil || allowed.Has(i)) {
			candidates.Add(float64(n)-float64(len(x.parts[i]))/1024, int32(i))
		}
	}
	best := top.New(limit, len(candidates.Items), nil)
	for _, c := range candidates.Items {
		if likeness := likeness(text, x.parts[c.Number]); likeness >= nearFloor {
			best.Add(likeness, c.Number)
		}
	}
	slices.SortFunc(best.Items, top.Compare)
	names := make([]string, len(best.Items))
	for i, s := range best.Items {
		names[i] = x.names[s.Number]
	}
	return names
}

// likeness is 1 for equal texts and 0 for texts that share nothing: one minus the edit
// distance over the longer length, of the whole name or, a little less worth, of the run
// of its parts that is most like text.
func likeness(text, name string) float64 {
	wanted := []rune(text)
	whole := naming.Similarity(wanted, []rune(name))
	parts := strings.FieldsFunc(name, func(r rune) bool { return r == '_' })
	width := strings.Count(text, "_") + 1
	best := whole
	for i := 0; i+width <= len(parts); i++ {
		run := strings.Join(parts[i:i+width], "_")
		best = max(best, 0.9*naming.Similarity(wanted, []rune(run))+0.1*whole)
	}
	return best
}

// near returns names like the given texts, without those already matched.
func (c scope) near(texts []string, matched []Match) []string {
	var names []string
	for _, text := range texts[:min(len(texts), maxNearQueries)] {
		for _, name := range c.names().near(text, maxSuggestions, c.allowed) {
			isMatched := slices.ContainsFunc(matched, func(m Match) bool { return m.Info.Name == name })
			if !isMatched && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names[:min(len(names), maxSuggestions)]
}
