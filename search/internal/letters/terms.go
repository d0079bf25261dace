package letters

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

// A word of a query that no tool has is replaced by the terms of the index that it may have been meant to be:
//
//	two terms written as one    webpage -> web page
//	the beginning of a term     kube -> kubernet, for three letters at least
//	a term misspelled           invioce -> invoic: one slip, two in a word of eight
//
// A slip is a letter added, missing or replaced, or two neighbours swapped. Words with a digit, words of the lexicon
// and values are not replaced. In long queries, a word is not taken for the beginning of a term, since unknown words
// there are mostly names. No server decides alone what a word is taken for: the word is also taken for what it would
// be without the terms of that server alone.
//
// The search goes through the terms of about the word's length, but first compares only their sets of letters: a slip
// changes at most two letters of a set.

// MinPart is the least number of characters of a word that may be cut short.
const MinPart = 3

const (
	maxNearTerms   = 4 // for one word
	minSplitLength = 3 // bytes of each of two terms
	bytesPerSlip   = 4 // a shorter word is not misspelled
	maxSlips       = 2
)

// Terms holds the terms that can replace a word. It never changes and is safe for concurrent use.
type Terms struct {
	terms   []string // number -> term
	bounds  []int32  // of the terms' postings
	ids     []int32  // the shorter terms first
	letters []uint64 // naming.LetterSet of each
	owner   func(terms ...int32) (namespace int32)
}

// NewTerms returns the terms of an index by their numbers; bounds[t+1] - bounds[t] tools have term t. owner returns
// the only namespace that has a term, from 1, or a lower number.
func NewTerms(terms []string, bounds []int32, owner func(terms ...int32) (namespace int32)) *Terms {
	near := &Terms{terms: terms, bounds: bounds, owner: owner}
	for id, term := range terms {
		if len(term) >= bytesPerSlip && analysis.IsOfLetters(term) {
			near.ids = append(near.ids, int32(id))
		}
	}
	slices.SortStableFunc(near.ids, func(a, b int32) int { return len(terms[a]) - len(terms[b]) })
	for _, id := range near.ids {
		near.letters = append(near.letters, naming.LetterSet(terms[id]))
	}
	return near
}

func (n *Terms) from(length int) int {
	at, _ := slices.BinarySearchFunc(n.ids, length, func(id int32, length int) int { return len(n.terms[id]) - length })
	return at
}

// Of returns the numbers of the terms that a word was most likely meant for, the likeliest first. mayBeCut means that
// it may be the beginning of a term.
func (n *Terms) Of(word string, mayBeCut bool) (nearest []int32) {
	if len(word) < MinPart || !analysis.IsOfLetters(word) {
		return nil
	}
	set := naming.LetterSet(word)
	slips := min(len(word)/bytesPerSlip, maxSlips)
	type nearTerm struct {
		id    int32
		slips int
	}
	var found []nearTerm
	start, end := n.from(len(word)-slips), n.from(len(word)+slips+1)
	if mayBeCut {
		end = len(n.ids)
	}
	for i := start; i < end; i++ {
		letters := n.letters[i]
		isPart := set&^letters == 0
		if !isPart && bits.OnesCount64(set^letters) > 2*slips {
			continue
		}
		term := n.terms[n.ids[i]]
		if mayBeCut && isPart && strings.HasPrefix(term, word) {
			found = append(found, nearTerm{n.ids[i], 0})
		} else if edits := naming.Edits([]byte(word), []byte(term), slips); edits <= slips {
			found = append(found, nearTerm{n.ids[i], edits})
		}
	}
	// Of equally near terms, the one that more tools have is likelier.
	tools := func(id int32) int { return int(n.bounds[id+1] - n.bounds[id]) }
	slices.SortFunc(found, func(a, b nearTerm) int {
		return cmp.Or(a.slips-b.slips, tools(b.id)-tools(a.id), strings.Compare(n.terms[a.id], n.terms[b.id]))
	})
	add := func(found []nearTerm) {
		for _, term := range found[:min(len(found), maxNearTerms)] {
			if term.slips == found[0].slips && !slices.Contains(nearest, term.id) { // only the nearest
				nearest = append(nearest, term.id)
			}
		}
	}
	add(found)
	for _, id := range nearest {
		if owner := n.owner(id); owner > 0 {
			add(slices.DeleteFunc(slices.Clone(found), func(term nearTerm) bool { return n.owner(term.id) == owner }))
		}
	}
	return nearest
}

// Split returns the two terms that make up a word, or nil. A stem may lose its final e at the end of a longer word.
func Split(word string, find func(term string) (id int32, known bool)) [][]int32 {
	for i := minSplitLength; i+minSplitLength <= len(word); i++ {
		first, known := find(word[:i])
		if !known {
			continue
		}
		second, known := find(word[i:])
		if !known {
			second, known = find(word[i:] + "e")
		}
		if known {
			return [][]int32{{first}, {second}}
		}
	}
	return nil
}
