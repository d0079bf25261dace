package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Unknown words are words of a query that no tool has. An unknown word is replaced by the
// terms of the index that it may have been meant for:
//
//	two terms written as one    webpage -> web page
//	the beginning of a term     kube -> kubernet, for three letters at least
//	a term misspelled           invioce -> invoic: one slip, two in a word of eight
//
// A slip is a letter added, missing or replaced, or two neighbours swapped. Words with a
// digit, words of the lexicon and values are not replaced. Words of longer queries are not
// replaced either: there, unknown words are mostly names. Replacing them in queries of any
// length would lower the means of the public sets by 0.0 and 0.1. Of the golden file's 20
// misspelled queries, 18 have their tool first with replacement and 12 without.
//
// The search goes through all terms, but first compares only their sets of letters: a slip
// changes at most two letters of a set, and few terms come that near.

const (
	nearWeight     = 0.5
	maxNearTerms   = 4 // for one word
	maxNearQuery   = 8 // terms of a query
	maxNearWords   = 4 // of them
	minSplitLength = 3 // bytes of each of two terms
	minSlipLength  = 4 // bytes
	twoSlipsLength = 8
)

// nearTerms are the terms that can replace a word.
type nearTerms struct {
	ids     []int32
	letters []uint64 // letterSet of each
}

func (x *bm25) newNearTerms() *nearTerms {
	near := &nearTerms{}
	for id, term := range x.terms {
		if len(term) >= minSlipLength && isOfLetters(term) {
			near.ids = append(near.ids, int32(id))
			near.letters = append(near.letters, letterSet(term))
		}
	}
	return near
}

// isOfLetters reports whether a term is neither a number nor ideographs.
func isOfLetters(term string) bool {
	class, _ := classAt(term, 0)
	return class != digit && class != ideograph
}

// nearTerm is a term, and how far the word is from it.
type nearTerm struct {
	id    int32
	slips int
}

// near appends the terms that a word was most likely meant for, the likeliest first.
func (x *bm25) near(found []nearTerm, word string) []nearTerm {
	if len(word) < minPartLetters || !isOfLetters(word) {
		return found
	}
	set := letterSet(word)
	slips := 0
	switch {
	case len(word) >= twoSlipsLength:
		slips = 2
	case len(word) >= minSlipLength:
		slips = 1
	}
	near := x.nearTerms()
	for i, letters := range near.letters {
		isPart := set&^letters == 0
		if !isPart && bits.OnesCount64(set^letters) > 2*slips {
			continue
		}
		term := x.terms[near.ids[i]]
		if isPart && strings.HasPrefix(term, word) {
			found = append(found, nearTerm{near.ids[i], 0})
		} else if n := naming.Edits([]byte(word), []byte(term), slips); n <= slips {
			found = append(found, nearTerm{near.ids[i], n})
		}
	}
	// Of equally near terms, the more frequent one is likelier.
	slices.SortFunc(found, func(a, b nearTerm) int {
		return cmp.Or(cmp.Compare(a.slips, b.slips), cmp.Compare(len(x.list(b.id)), len(x.list(a.id))), strings.Compare(x.terms[a.id], x.terms[b.id]))
	})
	for i := range found { // only the nearest
		if i == maxNearTerms || found[i].slips > found[0].slips {
			return found[:i]
		}
	}
	return found
}

// split returns the two terms that a word consists of. A stem may lose its final e at the
// end of a longer word.
func (x *bm25) split(word string) (first, second int32, ok bool) {
	for i := minSplitLength; i+minSplitLength <= len(word); i++ {
		first, known := x.ids[word[:i]]
		if !known {
			continue
		}
		second, known := x.ids[word[i:]]
		if !known {
			second, known = x.ids[word[i:]+"e"]
		}
		if known {
			return first, second, true
		}
	}
	return 0, 0, false
}
