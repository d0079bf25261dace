package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// JSON as a lock needs it. Hashes are taken of the canonical form: the keys of objects sorted
// by their bytes, no blanks, numbers as they are, and in texts only the escapes that JSON
// requires. It is written here and not by encoding/json, whose escapes differ between releases of
// Go. The lock file is the canonical form, indented and with hidden characters as escapes, so that
// a reviewer sees all of a change.

// maxNesting bounds how deep JSON may be nested. The schemas of definitions are bounded to less.
const maxNesting = 300

// readJSON reads a value: objects as map[string]any, lists as []any, numbers as json.Number. It
// fails on an object that has a key twice, since readers disagree about which one counts.
func readJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := readValue(decoder, 0)
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, fmt.Errorf("not JSON near byte %d: %w", decoder.InputOffset(), err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("more after the JSON value, at byte %d", decoder.InputOffset())
	}
	return value, nil
}

func readValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if depth > maxNesting {
		return nil, fmt.Errorf("nested more than %d deep", maxNesting)
	}
	switch token {
	case json.Delim('{'):
		object := make(map[string]any)
		for decoder.More() {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			key := token.(string) // the decoder refuses anything else
			if _, twice := object[key]; twice {
				return nil, fmt.Errorf("the key %s twice in an object", naming.Visible(key, 100))
			}
			if object[key], err = readValue(decoder, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := readValue(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}

// appendCanonical appends the canonical form of a value as readJSON reads it. A json.RawMessage is in that form.
func appendCanonical(b []byte, value any) []byte {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case json.RawMessage:
		return append(b, v...)
	case string:
		return appendText(b, v)
	case []any:
		b = append(b, '[')
		for i, inner := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, inner)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, key), ':')
			b = appendCanonical(b, v[key])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("lock: a value of type %T is not JSON as readJSON reads it", value))
}

func appendText(b []byte, s string) []byte {
	s = strings.ToValidUTF8(s, "\ufffd") // only the name of a refused tool may not be UTF-8
	b = append(b, '"')
	for _, r := range s {
		at := strings.IndexRune("\"\\\n\r\t\b\f", r)
		switch {
		case at >= 0:
			b = append(b, '\\', `"\nrtbf`[at])
		case r < ' ':
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return append(b, '"')
}

// escapeHidden writes the hidden characters of JSON as escapes. They occur in its texts alone.
func escapeHidden(data []byte) []byte {
	b := make([]byte, 0, len(data))
	for _, r := range string(data) {
		if r == '\n' || !naming.IsHidden(r) { // within texts, a line feed is an escape already
			b = utf8.AppendRune(b, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			b = fmt.Appendf(b, `\u%04x`, unit)
		}
	}
	return b
}
