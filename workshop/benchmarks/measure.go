package main

import (
	"context"
	"io"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch/search"
)

// Results are the measurements of a run.
type Results struct {
	Environment Environment
	Speed       []Speed
	Quality     []Quality
}

// Environment is what the numbers depend on besides the code.
type Environment struct {
	Go, System, CPU string
	Procs           int
	Modules         []string // path and version
}

// Speed is the time and memory that one searcher takes over a catalog of one size.
type Speed struct {
	Tools    int
	Searcher string
	Query    time.Duration // the median over the questions' median times
	Slowest  time.Duration // the maximum of the questions' median times
	Allocs   float64       // heap objects per query, the median over passes through all questions
	Build    time.Duration // the median
	Bytes    float64       // heap bytes per tool, without the tools themselves
}

// How long to measure. Noise comes in phases, so the contestants take turns.
const (
	buildTurns = 3
	queryTurns = 4
	turnTime   = 60 * time.Millisecond // time of a turn, in whole passes through the questions
)

// MeasureSpeed measures every contestant over a catalog of size tools.
func MeasureSpeed(ctx context.Context, size int) []Speed {
	f := newField(size)
	runs := make([]*contest, len(Contestants))
	for i, c := range Contestants {
		runs[i] = &contest{Contestant: c, field: f, times: make([][]time.Duration, len(f.questions))}
		defer runs[i].close()
	}
	for turn := range buildTurns {
		for _, run := range runs {
			progress("%d tools: building %s, turn %d of %d", size, run.Name, turn+1, buildTurns)
			run.build(ctx)
		}
	}
	for turn := range queryTurns {
		for _, run := range runs {
			progress("%d tools: asking %s, turn %d of %d", size, run.Name, turn+1, queryTurns)
			run.turn(ctx)
		}
	}
	speeds := make([]Speed, len(runs))
	for i, run := range runs {
		speeds[i] = run.speed()
	}
	return speeds
}

// contest is one contestant over one catalog.
type contest struct {
	Contestant
	field    *field
	searcher search.Searcher
	door     tool.InvokableTool

	builds []time.Duration
	bytes  []float64
	times  [][]time.Duration // by question
	allocs []float64         // by pass
}

// build builds a new index and keeps it.
func (c *contest) build(ctx context.Context) {
	c.close()
	before := settledHeap()
	start := time.Now()
	c.searcher = must(c.Index(ctx, c.field.docs))
	c.builds = append(c.builds, time.Since(start))
	c.bytes = append(c.bytes, (settledHeap()-before)/float64(len(c.field.docs)))
}

func (c *contest) close() {
	if closer, ok := c.searcher.(io.Closer); ok {
		closer.Close() // the index is in memory, so an error does not matter
	}
	c.searcher = nil
}

// settledHeap returns the heap bytes in use. It takes several collections to free the memory of
// pools, of finalizers, and of goroutines that are about to end.
func settledHeap() float64 {
	var m runtime.MemStats
	last := 0.0
	for range 10 {
		runtime.GC()
		time.Sleep(5 * time.Millisecond)
		runtime.ReadMemStats(&m)
		if heap := float64(m.HeapAlloc); heap > 0.9999*last && heap < 1.0001*last {
			break
		}
		last = float64(m.HeapAlloc)
	}
	return float64(m.HeapAlloc)
}

// turn asks all questions repeatedly for turnTime. The first pass runs with caches filled by
// the contestant before, so it counts only if it is the only pass.
func (c *contest) turn(ctx context.Context) {
	if c.door == nil {
		c.door = c.field.door(ctx, c.searcher)
	}
	runtime.GC()
	start := time.Now()
	for passes, counted := 0, 0; counted == 0 || time.Since(start) < turnTime; passes++ {
		times, allocs := c.pass(ctx)
		if passes == 0 && time.Since(start) < turnTime {
			continue
		}
		counted++
		for i, t := range times {
			c.times[i] = append(c.times[i], t)
		}
		c.allocs = append(c.allocs, allocs)
	}
}

func (c *contest) pass(ctx context.Context) (times []time.Duration, allocs float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for _, arguments := range c.field.arguments {
		start := time.Now()
		must(c.door.InvokableRun(ctx, arguments))
		times = append(times, time.Since(start))
	}
	runtime.ReadMemStats(&after)
	return times, float64(after.Mallocs-before.Mallocs) / float64(len(times))
}

func (c *contest) speed() Speed {
	medians := make([]time.Duration, len(c.times))
	for i, times := range c.times {
		medians[i] = median(times)
	}
	return Speed{
		Tools: len(c.field.docs), Searcher: c.Name,
		Query: median(medians), Slowest: slices.Max(medians), Allocs: median(c.allocs),
		Build: median(c.builds), Bytes: max(0, median(c.bytes)),
	}
}

// median returns the middle value, or the lower of the two middle values.
func median[T time.Duration | float64](values []T) T {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// ThisEnvironment describes the running program and its machine.
func ThisEnvironment() Environment {
	e := Environment{Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Procs: runtime.GOMAXPROCS(0)}
	cpuinfo, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	if model := cpuModel.FindSubmatch(cpuinfo); model != nil {
		e.CPU = string(model[1])
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/cloudwego/eino" || m.Path == "github.com/blevesearch/bleve/v2" {
				e.Modules = append(e.Modules, m.Path+" "+m.Version)
			}
		}
	}
	slices.Sort(e.Modules)
	return e
}

// cpuModel matches the processor's model in Linux's /proc/cpuinfo.
var cpuModel = regexp.MustCompile(`(?m)^model name\s*: (.*)$`)
