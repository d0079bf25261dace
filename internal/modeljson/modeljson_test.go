package modeljson_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/modeljson"
)

// A text that is too long is read as far as its cut.
func TestReadCuts(t *testing.T) {
	value, ok := modeljson.Read(`{"query":"` + strings.Repeat("mail ", 1<<20) + `"}`)
	require.True(t, ok)
	object, ok := value.(map[string]any)
	require.True(t, ok)
	assert.LessOrEqual(t, len(object["query"].(string)), 64<<10)
	assert.True(t, strings.HasPrefix(object["query"].(string), "mail mail"))
}

func TestReadExactly(t *testing.T) {
	var object struct {
		Query string `json:"query"`
	}
	assert.True(t, modeljson.ReadExactly(`{"query":"mail"}`, &object))
	assert.Equal(t, "mail", object.Query)
	assert.False(t, modeljson.ReadExactly(`{"query":"mail","n":1}`, &object), "another key")
	assert.False(t, modeljson.ReadExactly(`{"query":1}`, &object), "another type")
	assert.False(t, modeljson.ReadExactly(`{"query":"`+strings.Repeat("a", 64<<10)+`"}`, &object), "too long")
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		value any
		want  []string
		ok    bool
	}{
		{nil, nil, true},
		{"a", []string{"a"}, true},
		{` ["a","b","c","d"]`, []string{"a", "b", "c"}, true},
		{`["a"`, []string{`["a"`}, true},
		{json.Number("7"), []string{"7"}, true},
		{true, []string{"true"}, true},
		{[]any{}, nil, true},
		{[]any{"a", []any{"b"}, nil, "c"}, []string{"a"}, true},
		{[]any{[]any{"a"}}, nil, false},
		{map[string]any{}, nil, false},
	} {
		texts, ok := modeljson.Texts(c.value, 3)
		assert.Equal(t, c.ok, ok, "%v", c.value)
		assert.Equal(t, c.want, texts, "%v", c.value)
	}
}

func TestCount(t *testing.T) {
	for _, c := range []struct {
		value any
		want  int
	}{
		{json.Number("3"), 3}, {json.Number("3.9"), 3}, {" 4 ", 4}, {"1e999", math.MaxInt32}, {json.Number("1e999"), math.MaxInt32},
		{json.Number("0"), 0}, {json.Number("-1"), 0}, {"-1e999", 0}, {"NaN", 0}, {"many", 0}, {nil, 0}, {true, 0},
	} {
		assert.Equal(t, c.want, modeljson.Count(c.value), "%v", c.value)
	}
}

func TestFirst(t *testing.T) {
	object := map[string]any{"a": nil, "b": "", "c": "x"}
	assert.Equal(t, "", modeljson.First(object, "a", "b", "c"))
	assert.Nil(t, modeljson.First(object, "a", "d"))
}

func TestIsObject(t *testing.T) {
	for _, text := range []string{"{}", ` {"a":1}`, `{"a":1e3}`, `{"a":"` + strings.Repeat("9", 400) + `"}`} {
		assert.True(t, modeljson.IsObject(text), text)
	}
	for _, text := range []string{"", "[]", `"a"`, `{"a":}`, "{\"a\":\"\xff\"}", "{\"a\":\"\n\"}", `{"a":1e999}`, `{"a":` + strings.Repeat("9", 400) + `}`} {
		assert.False(t, modeljson.IsObject(text), text)
	}
}
