package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Names with the prefix of a namespace, as long as providers take them.

const (
	maxPrefixed = 64 // letters of a tool's name that every provider accepts
	hashLetters = 8
)

// PrefixOf writes a namespace so that it can stand before the names of its tools, with "_" for
// characters that providers refuse. The prefix has no "__", and no "_" at either end. So the first
// "__" of a prefixed name ends its prefix, and names of two namespaces differ.
func PrefixOf(namespace string) string {
	letters := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '-':
			return r
		default:
			return '_'
		}
	}, StripDiacritics(namespace))
	return strings.Join(strings.FieldsFunc(letters, func(r rune) bool { return r == '_' }), "_")
}

// Prefixed returns prefix__name. A name of more than 64 letters, which providers refuse, is cut and
// ends in a hash of the whole name.
func Prefixed(prefix, name string) string {
	name = prefix + "__" + name
	if len(name) <= maxPrefixed {
		return name
	}
	hash := sha256.Sum256([]byte(name))
	return Cut(name, maxPrefixed-1-hashLetters) + "_" + hex.EncodeToString(hash[:])[:hashLetters]
}
