// Readme draws the picture at the top of the README from what the quickstart prints and
// from benchmarks/results.json. Run it in the root of the repository:
//
//	go run ./internal/readme
//
// Tests compare the picture with the committed picture, and the measured columns of the
// tables in the READMEs and in docs/ with what is measured here.
package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"text/template"
)

const picturePath = "docs/img/before-after.svg"

func main() {
	log.SetFlags(0)
	picture, err := drawPicture(".")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(picturePath, picture, 0o644); err != nil {
		log.Fatal(err)
	}
}

// A run is a row of the quickstart's closing table: what a conversation spent on tools.
type run struct{ tools, calls, tokens int }

var sums = regexp.MustCompile(`(?m)^  (?:showing all|tool_search +1 to) +(\d+) tools in (\d+) model calls +(\d+) tokens$`)

// runQuickstart runs the quickstart and reads the table at the end of its output.
func runQuickstart(root string) (all, search run, err error) {
	command := exec.Command("go", "run", "./examples/quickstart")
	command.Dir, command.Stderr = root, os.Stderr
	out, err := command.Output()
	if err != nil {
		return all, search, fmt.Errorf("quickstart: %w", err)
	}
	rows := sums.FindAllStringSubmatch(string(out), -1)
	if len(rows) != 2 {
		return all, search, fmt.Errorf("quickstart printed no sum of two rows:\n%s", out)
	}
	for i, r := range []*run{&all, &search} {
		for j, field := range []*int{&r.tools, &r.calls, &r.tokens} {
			if *field, err = strconv.Atoi(rows[i][j+1]); err != nil {
				return all, search, err
			}
		}
	}
	return all, search, nil
}

// results are the parts of benchmarks/results.json that the README uses.
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

func readResults(root string) (r results, err error) {
	text, err := os.ReadFile(filepath.Join(root, "benchmarks", "results.json"))
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(text, &r)
}

// recall is the share of the repository's own questions whose tool a searcher ranks among
// the first five, in percent.
func (r results) recall(searcher string) (percent string, err error) {
	for _, q := range r.Quality {
		if q.Set == "ranking" && q.Searcher == searcher {
			return fmt.Sprintf("%.1f", 100*q.Recall5), nil
		}
	}
	return "", fmt.Errorf("benchmarks/results.json has no recall of %s", searcher)
}

// latency is the median query over 1,000 tools, as BENCHMARKS.md writes it.
func (r results) latency(searcher string) (string, error) {
	for _, s := range r.Speed {
		if s.Tools == 1000 && s.Searcher == searcher {
			if us := float64(s.Query) / 1000; us < 10 {
				return fmt.Sprintf("%.1f µs", us), nil
			}
			return fmt.Sprintf("%.0f µs", float64(s.Query)/1000), nil
		}
	}
	return "", fmt.Errorf("benchmarks/results.json has no time of %s", searcher)
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
func drawPicture(root string) ([]byte, error) {
	all, search, err := runQuickstart(root)
	if err != nil {
		return nil, err
	}
	r, err := readResults(root)
	if err != nil {
		return nil, err
	}
	found := panel{Title: "Questions whose tool is among the first five found (180 tools, 200 questions)"}
	for _, s := range []struct{ label, searcher string }{{"Eino's own search", "Eino"}, {"toolsearch, BM25", "BM25"}} {
		percent, err := r.recall(s.searcher)
		if err != nil {
			return nil, err
		}
		share, err := strconv.ParseFloat(percent, 64)
		if err != nil {
			return nil, err
		}
		found.Bars = append(found.Bars, bar{s.label, percent + " %", fullWidth * share / 100, s.searcher == "BM25"})
	}
	panels := []panel{
		beforeAfter("Tools the model sees at a time, at most", all.tools, search.tools, ""),
		beforeAfter("Tokens spent on tools without a prompt cache, searches included", all.tokens, search.tokens,
			fmt.Sprintf(" (%d %% less)", 100*(all.tokens-search.tokens)/all.tokens)),
		found,
	}
	for i := range panels {
		panels[i].Y = 30 + 92*i
	}
	t, err := template.New("picture").Funcs(template.FuncMap{"add": func(a, b int) int { return a + b }, "mul": func(a, b int) int { return a * b }}).Parse(pictureTemplate)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = t.Execute(&out, panels)
	return out.Bytes(), err
}

func beforeAfter(title string, before, after int, note string) panel {
	return panel{Title: title, Bars: []bar{
		{"showing all", thousands(before), fullWidth, false},
		{"toolsearch", thousands(after) + note, fullWidth * float64(after) / float64(before), true},
	}}
}

func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
