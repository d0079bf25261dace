package main

import (
	"encoding/json"
	"flag"
	"math"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

var update = flag.Bool("update", false, "rewrite golden files")

// someResults returns made-up results.
func someResults() *Results {
	r := &Results{
		Environment: Environment{Go: "go1.99", System: "plan9/amd64", Procs: 3, Load: [2]float64{1.25, 9}, Modules: []string{"github.com/cloudwego/eino v0.0.1"}},
		Prepare:     []Prepare{{100, 40 * time.Microsecond}, {1000, 400 * time.Microsecond}},
	}
	for i, name := range []string{"Eino", "Keyword", "BM25", "bleve", "New & untold"} {
		for j, size := range []int{100, 1000} {
			unit := time.Duration(1+i) * time.Duration(math.Pow(10, float64(j)))
			r.Speed = append(r.Speed, Speed{
				Tools: size, Searcher: name, Query: 1700 * time.Microsecond / (unit * unit), Slowest: 12 * time.Millisecond / unit,
				Allocs: float64(123456 / unit), Build: unit * 9 * time.Millisecond, Bytes: float64(1000 / (i + 1)),
			})
		}
		for j, set := range []string{ownSet, "first", "second"} {
			if name == "Eino" && set != ownSet {
				continue
			}
			r.Quality = append(r.Quality, Quality{Set: set, Tools: 1800, Queries: 200, Searcher: name,
				Recall1: 0.1 * float64(i+1), Recall5: 0.15*float64(i+1) + 0.01*float64(j), MRR: 0.12 * float64(i+1)})
		}
	}
	return r
}

func TestGolden(t *testing.T) {
	short := someResults() // one size and no questions, so nothing to divide by
	short.Speed, short.Quality, short.Prepare = short.Speed[:1], nil, nil
	for name, got := range map[string]string{
		"report.md": string(Markdown(someResults())),
		"short.md":  string(Markdown(short)),
	} {
		testtools.Golden(t, filepath.Join("testdata", name), got, *update)
		assert.NotContains(t, got, "NaN", "%s holds what is no number", name)
		assert.NotContains(t, got, "Inf", "%s holds what is no number", name)
	}
}

// BENCHMARKS.md was written from results.json, not by hand.
func TestReportIsUpToDate(t *testing.T) {
	results := &Results{}
	require.NoError(t, json.Unmarshal([]byte(testtools.ReadFile(t, "results.json")), results))
	got := testtools.ReadFile(t, "../../BENCHMARKS.md")
	assert.Equal(t, string(Markdown(results)), got, "go run . -from results.json writes it")
}

func TestNumbers(t *testing.T) {
	for d, want := range map[time.Duration]string{
		7: "7.0 ns", 8300: "8.3 µs", 41 * time.Microsecond: "41 µs", 551 * time.Microsecond: "551 µs",
		1350 * time.Microsecond: "1.4 ms", 12 * time.Second: "12 s", 0: "0 ns",
	} {
		assert.Equal(t, want, duration(d), "duration(%d)", d)
	}
	for x, want := range map[float64]string{0.04: "0.04", 0.62: "0.6", 9.94: "9.9", 9.96: "10", 1234567: "1,234,567", 999: "999"} {
		assert.Equal(t, want, ratio(x), "ratio(%v)", x)
	}
	assert.Equal(t, 2.0, median([]float64{5, 1, 9, 2}))
	const cpuinfo = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: Some CPU: 3 GHz\n"
	assert.Equal(t, "Some CPU: 3 GHz", cpuModel.FindStringSubmatch(cpuinfo)[1])
}
