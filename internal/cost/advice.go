package cost

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
)

// What a report advises:
//
//	rows -> situations -> a plan: the best way, and other ways for groups of situations -> words
//
// A group is a box: a range of histories, of calls and of loads, and one state of the cache or
// both. A reader can tell whether a conversation is in it, even a conversation that was not
// played. A way is advised for a group only if it is right for the whole group.

// Slack is how much more than the cheapest way a simpler recommendation may cost, as a share of 1.
const Slack = 0.05

// A situation is a row with one state of the cache.
type situation struct {
	Shape
	warm   bool
	name   string // for a situation without a group
	prices map[Way]float64
}

// situations returns the cold and the warm situation of each row in turn.
func (r *Report) situations() (list []situation) {
	for i, row := range r.Rows {
		cold := situation{Shape: row.Shape, name: "(" + row.Shape.String() + ")", prices: make(map[Way]float64)}
		if len(r.Checks) > 0 { // rows of a log may differ in spite of one shape
			cold.name = fmt.Sprintf("run %d", i+1)
		}
		warm := cold
		warm.warm, warm.prices = true, make(map[Way]float64)
		for _, o := range row.Outcomes {
			cold.prices[o.Way], warm.prices[o.Way] = o.ColdPrice, o.WarmPrice
		}
		if r.Provider.Cache != CacheNone {
			cold.name, warm.name = cold.name+" with a cold cache", warm.name+" with a warm cache"
		}
		list = append(list, cold, warm)
	}
	return list
}

// A plan says which of some ways to take.
type plan struct {
	best   Way
	others []exception // of several for one situation, the first counts
}

// An exception says in which situations to take another way.
type exception struct {
	way  Way
	when string
	is   []bool // by situation
}

// way returns the way to take in a situation.
func (p *plan) way(situation int) Way {
	for _, e := range p.others {
		if e.is[situation] {
			return e.way
		}
	}
	return p.best
}

// names reports whether a plan contains a way.
func (p *plan) names(way Way) bool {
	return p.best == way || slices.ContainsFunc(p.others, func(e exception) bool { return e.way == way })
}

// A planner makes plans for situations.
type planner struct {
	situations []situation
	ways       []Way
	isRight    []map[Way]bool // by situation: whether a way costs at most Slack more than the cheapest
}

func newPlanner(situations []situation, ways []Way) *planner {
	p := &planner{situations: situations, ways: ways}
	for _, s := range situations {
		cheapest := s.prices[ways[0]]
		for _, way := range ways {
			cheapest = min(cheapest, s.prices[way])
		}
		right := make(map[Way]bool, len(ways))
		for _, way := range ways {
			right[way] = s.prices[way] <= cheapest*(1+Slack)
		}
		p.isRight = append(p.isRight, right)
	}
	return p
}

// best returns the way to take: of the ways that cost at most Slack more than the cheapest over
// all situations together, the way that is right for most situations; of several, the first.
func (p *planner) best() (best Way) {
	total := make(map[Way]float64, len(p.ways))
	for _, s := range p.situations {
		for _, way := range p.ways {
			total[way] += s.prices[way]
		}
	}
	cheapest := total[p.ways[0]]
	for _, sum := range total {
		cheapest = min(cheapest, sum)
	}
	most := -1
	for _, way := range p.ways {
		if n := p.count(way, p.all()); total[way] <= cheapest*(1+Slack) && n > most {
			best, most = way, n
		}
	}
	return best
}

func (p *planner) all() []bool {
	all := make([]bool, len(p.situations))
	for i := range all {
		all[i] = true
	}
	return all
}

// count returns for how many of some situations a way is right.
func (p *planner) count(way Way, of []bool) (n int) {
	for i, isOf := range of {
		if isOf && p.isRight[i][way] {
			n++
		}
	}
	return n
}

// plan makes the plan whose best way is given.
func (p *planner) plan(best Way) plan {
	made := plan{best: best}
	open := make([]bool, len(p.situations)) // best is wrong, and no exception covers it
	left := 0
	for i := range open {
		if open[i] = !p.isRight[i][best]; open[i] {
			left++
		}
	}
	groups := p.groups()
	for left > 0 {
		e, ok := p.grouped(groups, open)
		if !ok {
			e = p.named(open)
		}
		for i, is := range e.is {
			if is && open[i] {
				open[i] = false
				left--
			}
		}
		made.except(e)
	}
	return made
}

// except adds an exception. Exceptions for the same way are merged.
func (p *plan) except(e exception) {
	at := slices.IndexFunc(p.others, func(other exception) bool { return other.way == e.way })
	if at < 0 {
		p.others = append(p.others, e)
		return
	}
	other := &p.others[at]
	other.when += ", or " + strings.TrimPrefix(e.when, "conversations ")
	for i, is := range e.is {
		other.is[i] = other.is[i] || is
	}
}

// grouped returns the exception for the group with most of the open situations. Of several such
// groups it takes the one with the fewest conditions.
func (p *planner) grouped(groups []group, open []bool) (e exception, ok bool) {
	most, fewest := 0, 0
	for _, g := range groups {
		for _, way := range p.ways {
			n := 0
			for i := range p.situations {
				if !g.has(&p.situations[i]) {
					continue
				}
				if !p.isRight[i][way] {
					n = 0
					break
				}
				if open[i] {
					n++
				}
			}
			if n > most || n > 0 && n == most && len(g.conditions) < fewest {
				most, fewest = n, len(g.conditions)
				e = exception{way, "conversations with " + enumerated(g.conditions), make([]bool, len(open))}
				for i := range p.situations {
					e.is[i] = g.has(&p.situations[i])
				}
			}
		}
	}
	return e, most > 0
}

// maxNamed is how many conversations an exception names.
const maxNamed = 12

// named returns an exception that lists by name the open situations for which one way is right.
func (p *planner) named(open []bool) exception {
	e := exception{way: p.ways[0], is: make([]bool, len(open))}
	for _, way := range p.ways {
		if p.count(way, open) > p.count(e.way, open) {
			e.way = way
		}
	}
	var names []string
	for i := range open {
		if e.is[i] = open[i] && p.isRight[i][e.way]; e.is[i] && !slices.Contains(names, p.situations[i].name) {
			names = append(names, p.situations[i].name) // without a cache, cold and warm have the same name
		}
	}
	if more := len(names) - maxNamed; more > 0 {
		names = append(names[:maxNamed:maxNamed], fmt.Sprintf("%d more", more))
	}
	e.when = enumerated(names)
	return e
}

// A group consists of the situations that meet some conditions.
type group struct {
	history, calls, loads span
	cold, warm            bool
	conditions            []string // in words
}

// span is a range of numbers, both ends included.
type span struct{ least, most int }

func (s span) has(n int) bool { return s.least <= n && n <= s.most }

func (g *group) has(s *situation) bool {
	return g.history.has(s.History) && g.calls.has(s.Calls) && g.loads.has(s.Loads) && (s.warm && g.warm || !s.warm && g.cold)
}

// groups returns the groups that can be told apart. Groups that differ only in the state of the
// cache and the history come first.
func (p *planner) groups() (list []group) {
	histories := p.spans(func(s *situation) int { return s.History }, shortened, "token of history", "tokens of history")
	calls := p.spans(func(s *situation) int { return s.Calls }, nil, "model call", "model calls")
	loads := p.spans(func(s *situation) int { return s.Loads }, nil, "load", "loads")
	for _, load := range loads {
		for _, call := range calls {
			for _, history := range histories {
				words := slices.Concat(history.words, call.words, load.words)
				list = append(list,
					group{history.span, call.span, load.span, true, true, words},
					group{history.span, call.span, load.span, true, false, append(slices.Clone(words), "a cold cache")},
					group{history.span, call.span, load.span, false, true, append(slices.Clone(words), "a warm cache")},
				)
			}
		}
	}
	return list
}

// maxEnds bounds the ends of spans, of which a log may have many.
const maxEnds = 6

type wordedSpan struct {
	span
	words []string // nil for the span of all numbers
}

// spans returns the ranges of a number that the situations have, the range of all numbers first.
func (p *planner) spans(of func(*situation) int, write func(int) string, singular, plural string) (list []wordedSpan) {
	var ends []int
	for i := range p.situations {
		ends = append(ends, of(&p.situations[i]))
	}
	slices.Sort(ends)
	if ends = slices.Compact(ends); len(ends) > maxEnds {
		for i := range maxEnds {
			ends[i] = ends[i*(len(ends)-1)/(maxEnds-1)]
		}
		ends = ends[:maxEnds]
	}
	if write == nil {
		write = func(n int) string { return fmt.Sprint(n) }
	}
	counted := func(n int) string {
		if n == 1 {
			return write(n) + " " + singular
		}
		return write(n) + " " + plural
	}
	last := len(ends) - 1
	list = append(list, wordedSpan{span: span{math.MinInt, math.MaxInt}})
	for i, least := range ends {
		for j, most := range ends[i:] {
			s := wordedSpan{span: span{least, most}}
			switch isFirst, isLast := i == 0, i+j == last; {
			case isFirst && isLast:
				continue
			case isFirst:
				s.words = []string{"at most " + counted(most)}
			case isLast:
				s.words = []string{"at least " + counted(least)}
			case least == most:
				s.words = []string{counted(most)}
			default:
				s.words = []string{write(least) + " to " + counted(most)}
			}
			list = append(list, s)
		}
	}
	return list
}

// enumerated joins words as a sentence does.
func enumerated(list []string) string {
	if last := len(list) - 1; last > 0 {
		return strings.Join(list[:last], ", ") + " and " + list[last]
	}
	return strings.Join(list, "")
}

// advise fills in what follows from the rows: the ways to take. It returns the plan for models with
// native search, and the plan for others.
func (r *Report) advise() (all, text plan) {
	situations := r.situations()
	planner := newPlanner(situations, r.Ways)
	all = planner.plan(planner.best())
	text = all
	if native, ok := r.Provider.native(); ok && all.names(Way{Protocol: native}) {
		planner = newPlanner(situations, slices.DeleteFunc(slices.Clone(r.Ways), func(w Way) bool { return w == Way{Protocol: native} }))
		text = planner.plan(planner.best())
		// Advice for both is said once.
		same := plan{text.best, all.others}
		if !same.names(Way{Protocol: native}) && planner.holds(&same) {
			text = same
		}
	}
	r.Best, r.BestText = all.best, text.best
	for i := range r.Rows {
		row := &r.Rows[i]
		row.Cold, row.Warm = all.way(2*i), all.way(2*i+1)
		row.ColdText, row.WarmText = text.way(2*i), text.way(2*i+1)
	}
	return all, text
}

// holds reports whether a plan is right for every situation.
func (p *planner) holds(made *plan) bool {
	for i := range p.situations {
		if !p.isRight[i][made.way(i)] {
			return false
		}
	}
	return true
}

var goNames = map[toolsearch.Protocol]string{
	toolsearch.ProtocolToolSearch: "ProtocolToolSearch",
	toolsearch.ProtocolSearchAdd:  "ProtocolSearchAdd", toolsearch.ProtocolRanked: "ProtocolRanked",
	toolsearch.ProtocolDispatch: "ProtocolDispatch", toolsearch.ProtocolNativeDeferred: "ProtocolNativeDeferred",
	toolsearch.ProtocolNativeReferences: "ProtocolNativeReferences",
}

// advice says which ways to take.
func (r *Report) advice(all, text plan) string {
	these := fmt.Sprintf("these %d tools", r.Tools)
	if r.Tools == 1 {
		these = "this tool"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "With %s and %s: %s", r.Provider.Model, these, r.advised(all.best))
	switch {
	case all.best.All && len(all.others) == 0:
		b.WriteString("; hiding does not pay in these conversations")
	case r.BreakEven == 1:
		b.WriteString(", from 1 tool on")
	case r.BreakEven > 1:
		fmt.Fprintf(&b, ", from %d tools on", r.BreakEven)
	}
	b.WriteString(".")
	isSame := slices.EqualFunc(all.others, text.others, func(a, b exception) bool { return a.way == b.way && a.when == b.when })
	form := " For %s: %s."
	if isSame && all.best != text.best {
		fmt.Fprintf(&b, " With another adapter: %s.", r.advised(text.best))
		form = " Either way, for %s: %s."
	}
	for _, e := range all.others {
		fmt.Fprintf(&b, form, e.when, r.advised(e.way))
	}
	if !isSame {
		fmt.Fprintf(&b, " With another adapter: %s", r.advised(text.best))
		for _, e := range text.others {
			fmt.Fprintf(&b, "; for %s: %s", e.when, r.advised(e.way))
		}
		b.WriteString(".")
	}
	return b.String()
}

// advised returns the words for a way, with the adapter that it needs.
func (r *Report) advised(way Way) string {
	if way.All && r.Tools == 1 {
		return "show it"
	}
	if way.All {
		return "show them all"
	}
	if native, ok := r.Provider.native(); ok && way.Protocol == native {
		return fmt.Sprintf("%s if the model's adapter is %s", goNames[way.Protocol], cmp.Or(r.Provider.With, "one with native search"))
	}
	return goNames[way.Protocol]
}

// shortened writes a number of tokens as tables do: 20k.
func shortened(n int) string {
	if n >= 1000 && n%1000 == 0 {
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}
