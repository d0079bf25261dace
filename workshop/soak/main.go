// Soak plays random conversations through real agents, with hostile servers, models that err
// and stores that lose messages. It checks in each of them what CONTRIBUTING.md says holds. Run it
// in the root of the repository:
//
//	go run ./workshop/soak -minutes 5
//
// It prints the first conversation in which something does not hold, and the command that plays
// it again. A conversation depends only on a seed and a number, so that it is the same each
// time, except for where a cancellation strikes.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/sources"
)

// A conversation is played more than once and compared, so a busy machine must not make a Source late
// in only one of its plays.
func init() { sources.Grace = time.Minute }

func main() {
	s := &soak{}
	minutes := flag.Float64("minutes", 1, "how long to go on")
	flag.Uint64Var(&s.seed, "seed", 0, "the seed of the random numbers; 0 means a seed from the clock, which is printed")
	only := flag.Int("conversation", -1, "the number of the one conversation to play; -1 means all")
	flag.IntVar(&s.most, "faults", 1, "the number of faulty conversations to stop after")
	flag.BoolVar(&s.known, "known", false, "also print the conversations whose faults are all known")
	flag.BoolVar(&s.verbose, "v", false, "print whole transcripts")
	flag.Parse()
	if s.seed == 0 {
		s.seed = uint64(time.Now().UnixNano())%1_000_000 + 1
	}
	s.print = func(text string) { fmt.Println(text) }
	if *only >= 0 {
		s.verbose = true
		s.play(*only)
	} else {
		fmt.Printf("seed %d\n", s.seed)
		s.playFor(time.Duration(*minutes * float64(time.Minute)))
		fmt.Printf("%d conversations, %d model calls, %d pairs, %d with a fault, %d with one that is known; at most %d MB allocated by one, and %v taken, by number %d\n",
			s.played, s.calls, s.pairs, s.faulty, s.hasKnown, s.allocated>>20, s.longest.Round(time.Millisecond), s.slowest)
	}
	if s.faulty > 0 {
		os.Exit(1)
	}
}

// Bounds on what is left when conversations are over, and on one conversation.
const (
	settleTime   = 10 * time.Second // for the goroutines of a conversation to end
	hangTime     = 2 * time.Minute  // for a conversation with all its plays, on a busy machine
	maxAllocated = 2 << 30          // bytes in all, by a conversation with all its plays
	maxGrowth    = 64 << 20         // bytes of the heap, since the first measure
	warmUp       = 100              // conversations before the first measure
	measureEach  = 500              // conversations
)

// soak plays conversations one after another.
type soak struct {
	seed    uint64
	most    int
	known   bool
	verbose bool
	print   func(text string)

	played, calls, pairs, faulty, hasKnown int
	slowest                                int // the number of the conversation that took longest
	allocated                              uint64
	longest                                time.Duration
	goroutines                             int // before the second conversation
	heap                                   uint64
}

func (s *soak) playFor(duration time.Duration) {
	for end := time.Now().Add(duration); time.Now().Before(end) && s.faulty < max(1, s.most); {
		s.play(s.played)
	}
}

// play plays one conversation and reports its faults.
func (s *soak) play(number int) {
	p := newPlan(s.seed, number)
	start, before := time.Now(), allocatedBytes()
	done := make(chan *recorder, 1)
	go func() { done <- s.try(p) }()
	var rec *recorder
	select {
	case rec = <-done:
	case <-time.After(hangTime):
		stacks := make([]byte, 1<<20)
		fmt.Printf("%s\n", stacks[:runtime.Stack(stacks, true)])
		rec = newRecorder(p)
		rec.fault("it hangs", "no end in %v", hangTime)
	}
	s.played++
	took, allocated := time.Since(start), allocatedBytes()-before
	s.allocated = max(s.allocated, allocated)
	if took > s.longest {
		s.longest, s.slowest = took, number
	}
	if allocated > maxAllocated {
		rec.fault("much memory", "%d MB were allocated", allocated>>20)
	}
	s.checkGoroutines(rec)
	s.checkHeap(rec)
	switch {
	case len(rec.faults) > 0:
		s.faulty++
	case len(rec.known) > 0:
		s.hasKnown++
	}
	if len(rec.faults) > 0 || s.verbose || s.known && len(rec.known) > 0 {
		s.print(report(p, rec, s.verbose))
	}
}

// try plays a conversation, and again to compare.
func (s *soak) try(p *plan) *recorder {
	rec := play(p, nil)
	for _, part := range rec.parts {
		if len(part.name) > 4 && part.name[len(part.name)-2:] == " 0" {
			s.calls++
		}
	}
	if len(rec.faults) > 0 {
		return rec
	}
	if p.deterministic() {
		if differs := compareBytes(rec, play(p, nil)); differs != "" {
			rec.fault("a second play gives other bytes", "%s", differs)
		}
	}
	if !p.paired() {
		return rec
	}
	s.pairs++
	if differs := compareBytes(rec, play(p, p.forbidden[p.runs[0].user])); differs != "" {
		rec.fault(filterTrace, "%s", differs)
	}
	return rec
}

// checkGoroutines checks that a conversation leaves no goroutine.
func (s *soak) checkGoroutines(rec *recorder) {
	if s.played <= 1 { // the first conversation starts what is started once
		s.goroutines = runtime.NumGoroutine()
		return
	}
	if !waitFor(s.goroutines, settleTime) {
		stacks := make([]byte, 1<<20)
		rec.fault("goroutines are left", "%d, and %d before\n%.20000s", runtime.NumGoroutine(), s.goroutines, stacks[:runtime.Stack(stacks, true)])
		s.goroutines = runtime.NumGoroutine()
	}
}

// checkHeap checks now and then that the heap does not grow from conversation to conversation.
func (s *soak) checkHeap(rec *recorder) {
	if s.played != warmUp && s.played%measureEach != 0 {
		return
	}
	debug.FreeOSMemory()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	switch {
	case s.heap == 0:
		s.heap = stats.HeapAlloc
	case stats.HeapAlloc > s.heap+maxGrowth:
		rec.fault("the heap grows", "%d MB after %d conversations, %d MB at first", stats.HeapAlloc>>20, s.played, s.heap>>20)
	}
}

func allocatedBytes() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}
