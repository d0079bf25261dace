package toolsearchtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The checks of the contract's clauses. Each returns what breaks its clause, or nil.

// ofHits makes a check of one that looks at the hits of each query.
func ofHits(check func(s *subject, hits []search.Hit) error) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		return s.each(ctx, func(_ search.Query, hits []search.Hit) error { return check(s, hits) })
	}
}

func checkDocument(s *subject, hits []search.Hit) error {
	for rank, hit := range hits {
		if hit.Doc < 0 || hit.Doc >= len(s.docs) {
			return fmt.Errorf("hit %d is document %d of a catalog of %d", rank+1, hit.Doc, len(s.docs))
		}
	}
	return nil
}

func checkOnce(_ *subject, hits []search.Hit) error {
	rankOf := make(map[int]int)
	for rank, hit := range hits {
		if first, seen := rankOf[hit.Doc]; seen {
			return fmt.Errorf("document %d is hit %d and hit %d", hit.Doc, first+1, rank+1)
		}
		rankOf[hit.Doc] = rank
	}
	return nil
}

func checkBestFirst(_ *subject, hits []search.Hit) error {
	for rank, hit := range hits {
		if math.IsNaN(hit.Score) {
			return fmt.Errorf("the score of hit %d is not a number", rank+1)
		}
		if rank > 0 && hit.Score > hits[rank-1].Score {
			return fmt.Errorf("hit %d has the score %g, hit %d after it %g", rank, hits[rank-1].Score, rank+1, hit.Score)
		}
	}
	return nil
}

// checkLimit allows fewer hits than the limit, since a searcher may have a tighter limit of its own,
// but none only if a search without a limit finds none.
func checkLimit(ctx context.Context, s *subject) error {
	return s.each(ctx, func(q search.Query, all []search.Hit) error {
		return s.limited(ctx, q, []int{1, 2, 5, len(s.docs), len(s.docs) + 10}, func(limit int, answer search.Hits) error {
			hits := answer.Hits
			switch first := all[:min(limit, len(all))]; {
			case len(hits) > limit:
				return fmt.Errorf("there are %d hits", len(hits))
			case len(hits) > len(all) || len(hits) == 0 && len(all) > 0 || !slices.Equal(hits, all[:len(hits)]):
				return fmt.Errorf("it finds %v, limit 0 begins with %v", hits, first)
			}
			return nil
		})
	})
}

// checkSameOrder also asks a second Searcher over the same documents, to catch an index built
// in the order of a map.
func checkSameOrder(ctx context.Context, s *subject) error {
	second, err := s.build(ctx, s.docs)
	if err != nil {
		return err
	}
	return s.each(ctx, func(q search.Query, want []search.Hit) error {
		for i, searcher := range []search.Searcher{s.searcher, s.searcher, s.searcher, second} {
			again, err := searcher.Search(ctx, q)
			switch {
			case err != nil:
				return err
			case slices.Equal(again.Hits, want):
			case i < 3:
				return fmt.Errorf("first %v, then %v", want, again.Hits)
			default:
				return fmt.Errorf("%v, but %v from another Searcher over the same documents", want, again.Hits)
			}
		}
		return nil
	})
}

func checkNoMatch(ctx context.Context, s *subject) error {
	for _, text := range []string{"", "+", "qqzzxxvv", "qqzzxxvv +jjwwkkyy"} {
		if _, err := s.searcher.Search(ctx, s.read(text)); err != nil && !isQueryError(err) {
			return fmt.Errorf("query %q fails: %w", text, err)
		}
	}
	empty, err := s.build(ctx, nil)
	if err != nil {
		return err
	}
	for _, limit := range []int{0, 5} {
		q := s.read("create issue")
		q.Limit = limit
		if answer, err := empty.Search(ctx, q); err != nil || len(answer.Hits) > 0 {
			return fmt.Errorf("an empty catalog answers %q, limit %d, with %v, error %v", q, limit, answer.Hits, err)
		}
	}
	return nil
}

func checkConcurrent(ctx context.Context, s *subject) error {
	var queries []search.Query
	var answers, kept [][]search.Hit
	err := s.each(ctx, func(q search.Query, hits []search.Hit) error {
		queries, answers, kept = append(queries, q), append(answers, hits), append(kept, slices.Clone(hits))
		return nil
	})
	if err != nil {
		return err
	}
	// First without goroutines: if a search overwrites the hits of an earlier search, the
	// message here is clearer than a race report.
	for i, q := range queries {
		if !slices.Equal(answers[i], kept[i]) {
			return fmt.Errorf("query %q: its hits were changed by a later search", q)
		}
		if asked := s.read(q.Text).Keywords; !slices.Equal(q.Keywords, asked) {
			return fmt.Errorf("query %q was changed to %q by the search for it", asked, q.Keywords)
		}
	}
	const goroutines, rounds = 8, 4
	failures := make([]error, goroutines)
	var group sync.WaitGroup
	for g := range goroutines {
		group.Add(1)
		go func() {
			defer group.Done()
			for i := range rounds * len(queries) {
				i = (i + g) % len(queries)
				answer, err := s.searcher.Search(ctx, queries[i])
				if err != nil || !slices.Equal(answer.Hits, kept[i]) {
					failures[g] = fmt.Errorf("query %q finds %v alone and %v, error %v, beside other searches", queries[i], kept[i], answer.Hits, err)
					return
				}
			}
		}()
	}
	group.Wait()
	return errors.Join(failures...)
}

func checkContext(ctx context.Context, s *subject) error {
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	expired, cancelExpired := context.WithTimeout(ctx, -1)
	defer cancelExpired()
	for _, ctx := range []context.Context{cancelled, expired} {
		if _, err := s.searcher.Search(ctx, s.read("create issue")); !errors.Is(err, ctx.Err()) {
			return fmt.Errorf("searching with ctx done returns the error %v, want %w", err, ctx.Err())
		}
	}
	return nil
}

// checkUnchanged builds and uses a Searcher, and then compares its documents with fresh documents.
func checkUnchanged(ctx context.Context, s *subject) error {
	given, err := contractDocuments(ctx)
	if err != nil {
		return err
	}
	want, err := contractDocuments(ctx)
	if err != nil {
		return err
	}
	searcher, err := s.index(ctx, given)
	if err != nil {
		return err
	}
	other := &subject{index: s.index, docs: given, searcher: searcher}
	if err := other.each(ctx, func(search.Query, []search.Hit) error { return nil }); err != nil {
		return err
	}
	for i := range want {
		if !reflect.DeepEqual(given[i], want[i]) {
			return fmt.Errorf("document %d was %+v and is now %+v", i, want[i], given[i])
		}
	}
	return nil
}

// checkAllowed allows every second document. An allowed document that is found when all are
// allowed must still be found; a searcher that looks only at its best may find others too.
func checkAllowed(ctx context.Context, s *subject) error {
	allowed := func(doc int) bool { return doc%2 == 1 }
	return s.each(ctx, func(q search.Query, all []search.Hit) error {
		wanted, found := q, 0
		q.Allowed = func(doc int) bool { return allowed(doc) && wanted.Allows(doc) }
		return s.limited(ctx, q, []int{0, 1, 5}, func(limit int, answer search.Hits) error {
			hits := len(answer.Hits)
			isFound := make(map[int]bool)
			for _, hit := range answer.Hits {
				isFound[hit.Doc] = true
				if hit.Doc >= 0 && hit.Doc < len(s.docs) && !allowed(hit.Doc) {
					return fmt.Errorf("document %d was found and is not allowed", hit.Doc)
				}
			}
			for i := 0; limit == 0 && i < len(all); i++ {
				if doc := all[i].Doc; allowed(doc) && !isFound[doc] {
					return fmt.Errorf("document %d is allowed and found when all documents are, but not when only every second document is", doc)
				}
			}
			if limit == 0 {
				found = hits
			}
			if found > 0 && hits == 0 {
				return fmt.Errorf("it finds nothing, limit 0 %d allowed documents", found)
			}
			if answer.Total > hits && answer.Total != found {
				return fmt.Errorf("it counts %d, but %d allowed documents match", answer.Total, found)
			}
			return nil
		})
	})
}

// checkTotal checks only searchers that count: a Total that equals the number of hits
// promises nothing.
func checkTotal(ctx context.Context, s *subject) error {
	counts := false
	var short error
	err := s.each(ctx, func(q search.Query, all []search.Hit) error {
		return s.limited(ctx, q, []int{0, 1, 5, len(s.docs) + 10}, func(limit int, answer search.Hits) error {
			isCounted := answer.Total > len(answer.Hits)
			counts = counts || isCounted
			if isCounted && answer.Total != len(all) {
				return fmt.Errorf("the total is %d, a search without a limit finds %d", answer.Total, len(all))
			}
			if !isCounted && len(answer.Hits) < len(all) && short == nil {
				short = fmt.Errorf("limit %d: the total is %d for %d hits, a search without a limit finds %d; other searches are counted",
					limit, answer.Total, len(answer.Hits), len(all))
			}
			return nil
		})
	})
	if err == nil && counts {
		err = short
	}
	return err
}

// A narrowing is a question with a demand, the same text without it, and the tools that the demand
// lets pass: their names hold one of some pieces.
type narrowing struct{ text, namespace, without, passes string }

var requiredWords = []narrowing{
	{"+hub create issue", "", "hub create issue", "github"},                               // a piece of a word
	{"create +GitHub issue", "", "create GitHub issue", "github"},                         // in any case
	{"+repositories issue", "", "repositories issue", "github__create_issue|list_issues"}, // inflected
	{"+titles issue", "", "titles issue", "github__create_issue"},                         // of a parameter
	{"+slack send message", "", "slack send message", "slack"},                            // of the name and the namespace
	{"+ticket +customer create", "", "ticket customer create", "zendesk"},                 // both
	{"+ticket +repository create", "", "ticket repository create", ""},                    // not both
	{"+create_ticket +jira issue", "", "create_ticket jira issue", "jira"},                // a piece of a name
	{"qqzzxxvv +github issue", "", "qqzzxxvv github issue", "github"},                     // only some words are required
	{"+into send a message", "", "into send a message", "slack"},                          // a stop word
}

var namespaceTexts = []narrowing{
	{"github: create issue", "", "create issue", "github"},
	{"GitHub:issue", "", "issue", "github"},
	{"jira : create a ticket", "", "create a ticket", "jira"},
	{"github: +closes issue", "", "closes issue", "close_issue|list_issues"}, // one of the two has "closed"
	{"zendesk: +repository ticket", "", "repository ticket", ""},
}

func namespaceArguments() (list []narrowing) {
	for _, text := range []string{"create", "issue", "ticket"} {
		for _, namespace := range []string{"github", "GitHub", "jira", "nobody"} {
			list = append(list, narrowing{text, namespace, text, strings.ToLower(namespace)})
		}
	}
	return list
}

// narrowed compares what a catalog finds with and without each demand. A QueryReader has its own
// rule for texts.
func narrowed(narrowings []narrowing) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		_, reads := s.searcher.(search.QueryReader)
		for _, n := range narrowings {
			if reads && n.namespace == "" {
				continue
			}
			all, _, err := s.find(ctx, n.without, "")
			if err != nil {
				return err
			}
			found, isCut, err := s.find(ctx, n.text, n.namespace)
			if err != nil {
				return err
			}
			asked := fmt.Sprintf("%q", n.text)
			if n.namespace != "" {
				asked += fmt.Sprintf(" in the namespace %q", n.namespace)
			}
			passes := func(name string) bool {
				return slices.ContainsFunc(strings.Split(n.passes, "|"), func(piece string) bool {
					return piece != "" && strings.Contains(name, piece)
				})
			}
			for _, name := range found {
				if !passes(name) {
					return fmt.Errorf("%s finds %s", asked, name)
				}
			}
			for _, name := range all {
				if !isCut && passes(name) && !slices.Contains(found, name) {
					return fmt.Errorf("%q finds %s, %s does not", n.without, name, asked)
				}
			}
		}
		return nil
	}
}

// find returns what a catalog finds, and whether others may have come first. It asks for a namespace
// as a model does.
func (s *subject) find(ctx context.Context, text, namespace string) (names []string, isCut bool, err error) {
	if namespace == "" {
		result, err := s.catalog.Search(ctx, text, toolsearch.DefaultMaxResultsCap)
		if err != nil {
			return nil, false, fmt.Errorf("a catalog fails on %q: %w", text, err)
		}
		for _, m := range result.Matches {
			names = append(names, m.Info.Name)
		}
		return names, result.Total > len(names), nil
	}
	arguments, err := json.Marshal(map[string]any{"query": text, "namespace": namespace, "max_results": toolsearch.DefaultMaxResultsCap})
	if err != nil {
		return nil, false, err
	}
	answer, err := s.catalog.Tool().InvokableRun(ctx, string(arguments))
	if err != nil {
		return nil, false, fmt.Errorf("tool_search fails on %s: %w", arguments, err)
	}
	var found struct{ Matches []string }
	if err := json.Unmarshal([]byte(answer), &found); err != nil {
		return nil, false, fmt.Errorf("tool_search answers %s with %q: %w", arguments, answer, err)
	}
	return found.Matches, false, nil
}

// explains checks the explained scores of the documents that Search finds, or of all others.
func explains(found bool) func(context.Context, *subject) error {
	return func(ctx context.Context, s *subject) error {
		explainer, ok := s.searcher.(search.Explainer)
		if !ok {
			return nil
		}
		return s.each(ctx, func(q search.Query, hits []search.Hit) error {
			scores := make(map[int]float64)
			for _, hit := range hits {
				scores[hit.Doc] = hit.Score
			}
			for doc := range s.docs {
				score, isHit := scores[doc]
				if isHit != found || !isHit && !q.Allows(doc) {
					continue
				}
				for _, q.Limit = range []int{0, 1} {
					explanation, err := explainer.Explain(ctx, q, doc)
					if err != nil {
						return fmt.Errorf("limit %d: Explain of document %d: %w", q.Limit, doc, err)
					}
					// Adding in another order changes the last bits of a sum.
					if isHit && math.Abs(explanation.Score-score) > 1e-9*max(1, math.Abs(score)) || !isHit && explanation.Score != 0 {
						return fmt.Errorf("limit %d: document %d has the score %g, explained is %g", q.Limit, doc, score, explanation.Score)
					}
				}
			}
			return nil
		})
	}
}

// checkRestrict compares restricted searchers with searchers that are built from the same
// documents.
func checkRestrict(ctx context.Context, s *subject) error {
	restricter, ok := s.searcher.(search.Restricter)
	if !ok {
		return nil
	}
	for _, part := range []struct {
		what string
		has  func(doc int) bool
	}{
		{"restricted to no document", func(int) bool { return false }},
		{"restricted to document 3", func(doc int) bool { return doc == 3 }},
		{"restricted to every other document", func(doc int) bool { return doc%2 == 1 }},
		{"restricted to all documents but 5", func(doc int) bool { return doc != 5 }},
		{"restricted to all documents", func(int) bool { return true }},
	} {
		var numbers []int
		for doc := range s.docs {
			if part.has(doc) {
				numbers = append(numbers, doc)
			}
		}
		if err := checkDerived(ctx, s, part.what, restricter.Restrict, numbers, s.docs, numbers); err != nil {
			return err
		}
	}
	return nil
}

// checkRebuild compares rebuilt searchers with searchers that are built from the same documents.
func checkRebuild(ctx context.Context, s *subject) error {
	rebuilder, ok := s.searcher.(search.Rebuilder)
	if !ok {
		return nil
	}
	reversed, changed := slices.Clone(s.docs), slices.Clone(s.docs[:len(s.docs)/2])
	slices.Reverse(reversed)
	changed[3].Name, changed[4].Description, changed[5].Parameters = "jira__create_record", "Sends records of weather", nil
	for _, next := range []struct {
		what string
		docs []search.Document
	}{
		{"rebuilt from no documents", nil}, {"rebuilt from the same documents", s.docs},
		{"rebuilt from the documents in another order", reversed}, {"rebuilt from documents of which some have changed", changed},
	} {
		numbers := make([]int, len(next.docs))
		for i := range numbers {
			numbers[i] = i
		}
		if err := checkDerived(ctx, s, next.what, rebuilder.Rebuild, next.docs, next.docs, numbers); err != nil {
			return err
		}
	}
	return nil
}

// checkDerived compares a searcher that is derived from another one with a searcher that is built from
// the same documents alone: those with the numbers.
func checkDerived[T any](ctx context.Context, s *subject, what string, derive func(context.Context, []T) (search.Searcher, error), of []T,
	docs []search.Document, numbers []int,
) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := derive(done, slices.Clone(of)); !errors.Is(err, done.Err()) {
		return fmt.Errorf("%s with ctx done, the error is %v, want %w", what, err, done.Err())
	}
	derived, err := derive(ctx, slices.Clone(of))
	if err != nil || derived == nil {
		return fmt.Errorf("it cannot be %s: there is no Searcher; the error is %w", what, err)
	}
	var same []search.Document
	for _, doc := range numbers {
		same = append(same, docs[doc])
	}
	alone, err := s.build(ctx, same)
	if err != nil {
		return err
	}
	for _, text := range contractQueries {
		for _, limit := range []int{0, 1, 5} {
			q := s.read(text)
			q.Limit = limit
			ofSame := q
			if q.Allowed != nil {
				ofSame.Allowed = func(doc int) bool { return q.Allowed(numbers[doc]) }
			}
			want, wantErr := alone.Search(ctx, ofSame)
			for i := range want.Hits {
				want.Hits[i].Doc = numbers[want.Hits[i].Doc]
			}
			got, err := derived.Search(ctx, q)
			if (err == nil) != (wantErr == nil) || isQueryError(err) != isQueryError(wantErr) {
				return fmt.Errorf("%s: query %q, limit %d: the error is %v, alone %v", what, text, limit, err, wantErr)
			}
			if !slices.Equal(got.Hits, want.Hits) || max(got.Total, len(got.Hits)) != max(want.Total, len(want.Hits)) {
				return fmt.Errorf("%s: query %q, limit %d: %v of %d, alone %v of %d", what, text, limit, got.Hits, got.Total, want.Hits, want.Total)
			}
		}
	}
	return nil
}
