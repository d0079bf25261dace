package cli

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A slow step shows its name and progress, and clears its line at the end.
func TestProgress(t *testing.T) {
	before, between := Slow, Interval
	Slow, Interval = time.Millisecond, time.Millisecond
	t.Cleanup(func() { Slow, Interval = before, between })
	stderr := &screen{}
	text := stderr.String
	shows := func(want string) {
		require.Eventually(t, func() bool { return strings.HasSuffix(text(), want) }, time.Minute, time.Millisecond, want)
	}
	c := &Call{Stderr: stderr, Live: true}
	done := c.Waiting("indexing %s", Plural(2, "tool"))
	shows("\r\x1b[Kindexing 2 tools ...")
	c.Step("embedding\x1b the tools", 1, 2)
	shows("\r\x1b[Kembedding the tools: 1 of 2 ...")
	done()
	assert.True(t, strings.HasSuffix(text(), " ...\r\x1b[K"), "the line is cleared")

	said := text()
	Slow = time.Hour
	c.Waiting("a step that is fast")()
	assert.Equal(t, said, text())
	c.Live, Slow = false, time.Nanosecond
	done = c.Waiting("a step that nobody watches")
	c.Step("it", 1, 2)
	done()
	assert.Equal(t, said, text())
}

// A screen keeps what is written to it.
type screen struct {
	mu   sync.Mutex
	text []byte
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text = append(s.text, p...)
	return len(p), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.text)
}
