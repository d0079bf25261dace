// Package dashboard makes the dashboard of package otel, for Grafana over Prometheus.
package dashboard

import (
	"bytes"
	"encoding/json"
)

// Metrics have the names that Prometheus gives to OpenTelemetry's metrics: dots become
// underscores, units and "_total" become suffixes.

// A panel is one picture. Each query has its legend.
type panel struct {
	title, says, unit, kind string
	queries                 [][2]string // legend and PromQL
}

const (
	lines   = "timeseries"
	heatmap = "heatmap"
	share   = "percentunit" // units of Grafana
	seconds = "s"
	rate    = "ops"
	count   = "short"
)

// of selects the catalogs that the dashboard's reader chose.
const of = `{gen_ai_data_source_id=~"$catalog"}`

func perSecond(metric, labels string) string {
	return "rate(" + metric + labels + "[$__rate_interval])"
}

func sum(by, series string) string {
	if by == "" {
		return "sum(" + series + ")"
	}
	return "sum by (" + by + ") (" + series + ")"
}

func quantile(q, metric, labels string) string {
	return "histogram_quantile(" + q + ", " + sum("le", perSecond(metric+"_bucket", labels)) + ")"
}

func ratio(part, whole string) string { return sum("", part) + " / " + sum("", whole) }

func panels() []panel {
	const duration, matches, rank, refresh = "toolsearch_search_duration_seconds", "toolsearch_search_matches", "toolsearch_call_rank", "toolsearch_catalog_refresh_duration_seconds"
	searches, called := perSecond(duration+"_count", of), perSecond(rank+"_count", of)
	// le is "1" or "1.0", depending on the version of Prometheus.
	within := func(place string) string {
		return ratio(perSecond(rank+"_bucket", `{gen_ai_data_source_id=~"$catalog", le=~"`+place+`(\\.0)?"}`), called)
	}
	return []panel{
		{"Searches", "By who answered. \"none\" is a selection by name, or no match.", rate, lines,
			[][2]string{{"{{toolsearch_searcher}}", sum("toolsearch_searcher", searches)}}},
		{"Duration of a search", "Of the search alone; an embedder's or engine's time is in it.", seconds, lines, [][2]string{
			{"median", quantile("0.5", duration, of)}, {"95 %", quantile("0.95", duration, of)}, {"99 %", quantile("0.99", duration, of)}}},
		{"Searches without a match", "Words the catalog lacks: read the queries, then tune. Failed: a failure left the model without a match.", share, lines, [][2]string{
			{"empty", ratio(perSecond("toolsearch_search_empty_total", of), searches)},
			{"failed", ratio(perSecond(duration+"_count", `{gen_ai_data_source_id=~"$catalog", error_type!=""}`), searches)}}},
		{"Place of the tool that was then called", "How often the first call after a search went to the first tool, and to the first five. It needs otel.Handler.", share, lines, [][2]string{
			{"first", within("1")}, {"first five", within("5")}}},
		{"Searches that led to a call", "Calls of found tools for every search. It needs otel.Handler.", share, lines, [][2]string{
			{"calls per search", ratio(called, searches)}}},
		{"Matches of a search", "How many tools a search returned.", count, heatmap, [][2]string{
			{"{{le}}", sum("le", perSecond(matches+"_bucket", of))}}},
		{"Loaded tools", "Tools that became visible to the model, and that are visible no longer.", rate, lines, [][2]string{
			{"loaded", sum("", perSecond("toolsearch_tool_loads_total", ""))}, {"unloaded", sum("", perSecond("toolsearch_tool_unloads_total", ""))}}},
		{"Changes of the list of tools", "Each ends what a provider has cached of the conversation. ProtocolDispatch has none.", rate, lines, [][2]string{
			{"changes", sum("", perSecond("toolsearch_tool_list_changes_total", ""))}}},
		{"Size of the list of tools", "After a change, in estimated tokens.", count, lines, [][2]string{
			{"median", quantile("0.5", "toolsearch_tool_list_tokens", "")}, {"95 %", quantile("0.95", "toolsearch_tool_list_tokens", "")}}},
		{"Names that the model guessed", "Refused: calls that were not run. Not found: names asked for that no tool has.", rate, lines, [][2]string{
			{"refused", sum("", perSecond("toolsearch_call_refused_total", ""))}, {"not found", sum("", perSecond("toolsearch_search_not_found_total", of))}}},
		{"Size of changing catalogs", "", count, lines, [][2]string{{"{{instance}}", "toolsearch_catalog_size"}}},
		{"Refreshes of catalogs", "How often a changed catalog was built.", rate, lines, [][2]string{
			{"refreshes", sum("", perSecond(refresh+"_count", ""))}}},
		{"Duration of a refresh", "Of compiling and indexing.", seconds, lines, [][2]string{
			{"median", quantile("0.5", refresh, "")}, {"95 %", quantile("0.95", refresh, "")}}},
		{"Failures that runs went on after", "By the field of the configuration that failed. Alert if it lasts.", rate, lines, [][2]string{
			{"{{toolsearch_part}} {{error_type}}", sum("toolsearch_part, error_type", perSecond("toolsearch_failures_total", ""))}}},
	}
}

type object = map[string]any

// JSON returns the dashboard as Grafana imports it.
func JSON() ([]byte, error) {
	const columns, width, height = 3, 8, 8 // Grafana's grid is 24 wide
	source := object{"type": "prometheus", "uid": "${source}"}
	var list []object
	for i, p := range panels() {
		var targets []object
		for j, q := range p.queries {
			targets = append(targets, object{
				"refId": string(rune('A' + j)), "datasource": source, "editorMode": "code", "range": true,
				"legendFormat": q[0], "expr": q[1], "format": map[string]string{heatmap: "heatmap", lines: "time_series"}[p.kind],
			})
		}
		list = append(list, object{
			"id": i + 1, "type": p.kind, "title": p.title, "description": p.says, "datasource": source, "targets": targets,
			"gridPos":     object{"x": i % columns * width, "y": i / columns * height, "w": width, "h": height},
			"fieldConfig": object{"defaults": object{"unit": p.unit, "min": 0}, "overrides": []any{}},
		})
	}
	variable := func(name, label, kind string, more object) object {
		v := object{"name": name, "label": label, "type": kind}
		for key, value := range more {
			v[key] = value
		}
		return v
	}
	all := object{"text": "All", "value": "$__all"}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(object{
		"title": "Tool search", "uid": "toolsearch", "schemaVersion": 39, "editable": true, "refresh": "1m", "tags": []string{"toolsearch"},
		"time": object{"from": "now-6h", "to": "now"}, "panels": list,
		"templating": object{"list": []object{
			variable("source", "Data source", "datasource", object{"query": "prometheus"}),
			variable("catalog", "Search tool", "query", object{
				"datasource": source, "refresh": 2, "includeAll": true, "allValue": ".*", "multi": true, "current": all,
				"query": object{"query": "label_values(toolsearch_search_duration_seconds_count, gen_ai_data_source_id)", "refId": "catalog"},
			}),
		}},
	})
	return b.Bytes(), err
}
