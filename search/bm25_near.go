package search

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// Words of a query that no tool has. Such a word is taken for the terms of the index that
// it may have been meant for:
//
//	two terms written as one    webpage -> web page
//	the beginning of a term     kube -> kubernet, for three letters at least
//	a term misspelled           invioce -> invoic: one slip, two in a word of eight
//
// where a slip is a letter more, less or another, or two neighbours swapped. A word with a
// digit, one of the lexicon, and a value are what they are, and so is every word of a
// longer query: those that no tool has are mostly names there. Of queries of any length, the
// mean of the public sets would be lower by 0.0 and 0.1; of the golden file's 20 misspelled
// queries, 18 have their tool first with this and 12 without.
//
// All terms are gone through, but it is their sets of letters that are looked at: a slip
// changes at most two letters of a set, and few terms come so near.

const (
	nearWeight     = 0.5
	maxNearTerms   = 4 // for one word
	maxNearQuery   = 8 // terms of a query
	maxNearWords   = 4 // of them
	minSplitLength = 3 // bytes of each of two terms
	minSlipLength  = 4 // bytes
	twoSlipsLength = 8
)

// nearTerms are the terms that a word may be meant for.
type nearTerms struct {
	ids     []int32
	letters []uint32 // the sets of their letters
}

// letterSet returns the set of letters of a term; not ok for one with anything but letters.
func letterSet(term string) (set uint32, ok bool) {
	for i := range len(term) {
		c := term[i]
		switch byteClasses[c] {
		case lowerClass:
			set |= 1 << (c - 'a')
		case notASCII:
			set |= 1 << (26 + c%6)
		default:
			return 0, false
		}
	}
	return set, term != ""
}

func (x *bm25) newNearTerms() *nearTerms {
	near := &nearTerms{}
	for id, term := range x.terms {
		if r, _ := utf8.DecodeRuneInString(term); kindOfRune(r) != wordRun || len(term) < minSlipLength {
			continue
		}
		if set, ok := letterSet(term); ok {
			near.ids = append(near.ids, int32(id))
			near.letters = append(near.letters, set)
		}
	}
	return near
}

// nearTerm is a term, and how far the word is from it.
type nearTerm struct {
	id    int32
	slips int
}

// near appends the terms that a word was most likely meant for, the likeliest first.
func (x *bm25) near(found []nearTerm, word string) []nearTerm {
	set, ok := letterSet(word)
	if r, _ := utf8.DecodeRuneInString(word); !ok || kindOfRune(r) != wordRun || len(word) < minPartLetters {
		return found
	}
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
		if !isPart && bits.OnesCount32(set^letters) > 2*slips {
			continue
		}
		term := x.terms[near.ids[i]]
		if isPart && strings.HasPrefix(term, word) {
			found = append(found, nearTerm{near.ids[i], 0})
		} else if n := naming.Edits([]byte(word), []byte(term), slips); n <= slips {
			found = append(found, nearTerm{near.ids[i], n})
		}
	}
	// Of terms as near, the one that more tools have.
	slices.SortFunc(found, func(a, b nearTerm) int {
		return cmp.Or(cmp.Compare(a.slips, b.slips), cmp.Compare(x.frequency(b.id), x.frequency(a.id)), strings.Compare(x.terms[a.id], x.terms[b.id]))
	})
	for i := range found { // only the nearest
		if i == maxNearTerms || found[i].slips > found[0].slips {
			return found[:i]
		}
	}
	return found
}

func (x *bm25) frequency(term int32) int32 { return x.bounds[term+1] - x.bounds[term] }

// split returns the two terms a word consists of. A stem that ends in e in a short word may
// have lost it at the end of a long one.
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
