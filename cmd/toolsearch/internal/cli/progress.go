package cli

import (
	"fmt"
	"time"
)

// Progress goes to stderr, and only where stderr is a terminal: one line, overwritten
// again and again, for each step that takes more than a second.

// Slow is how long a step takes before it is named, Interval the time between two updates of
// its progress. Tests change them.
var Slow, Interval = time.Second, 200 * time.Millisecond

// Waiting names a step that takes longer than Slow, until done is called. One step runs at a
// time.
func (c *Call) Waiting(step string) (done func()) {
	if !c.Live {
		return func() {}
	}
	c.say(step)
	ended, cleared := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(cleared)
		shown := ""
		for next := time.After(Slow); ; next = time.After(Interval) {
			select {
			case <-ended:
				if shown != "" {
					fmt.Fprint(c.Stderr, "\r\x1b[K")
				}
				return
			case <-next:
				if text := *c.step.Load(); text != shown {
					fmt.Fprintf(c.Stderr, "\r\x1b[K%s ...", text)
					shown = text
				}
			}
		}
	}()
	return func() {
		close(ended)
		<-cleared
	}
}

// Step reports how far the running step is. It may be called from any goroutine.
func (c *Call) Step(what string, done, total int) {
	if total > 0 {
		c.say(fmt.Sprintf("%s: %d of %d", what, done, total))
	}
}

func (c *Call) say(step string) {
	text := OneLine(step, 70)
	c.step.Store(&text)
}

// Plural writes a count and what is counted. The plural is the singular and an s.
func Plural(n int, singular string) string {
	if n == 1 {
		return "1 " + singular
	}
	return fmt.Sprintf("%d %ss", n, singular)
}
