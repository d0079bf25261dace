package benchmarks

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cloudwego/eino/components/tool"

	"github.com/eino-toolsearch/toolsearch"
)

// Results are what a run has measured.
type Results struct {
	Environment Environment
	Prepare     []Prepare
	Speed       []Speed
	Quality     []Quality
}

// Environment is what the numbers depend on beside the code.
type Environment struct {
	Go, System, CPU string
	Procs           int
	Modules         []string   // path and version
	Load            [2]float64 // processes that wanted a processor in the minute before and in the last; zero: not known
}

// Prepare is the time to make documents of tools, which comes before every index but Eino's.
type Prepare struct {
	Tools int
	Time  time.Duration
}

// Speed is what one searcher takes over a catalog of one size.
type Speed struct {
	Tools    int
	Searcher string
	Query    time.Duration // the median over the questions, of each the median of its times
	Slowest  time.Duration // of the questions, by the median of its times
	Allocs   float64       // heap objects a query, the median over passes through all questions
	Build    time.Duration // the median
	Bytes    float64       // on the heap for each tool, beside the tools themselves
}

// How long to measure. Machines are noisy in spells, so the contestants take turns.
const (
	buildTurns = 3
	queryTurns = 5
	enough     = 8 * time.Second       // of one contestant's queries, after
	leastTurns = 3                     // turns
	turnTime   = 60 * time.Millisecond // of a turn, in whole passes through the questions
)

// MeasureSpeed measures every contestant over a catalog of that size.
func MeasureSpeed(ctx context.Context, size int, progress func(string)) (Prepare, []Speed, error) {
	start := time.Now()
	f, err := newField(ctx, size)
	if err != nil {
		return Prepare{}, nil, err
	}
	prepare := Prepare{size, time.Since(start)}
	runs := make([]*contest, len(Contestants))
	for i, c := range Contestants {
		runs[i] = &contest{Contestant: c, field: f}
		defer runs[i].close()
	}
	for turn := range buildTurns {
		for _, run := range runs {
			progress(fmt.Sprintf("%d tools: building %s, turn %d of %d", size, run.Name, turn+1, buildTurns))
			if err := run.build(ctx); err != nil {
				return prepare, nil, fmt.Errorf("%s: %w", run.Name, err)
			}
		}
	}
	for turn := range queryTurns {
		for _, run := range runs {
			if turn >= leastTurns && run.spent > enough {
				continue
			}
			progress(fmt.Sprintf("%d tools: asking %s, turn %d of %d", size, run.Name, turn+1, queryTurns))
			if err := run.turn(ctx); err != nil {
				return prepare, nil, fmt.Errorf("%s: %w", run.Name, err)
			}
		}
	}
	speeds := make([]Speed, len(runs))
	for i, run := range runs {
		speeds[i] = run.speed()
	}
	return prepare, speeds, nil
}

// contest is one contestant over one catalog.
type contest struct {
	Contestant
	field     *field
	searcher  toolsearch.Searcher
	door      tool.InvokableTool
	arguments []string // by question

	builds []time.Duration
	bytes  []float64
	times  [][]time.Duration // by question
	allocs []float64         // by pass
	spent  time.Duration
}

// build builds the index anew and keeps it.
func (c *contest) build(ctx context.Context) error {
	c.close()
	before := settledHeap()
	start := time.Now()
	searcher, err := c.Index(ctx, c.field.docs)
	if err != nil {
		return err
	}
	c.builds = append(c.builds, time.Since(start))
	c.bytes = append(c.bytes, (settledHeap()-before)/float64(len(c.field.docs)))
	c.searcher = searcher
	return nil
}

// open makes ready for questions.
func (c *contest) open(ctx context.Context) (err error) {
	if c.door != nil {
		return nil
	}
	c.door, err = c.field.door(ctx, c.searcher)
	c.times = make([][]time.Duration, len(c.field.questions))
	for _, q := range c.field.questions {
		c.arguments = append(c.arguments, arguments(c.words(q), toolsearch.DefaultMaxResults))
	}
	return err
}

func (c *contest) close() {
	if closer, ok := c.searcher.(io.Closer); ok {
		closer.Close() // in memory: there is nothing to lose
	}
	c.searcher, c.door = nil, nil
}

// settledHeap returns the bytes on the heap that are in use. What goes through pools and
// finalizers, and what goroutines hold that are about to end, takes some collections to go.
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

// turn asks all questions, again and again for some time. The first pass finds the caches
// full of the contestant's before and counts only if there is no other.
func (c *contest) turn(ctx context.Context) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	runtime.GC()
	start := time.Now()
	for passes, counted := 0, 0; counted == 0 || time.Since(start) < turnTime; passes++ {
		times, allocs, err := c.pass(ctx)
		if err != nil {
			return err
		}
		c.spent += sum(times)
		if passes == 0 && sum(times) < turnTime {
			continue
		}
		counted++
		for i, t := range times {
			c.times[i] = append(c.times[i], t)
		}
		c.allocs = append(c.allocs, allocs)
	}
	return nil
}

func (c *contest) pass(ctx context.Context) (times []time.Duration, allocs float64, err error) {
	times = make([]time.Duration, len(c.arguments))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, arguments := range c.arguments {
		start := time.Now()
		if _, err := c.door.InvokableRun(ctx, arguments); err != nil {
			return nil, 0, err
		}
		times[i] = time.Since(start)
	}
	runtime.ReadMemStats(&after)
	return times, float64(after.Mallocs-before.Mallocs) / float64(len(times)), nil
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

func sum(times []time.Duration) (total time.Duration) {
	for _, t := range times {
		total += t
	}
	return total
}

// median returns the middle one, the lower of two; zero if there is none.
func median[T time.Duration | float64](values []T) T {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// ThisEnvironment describes the program that is running and its machine.
func ThisEnvironment() Environment {
	e := Environment{Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, Procs: runtime.GOMAXPROCS(0)}
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		e.CPU = cpuModel(string(text))
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

// LoadAverage is that of the last minute, as Linux counts it; zero where it does not.
func LoadAverage() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := strings.Cut(string(text), " ")
	load, err := strconv.ParseFloat(first, 64)
	if err != nil {
		return 0
	}
	return load
}

// cpuModel reads the model from what Linux says of the processors; "" if it does not.
func cpuModel(cpuinfo string) string {
	for line := range strings.Lines(cpuinfo) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
