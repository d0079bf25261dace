package search

import (
	"context"
	"fmt"
	"strings"
)

// An Explainer is a Searcher that can explain its scores. All built-in searchers are Explainers.
type Explainer interface {
	Searcher
	// Explain explains the score of one document for a query, whose limit does not
	// count. Allowed does not count either. A document that does not match has the score 0.
	Explain(ctx context.Context, q Query, doc int) (Explanation, error)
}

// An Explanation takes a score apart.
type Explanation struct {
	Score float64        // as in the Hit; zero means no match
	Parts []Contribution // the parts of the score, in the order of the query's terms
}

// A Contribution is what one term of the query adds to a score in one field.
type Contribution struct {
	Term   string  // as the searcher looked for it
	Field  string  // where it was found, such as "name" or "description"; "" means the whole document
	Score  float64 // what it adds
	Detail string  // how Score was computed
}

// String returns one line for the score and one line for each part.
func (e Explanation) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%.4g", e.Score)
	for _, p := range e.Parts {
		fmt.Fprintf(&b, "\n  %+.4g  %q", p.Score, p.Term)
		if p.Field != "" {
			fmt.Fprintf(&b, " in %s", p.Field)
		}
		if p.Detail != "" {
			fmt.Fprintf(&b, ": %s", p.Detail)
		}
	}
	return b.String()
}

func (e *Explanation) add(part Contribution) {
	e.Score += part.Score
	e.Parts = append(e.Parts, part)
}
