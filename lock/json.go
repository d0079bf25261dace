package lock

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// JSON as a lock needs it. Hashes are taken of the canonical form: the keys of objects sorted
// by their bytes, no blanks, numbers as they are, and in texts only the escapes that JSON
// requires. The lock file is indented, and also escapes hidden characters, so that a reviewer
// sees all of a change. Both are written here and not by encoding/json, whose escapes differ
// between releases of Go.

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

// appendCanonical appends the canonical form of a value.
func appendCanonical(b []byte, value any) []byte {
	return (&writer{b: b}).value(value, 0).b
}

// appendIndented appends a value as the lock file has it.
func appendIndented(b []byte, value any) []byte {
	return (&writer{b: b, indents: true, escapes: true}).value(value, 0).b
}

// A writer writes JSON values as readJSON reads them.
type writer struct {
	b       []byte
	indents bool
	escapes bool // hidden characters
}

func (w *writer) value(value any, depth int) *writer {
	switch v := value.(type) {
	case nil:
		w.b = append(w.b, "null"...)
	case bool:
		w.b = fmt.Append(w.b, v)
	case json.Number:
		w.b = append(w.b, v...)
	case string:
		w.text(v)
	case []any:
		w.b = append(w.b, '[')
		for i, inner := range v {
			w.next(i, depth+1)
			w.value(inner, depth+1)
		}
		w.end(len(v), ']', depth)
	case map[string]any:
		w.b = append(w.b, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			w.next(i, depth+1)
			w.text(key)
			w.b = append(w.b, ':')
			if w.indents {
				w.b = append(w.b, ' ')
			}
			w.value(v[key], depth+1)
		}
		w.end(len(v), '}', depth)
	}
	return w
}

// next begins the ith element of a list or an object.
func (w *writer) next(i, depth int) {
	if i > 0 {
		w.b = append(w.b, ',')
	}
	w.line(depth)
}

func (w *writer) end(elements int, with byte, depth int) {
	if elements > 0 {
		w.line(depth)
	}
	w.b = append(w.b, with)
}

func (w *writer) line(depth int) {
	if w.indents {
		w.b = append(w.b, '\n')
		for range depth {
			w.b = append(w.b, "  "...)
		}
	}
}

func (w *writer) text(s string) {
	s = strings.ToValidUTF8(s, "\ufffd") // only the name of a refused tool may not be UTF-8
	w.b = append(w.b, '"')
	written := 0 // bytes of s
	for i, r := range s {
		if ' ' <= r && r != '"' && r != '\\' && (!w.escapes || !naming.IsHidden(r)) {
			continue
		}
		w.b = append(w.b, s[written:i]...)
		written = i + utf8.RuneLen(r)
		switch {
		case r == '"' || r == '\\':
			w.b = append(w.b, '\\', byte(r))
		case r == '\n':
			w.b = append(w.b, `\n`...)
		case r == '\r':
			w.b = append(w.b, `\r`...)
		case r == '\t':
			w.b = append(w.b, `\t`...)
		case r == '\b':
			w.b = append(w.b, `\b`...)
		case r == '\f':
			w.b = append(w.b, `\f`...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			w.b = fmt.Appendf(w.b, `\u%04x\u%04x`, high, low)
		default:
			w.b = fmt.Appendf(w.b, `\u%04x`, r)
		}
	}
	w.b = append(append(w.b, s[written:]...), '"')
}
