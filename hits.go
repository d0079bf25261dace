package toolsearch

import (
	"slices"
	"strings"
)

// top keeps the best of many scored tools: a bounded heap with the worst kept tool at
// its root. Tools are numbered in the order in which equal scores are to stand.
type top struct {
	limit int
	heap  []scored
}

type scored struct {
	score  float64
	number int32
}

// newTop keeps at most limit of n tools; 0 keeps all. It uses the space of heap, which
// may be nil.
func newTop(limit, n int, heap []scored) top {
	if limit <= 0 || limit > n {
		limit = n
	}
	return top{limit: limit, heap: heap[:0]}
}

// compareScored orders better before worse.
func compareScored(a, b scored) int {
	switch {
	case a.score > b.score:
		return -1
	case a.score < b.score:
		return 1
	default:
		return int(a.number) - int(b.number)
	}
}

// wants reports whether add would keep the tool.
func (t *top) wants(score float64, number int32) bool {
	return len(t.heap) < t.limit || t.limit > 0 && compareScored(scored{score, number}, t.heap[0]) < 0
}

func (t *top) add(score float64, number int32) {
	s := scored{score, number}
	if len(t.heap) < t.limit {
		t.heap = append(t.heap, s)
		t.up(len(t.heap) - 1)
		return
	}
	if t.wants(score, number) {
		t.heap[0] = s
		t.down(0)
	}
}

func (t *top) up(i int) {
	for i > 0 {
		parent := (i - 1) / 2
		if compareScored(t.heap[parent], t.heap[i]) >= 0 {
			return
		}
		t.heap[parent], t.heap[i] = t.heap[i], t.heap[parent]
		i = parent
	}
}

func (t *top) down(i int) {
	for {
		worst := i
		for _, child := range [2]int{2*i + 1, 2*i + 2} {
			if child < len(t.heap) && compareScored(t.heap[child], t.heap[worst]) > 0 {
				worst = child
			}
		}
		if worst == i {
			return
		}
		t.heap[worst], t.heap[i] = t.heap[i], t.heap[worst]
		i = worst
	}
}

// hitsOf empties a heap, best first, with docOf turning numbers into documents; nil if
// they are documents.
func hitsOf(t *top, docOf []int32) []Hit {
	slices.SortFunc(t.heap, compareScored)
	hits := make([]Hit, len(t.heap))
	for i, s := range t.heap {
		doc := s.number
		if docOf != nil {
			doc = docOf[doc]
		}
		hits[i] = Hit{Doc: int(doc), Score: s.score}
	}
	return hits
}

// docsByName numbers documents in the order of their names.
func docsByName(docs []Document) []int32 {
	docOf := make([]int32, len(docs))
	for i := range docOf {
		docOf[i] = int32(i)
	}
	slices.SortStableFunc(docOf, func(a, b int32) int { return strings.Compare(docs[a].Name, docs[b].Name) })
	return docOf
}

// atMost is the tighter of two limits, of which 0 is none.
func atMost(a, b int) int {
	if a <= 0 || b > 0 && b < a {
		return b
	}
	return a
}
