package naming

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names of tools as providers take them, with the prefix of a namespace.

const (
	maxShown    = 64 // letters of a tool's name that every provider accepts
	hashLetters = 8
)

// letters returns a name with "_" for the characters that providers refuse.
func letters(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		default:
			return '_'
		}
	}, name)
}

// IsValid reports whether every provider takes the name of a tool.
func IsValid(name string) bool { return name == Valid(name) }

// Valid turns a name into a name that every provider takes.
func Valid(name string) string {
	name = letters(name)
	return cmp.Or(name[:min(len(name), maxShown)], "unknown")
}

// PrefixOf writes a namespace so that it can stand before the names of its tools, with "_" for
// characters that providers refuse. The prefix has no "__", and no "_" at either end. So the first
// "__" of a prefixed name ends its prefix, and names of two namespaces differ.
func PrefixOf(namespace string) string {
	return strings.Join(strings.FieldsFunc(letters(StripDiacritics(namespace)), func(r rune) bool { return r == '_' }), "_")
}

// Shown returns the name under which a model sees a tool: prefix__name, or the name if there is no prefix.
// A name that providers refuse, for its characters or for more than 64 of them, is altered, cut, and ends
// in a hash of the whole name. So names that differ are shown differently, whatever else is listed.
func Shown(prefix, name string) string {
	if prefix != "" {
		name = prefix + "__" + name
	}
	if IsValid(name) {
		return name
	}
	shown, hash := letters(name), sha256.Sum256([]byte(name))
	return shown[:min(len(shown), maxShown-1-hashLetters)] + "_" + hex.EncodeToString(hash[:])[:hashLetters]
}
