package figures

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	catalogLine = regexp.MustCompile(`(?m)^catalog: (\d+) tools`)
	sawLine     = regexp.MustCompile(`(?m)^  it saw (\d+) tools?`)
	wayLine     = regexp.MustCompile(`(?m)^  (showing all|Protocol\w+).*?  +(\d+\.\d+)( \(\S+ %\))?  +\S.*?  +(\d+\.\d+)( \(\S+ %\))?$`) // without a cache, cold, warm
)

//go:embed picture.svg.tmpl
var pictureTemplate string

// A bar is one line of the picture. Its width is in the picture's units.
type bar struct {
	Label, Value string
	Width        float64
	Ours         bool
}

const fullWidth = 380

type panel struct {
	Title string
	Y     int
	Bars  []bar
}

// The picture at the top of the README shows what the quickstart prints and what the benchmarks found. -update draws
// it again.
func TestPictureIsUpToDate(t *testing.T) {
	printed := readDocument(t, "examples/testdata/quickstart.txt")
	all, ways := catalogLine.FindStringSubmatch(printed), wayLine.FindAllStringSubmatch(printed, -1)
	require.Len(t, all, 2)
	require.Len(t, ways, 5)
	seen := 0.0
	for _, saw := range sawLine.FindAllStringSubmatch(printed, -1) {
		seen = max(seen, number(t, saw[1]))
	}
	panels := []panel{
		{Title: "Tools the model sees at a time, at most", Bars: []bar{
			{"showing all", all[1], fullWidth, false}, {"toolsearch", fmt.Sprint(seen), fullWidth * seen / number(t, all[1]), true}}},
		pricePanel(t, "What the conversation costs without a prompt cache, in US cents", ways, 2),
		pricePanel(t, "What it costs with one that has the turn before, in US cents", ways, 4),
		{},
	}
	found, r := &panels[3], readResults(t)
	for _, s := range []struct{ label, searcher string }{{"Eino's own search", "Eino"}, {"toolsearch, BM25", "BM25"}} {
		percent, tools, questions := r.recall(s.searcher)
		found.Title = fmt.Sprintf("Questions whose tool is among the first five found (%d tools, %d questions)", tools, questions)
		found.Bars = append(found.Bars, bar{s.label, percent + " %", fullWidth * number(t, percent) / 100, s.searcher == "BM25"})
	}
	height := 0
	for i := range panels {
		panels[i].Y = height + 30
		height += 44 + 24*len(panels[i].Bars)
	}
	functions := template.FuncMap{"add": func(a, b int) int { return a + b }, "mul": func(a, b int) int { return a * b }}
	var out strings.Builder
	picture := template.Must(template.New("picture").Funcs(functions).Parse(pictureTemplate))
	require.NoError(t, picture.Execute(&out, map[string]any{"Height": height, "Panels": panels}))
	const path = "docs/img/before-after.svg"
	if *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, path), []byte(out.String()), 0o644))
	}
	assert.Equal(t, out.String(), readDocument(t, path), "%s is out of date; -update draws it", path)
}

// pricePanel shows a column of what each way costs. The first way is showing all tools.
func pricePanel(t *testing.T, title string, ways [][]string, column int) panel {
	p, most := panel{Title: title}, 0.0
	for _, way := range ways {
		most = max(most, number(t, way[column]))
	}
	for i, way := range ways {
		p.Bars = append(p.Bars, bar{way[1], way[column] + way[column+1], fullWidth * number(t, way[column]) / most, i > 0})
	}
	return p
}

func number(t *testing.T, text string) float64 {
	value, err := strconv.ParseFloat(text, 64)
	require.NoError(t, err)
	return value
}

// results are the parts of workshop/benchmarks/results.json that the README uses.
type results struct {
	Speed []struct {
		Tools    int
		Searcher string
		Query    float64 // nanoseconds of the median query
	}
	Quality []struct {
		Set, Searcher  string
		Tools, Queries int
		Recall5        float64
	}
}

func readResults(t *testing.T) (r results) {
	require.NoError(t, json.Unmarshal([]byte(readDocument(t, "workshop/benchmarks/results.json")), &r))
	return r
}

// recall is the share of the repository's own questions whose tool a searcher ranks among the first five, in percent.
// tools and questions are the size of that set. Without a measurement it is notMeasured.
func (r results) recall(searcher string) (percent string, tools, questions int) {
	for _, q := range r.Quality {
		if q.Set == "ranking" && q.Searcher == searcher {
			return fmt.Sprintf("%.1f", 100*q.Recall5), q.Tools, q.Queries
		}
	}
	return notMeasured, 0, 0
}

// latency is the median query over 1,000 tools, as BENCHMARKS.md writes it.
func (r results) latency(searcher string) string {
	for _, s := range r.Speed {
		if us := s.Query / 1000; s.Tools == 1000 && s.Searcher == searcher && us < 10 {
			return fmt.Sprintf("%.1f µs", us)
		} else if s.Tools == 1000 && s.Searcher == searcher {
			return fmt.Sprintf("%.0f µs", us)
		}
	}
	return notMeasured
}
