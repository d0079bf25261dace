package search

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// The answers of the parts of a hybrid, and what they add to a tool's score.

// partHits is the answer of one part.
type partHits struct {
	hits    []Hit // the hits that count, best first
	weight  float64
	partial error // a partial failure: there are hits
	err     error

	// Of the best hits without the tools that the query names, whose scores may stand apart.
	highest float64
	among   spread // of the scores
	in      spread // of the whole catalog; all tools but those with a score have 0
}

// adds is what the part adds to a tool that it gave this score: the mean of ln(1 + e^z) for the two
// deviations z, which is more than 0, times the weight.
func (p *partHits) adds(score float64) float64 {
	among, in := p.deviations(score)
	return float64(p.weight * ((soft(among) + soft(in)) / 2))
}

// deviations returns how far a score is above the mean of the scores and above the mean of the
// catalog, in standard deviations. A score above all of these counts as the highest of them.
func (p *partHits) deviations(score float64) (among, in float64) {
	score = min(score, p.highest)
	return p.among.standard(score), p.in.standard(score)
}

// ask searches all parts at the same time. It fails if no part answers. partial says which
// parts failed while others answered.
func (h *hybrid) ask(ctx context.Context, q Query, named map[int]letters.Tier) (lists []partHits, partial, err error) {
	allowed := q.Allowed
	if q.Limit = max(h.options.Depth, 0); q.Allowed != nil {
		q.Limit = 0 // the filter may drop all of a part's best hits
	}
	q.Allowed = nil // a score stands out equally far, whatever tools the query allows
	if h.within != nil {
		q.Allowed = h.within.Has
	}
	lists = make([]partHits, len(h.parts))
	err = foreign.InParallel(ctx, len(h.parts), len(h.parts), func(ctx context.Context, i int) error {
		answer, err := h.askPart(ctx, &h.parts[i], q)
		list := &lists[i]
		*list = partHits{weight: h.parts[i].weight, partial: answer.Partial, err: err}
		if err != nil {
			return nil
		}
		hits := h.valid(answer.Hits)
		list.hits = h.best(hits, allowed)
		var scores []float64
		for _, hit := range h.best(hits, nil) {
			if named[hit.Doc] == letters.NotNamed {
				scores = append(scores, hit.Score)
				list.highest = max(list.highest, hit.Score)
			}
		}
		list.among, list.in = spreadOf(scores, len(scores)), spreadOf(scores, h.count)
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	partial, err = h.failure(lists)
	return lists, partial, err
}

func (h *hybrid) askPart(ctx context.Context, part *hybridPart, q Query) (Hits, error) {
	ctx, cancel := foreign.WithTimeout(ctx, h.options.Timeout)
	defer cancel()
	ask := func() (Hits, error) {
		return foreign.Through(ctx, part.gate, func(ctx context.Context) (Hits, error) { return part.searcher.Search(ctx, q) })
	}
	hits, err := ask()
	if err == nil && len(hits.Hits) < min(q.Limit, hits.Total) {
		// A limit made the part return fewer hits than it was asked for, as Fuzzy does. A query that
		// does not allow every tool is asked without a limit, and must rank as this query does.
		q.Limit = 0
		if all, err := ask(); err == nil {
			hits = all
		}
	}
	if err != nil {
		return Hits{}, fmt.Errorf("%s: %w", part.name, err)
	}
	if hits.Partial != nil {
		hits.Partial = fmt.Errorf("%s: %w", part.name, hits.Partial)
	}
	return hits, nil
}

// maxPartScore keeps sums of squares within what a float64 holds.
const maxPartScore = 1e100

// valid drops hits outside the searched documents, repeated hits and hits with invalid scores. Parts
// are not trusted.
func (h *hybrid) valid(hits []Hit) []Hit {
	valid := make([]Hit, 0, min(len(hits), len(h.docs)))
	seen := docset.New(len(h.docs))
	for _, hit := range hits {
		if hit.Doc >= 0 && hit.Doc < len(h.docs) && hit.Score > 0 && (h.within == nil || h.within.Has(hit.Doc)) && seen.Add(hit.Doc) {
			hit.Score = min(hit.Score, maxPartScore)
			valid = append(valid, hit)
		}
	}
	return valid
}

// best returns the first hits that pass the filter, at most depth. A nil filter passes all.
func (h *hybrid) best(hits []Hit, filter func(doc int) bool) []Hit {
	var best []Hit
	for _, hit := range hits {
		if h.options.Depth > 0 && len(best) == h.options.Depth {
			break
		}
		if filter == nil || filter(hit.Doc) {
			best = append(best, hit)
		}
	}
	return best
}

// failure joins the errors of the parts. They are partial if any part answered. A part that
// cannot search by the query has not failed.
func (h *hybrid) failure(lists []partHits) (partial, err error) {
	answered := false
	var wrong *QueryError
	var failures []error
	for _, list := range lists {
		switch mistake := (*QueryError)(nil); {
		case list.err == nil:
			answered = true
			failures = append(failures, list.partial)
		case errors.As(list.err, &mistake):
			if wrong == nil {
				wrong = mistake
			}
		default:
			failures = append(failures, list.err)
		}
	}
	switch err := errors.Join(failures...); {
	case answered && err != nil:
		return fmt.Errorf("toolsearch: failed in part: %w", err), nil
	case !answered && err == nil:
		return nil, wrong
	default:
		return nil, err
	}
}

// Explain implements Explainer. It searches the parts as Search does.
func (h *hybrid) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(h.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	q.Allowed = nil
	named := h.named(q)
	lists, _, err := h.ask(ctx, q, named)
	if err != nil {
		return Explanation{}, err
	}
	var e Explanation
	for i := range lists {
		e.add(lists[i].explain(q.text(), h.parts[i].name, doc))
	}
	if tier := named[doc]; tier > letters.NotNamed {
		e.add(Contribution{q.text(), "name", h.lift * tierBonus[tier], tierDetail[tier]})
	}
	return e, nil
}

func (p *partHits) explain(text, name string, doc int) Contribution {
	if p.err != nil {
		return Contribution{Term: text, Field: name, Detail: "it failed: " + p.err.Error()}
	}
	detail := ""
	if p.partial != nil {
		detail = "; it failed in part: " + p.partial.Error()
	}
	for i, hit := range p.hits {
		if hit.Doc == doc {
			among, in := p.deviations(hit.Score)
			detail = fmt.Sprintf("hit %d of %d with a score of %.4g, %.2f deviations above the mean of the hits and %.2f of the catalog; "+
				"weight %g", i+1, len(p.hits), hit.Score, among, in, p.weight) + detail
			return Contribution{text, name, p.adds(hit.Score), detail}
		}
	}
	return Contribution{Term: text, Field: name, Detail: "not among its hits" + detail}
}

// How far a score stands out among others. Scores of different searchers have different scales, but how
// far a tool stands out can be compared. hybrid.go says why it is measured twice.

// soft is ln(1 + e^z), written so that it does not overflow.
func soft(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// spread is a mean and the standard deviation from it.
type spread struct{ mean, deviation float64 }

// spreadOf returns the spread of n scores. Scores that are not given are 0.
func spreadOf(scores []float64, n int) spread {
	if len(scores) == 0 {
		return spread{}
	}
	sum, squares := 0.0, 0.0
	for _, score := range scores {
		sum += score
	}
	mean := sum / float64(n)
	for _, score := range scores {
		squares += float64((score - mean) * (score - mean))
	}
	squares += float64(float64(n-len(scores)) * float64(mean*mean))
	s := spread{mean, math.Sqrt(squares / float64(n))}
	if s.deviation < 1e-9*mean { // equal but for rounding
		s.deviation = 0
	}
	return s
}

// standard returns how far a score is above the mean, in standard deviations. It is 0 if
// all scores are equal.
func (s spread) standard(score float64) float64 {
	if s.deviation == 0 {
		return 0
	}
	return (score - s.mean) / s.deviation
}
