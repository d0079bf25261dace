package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

func TestColor(t *testing.T) {
	var out bytes.Buffer
	c := &cli.Call{Out: &out, Color: true}
	numbers := cli.Table{Styles: map[int]cli.Style{1: cli.Named}}
	numbers.Row("score", "tool", "text")
	numbers.Row("5", "查", "")
	numbers.Row("12.5", "abc", "x")
	c.Print(&numbers)
	want := "\x1b[1mscore\x1b[0m  \x1b[1mtool\x1b[0m  \x1b[1mtext\x1b[0m\n" +
		"    5  \x1b[36m查\x1b[0m\n" +
		" 12.5  \x1b[36mabc\x1b[0m   x\n"
	assert.Equal(t, want, out.String())
}

// Only terminals get color, and have a width.
func TestTerminals(t *testing.T) {
	// The null device is the only character device that exists everywhere.
	null := testtools.Must(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	defer null.Close()
	if !cli.IsTerminal(null) {
		t.Skip("the null device is not a character device here")
	}
	file := testtools.Must(os.Create(filepath.Join(t.TempDir(), "out")))(t)
	defer file.Close()
	for _, test := range []struct {
		w     io.Writer
		env   map[string]string
		color bool
		width int
	}{
		{null, map[string]string{"TERM": "xterm", "COLUMNS": "72"}, true, 72},
		{null, map[string]string{"TERM": "xterm", "COLUMNS": "many"}, true, 0},
		{null, map[string]string{"TERM": "xterm", "NO_COLOR": "1"}, false, 0},
		{null, map[string]string{"TERM": "dumb"}, false, 0},
		{file, map[string]string{"TERM": "xterm", "COLUMNS": "72"}, false, 0},
		{&bytes.Buffer{}, map[string]string{"TERM": "xterm", "COLUMNS": "72"}, false, 0},
	} {
		env := func(key string) string { return test.env[key] }
		assert.Equal(t, test.color, cli.Colored(test.w, env), "whether %T with %v gets color", test.w, test.env)
		assert.Equal(t, test.width, cli.WidthOf(test.w, env), "the width of %T with %v", test.w, test.env)
	}
}

func TestTablesFitTheTerminal(t *testing.T) {
	var out bytes.Buffer
	c := &cli.Call{Out: &out, Width: 24}
	var text cli.Table
	text.Row("tool", "description")
	text.Row("weather", "查询城市的天气预报和空气")
	text.Row("ma\u0301il", "Sends ａ letter")
	text.Row("a_name", "Sends a letter to a friend")
	c.Print(&text)
	assert.Equal(t, "tool     description\nweather  查询城市的天气…\nma\u0301il     Sends ａ letter\na_name   Sends a letter…\n", out.String())
}

// The last column is cut before others as wide. Numbers are never cut.
func TestNarrowTerminals(t *testing.T) {
	for _, test := range []struct {
		width      int
		headerless bool
		want       string
	}{
		{0, false, " tokens  tool                     description\n1234567  a_tool_with_a_long_name  Sends a letter to a friend\n"},
		{48, false, " tokens  tool                     description\n1234567  a_tool_with_a_long_name  Sends a lette…\n"},
		{40, false, " tokens  tool                 descripti…\n1234567  a_tool_with_a_long…  Sends a l…\n"},
		{35, true, "tokens   tool            descripti…\n1234567  a_tool_with_a…  Sends a l…\n"},
	} {
		var out bytes.Buffer
		c := &cli.Call{Out: &out, Width: test.width}
		text := cli.Table{Headerless: test.headerless}
		text.Row("tokens", "tool", "description")
		text.Row("1234567", "a_tool_with_a_long_name", "Sends a letter to a friend")
		c.Print(&text)
		assert.Equal(t, test.want, out.String(), "%d columns", test.width)
	}
}

// said is what is written, write by write.
type said chan string

func (s said) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

// A slow step shows its name and progress, and clears its line at the end.
func TestProgress(t *testing.T) {
	before, between := cli.Slow, cli.Interval
	cli.Slow, cli.Interval = time.Millisecond, time.Millisecond
	t.Cleanup(func() { cli.Slow, cli.Interval = before, between })
	stderr := make(said, 100)
	c := &cli.Call{Stderr: stderr, Live: true}
	cli.Await(t.Context(), c, "indexing 2 tools", func() (any, error) {
		assert.Equal(t, "\r\x1b[Kindexing 2 tools ...", <-stderr)
		c.Step("embedding\x1b the tools", 1, 2)
		assert.Equal(t, "\r\x1b[Kembedding the tools: 1 of 2 ...", <-stderr)
		return nil, nil
	})
	assert.Equal(t, "\r\x1b[K", <-stderr, "the line is cleared")

	cli.Slow = time.Hour
	c.Waiting("a step that is fast")()
	c.Live, cli.Slow = false, time.Nanosecond
	done := c.Waiting("a step that nobody watches")
	c.Step("it", 1, 2)
	done()
	assert.Empty(t, stderr)
}
