package search

import (
	"context"
	"math"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// What a tool gets for its namespace. docs/searchers.md says what it is worth.
//
// A server says what it is for ("Current weather and forecasts"), and its tools need not say it again
// ("get_current"). So a query that matches the description of a namespace lifts the namespace's tools by
//
//	namespaceWeight · score of the description / sqrt(number of tools)
//
// The descriptions are an index of their own, in which each counts once. If they were part of each tool's text, a
// server of many tools would make its words common, and a long description would hide what its tools say.
//
// A task over many servers says what a server does in more words than any one of its tools does. So in a query of
// more than evidenceLength words, a tool that a term matches gets
//
//	evidenceShare · mean score of the other tools of its namespace
const (
	namespaceWeight = 0.5
	evidenceShare   = 0.1
	evidenceLength  = 20 // words of a query; a longer query is a task
)

// bm25Namespaces are the namespaces of an index.
type bm25Namespaces struct {
	of           []int32   // by tool: its namespace, from 1; 0 means none
	tools        [][]int32 // by namespace, from 1
	descriptions *bm25     // a document for each namespace with a description; nil if there are none
	described    []int32   // by document of descriptions: its namespace
}

// maxNamespaceBytes is how much of a description is read.
const maxNamespaceBytes = 2 << 10

// namespaces returns the namespaces of the documents, or nil if no document has one.
func (o BM25Options) namespaces(ctx context.Context, docs []Document) (n *bm25Namespaces, err error) {
	n = &bm25Namespaces{of: make([]int32, len(docs)), tools: make([][]int32, 1)}
	numbers, isDescribed := make(map[string]int32), make([]bool, 1+len(docs))
	descriptions, number := []Document(nil), int32(0)
	for i := range docs {
		doc := &docs[i]
		if doc.Namespace == "" {
			continue
		}
		if i == 0 || doc.Namespace != docs[i-1].Namespace { // a look-up for each would be a fortieth of the index's time
			number = numbers[doc.Namespace]
		}
		if number == 0 {
			number = int32(len(n.tools))
			numbers[doc.Namespace], n.tools = number, append(n.tools, nil)
		}
		n.of[i], n.tools[number] = number, append(n.tools[number], int32(i))
		if doc.NamespaceDescription != "" && !isDescribed[number] {
			isDescribed[number], n.described = true, append(n.described, number)
			descriptions = append(descriptions, Document{Description: naming.Cut(doc.NamespaceDescription, maxNamespaceBytes)})
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	if len(descriptions) > 0 {
		if n.descriptions, err = o.index(ctx, descriptions); err == nil {
			n.descriptions.namespaces = &bm25Namespaces{of: n.described, tools: make([][]int32, 2)}
		}
	}
	return n, err
}

const several = -1 // namespaces, or a tool without one

// owner returns the only namespace with one of the terms, 0 if no tool has any of them, or several. If all tools are
// of one namespace, or of none, nobody owns a term.
func (x *bm25) owner(terms ...int32) (owner int32) {
	n := x.namespaces
	if len(terms) > 0 && (n == nil || len(n.tools[1]) == len(x.docs)) {
		return several
	}
	for _, term := range terms {
		for _, p := range x.List(term) {
			of := n.of[p.Doc()]
			if of == 0 || owner > 0 && of != owner {
				return several
			}
			owner = of
		}
	}
	return owner
}

// lifts are what the tools of each namespace get on top of their own scores.
type lifts struct {
	*bm25Namespaces
	byDescription []float64 // what its tools get for its description
	sums          []float64 // of the scores of its tools; zeros if they are not evidence
}

// of returns what a tool with that score gets for its namespace.
func (l *lifts) of(tool int32, score float64) (ofDescription, ofOthers float64) {
	if l.bm25Namespaces == nil {
		return 0, 0
	}
	namespace := l.bm25Namespaces.of[tool]
	if others := len(l.tools[namespace]) - 1; score > 0 && others > 0 {
		ofOthers = evidenceShare * max(0, l.sums[namespace]-score) / float64(others)
	}
	return l.byDescription[namespace], ofOthers
}

// lift returns what tools get for their namespaces. It touches the tools of a namespace that is described by the query.
func (s *bm25Scratch) lift(ctx context.Context, q Query) (l lifts, err error) {
	n := s.x.namespaces
	isEvidence := n != nil && len(n.tools) > 2 && s.isLonger(evidenceLength)
	if n == nil || n.descriptions == nil && !isEvidence {
		return l, nil
	}
	l = lifts{n, make([]float64, len(n.tools)), make([]float64, len(n.tools))}
	if isEvidence {
		for _, doc := range s.sums.touched {
			sum, share, _ := s.sum(doc)
			l.sums[n.of[doc]] += s.x.total(sum, share, letters.NotNamed)
		}
	}
	if n.descriptions == nil {
		return l, nil
	}
	n.descriptions.with(func(of *bm25Scratch) {
		err = of.score(ctx, q)
		for _, description := range of.sums.touched {
			sum, _, _ := of.sum(description)
			namespace := n.described[description]
			l.byDescription[namespace] = namespaceWeight * sum / math.Sqrt(float64(len(n.tools[namespace])))
			if sum > 0 {
				for _, doc := range n.tools[namespace] {
					s.sums.touch(doc)
				}
			}
		}
	})
	return l, err
}
