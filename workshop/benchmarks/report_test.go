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
		Environment: Environment{Go: "go1.99", System: "plan9/amd64", Procs: 3, Modules: []string{"github.com/cloudwego/eino v0.0.1"}},
	}
	searchers := []string{"Eino", "Keyword", "BM25", "bleve", "New & untold"}
	for i, name := range searchers {
		for j, size := range []int{100, 1000} {
			unit := time.Duration(1+i) * time.Duration(math.Pow(10, float64(j)))
			r.Speed = append(r.Speed, Speed{
				Tools: size, Searcher: name, Query: 1700 * time.Microsecond / (unit * unit), Slowest: 12 * time.Millisecond / unit,
				Allocs: float64(123456 / unit), Build: unit * 9 * time.Millisecond, Bytes: float64(1000 / (i + 1)),
			})
		}
	}
	for j, set := range []string{ownSet, "first", "second"} {
		for i, name := range searchers[min(j, 1):] { // Eino's is measured on the own set alone
			i += min(j, 1)
			r.Quality = append(r.Quality, Quality{Set: set, Tools: 1800, Queries: 200, Searcher: name,
				Recall1: 0.1 * float64(i+1), Recall5: 0.15*float64(i+1) + 0.01*float64(j), MRR: 0.12 * float64(i+1)})
		}
	}
	return r
}

func TestGolden(t *testing.T) {
	short := someResults() // one size and no questions, so nothing to divide by
	short.Speed, short.Quality = short.Speed[:1], nil
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
