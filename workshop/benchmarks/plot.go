package benchmarks

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"time"
)

// The plots are SVG written without a library. The same results give the same bytes. The plots
// have no background and use colors of medium lightness, to be readable on white and on black.

const (
	ink  = "#7a828e" // text and axes
	line = "#7a828e" // the grid, at low opacity
)

// colors of the searchers. A new searcher is a new line here. Searchers that are not of this
// library are dashed as lines and hatched as bars.
var colors = map[string]string{
	"Eino":          "#e5534b",
	"Keyword":       "#2da44e",
	"BM25":          "#2f81f7",
	"Fuzzy":         "#bf8700",
	"Similarity":    "#a371f7",
	"Regexp":        "#db61a2",
	"bleve":         "#e0823d",
	"bleve, fields": "#b08968",
	"BM25 as usual": "#8b949e",
}

var foreign = map[string]bool{"Eino": true, "bleve": true, "bleve, fields": true, "BM25 as usual": true}

func colorOf(name string) string {
	if c, ok := colors[name]; ok {
		return c
	}
	return ink
}

type svg struct{ bytes.Buffer }

func newSVG(width, height int, title string) *svg {
	s := &svg{}
	fmt.Fprintf(s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" font-family="-apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="14" fill="%s">`+"\n",
		width, height, width, height, ink)
	fmt.Fprintf(s, "<title>%s</title>\n", html.EscapeString(title))
	return s
}

func (s *svg) text(x, y float64, more, text string) {
	fmt.Fprintf(s, `<text x="%.1f" y="%.1f"%s>%s</text>`+"\n", x, y, spaced(more), html.EscapeString(text))
}

func (s *svg) line(x1, y1, x2, y2 float64, more string) {
	fmt.Fprintf(s, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s"%s/>`+"\n", x1, y1, x2, y2, line, spaced(more))
}

func (s *svg) end() []byte {
	s.WriteString("</svg>\n")
	return s.Bytes()
}

func spaced(attributes string) string {
	if attributes == "" {
		return ""
	}
	return " " + attributes
}

// LatencyPlot draws the median time of a query over the size of the catalog, with one line per
// searcher. Both axes are logarithmic.
func LatencyPlot(r *Results) []byte {
	const width, height = 720, 480
	const left, right, top, bottom = 74.0, width - 132.0, 72.0, height - 56.0
	s := newSVG(width, height, "Time of a query by number of tools")
	s.text(left-58, 28, `font-size="18" font-weight="600"`, "Time of a query, by number of tools")
	s.text(left-58, 48, `font-size="13"`, "median, both axes logarithmic; lower is better")
	g := gridOf(r.Speed)
	if len(g.sizes) == 0 {
		return s.end()
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, speed := range r.Speed {
		low, high = min(low, math.Log10(float64(speed.Query))), max(high, math.Log10(float64(speed.Query)))
	}
	low, high = math.Floor(low), max(math.Ceil(high), math.Floor(low)+1)
	first, last := math.Log10(float64(g.sizes[0])), math.Log10(float64(g.sizes[len(g.sizes)-1]))
	x := func(tools int) float64 {
		if first == last {
			return right
		}
		return left + (right-left)*(math.Log10(float64(tools))-first)/(last-first)
	}
	y := func(t time.Duration) float64 {
		return bottom - (bottom-top)*(math.Log10(float64(t))-low)/(high-low)
	}
	for power := low; power <= high; power++ {
		t := time.Duration(math.Pow(10, power))
		s.line(left, y(t), right, y(t), `stroke-opacity="0.3"`)
		s.text(left-10, y(t)+5, `text-anchor="end"`, strings.Replace(duration(t), ".0", "", 1))
	}
	for _, size := range g.sizes {
		s.line(x(size), top, x(size), bottom, `stroke-opacity="0.15"`)
		s.text(x(size), bottom+22, `text-anchor="middle"`, grouped(float64(size)))
	}
	s.text((left+right)/2, bottom+44, `text-anchor="middle"`, "tools in the catalog")
	for _, name := range g.searchers {
		s.curve(g, name, x, y)
	}
	s.labels(g, y, right+12, top, bottom)
	return s.end()
}

// curve draws the line of one searcher, with a dot at each size.
func (s *svg) curve(g grid, name string, x func(int) float64, y func(time.Duration) float64) {
	var points []string
	var dots strings.Builder
	for _, size := range g.sizes {
		if cell, ok := g.cells[name][size]; ok {
			points = append(points, fmt.Sprintf("%.1f,%.1f", x(size), y(cell.Query)))
			fmt.Fprintf(&dots, `<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>`+"\n", x(size), y(cell.Query), colorOf(name))
		}
	}
	style := `stroke-width="2.5"`
	switch {
	case foreign[name]:
		style = `stroke-width="2" stroke-dasharray="7 4"`
	case name == "BM25":
		style = `stroke-width="4"`
	}
	fmt.Fprintf(s, `<polyline points="%s" fill="none" stroke="%s" stroke-linejoin="round" %s/>`+"\n%s", strings.Join(points, " "), colorOf(name), style, dots.String())
}

// labels writes the names at the ends of the lines, and moves them apart if they would overlap.
func (s *svg) labels(g grid, y func(time.Duration) float64, x, top, bottom float64) {
	const apart = 18
	type label struct {
		name string
		y    float64
	}
	var list []label
	size := g.sizes[len(g.sizes)-1]
	for _, name := range g.searchers {
		if cell, ok := g.cells[name][size]; ok {
			list = append(list, label{name, y(cell.Query)})
		}
	}
	slices.SortStableFunc(list, func(a, b label) int { return int(math.Copysign(1, a.y-b.y)) })
	// From the top down, put each label below the label before it. Then, from the bottom up,
	// move labels back into the picture.
	for i := range list {
		list[i].y = max(list[i].y, top+4)
		if i > 0 {
			list[i].y = max(list[i].y, list[i-1].y+apart)
		}
	}
	limit := bottom + 4
	for i := len(list) - 1; i >= 0; i-- {
		list[i].y = min(list[i].y, limit)
		limit = list[i].y - apart
	}
	for _, l := range list {
		s.text(x, l.y+5, fmt.Sprintf(`font-weight="600" fill="%s"`, colorOf(l.name)), l.name)
	}
}

// RecallPlot draws recall at 5 as bars. One panel has the repository's own questions, another
// the mean over the public sets if they were measured.
func RecallPlot(r *Results) []byte {
	type panel struct {
		title string
		bars  []Quality
	}
	var panels []panel
	if own := ofSet(r.Quality, ownSet); len(own) > 0 {
		panels = append(panels, panel{fmt.Sprintf("%d questions of this repository over %d tools", own[0].Queries, own[0].Tools), own})
	}
	if sets := publicSetsOf(r.Quality); len(sets) > 0 {
		panels = append(panels, panel{fmt.Sprintf("mean over %d public sets", len(sets)), meansOf(r.Quality, sets)})
	}
	const width, step, left, right = 720, 27, 132.0, 720 - 70.0
	height := 66
	for _, p := range panels {
		height += 40 + step*len(p.bars)
	}
	s := newSVG(width, height, "Recall at 5 by searcher")
	s.text(16, 28, `font-size="18" font-weight="600"`, "The right tool among the first five")
	s.text(16, 48, `font-size="13"`, "recall at 5, in percent; higher is better")
	y := 66.0
	for _, p := range panels {
		s.text(16, y+16, `font-weight="600"`, p.title)
		y += 28
		slices.SortStableFunc(p.bars, func(a, b Quality) int { return int(math.Round(1e9 * (b.Recall5 - a.Recall5))) })
		for _, bar := range p.bars {
			s.bar(bar, left, right, y)
			y += step
		}
		s.line(left, y-step*float64(len(p.bars)), left, y-4, "")
		y += 12
	}
	return s.end()
}

func (s *svg) bar(q Quality, left, right, y float64) {
	opacity, weight := 0.95, 600
	if foreign[q.Searcher] {
		opacity, weight = 0.55, 400
	}
	length := (right - left) * q.Recall5
	s.text(left-10, y+15, fmt.Sprintf(`text-anchor="end" font-weight="%d"`, weight), q.Searcher)
	fmt.Fprintf(s, `<rect x="%.1f" y="%.1f" width="%.1f" height="19" rx="3" fill="%s" fill-opacity="%.2f"/>`+"\n", left, y+1, length, colorOf(q.Searcher), opacity)
	s.text(left+length+8, y+15, fmt.Sprintf(`font-weight="%d"`, weight), fmt.Sprintf("%.1f", 100*q.Recall5))
}
