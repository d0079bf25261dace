// Package modeljson reads JSON as models write it: fenced, in prose, in a JSON string, cut off, with a number as text,
// or a list instead of a text. Unreadable JSON is not an error, since a model's mistake gets an answer.
package modeljson

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/bytedance/sonic"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

const (
	maxBytes     = 64 << 10 // of a text; the rest is not read
	maxWrappings = 3        // JSON in a JSON string in a JSON string
)

// strict refuses a key that the object does not have.
var strict = sonic.Config{DisallowUnknownFields: true, ValidateString: true, CopyString: true}.Froze()

// decoder keeps numbers as text: a number too large for any Go type is still a number.
var decoder = sonic.Config{UseNumber: true, ValidateString: true, CopyString: true}.Froze()

// Read finds the JSON value in a text, even inside JSON strings. Numbers are json.Numbers. A text that does not look
// like JSON is the value itself. Read reports false if there is no value.
func Read(text string) (value any, ok bool) {
	value, ok = decodeLoosely(naming.Cut(text, maxBytes), len(text) <= maxBytes)
	for range maxWrappings {
		text, _ := value.(string) // else there is nothing to read
		inner, isJSON := decode(Unfence(text))
		if !isJSON {
			break
		}
		value = inner
	}
	return value, ok
}

// ReadExactly reads a text into an object that must have every key of the text. It reports false for any other text,
// and for a text that Read would cut.
func ReadExactly(text string, object any) bool {
	return len(text) <= maxBytes && strict.UnmarshalFromString(text, object) == nil
}

// decodeLoosely finds the JSON value in a text. whole means that the text was not cut.
func decodeLoosely(text string, whole bool) (any, bool) {
	text = Unfence(text)
	if value, ok := decode(text); ok {
		return value, true
	}
	if !whole {
		// The cut most likely fell into the query: nothing else is this long.
		for _, end := range []string{`"}`, `"]}`, `"`} {
			if value, ok := decode(strings.TrimRight(text, `\`) + end); ok {
				return value, true
			}
		}
	}
	open, end := strings.IndexByte(text, '{'), strings.LastIndexByte(text, '}')
	if open >= 0 && end > open {
		return decode(text[open : end+1])
	}
	if strings.ContainsAny(text, "{}[]") {
		return nil, false
	}
	return strings.Trim(text, `"`), true
}

// Unfence removes a Markdown code fence around the text.
func Unfence(text string) string {
	text = strings.TrimSpace(strings.TrimPrefix(text, "\ufeff"))
	inner, fenced := strings.CutPrefix(text, "```")
	if !fenced {
		return text
	}
	if language, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(language, "{[\"") {
		inner = rest
	}
	inner, _, _ = strings.Cut(inner, "```")
	return strings.TrimSpace(inner)
}

func decode(text string) (value any, ok bool) {
	if decoder.UnmarshalFromString(text, &value) != nil {
		return nil, false
	}
	return value, true
}

// First returns the value of the first of the keys that the object has, or nil. A null counts as missing.
func First(object map[string]any, keys ...string) any {
	for _, key := range keys {
		if value := object[key]; value != nil {
			return value
		}
	}
	return nil
}

// Texts reads a text or a list of texts, of at most that many elements, from a value of Read. Nil means no text. A model
// with several texts for a schema that asks for one may write a list in a text. Texts reports false for anything else.
func Texts(value any, most int) (texts []string, ok bool) {
	switch v := value.(type) {
	case nil:
		return nil, true
	case string:
		if strings.HasPrefix(strings.TrimSpace(v), "[") {
			if list := List(v); len(list) > 0 {
				return list[:min(len(list), most)], true
			}
		}
		return []string{v}, true
	case json.Number, bool:
		return []string{fmt.Sprint(v)}, true
	case []any:
		for _, element := range v[:min(len(v), most)] {
			if _, isList := element.([]any); isList {
				continue
			}
			inner, _ := Texts(element, most)
			texts = append(texts, inner...)
		}
		return texts, len(texts) > 0 || len(v) == 0
	}
	return nil, false
}

// Count reads a number of at least 1, and at most math.MaxInt32, from a value of Read. It returns 0 for anything else.
func Count(value any) int {
	f, err := strconv.ParseFloat(strings.TrimSpace(fmt.Sprint(value)), 64) // of a number or a text
	if err != nil && !math.IsInf(f, 1) || math.IsNaN(f) || f < 1 {
		return 0
	}
	return int(min(f, math.MaxInt32))
}

// List reads a list of texts. It returns nil for anything else.
func List(text string) (list []string) {
	if sonic.ConfigStd.UnmarshalFromString(text, &list) != nil {
		return nil
	}
	return list
}

// IsObject reports whether a text is a JSON object that every adapter can read. Some fail on 1e999, as a float64.
func IsObject(text string) bool {
	if !utf8.ValidString(text) || !json.Valid([]byte(text)) { // sonic takes control characters in strings
		return false
	}
	var object map[string]any
	return sonic.ConfigStd.UnmarshalFromString(text, &object) == nil && object != nil
}
