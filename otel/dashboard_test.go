package otel_test

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// These tests compare the dashboard and the docs with the metrics of a conversation.

// played returns the metrics of a conversation in which every instrument is used.
func played(t *testing.T) []metricdata.Metrics {
	t.Helper()
	tel := newTelemetry()
	converse[*schema.Message](t, tel)
	return tel.instruments(t)
}

// inPrometheus returns the names of an instrument's series in Prometheus.
func inPrometheus(m metricdata.Metrics) []string {
	name := strings.ReplaceAll(m.Name, ".", "_")
	if m.Unit == "s" {
		name += "_seconds"
	}
	switch kindOf(m) {
	case "histogram":
		return []string{name + "_bucket", name + "_count", name + "_sum"}
	case "counter":
		return []string{name + "_total"}
	}
	return []string{name}
}

func TestDashboard(t *testing.T) {
	text := testtools.ReadFile(t, "dashboard.json")
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	require.NoError(t, json.Unmarshal([]byte(text), &board))
	var queries []string
	for _, p := range board.Panels {
		require.NotEmpty(t, p.Targets, p.Title)
		for _, target := range p.Targets {
			queries = append(queries, target.Expr)
			assert.Equal(t, strings.Count(target.Expr, "("), strings.Count(target.Expr, ")"), "parentheses of %s", target.Expr)
		}
	}
	instruments := played(t)
	known := []string{"toolsearch_searcher", "toolsearch_part"}
	for _, m := range instruments {
		series := inPrometheus(m)
		known = append(known, series...)
		isShown := slices.ContainsFunc(series, func(name string) bool { return strings.Contains(strings.Join(queries, "\n"), name) })
		assert.True(t, isShown, "no panel shows %s", m.Name)
	}
	names := regexp.MustCompile(`\btoolsearch_\w+`).FindAllString(text, -1)
	require.Greater(t, len(names), 20)
	for _, name := range names {
		assert.Contains(t, known, name, "the dashboard names a metric that does not exist")
	}
}

// The package's doc and the operator's page list the instruments with their kinds and units.
func TestDocsListTheMetrics(t *testing.T) {
	for _, doc := range []struct{ path, row, format string }{
		{"otel.go", `(?m)^//\ttoolsearch\..*$`, "//\t%s %s %s "},
		{"../docs/operating.md", "(?m)^\\| `toolsearch\\.[^|]*\\| (?:histogram|counter|gauge) .*$", "| `%s` | %s | `%s` |"},
	} {
		rows := regexp.MustCompile(doc.row).FindAllString(testtools.ReadFile(t, doc.path), -1)
		squeezed := strings.Join(rows, "\n")
		squeezed = regexp.MustCompile(`(?m) +`).ReplaceAllString(squeezed, " ")
		instruments := played(t)
		assert.Len(t, rows, len(instruments), doc.path)
		for _, m := range instruments {
			assert.Contains(t, squeezed, fmt.Sprintf(doc.format, m.Name, kindOf(m), m.Unit), doc.path)
		}
	}
}
