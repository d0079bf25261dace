package docset

import (
	"cmp"
	"slices"
)

// A Top keeps the best of many scored tools. Of tools with equal scores, the lower number is better.
type Top struct {
	Items []Scored // the best so far, and some others
	Total int      // of the tools that were added
	limit int
	floor Scored // better tools are kept; at first all with a score above 0
}

// Named is the least score of a tool that a query names. It is above every sum of what words score.
const Named = 5e5

// A Scored is a tool's number and its score.
type Scored struct {
	Score  float64
	Number int32
}

// NewTop returns a Top that keeps at most limit of n tools; zero or less means all. It reuses the space of items.
func NewTop(limit, n int, items []Scored) Top {
	if limit <= 0 || limit > n {
		limit = max(n, 1)
	}
	return Top{limit: limit, Items: items[:0]}
}

// Wants reports whether Add would keep the tool, for now.
func (t *Top) Wants(score float64, number int32) bool {
	return score > t.floor.Score || score == t.floor.Score && number < t.floor.Number
}

// Add keeps the tool if it may be among the best. Its score is above 0.
func (t *Top) Add(score float64, number int32) {
	t.Total++
	if !t.Wants(score, number) {
		return
	}
	if t.Items = append(t.Items, Scored{score, number}); len(t.Items) == 2*t.limit {
		t.Best()
	}
}

// Best returns the best tools so far, the best first.
func (t *Top) Best() []Scored {
	slices.SortFunc(t.Items, func(a, b Scored) int { return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Number, b.Number)) })
	if len(t.Items) >= t.limit {
		t.Items = t.Items[:t.limit]
		t.floor = t.Items[t.limit-1]
	}
	return t.Items
}
