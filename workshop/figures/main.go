// Figures draws the picture at the top of the README from what the quickstart prints, which a test keeps in
// examples/testdata, and from workshop/benchmarks/results.json. Run it in the root of the repository:
//
//	go run ./workshop/figures
//
// Tests compare the picture with the committed picture, and the measured columns of the
// tables in the READMEs and in docs/ with what is measured here.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/template"
)

const picturePath = "docs/img/before-after.svg"

func main() { check(os.WriteFile(picturePath, drawPicture("."), 0o644)) }

// check ends the program over an error. Whoever writes the docs sees where it comes from.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

// A run has the numbers that the quickstart prints: how many tools there are, how many the model
// saw at most, and what the conversation costs in each way, in US cents.
type run struct {
	tools, seen int
	ways        []way
}

// A way is a row of the quickstart's closing table.
type way struct {
	name                 string
	uncached, cold, warm cents
}

// cents is a price as the quickstart prints it, with its percentage.
type cents struct {
	value float64
	text  string
}

var (
	catalogLine = regexp.MustCompile(`(?m)^catalog: (\d+) tools`)
	sawLine     = regexp.MustCompile(`(?m)^  it saw (\d+) tools?`)
	wayLine     = regexp.MustCompile(`(?m)^  (showing all|Protocol\w+).*?  +(\d+\.\d+(?: \(\S+ %\))?)  +(\d+\.\d+(?: \(\S+ %\))?)  +(\d+\.\d+(?: \(\S+ %\))?)$`)
)

// readQuickstart reads what the quickstart printed.
func readQuickstart(root string) (r run) {
	out := must(os.ReadFile(filepath.Join(root, "examples/testdata/quickstart.txt")))
	catalog, rows := catalogLine.FindSubmatch(out), wayLine.FindAllStringSubmatch(string(out), -1)
	if catalog == nil || len(rows) != 5 {
		panic(fmt.Sprintf("quickstart printed no catalog, or no prices of five ways:\n%s", out))
	}
	r.tools = must(strconv.Atoi(string(catalog[1])))
	for _, saw := range sawLine.FindAllSubmatch(out, -1) {
		r.seen = max(r.seen, must(strconv.Atoi(string(saw[1]))))
	}
	for _, row := range rows {
		w := way{name: row[1]}
		for i, field := range []*cents{&w.uncached, &w.cold, &w.warm} {
			value, _, _ := strings.Cut(row[i+2], " ")
			*field = cents{must(strconv.ParseFloat(value, 64)), row[i+2]}
		}
		r.ways = append(r.ways, w)
	}
	return r
}

// results are the parts of workshop/benchmarks/results.json that the README uses.
type results struct {
	Speed []struct {
		Tools    int
		Searcher string
		Query    int // nanoseconds of the median query
	}
	Quality []struct {
		Set, Searcher  string
		Tools, Queries int
		Recall5        float64
	}
}

func readResults(root string) (r results) {
	check(json.Unmarshal(must(os.ReadFile(filepath.Join(root, "workshop", "benchmarks", "results.json"))), &r))
	return r
}

// recall is the share of the repository's own questions whose tool a searcher ranks among
// the first five, in percent. tools and questions are the size of that set.
func (r results) recall(searcher string) (percent float64, tools, questions int) {
	for _, q := range r.Quality {
		if q.Set == "ranking" && q.Searcher == searcher {
			return 100 * q.Recall5, q.Tools, q.Queries
		}
	}
	panic("workshop/benchmarks/results.json has no recall of " + searcher)
}

// latency is the median query over 1,000 tools, as BENCHMARKS.md writes it.
func (r results) latency(searcher string) string {
	for _, s := range r.Speed {
		if s.Tools == 1000 && s.Searcher == searcher {
			if us := float64(s.Query) / 1000; us < 10 {
				return fmt.Sprintf("%.1f µs", us)
			}
			return fmt.Sprintf("%.0f µs", float64(s.Query)/1000)
		}
	}
	panic("workshop/benchmarks/results.json has no time of " + searcher)
}

//go:embed picture.svg.tmpl
var pictureTemplate string

// A bar is one line of the picture. Its width is in the picture's units.
type bar struct {
	Label, Value string
	Width        float64
	Ours         bool
}

type panel struct {
	Title string
	Y     int
	Bars  []bar
}

const fullWidth = 380

// drawPicture returns the picture as SVG: the same numbers give the same bytes.
func drawPicture(root string) []byte {
	quickstart, r := readQuickstart(root), readResults(root)
	var found panel
	for _, s := range []struct{ label, searcher string }{{"Eino's own search", "Eino"}, {"toolsearch, BM25", "BM25"}} {
		percent, tools, questions := r.recall(s.searcher)
		found.Title = fmt.Sprintf("Questions whose tool is among the first five found (%d tools, %d questions)", tools, questions)
		text := fmt.Sprintf("%.1f", percent)
		found.Bars = append(found.Bars, bar{s.label, text + " %", fullWidth * must(strconv.ParseFloat(text, 64)) / 100, s.searcher == "BM25"})
	}
	panels := []panel{
		{Title: "Tools the model sees at a time, at most", Bars: []bar{
			{"showing all", strconv.Itoa(quickstart.tools), fullWidth, false},
			{"toolsearch", strconv.Itoa(quickstart.seen), fullWidth * float64(quickstart.seen) / float64(quickstart.tools), true},
		}},
		pricePanel("What the conversation costs without a prompt cache, in US cents", quickstart.ways, func(w way) cents { return w.uncached }),
		pricePanel("What it costs with one that has the turn before, in US cents", quickstart.ways, func(w way) cents { return w.warm }),
		found,
	}
	picture := struct {
		Height int
		Panels []panel
	}{30, panels}
	for i := range panels {
		panels[i].Y = picture.Height
		picture.Height += 44 + 24*len(panels[i].Bars)
	}
	picture.Height -= 30
	functions := template.FuncMap{"add": func(a, b int) int { return a + b }, "mul": func(a, b int) int { return a * b }}
	var out bytes.Buffer
	check(template.Must(template.New("picture").Funcs(functions).Parse(pictureTemplate)).Execute(&out, picture))
	return out.Bytes()
}

// pricePanel shows what each way costs. The first way is showing all tools.
func pricePanel(title string, ways []way, price func(way) cents) panel {
	p := panel{Title: title}
	most := 0.0
	for _, w := range ways {
		most = max(most, price(w).value)
	}
	for i, w := range ways {
		p.Bars = append(p.Bars, bar{w.name, price(w).text, fullWidth * price(w).value / most, i > 0})
	}
	return p
}
