package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
)

const root = "../.."

var readmes = []string{"README.md", "README.zh.md"}

func readREADME(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + name)
	require.NoError(t, err)
	return string(text)
}

func TestPictureIsUpToDate(t *testing.T) {
	want, err := drawPicture(root)
	require.NoError(t, err)
	got, err := os.ReadFile(root + "/" + picturePath)
	require.NoError(t, err)
	assert.Equal(t, string(want), string(got), "%s is out of date: go run ./internal/readme", picturePath)
}

// A row of a measured table begins with what was measured and ends with the numbers.
func checkRow(t *testing.T, start, end string) {
	t.Helper()
	for _, name := range readmes {
		found := false
		for line := range strings.Lines(readREADME(t, name)) {
			line = strings.TrimSpace(line)
			found = found || strings.HasPrefix(line, start) && strings.HasSuffix(line, end)
		}
		assert.True(t, found, "%s has no row %s ... %s", name, start, end)
	}
}

func TestCostsOfProtocols(t *testing.T) {
	for protocol, name := range map[toolsearch.Protocol]string{
		toolsearch.ProtocolToolSearch: "ProtocolToolSearch", toolsearch.ProtocolRegexp: "ProtocolRegexp",
		toolsearch.ProtocolSearchAdd: "ProtocolSearchAdd", toolsearch.ProtocolRanked: "ProtocolRanked",
		toolsearch.ProtocolDispatch: "ProtocolDispatch",
	} {
		c, err := costOf(context.Background(), toolsearch.Config{Protocol: protocol})
		require.NoError(t, err)
		checkRow(t, "| `"+name+"`", fmt.Sprintf("| %d | %d | %d | %d | %d |", c.turns, c.meta, c.list, c.found, c.loaded))
	}
}

// Rows of settings end with what the list of names costs in every call, and the
// definitions that stand beside the search tool's.
func TestCostsOfSettings(t *testing.T) {
	for row, config := range map[string]toolsearch.Config{
		"| nothing":                                {},
		"| `Reminder.MaxTokens: 300`":              {Reminder: toolsearch.ReminderConfig{MaxTokens: 300}},
		"| `Reminder.Describe: true`":              {Reminder: toolsearch.ReminderConfig{Describe: true}},
		"| `Reminder.Disabled: true`":              {Reminder: toolsearch.ReminderConfig{Disabled: true}},
		"| `MaxResults: 3`":                        {MaxResults: 3},
		"| `MaxLoaded: 2`":                         {MaxLoaded: 2},
		"| `Preselect: 3`":                         {Preselect: 3},
		"| `AlwaysLoaded: []string{\"github:*\"}`": {AlwaysLoaded: []string{"github:*"}},
	} {
		c, err := costOf(context.Background(), config)
		require.NoError(t, err)
		checkRow(t, row, fmt.Sprintf("| %d | %d |", c.list, c.loaded))
	}
}

func TestNumbersOfSearchers(t *testing.T) {
	r, err := readResults(root)
	require.NoError(t, err)
	for _, searcher := range []string{"Keyword", "BM25", "Fuzzy", "Similarity"} {
		percent, err := r.recall(searcher)
		require.NoError(t, err)
		checkRow(t, "| `"+searcher+"`", fmt.Sprintf("| %s | %s |", percent, r.latency(t, searcher)))
	}
	checkRow(t, "| `Regexp`", fmt.Sprintf("| – | %s |", r.latency(t, "Regexp")))
}

// latency is the median query over 1,000 tools, as BENCHMARKS.md writes it.
func (r results) latency(t *testing.T, searcher string) string {
	t.Helper()
	for _, s := range r.Speed {
		if s.Tools == 1000 && s.Searcher == searcher {
			if us := float64(s.Query) / 1000; us < 10 {
				return fmt.Sprintf("%.1f µs", us)
			}
			return fmt.Sprintf("%.0f µs", float64(s.Query)/1000)
		}
	}
	require.FailNow(t, "benchmarks/results.json has no time of it", searcher)
	return ""
}
