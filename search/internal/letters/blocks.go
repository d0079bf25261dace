package letters

import (
	"context"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// How much of a query is in a text, in order. The measure is that of Ratcliff and Obershelp (Dr. Dobb's Journal, July
// 1988), in the variant of Python's difflib.SequenceMatcher(None, a, b).ratio():
//
//	a = the query, b = the text, both lower-cased, as code points
//	matched = the length of the longest block common to a and b
//	        + matched of the texts left of the block + matched of the texts right of it
//	ratio   = 2*matched / (len(a) + len(b))
//
// Of equally long blocks the first in a counts, then the first in b. If b has 200 code points or more, a code point
// that occurs more than len(b)/100 + 1 times is popular. A block cannot start from a popular code point, but it may
// grow over them. So long prose scores low for the letters that a short query shares with all prose.

// The most code points of a query and of a text that are compared. One ratio then takes at most about ten milliseconds.
const (
	MaxQuery = 1024
	MaxText  = 4096
)

const popularFrom = 200 // a text of this many code points or more has popular code points

// A Text is b, with the places of its code points. It never changes.
type Text struct {
	text    string // lower-cased
	chars   []rune // its code points
	letters []letter
	places  []uint16 // where the letters occur, ascending for each; popular letters have none
}

// letter is a distinct code point of a text. The letters of a text are sorted.
type letter struct {
	char     rune
	count    uint16 // how often it occurs in the text
	from, to uint16 // its places are places[from:to]
}

// Contains reports whether a lower-cased word is part of the text.
func (t *Text) Contains(word string) bool { return strings.Contains(t.text, word) }

// NewText reads a lower-cased text, up to MaxText code points.
func NewText(text string) Text {
	t := Text{text: naming.CutRunes(text, MaxText)}
	t.chars = []rune(t.text)
	chars := make([]uint64, len(t.chars)) // code point << 32 | place
	for i, char := range t.chars {
		chars[i] = uint64(char)<<32 | uint64(i)
	}
	slices.Sort(chars)
	t.letters, t.places = make([]letter, 0, 32), make([]uint16, 0, len(chars))
	for next := 0; len(chars) > 0; chars = chars[next:] {
		for next = 1; next < len(chars) && chars[next]>>32 == chars[0]>>32; next++ {
		}
		l := letter{char: rune(chars[0] >> 32), count: uint16(next), from: uint16(len(t.places))}
		if len(t.chars) < popularFrom || next <= len(t.chars)/100+1 {
			for _, c := range chars[:next] {
				t.places = append(t.places, uint16(c))
			}
		}
		l.to = uint16(len(t.places))
		t.letters = append(t.letters, l)
	}
	t.letters = slices.Clone(t.letters)
	return t
}

// A BlockFinder finds the blocks that a query shares with texts. It is for one goroutine at a time.
type BlockFinder struct {
	a       []rune
	kinds   []int32 // the code points of a, numbered
	letters []rune  // number -> code point, sorted
	counts  []int   // number -> how often it is in a

	b      *Text
	places [][]uint16 // number -> where it is in b

	// runs[j+1] is the run of equal code points that ends at j in b. Its stamp identifies the place in a, once for a
	// text.
	runs  [MaxText + 1]run
	stamp uint32
	todo  []span
}

type run struct {
	stamp  uint32
	length int32
}

// span is a part of a and a part of b between blocks.
type span struct{ alo, ahi, blo, bhi int }

// NewBlockFinder returns a BlockFinder of a few tens of kilobytes.
func NewBlockFinder(query string) *BlockFinder {
	f := &BlockFinder{a: []rune(query)}
	f.letters = slices.Compact(slices.Sorted(slices.Values(f.a)))
	f.counts, f.places = make([]int, len(f.letters)), make([][]uint16, len(f.letters))
	for _, char := range f.a {
		kind, _ := slices.BinarySearch(f.letters, char)
		f.kinds = append(f.kinds, int32(kind))
		f.counts[kind]++
	}
	return f
}

// Load sets the text. It returns how many code points the text shares with the query, in any order: an upper bound on
// the length of all blocks.
func (f *BlockFinder) Load(b *Text) (shared int) {
	f.b = b
	clear(f.places)
	rest := b.letters
	for kind, char := range f.letters {
		for len(rest) > 0 && rest[0].char < char {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].char == char {
			f.places[kind] = b.places[rest[0].from:rest[0].to]
			shared += min(f.counts[kind], int(rest[0].count))
		}
	}
	return shared
}

// Matched returns the length of all blocks. A stack replaces the recursion, which could be deep.
func (f *BlockFinder) Matched(ctx context.Context) (matched int, err error) {
	f.stamp = 0
	clear(f.runs[:len(f.b.chars)+1])
	f.todo = append(f.todo[:0], span{0, len(f.a), 0, len(f.b.chars)})
	for len(f.todo) > 0 {
		s := f.todo[len(f.todo)-1]
		f.todo = f.todo[:len(f.todo)-1]
		if s.alo == s.ahi || s.blo == s.bhi {
			continue
		}
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if i, j, length := f.longest(s); length > 0 {
			matched += length
			f.todo = append(f.todo, span{s.alo, i, s.blo, j}, span{i + length, s.ahi, j + length, s.bhi})
		}
	}
	return matched, nil
}

// longest finds the longest block within a span.
func (f *BlockFinder) longest(s span) (besti, bestj, best int) {
	besti, bestj = s.alo, s.blo
	f.stamp++ // there is no row above the first
	for i := s.alo; i < s.ahi; i++ {
		f.stamp++
		places := f.places[f.kinds[i]]
		// Backwards: the run at j continues the run before j in the row above, which must not be overwritten yet.
		for n := len(places) - 1; n >= 0 && int(places[n]) >= s.blo; n-- {
			j := int(places[n])
			if j >= s.bhi {
				continue
			}
			length := 1
			if before := f.runs[j]; before.stamp == f.stamp-1 {
				length += int(before.length)
			}
			f.runs[j+1] = run{f.stamp, int32(length)}
			if start := i + 1 - length; length > best || length == best && start == besti {
				besti, bestj, best = start, j+1-length, length
			}
		}
	}
	// Popular code points have no places. A block, even an empty block, grows over them.
	for besti > s.alo && bestj > s.blo && f.a[besti-1] == f.b.chars[bestj-1] {
		besti, bestj, best = besti-1, bestj-1, best+1
	}
	for besti+best < s.ahi && bestj+best < s.bhi && f.a[besti+best] == f.b.chars[bestj+best] {
		best++
	}
	return besti, bestj, best
}

// Lengths returns the lengths of the query and the text, in code points.
func (f *BlockFinder) Lengths() (query, text int) { return len(f.a), len(f.b.chars) }

// Ratio returns the ratio of the two texts, given the length of all blocks. It is 1 for two empty texts.
func (f *BlockFinder) Ratio(matched int) float64 {
	if len(f.a)+len(f.b.chars) == 0 {
		return 1
	}
	return 2 * float64(matched) / float64(len(f.a)+len(f.b.chars))
}
