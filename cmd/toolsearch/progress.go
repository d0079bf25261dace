package main

import (
	"fmt"
	"time"
)

// Progress is told on stderr, and only where stderr is a terminal: a line that the next one
// replaces.

// slow is how long a step takes before it is named.
const slow = time.Second

// waiting names a step that takes longer than slow, until done is called.
func (c *command) waiting(format string, args ...any) (done func()) {
	if !isTerminal(c.stderr) {
		return func() {}
	}
	text := oneLine(fmt.Sprintf(format, args...), 70)
	ended, cleared := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(cleared)
		select {
		case <-ended:
		case <-time.After(slow):
			fmt.Fprintf(c.stderr, "\r%s ...", text)
			<-ended
			fmt.Fprint(c.stderr, "\r\x1b[K")
		}
	}()
	return func() {
		close(ended)
		<-cleared
	}
}

// plural writes a count and what is counted. The plural is the singular and an s.
func plural(n int, singular string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %ss", n, singular)
}
