package letters

import (
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

// Whether a query asks for a tool by its name. Names are compared letter by letter, ignoring anything between the
// words, with and without the prefixes of MCP clients:
//
//	mcp__github__create_issue   github create issue   create issue
//
// A query that spells out one of these names is exact. A query that spells out at least the first two words of a name
// is a prefix: "github create", or "create iss" if no tool has the word "iss". A single word is not a prefix: "list"
// should not favor all tools whose names begin with it.

const minPrefixWords = 2

// A Tier says how much of a name a query is. A higher Tier is better.
type Tier uint8

const (
	NotNamed   Tier = iota // the query does not begin the name
	BeginsName             // the query begins the name
	SpellsName             // the query spells out the name
)

// eachSpelling calls f with every spelling of a tool's name.
func eachSpelling(name string, aliases []string, f func(name string)) {
	name = naming.Cut(name, naming.MaxBytes)
	f(name)
	rest, isMCP := strings.CutPrefix(name, "mcp__")
	if isMCP {
		f(rest)
	}
	if at := strings.LastIndex(rest, "__"); at > 0 {
		f(rest[at+2:])
	}
	for _, alias := range aliases {
		f(naming.Cut(alias, naming.MaxBytes))
	}
}

// Heads are a set of the beginnings of names: a bit for the first 4 letters of each, and one for the first 8. Different
// beginnings may share a bit, and shorter ones have none.
type Heads uint64

// HeadsOf returns the heads of a tool's names.
func HeadsOf(name string, aliases []string) (all Heads) {
	eachSpelling(name, aliases, func(name string) { all |= headsOf(name) })
	return all
}

// headsOf returns the heads of one name. A query that begins or spells out the name has no others.
func headsOf(name string) (heads Heads) {
	hash, count := uint32(0), 0
	for _, r := range name {
		if analysis.ClassOf(r) == analysis.NoLetter {
			continue
		}
		hash = (hash ^ uint32(unicode.ToLower(r))) * 16777619 // FNV-1a, by letters
		if count++; count == 4 || count == 8 {
			heads |= 1 << (hash >> 26)
		}
		if count == 8 {
			break
		}
	}
	return heads
}

// A Name is a query read as a name. It is for one goroutine at a time.
type Name struct {
	letters []rune // of its words, lower-cased
	heads   Heads
	words   int
	torn    bool // the last word may be cut short
}

// Read reads a text. It reports false if the text cannot be a name.
func (n *Name) Read(text string) bool {
	n.letters, n.heads, n.words, n.torn = n.letters[:0], headsOf(text), 0, false
	for i := 0; i < len(text); {
		class, end := analysis.WordAt(text, i)
		if class != analysis.NoLetter {
			n.words++
			for _, r := range text[i:end] {
				n.letters = append(n.letters, unicode.ToLower(r))
			}
			if len(n.letters) > naming.MaxBytes {
				return false
			}
		}
		i = end
	}
	return n.words > 0
}

// CutShort says, after Read, that the last word of the query may be cut short.
func (n *Name) CutShort() { n.torn = true }

// MustEnd says, after Read, that the query does not match a name that it only begins.
func (n *Name) MustEnd() { n.words = 0 }

// MayBe reports whether any name with these heads may begin with the query's letters.
func (n *Name) MayBe(names Heads) bool { return n.heads&^names == 0 }

// Tier returns the best tier of a tool's names.
func (n *Name) Tier(name string, aliases []string) (best Tier) {
	eachSpelling(name, aliases, func(name string) { best = max(best, n.tierOf(name)) })
	return best
}

func (n *Name) tierOf(name string) Tier {
	letters := n.letters
	for i, r := range name {
		class := analysis.ClassOf(r)
		r = unicode.ToLower(r)
		switch {
		case class == analysis.NoLetter:
		case len(letters) > 0 && r == letters[0]:
			letters = letters[1:]
		case len(letters) == 0 && n.words >= minPrefixWords && (n.torn || beginsWord(name, i)):
			return BeginsName
		default:
			return NotNamed
		}
	}
	if len(letters) > 0 {
		return NotNamed
	}
	return SpellsName
}

func beginsWord(text string, i int) bool {
	at := 0
	for at < i {
		_, at = analysis.WordAt(text, at)
	}
	return at == i
}
