package figures

import (
	"fmt"
	"strings"
	"testing"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// The measured tables of the READMEs and of docs/. A comment in front of a table names it:
//
//	<!-- measured: settings -->
//
// Each row begins with the name of what was measured and ends with the numbers. A page may
// leave rows out.

const marker = "<!-- measured: "

// A table maps the beginning of a row's first cell to the row's last cells.
type table = map[string][]string

// measure returns the tables by name.
func measure(t *testing.T) map[string]table {
	ctx, tools := t.Context(), services.Infos()
	tables := map[string]table{
		"protocols": {}, "settings": {}, "searchers": searcherRows(t), "bills": bills(ctx, tools),
		"advice": advice(ctx, tools), "ideas": ideaRows(ctx, tools), "ideas-400": ideaRows(ctx, cost.Tools(400, 120)), // a larger catalog
	}
	for name, protocol := range map[string]toolsearch.Protocol{
		"`ProtocolToolSearch`": toolsearch.ProtocolToolSearch, "`ProtocolRegexp`": toolsearch.ProtocolRegexp,
		"`ProtocolSearchAdd`": toolsearch.ProtocolSearchAdd, "`ProtocolRanked`": toolsearch.ProtocolRanked,
		"`ProtocolDispatch`": toolsearch.ProtocolDispatch, "`ProtocolAnchored`": toolsearch.ProtocolAnchored,
	} {
		c := costOf(ctx, toolsearch.Config{Protocol: protocol})
		tables["protocols"][name] = cells(c.turns, c.meta, c.list, c.found, c.loaded)
	}
	for name, config := range map[string]toolsearch.Config{
		"nothing":                                {},
		"`Reminder.MaxTokens: 300`":              {Reminder: toolsearch.ReminderConfig{MaxTokens: 300}},
		"`Reminder.Describe: true`":              {Reminder: toolsearch.ReminderConfig{Describe: true}},
		"`Reminder.Disabled: true`":              {Reminder: toolsearch.ReminderConfig{Disabled: true}},
		"`MaxResults: 3`":                        {MaxResults: 3},
		"`Limits.MaxLoaded: 2`":                  {Limits: toolsearch.Limits{MaxLoaded: 2}},
		"`Preselect: 3`":                         {Preselect: 3},
		"`AlwaysLoaded: []string{\"github:*\"}`": {AlwaysLoaded: []string{"github:*"}},
	} {
		c := costOf(ctx, config)
		tables["settings"][name] = cells(c.list, c.loaded)
	}
	return tables
}

// notMeasured stands for a number that workshop/benchmarks/results.json does not have.
const notMeasured = "–"

func searcherRows(t *testing.T) table {
	rows, r := table{}, readResults(t)
	for _, name := range []string{"Keyword", "BM25", "Fuzzy", "Similarity", "Regexp",
		"Embedding(e)", "Hybrid(BM25, Embedding(e))", "Hybrid(BM25, LSA)", "Retriever(r)"} {
		percent, _, _ := r.recall(name)
		rows["`"+name+"`"] = cells(percent, r.latency(name))
	}
	return rows
}

func cells(values ...any) (texts []string) {
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// fillTables returns the text with the measured numbers in its tables, and the number of
// rows filled in each table.
func fillTables(text string, tables map[string]table) (filled string, rows map[string]int, err error) {
	rows = map[string]int{}
	name, line := "", 0 // the current table and the lines of it read so far
	var b strings.Builder
	for full := range strings.Lines(text) {
		row := strings.TrimSpace(full)
		switch {
		case strings.HasPrefix(row, marker):
			name, line = strings.TrimSuffix(strings.TrimPrefix(row, marker), " -->"), 0
			if tables[name] == nil {
				return "", nil, fmt.Errorf("no measured table %q", name)
			}
		case name != "" && row == "":
			name = ""
		case name != "":
			if line++; line > 2 { // below the header
				if full, err = fillRow(full, tables[name]); err != nil {
					return "", nil, fmt.Errorf("table %s: %w", name, err)
				}
				rows[name]++
			}
		}
		b.WriteString(full)
	}
	return b.String(), rows, nil
}

func fillRow(row string, numbers table) (string, error) {
	parts := strings.Split(row, " | ")
	first := strings.TrimPrefix(parts[0], "| ")
	key := ""
	for k := range numbers {
		if strings.HasPrefix(first, k) && len(k) > len(key) {
			key = k
		}
	}
	values := numbers[key]
	if key == "" || len(parts) <= len(values) {
		return "", fmt.Errorf("nothing is measured for the row %q", row)
	}
	copy(parts[len(parts)-len(values):], values)
	parts[len(parts)-1] += " |\n"
	return strings.Join(parts, " | "), nil
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
