package cli

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// said is what is written, write by write.
type said chan string

func (s said) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}

// A slow step shows its name and progress, and clears its line at the end.
func TestProgress(t *testing.T) {
	before, between := Slow, Interval
	Slow, Interval = time.Millisecond, time.Millisecond
	t.Cleanup(func() { Slow, Interval = before, between })
	stderr := make(said, 100)
	c := &Call{Stderr: stderr, Live: true}
	Await(t.Context(), c, "indexing 2 tools", func() (any, error) {
		assert.Equal(t, "\r\x1b[Kindexing 2 tools ...", <-stderr)
		c.Step("embedding\x1b the tools", 1, 2)
		assert.Equal(t, "\r\x1b[Kembedding the tools: 1 of 2 ...", <-stderr)
		return nil, nil
	})
	assert.Equal(t, "\r\x1b[K", <-stderr, "the line is cleared")

	Slow = time.Hour
	c.Waiting("a step that is fast")()
	c.Live, Slow = false, time.Nanosecond
	done := c.Waiting("a step that nobody watches")
	c.Step("it", 1, 2)
	done()
	assert.Empty(t, stderr)
}
