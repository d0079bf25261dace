package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

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
