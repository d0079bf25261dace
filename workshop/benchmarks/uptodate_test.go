package benchmarks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The cost of conversations is the same on every machine, so results.json must hold what is measured
// here.
func TestCostsAreUpToDate(t *testing.T) {
	text, err := os.ReadFile("results.json")
	require.NoError(t, err)
	results := &Results{}
	require.NoError(t, json.Unmarshal(text, results))
	costs, err := MeasureCosts(t.Context(), func(string) {})
	require.NoError(t, err)
	assert.Equal(t, costs, results.Costs, "go run ./cmd/report -from results.json -costs measures them")
}

// BENCHMARKS.md and the plots in the repository were written from results.json, not by hand.
func TestReportIsUpToDate(t *testing.T) {
	text, err := os.ReadFile("results.json")
	require.NoError(t, err)
	results := &Results{}
	require.NoError(t, json.Unmarshal(text, results))
	for path, want := range map[string][]byte{
		"BENCHMARKS.md":        Markdown(results, "docs/img/latency.svg", "docs/img/recall.svg"),
		"docs/img/latency.svg": LatencyPlot(results),
		"docs/img/recall.svg":  RecallPlot(results),
	} {
		got, err := os.ReadFile(filepath.Join("../..", filepath.FromSlash(path)))
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "%s was not written from results.json; go run ./cmd/report -from results.json writes it", path)
	}
}
