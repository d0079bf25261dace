package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestForeignTextFitsACell(t *testing.T) {
	assert.Equal(t, "a b [31mc d", OneLine("a\tb\n\x1b[31mc  d", 40))
	assert.Equal(t, "天气…", OneLine("天气预报", 3))
}

func TestColor(t *testing.T) {
	var out bytes.Buffer
	c := &Call{Out: &out, Color: true}
	numbers := Table{Styles: map[int]Style{1: Named}}
	numbers.Row("score", "tool", "text")
	numbers.Row("5", "查", "")
	numbers.Row("12.5", "abc", "x")
	c.Print(&numbers)
	want := "\x1b[1mscore\x1b[0m  \x1b[1mtool\x1b[0m  \x1b[1mtext\x1b[0m\n" +
		"    5  \x1b[36m查\x1b[0m\n" +
		" 12.5  \x1b[36mabc\x1b[0m   x\n"
	assert.Equal(t, want, out.String())
}

func TestColorIsForTerminalsAlone(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	defer file.Close()
	none := func(string) string { return "" }
	assert.False(t, Colored(file, none), "whether a file gets color")
	assert.False(t, Colored(&bytes.Buffer{}, none), "whether a buffer gets color")
	// The null device is the only character device that exists everywhere.
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	env := func(values ...string) func(string) string {
		return func(key string) string {
			for i := 0; i < len(values); i += 2 {
				if values[i] == key {
					return values[i+1]
				}
			}
			return ""
		}
	}
	if !IsTerminal(null) {
		t.Skip("the null device is not a character device here")
	}
	assert.True(t, Colored(null, env("TERM", "xterm")), "whether a terminal gets color")
	assert.False(t, Colored(null, env("TERM", "xterm", "NO_COLOR", "1")), "whether a terminal gets color with NO_COLOR")
	assert.False(t, Colored(null, env("TERM", "dumb")), "whether a dumb terminal gets color")
}

func TestColumns(t *testing.T) {
	for text, want := range map[string]int{"abc": 3, "天气": 4, "e\u0301": 1, "ｆｕ": 4, "": 0} {
		assert.Equal(t, want, Columns(text), "columns(%q)", text)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &Call{Out: &out, Width: 24}
	var text Table
	text.Row("tool", "description")
	text.Row("weather", "查询城市的天气预报和空气")
	text.Row("mail", "Sends a letter")
	text.Row("a_name", "Sends a letter to a friend")
	c.Print(&text)
	assert.Equal(t, "tool     description\nweather  查询城市的天气…\nmail     Sends a letter\na_name   Sends a letter…\n", out.String())
	assert.Equal(t, 0, WidthOf(&out, os.Getenv), "a buffer is not a terminal")
}

// The last column is cut first, then the widest. Numbers are never cut.
func TestNarrowTerminals(t *testing.T) {
	print := func(width int, header bool) string {
		var out bytes.Buffer
		c := &Call{Out: &out, Width: width}
		text := Table{Headerless: !header}
		text.Row("tokens", "tool", "description")
		text.Row("1234567", "a_tool_with_a_long_name", "Sends a letter to a friend of yours")
		c.Print(&text)
		return out.String()
	}
	assert.Equal(t, " tokens  tool                     description\n1234567  a_tool_with_a_long_name  Sends a letter to a friend of yours\n", print(0, true), "output that is piped")
	assert.Equal(t, " tokens  tool                     description\n1234567  a_tool_with_a_long_name  Sends a lette…\n", print(48, true))
	assert.Equal(t, " tokens  tool\n1234567  a_tool_with_a_long_name\n", print(40, true), "no room for descriptions")
	assert.Equal(t, " tokens  tool\n1234567  a_tool_wit…\n", print(20, true), "no room for names")
	assert.Equal(t, " tokens  tool\n1234567  a_tool_wi…\n", print(5, true), "no room for anything")
	assert.Equal(t, "tokens   tool          description\n1234567  a_tool_with…  Sends a let…\n", print(35, false), "what has no header stays")
}

func TestWidthOfATerminal(t *testing.T) {
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer null.Close()
	if !IsTerminal(null) {
		t.Skip("the null device is not a character device here")
	}
	columns := func(value string) func(string) string {
		return func(string) string { return value }
	}
	assert.Equal(t, 72, WidthOf(null, columns("72")))
	assert.Zero(t, WidthOf(null, columns("many")), "a device without a width")
	assert.Zero(t, WidthOf(&bytes.Buffer{}, columns("72")), "what is piped")
}

func TestScoreTexts(t *testing.T) {
	for _, test := range []struct {
		scores []float64
		want   []string
	}{
		{[]float64{30, 5, 0}, []string{"30", "5", "0"}},
		{[]float64{0.8125, 0.5}, []string{"0.812", "0.500"}},
		{[]float64{3.75, 0.553}, []string{"3.75", "0.55"}},
		{[]float64{123.456, -2}, []string{"123.5", "-2.0"}},
		{[]float64{1000012.345, 7.5}, []string{"1,000,012.34", "7.50"}},
		{[]float64{-123456, 999}, []string{"-123,456", "999"}},
		{nil, []string{}},
	} {
		assert.Equal(t, test.want, ScoreTexts(test.scores...), "%v", test.scores)
	}
}

func TestPlural(t *testing.T) {
	assert.Equal(t, "1 tool", Plural(1, "tool"))
	assert.Equal(t, "0 tools", Plural(0, "tool"))
}
