package benchmarks

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// What stands in the repository was written from results.json, not by hand.
func TestReportIsUpToDate(t *testing.T) {
	text, err := os.ReadFile("results.json")
	if err != nil {
		t.Fatal(err)
	}
	results := &Results{}
	if err := json.Unmarshal(text, results); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string][]byte{
		"BENCHMARKS.md":        Markdown(results, "docs/img/latency.svg", "docs/img/recall.svg"),
		"docs/img/latency.svg": LatencyPlot(results),
		"docs/img/recall.svg":  RecallPlot(results),
	} {
		got, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not that of results.json; go run ./cmd/report -from results.json writes it", path)
		}
	}
}
