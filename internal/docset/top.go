package docset

// The best of many scored tools, selected in little space.

// A Top keeps the best of many scored tools. It is a bounded heap with the worst kept
// tool at its root. Of tools with equal scores, the lower number is better.
type Top struct {
	Items []Scored // the kept tools, in heap order
	limit int
}

// Named is the least score of a tool that a query names. It is above every sum of what words score.
const Named = 5e5

// A Scored is a tool's number and its score.
type Scored struct {
	Score  float64
	Number int32
}

// NewTop returns a Top that keeps at most limit of n tools. Zero or less means all. The
// Top reuses the space of heap, which may be nil.
func NewTop(limit, n int, heap []Scored) Top {
	if limit <= 0 || limit > n {
		limit = n
	}
	return Top{limit: limit, Items: heap[:0]}
}

// BestFirst orders the better tool first.
func BestFirst(a, b Scored) int {
	switch {
	case a.Score > b.Score:
		return -1
	case a.Score < b.Score:
		return 1
	default:
		return int(a.Number) - int(b.Number)
	}
}

// Wants reports whether Add would keep the tool.
func (t *Top) Wants(score float64, number int32) bool {
	return len(t.Items) < t.limit || t.limit > 0 && BestFirst(Scored{score, number}, t.Items[0]) < 0
}

// Add keeps the tool if it is among the best so far.
func (t *Top) Add(score float64, number int32) {
	if len(t.Items) < t.limit || t.limit > 0 && score >= t.Items[0].Score {
		t.add(score, number)
	}
}

// add is apart from Add so that Add is inlined: most tools of a long list are not kept.
func (t *Top) add(score float64, number int32) {
	s := Scored{score, number}
	if len(t.Items) < t.limit {
		t.Items = append(t.Items, s)
		t.up(len(t.Items) - 1)
		return
	}
	if t.Wants(score, number) {
		t.Items[0] = s
		t.down(0)
	}
}

func (t *Top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if BestFirst(t.Items[parent], t.Items[i]) >= 0 {
			return
		}
		t.Items[parent], t.Items[i] = t.Items[i], t.Items[parent]
		i = parent
	}
}

func (t *Top) down(i int) {
	for {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t.Items) && BestFirst(t.Items[child], t.Items[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.Items[worst], t.Items[i] = t.Items[i], t.Items[worst]
		i = worst
	}
}
