package search

import (
	"context"
	"math"
	"slices"

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
	descriptions *bm25     // a document for each namespace with a description, whose namespace it is in; nil if there are none
}

// maxNamespaceBytes is how much of a description is read.
const maxNamespaceBytes = 2 << 10

// namespaces returns the namespaces of the documents, or nil if no document has one.
func (o BM25Options) namespaces(ctx context.Context, docs []Document) (n *bm25Namespaces, err error) {
	n = &bm25Namespaces{of: make([]int32, len(docs)), tools: make([][]int32, 1)}
	numbers, isDescribed := make(map[string]int32), make([]bool, 1+len(docs))
	descriptions, described, number := []Document(nil), []int32(nil), int32(0)
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
			isDescribed[number], described = true, append(described, number)
			descriptions = append(descriptions, Document{Description: naming.Cut(doc.NamespaceDescription, maxNamespaceBytes)})
		}
	}
	if len(numbers) == 0 {
		return nil, nil
	}
	if len(descriptions) > 0 {
		if n.descriptions, err = o.index(ctx, descriptions); err == nil {
			n.descriptions.namespaces = &bm25Namespaces{of: described, tools: make([][]int32, 2)}
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

// A bm25Lift is what the tools of a namespace get on top of their own scores.
type bm25Lift struct {
	ofDescription float64
	sum           float64 // of the scores of its tools, if they are evidence
}

// lifted returns what a tool with that score gets for its namespace.
func (s *bm25Scratch) lifted(tool int32, score float64) (ofDescription, ofOthers float64) {
	if len(s.lifts) == 0 {
		return 0, 0
	}
	namespace := s.x.namespaces.of[tool]
	if others := len(s.x.namespaces.tools[namespace]) - 1; score > 0 && others > 0 {
		ofOthers = evidenceShare * max(0, s.lifts[namespace].sum-score) / float64(others)
	}
	return s.lifts[namespace].ofDescription, ofOthers
}

// lift works out totals, lifts and mostLift. It touches the tools of a namespace that is described by the query.
func (s *bm25Scratch) lift(ctx context.Context, q Query) error {
	n := s.x.namespaces
	isDescribed := n != nil && n.descriptions != nil
	isEvidence := n != nil && len(n.tools) > 2 && s.isLonger(evidenceLength)
	if s.lifts = s.lifts[:0]; isDescribed || isEvidence {
		s.lifts = slices.Grow(s.lifts, len(n.tools))[:len(n.tools)]
		clear(s.lifts)
	}
	s.totals = s.totals[:0]
	for _, doc := range s.sums.touched {
		sum, share, _ := s.sum(doc)
		if isEvidence {
			s.lifts[n.of[doc]].sum += s.x.total(sum, share, letters.NotNamed)
		}
		s.totals = append(s.totals, s.x.total(sum, share, s.tier(doc)))
	}
	if isDescribed {
		n.descriptions.with(func(of *bm25Scratch) {
			_ = of.score(ctx, q) // it fails only if ctx is done, as lift does then
			for _, description := range of.sums.touched {
				sum, _, _ := of.sum(description)
				namespace := n.descriptions.namespaces.of[description]
				s.lifts[namespace].ofDescription = namespaceWeight * sum / math.Sqrt(float64(len(n.tools[namespace])))
				for _, doc := range n.tools[namespace] {
					s.sums.touch(doc)
				}
			}
		})
		s.totals = append(s.totals, make([]float64, len(s.sums.touched)-len(s.totals))...)
	}
	s.mostLift = 0
	for i := 1; i < len(s.lifts); i++ { // 0 means no namespace
		s.mostLift = max(s.mostLift, s.lifts[i].ofDescription+evidenceShare*s.lifts[i].sum/float64(max(1, len(n.tools[i])-1)))
	}
	return ctx.Err()
}
