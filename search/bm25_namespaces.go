package search

import (
	"context"
	"math"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// What a tool gets for its namespace: for a description that fits the query, and for other tools that
// fit it.
//
// Descriptions of namespaces. A server says what it is for ("Current weather and forecasts"), and
// its tools need not say it again ("get_current"). So a query that fits the description of a
// namespace lifts the namespace's tools by
//
//	namespaceWeight · score of the description / sqrt(number of tools)
//
// The descriptions are an index of their own, in which each counts once. If they were part of
// each tool's text, a server of many tools would make its words common, and a long description
// would hide what its tools say of themselves. The root is there because a server of many
// tools says more in its description, and its tools share the lift.
//
// Measured on tasks over 28 MCP servers, with a line for each that says what it is for
// (eval/namespaces_test.go), and on four sets of tools by server with the least that a server can
// say: the list of its tools' names, which tells nothing new. The numbers are the change in points
// of recall at 10 and of MRR: for the tasks, one vendor's tools, the same among ten times as many,
// noisy API docs, and tools of many kinds.
//
//	part of each tool's text      +8.7 +4.4   -0.4 -4.2   -1.0 -5.3   +1.7 -0.6
//	weight 0.5 without the root   +4.3 +2.5   -0.4 -0.3   -0.9 -1.6   +1.6 -0.6
//	weight 0.5                    +3.7 +1.9   +0.0 +0.0   -0.1 -0.6   +1.6 -0.3   +0.0 +0.8
//	weight 1                      +4.8 +3.1   +0.2 -0.3   -0.6 -1.7   +1.9 -0.9
//	weight 2                      +9.2 +7.2   -0.5 -1.5   -1.6 -5.7   +1.5 -3.2
const namespaceWeight = 0.5

// Evidence from other tools. A task over many servers says what a server does in more words than
// any one of its tools has. So in a query of more than evidenceLength words, a tool gets
//
//	evidenceShare · mean score of the other tools of its namespace
//
// A server of one tool gets nothing and loses nothing, and neither does a tool that no term fits.
// Measured on the two sets of tools by server that have such queries, as the change in points of
// recall at 5, recall at 10 and MRR, with 95 % intervals:
//
//	tasks over MCP servers   +0.8 [+0.1, +1.8]   +0.8 [+0.1, +1.7]   +0.4 [-0.2, +1.4]
//	noisy API docs           +0.9 [+0.4, +1.4]   +0.4 [-0.1, +0.8]   -0.1 [-0.5, +0.4]
//
// In queries of every length, it costs one vendor's tools 0.5 of recall at 5, and tools of many kinds
// 0.5. A length of 10 or 15 gains 0.1 less on the API docs, 30 gains nothing there. Shares of 0.05 and
// 0.2 change recall at 5 by -0.1 and +1.3 for the tasks, +0.4 and +0.6 for the API docs, where 0.2
// costs 0.4 of MRR. Half of the sum, divided by the number of tools plus 8, gains the tasks 0.4 of
// recall at 10 and costs them 1.1 of MRR; smaller shares gain them nothing. A mean that includes the
// tool's own score gains the tasks more (+2.9 of recall at 10), but favours servers of few tools.
const (
	evidenceShare  = 0.1
	evidenceLength = 20 // words of a query; a longer query is a task
)

// bm25Namespaces are the namespaces of an index.
type bm25Namespaces struct {
	of           []int32   // by tool: its namespace, or noNamespace
	tools        [][]int32 // by namespace
	descriptions summer    // a document for each namespace with a description; nil if there are none
	described    []int32   // by document of descriptions: its namespace
}

const noNamespace = -1

// summer is an index that adds up what a query's terms score in its documents.
type summer interface {
	eachSum(ctx context.Context, q Query, f func(doc int32, sum float64)) error
}

// maxNamespaceBytes is how much of a description is read.
const maxNamespaceBytes = 2 << 10

// newNamespaces returns the namespaces of the documents, with an index of their descriptions that is
// built by index. It returns nil if no document has a namespace.
func newNamespaces(docs []Document, index func(docs []Document) (summer, error)) (*bm25Namespaces, error) {
	n, numbers := &bm25Namespaces{of: make([]int32, len(docs))}, make(map[string]int32)
	var descriptions []Document
	isDescribed := make(map[int32]bool)
	for i := range docs {
		doc := &docs[i]
		if doc.Namespace == "" {
			n.of[i] = noNamespace
			continue
		}
		number, known := numbers[doc.Namespace]
		if !known {
			number = int32(len(n.tools))
			numbers[doc.Namespace], n.tools = number, append(n.tools, nil)
		}
		n.of[i], n.tools[number] = number, append(n.tools[number], int32(i))
		if doc.NamespaceDescription != "" && !isDescribed[number] {
			isDescribed[number], n.described = true, append(n.described, number)
			descriptions = append(descriptions, Document{Description: naming.Cut(doc.NamespaceDescription, maxNamespaceBytes)})
		}
	}
	if len(n.tools) == 0 {
		return nil, nil
	}
	var err error
	if len(descriptions) > 0 {
		n.descriptions, err = index(descriptions)
	}
	return n, err
}

// lifts are what the tools of each namespace get on top of their own scores.
type lifts struct {
	*bm25Namespaces
	byDescription []float64 // nil means that no tool gets anything for its namespace's description
	sums          []float64 // of the scores of its tools; nil if they are not evidence
}

// ofDescription returns what a tool gets for the description of its namespace.
func (l *lifts) ofDescription(tool int32) float64 {
	if l.byDescription == nil || l.of[tool] == noNamespace {
		return 0
	}
	return l.byDescription[l.of[tool]]
}

// ofOthers returns what a tool with that score gets for the scores of the other tools of its
// namespace.
func (l *lifts) ofOthers(tool int32, score float64) float64 {
	if l.sums == nil || l.of[tool] == noNamespace || score <= 0 {
		return 0
	}
	namespace := l.of[tool]
	others := len(l.tools[namespace]) - 1
	if others == 0 {
		return 0
	}
	return evidenceShare * max(0, l.sums[namespace]-score) / float64(others)
}

func (l *lifts) at(tool int32, score float64) float64 {
	return l.ofDescription(tool) + l.ofOthers(tool, score)
}

// lifts scores the descriptions of the namespaces. sums are the sums of the scores of each
// namespace's tools, or nil.
func (n *bm25Namespaces) lifts(ctx context.Context, q Query, sums []float64) (lifts, error) {
	l := lifts{bm25Namespaces: n, sums: sums}
	if n == nil || n.descriptions == nil {
		return l, nil
	}
	l.byDescription = make([]float64, len(n.tools))
	err := n.descriptions.eachSum(ctx, q, func(description int32, sum float64) {
		namespace := n.described[description]
		l.byDescription[namespace] = namespaceWeight * sum / math.Sqrt(float64(len(n.tools[namespace])))
	})
	return l, err
}
