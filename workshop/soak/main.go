// Soak plays random conversations through real agents, with hostile servers, models that err
// and stores that lose messages. It checks in each of them what CONTRIBUTING.md says holds. Run it
// in the root of the repository:
//
//	go run ./workshop/soak -minutes 5
//
// It prints what does not hold in the first faulty conversation, and the command that prints the whole
// of it. A conversation depends only on a seed and a number, so that it is the same each time, except
// for where a cancellation strikes.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/sources"
)

// A conversation is played more than once and compared, so a busy machine must not make a Source late
// in only one of its plays.
func init() { sources.Grace = time.Minute }

func main() {
	s := &soak{print: func(text string) { fmt.Println(text) }}
	minutes := flag.Float64("minutes", 1, "how long to go on")
	flag.Uint64Var(&s.seed, "seed", uint64(time.Now().UnixNano())%1_000_000, "the seed of the random numbers, by default from the clock")
	only := flag.Int("conversation", -1, "the number of the one conversation to play and print; -1 means all")
	flag.Parse()
	if s.verbose = *only >= 0; s.verbose {
		s.play(*only)
	} else {
		fmt.Printf("seed %d\n", s.seed)
		for end := time.Now().Add(time.Duration(*minutes * float64(time.Minute))); s.faulty == 0 && time.Now().Before(end); {
			s.play(s.played)
		}
		fmt.Printf("%d conversations, %d model calls, %d pairs, %d with a fault\n", s.played, s.calls, s.pairs, s.faulty)
	}
	if s.faulty > 0 {
		os.Exit(1)
	}
}

// Bounds on what is left when conversations are over, and on one conversation.
const (
	settleTime   = 10 * time.Second // for the goroutines of a conversation to end
	hangTime     = 2 * time.Minute  // for a conversation with all its plays, on a busy machine
	maxAllocated = 4 << 30          // bytes in all, by a conversation with all its plays and what the soak writes of them
	maxGrowth    = 64 << 20         // bytes of the heap, since the first measure
	measureEach  = 200              // conversations
)

// soak plays conversations one after another.
type soak struct {
	seed    uint64
	verbose bool
	print   func(text string)

	played, calls, pairs, faulty int
	goroutines                   int // before the second conversation
	heap                         uint64
}

// play plays one conversation and reports its faults.
func (s *soak) play(number int) {
	p := newPlan(s.seed, number)
	before := memory().TotalAlloc
	done := make(chan *world, 1)
	go func() { done <- s.try(p) }()
	var w *world
	select {
	case w = <-done:
	case <-time.After(hangTime):
		w = newWorld(p, nil)
		w.fault("it hangs", "no end in %v\n%s", hangTime, stacks())
	}
	s.played++
	if allocated := memory().TotalAlloc - before; allocated > maxAllocated {
		w.fault("much memory", "%d MB were allocated", allocated>>20)
	}
	s.checkLeft(w)
	if s.verbose {
		s.print(fmt.Sprintf("%s\n\n%s\n", p, strings.Join(w.transcript, "\n")))
	}
	if len(w.faults) > 0 {
		s.faulty++
		again := fmt.Sprintf("\nAgain: go run ./workshop/soak -seed %d -conversation %d\n", p.seed, p.number)
		s.print(strings.Join(w.faults, "\n") + again)
	}
}

// try plays a conversation, and again to compare.
func (s *soak) try(p *plan) *world {
	w := play(p, nil)
	s.calls += w.calls
	if len(w.faults) > 0 || !p.deterministic() {
		return w
	}
	if differs := firstDifference(w.shown, play(p, nil).shown); differs != "" {
		w.fault("a second play gives other bytes", "%s", differs)
	}
	if !p.paired() {
		return w
	}
	s.pairs++
	if differs := firstDifference(w.shown, play(p, p.forbidden[p.runs[0].user]).shown); differs != "" {
		w.fault("Filter leaves a trace", "%s", differs)
	}
	return w
}

// checkLeft checks that a conversation leaves no goroutine, and now and then that the heap does not
// grow from conversation to conversation.
func (s *soak) checkLeft(w *world) {
	if s.played == 1 { // the first conversation starts what is started once
		s.goroutines = runtime.NumGoroutine()
	}
	if !waitFor(s.goroutines, settleTime) {
		w.fault("goroutines are left", "%d, and %d before\n%.20000s", runtime.NumGoroutine(), s.goroutines, stacks())
		s.goroutines = runtime.NumGoroutine()
	}
	if s.played%measureEach != 0 {
		return
	}
	debug.FreeOSMemory()
	heap := memory().HeapAlloc
	if s.heap == 0 {
		s.heap = heap
	}
	if heap > s.heap+maxGrowth {
		w.fault("the heap grows", "%d MB after %d conversations, %d MB at first", heap>>20, s.played, s.heap>>20)
	}
}

// waitFor waits until there are at most that many goroutines. It reports false if the time is
// up first.
func waitFor(goroutines int, most time.Duration) bool {
	for end := time.Now().Add(most); runtime.NumGoroutine() > goroutines; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

func memory() (stats runtime.MemStats) {
	runtime.ReadMemStats(&stats)
	return stats
}

func stacks() []byte {
	text := make([]byte, 1<<20)
	return text[:runtime.Stack(text, true)]
}

// fault records something that must not happen. Tools of a round run at the same time.
func (w *world) fault(kind, format string, values ...any) {
	text := kind + ": " + fmt.Sprintf(format, values...)
	w.log("  FAULT %s", text)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, text)
}

func (w *world) log(format string, values ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.transcript = append(w.transcript, fmt.Sprintf(format, values...))
}
