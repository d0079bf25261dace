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

func checkDocument(ctx context.Context, s *subject) error {
	return s.each(ctx, func(_ search.Query, hits []search.Hit) error {
		for rank, hit := range hits {
			if hit.Doc < 0 || hit.Doc >= len(s.docs) {
				return fmt.Errorf("hit %d is document %d of a catalog of %d", rank+1, hit.Doc, len(s.docs))
			}
		}
		return nil
	})
}

func checkOnce(ctx context.Context, s *subject) error {
	return s.each(ctx, func(_ search.Query, hits []search.Hit) error {
		rankOf := make(map[int]int)
		for rank, hit := range hits {
			if first, seen := rankOf[hit.Doc]; seen {
				return fmt.Errorf("document %d is hit %d and hit %d", hit.Doc, first+1, rank+1)
			}
			rankOf[hit.Doc] = rank
		}
		return nil
	})
}

func checkBestFirst(ctx context.Context, s *subject) error {
	return s.each(ctx, func(_ search.Query, hits []search.Hit) error {
		for rank, hit := range hits {
			if math.IsNaN(hit.Score) {
				return fmt.Errorf("the score of hit %d is not a number", rank+1)
			}
			if rank > 0 && hit.Score > hits[rank-1].Score {
				return fmt.Errorf("hit %d has the score %g, hit %d after it %g", rank, hits[rank-1].Score, rank+1, hit.Score)
			}
		}
		return nil
	})
}

func checkLimit(ctx context.Context, s *subject) error {
	return s.each(ctx, func(q search.Query, all []search.Hit) error {
		for _, limit := range []int{1, 2, 5, len(s.docs), len(s.docs) + 10} {
			q.Limit = limit
			hits, err := s.search(ctx, q)
			if err != nil {
				return fmt.Errorf("limit %d: %w", limit, err)
			}
			if len(hits) > limit {
				return fmt.Errorf("limit %d gives %d hits", limit, len(hits))
			}
			if !isBest(hits, all) {
				return fmt.Errorf("limit %d gives %v, limit 0 begins with %v", limit, hits, all[:min(limit, len(all))])
			}
		}
		return nil
	})
}

// isBest reports whether hits are the first of all. There may be fewer than the limit, since
// a searcher may have a tighter limit of its own, but none only if all is empty.
func isBest(hits, all []search.Hit) bool {
	return len(hits) <= len(all) && (len(hits) > 0 || len(all) == 0) && slices.Equal(hits, all[:len(hits)])
}

// checkSameOrder also asks a second Searcher over the same documents, to catch an index built
// in the order of a map.
func checkSameOrder(ctx context.Context, s *subject) error {
	second, err := s.build(ctx, s.docs)
	if err != nil {
		return err
	}
	return s.each(ctx, func(q search.Query, want []search.Hit) error {
		for range 3 {
			again, err := s.search(ctx, q)
			if err != nil {
				return err
			}
			if !slices.Equal(again, want) {
				return fmt.Errorf("first %v, then %v", want, again)
			}
		}
		other, err := second.Search(ctx, q)
		if err != nil {
			return err
		}
		if !slices.Equal(other.Hits, want) {
			return fmt.Errorf("%v, but %v from another Searcher over the same documents", want, other.Hits)
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
	var asked [][]string
	err := s.each(ctx, func(q search.Query, hits []search.Hit) error {
		queries = append(queries, q)
		asked = append(asked, s.read(q.Text).Keywords)
		answers = append(answers, hits)
		kept = append(kept, slices.Clone(hits))
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
		if !reflect.DeepEqual(q.Keywords, asked[i]) {
			return fmt.Errorf("query %q was changed to %q by the search for it", asked[i], q.Keywords)
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
				hits, err := s.search(ctx, queries[i])
				if err != nil {
					failures[g] = fmt.Errorf("query %q fails beside other searches: %w", queries[i], err)
					return
				}
				if !slices.Equal(hits, kept[i]) {
					failures[g] = fmt.Errorf("query %q finds %v alone and %v beside other searches", queries[i], kept[i], hits)
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
	q := s.read("create issue")
	for _, ctx := range []context.Context{cancelled, expired} {
		if _, err := s.searcher.Search(ctx, q); !errors.Is(err, ctx.Err()) {
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
		wanted := q
		q.Allowed = func(doc int) bool { return allowed(doc) && wanted.Allows(doc) }
		found := 0
		for _, limit := range []int{0, 1, 5} {
			q.Limit = limit
			answer, err := s.searcher.Search(ctx, q)
			if err != nil {
				return fmt.Errorf("limit %d, every other document allowed: %w", limit, err)
			}
			var docs []int
			for _, hit := range answer.Hits {
				docs = append(docs, hit.Doc)
				if hit.Doc >= 0 && hit.Doc < len(s.docs) && !allowed(hit.Doc) {
					return fmt.Errorf("limit %d: document %d was found and is not allowed", limit, hit.Doc)
				}
			}
			switch {
			case limit == 0:
				for _, hit := range all {
					if allowed(hit.Doc) && !slices.Contains(docs, hit.Doc) {
						return fmt.Errorf("document %d is allowed and found when all documents are, but not when only every second document is", hit.Doc)
					}
				}
				found = len(docs)
			case found > 0 && len(docs) == 0:
				return fmt.Errorf("limit %d finds nothing, limit 0 %d allowed documents", limit, found)
			}
			if answer.Total > len(docs) && answer.Total != found {
				return fmt.Errorf("limit %d counts %d, but %d allowed documents match", limit, answer.Total, found)
			}
		}
		return nil
	})
}

// checkTotal checks only searchers that count: a Total that equals the number of hits
// promises nothing.
func checkTotal(ctx context.Context, s *subject) error {
	counts := false
	type counted struct{ limit, total, hits, all int }
	var short []counted
	err := s.each(ctx, func(q search.Query, all []search.Hit) error {
		for _, limit := range []int{0, 1, 5, len(s.docs) + 10} {
			q.Limit = limit
			answer, err := s.searcher.Search(ctx, q)
			if err != nil {
				return fmt.Errorf("limit %d: %w", limit, err)
			}
			if answer.Total > len(answer.Hits) {
				counts = true
				if answer.Total != len(all) {
					return fmt.Errorf("limit %d: the total is %d, a search without a limit finds %d", limit, answer.Total, len(all))
				}
			} else if len(answer.Hits) < len(all) {
				short = append(short, counted{limit, answer.Total, len(answer.Hits), len(all)})
			}
		}
		return nil
	})
	if err == nil && counts && len(short) > 0 {
		c := short[0]
		err = fmt.Errorf("limit %d: the total is %d for %d hits, a search without a limit finds %d; other searches are counted", c.limit, c.total, c.hits, c.all)
	}
	return err
}

// A narrowing is a text with a demand, the same without it, and the tools that the demand lets
// pass: their names hold one of some pieces.
type narrowing struct{ text, without, passes string }

// checkNarrowed compares what a catalog finds for both texts of each narrowing. A QueryReader has its
// own rule for texts.
func (s *subject) checkNarrowed(ctx context.Context, narrowings []narrowing) error {
	if _, reads := s.searcher.(search.QueryReader); reads {
		return nil
	}
	for _, n := range narrowings {
		all, err := s.catalog.Search(ctx, n.without, toolsearch.DefaultMaxResultsCap)
		if err != nil {
			return fmt.Errorf("a catalog fails on %q: %w", n.without, err)
		}
		result, err := s.catalog.Search(ctx, n.text, toolsearch.DefaultMaxResultsCap)
		if err != nil {
			return fmt.Errorf("a catalog fails on %q: %w", n.text, err)
		}
		passes := func(name string) bool {
			return slices.ContainsFunc(strings.Split(n.passes, "|"), func(piece string) bool {
				return piece != "" && strings.Contains(name, piece)
			})
		}
		found := make(map[string]bool)
		for _, m := range result.Matches {
			if !passes(m.Info.Name) {
				return fmt.Errorf("%q finds %s", n.text, m.Info.Name)
			}
			found[m.Info.Name] = true
		}
		isCut := result.Total > len(result.Matches) // so others may have come first
		for _, m := range all.Matches {
			if !isCut && passes(m.Info.Name) && !found[m.Info.Name] {
				return fmt.Errorf("%q finds %s, %q does not", n.without, m.Info.Name, n.text)
			}
		}
	}
	return nil
}

func checkRequired(ctx context.Context, s *subject) error {
	return s.checkNarrowed(ctx, []narrowing{
		{"+hub create issue", "hub create issue", "github"},                               // a piece of a word
		{"create +GitHub issue", "create GitHub issue", "github"},                         // in any case
		{"+repositories issue", "repositories issue", "github__create_issue|list_issues"}, // inflected
		{"+titles issue", "titles issue", "github__create_issue"},                         // of a parameter
		{"+slack send message", "slack send message", "slack"},                            // of the name and the namespace
		{"+ticket +customer create", "ticket customer create", "zendesk"},                 // both
		{"+ticket +repository create", "ticket repository create", ""},                    // not both
		{"+create_ticket +jira issue", "create_ticket jira issue", "jira"},                // a piece of a name
		{"qqzzxxvv +github issue", "qqzzxxvv github issue", "github"},                     // only some words are required
		{"+into send a message", "into send a message", "slack"},                          // a stop word
	})
}

func checkNamespaceText(ctx context.Context, s *subject) error {
	return s.checkNarrowed(ctx, []narrowing{
		{"github: create issue", "create issue", "github"},
		{"GitHub:issue", "issue", "github"},
		{"jira : create a ticket", "create a ticket", "jira"},
		{"github: +closes issue", "closes issue", "close_issue|list_issues"}, // one of the two has "closed"
		{"zendesk: +repository ticket", "repository ticket", ""},
	})
}

// checkNamespaceArgument asks as a model does.
func checkNamespaceArgument(ctx context.Context, s *subject) error {
	tool := s.catalog.Tool()
	for _, text := range []string{"create", "issue", "ticket"} {
		all, err := s.catalog.Search(ctx, text, toolsearch.DefaultMaxResultsCap)
		if err != nil {
			return fmt.Errorf("a catalog fails on %q: %w", text, err)
		}
		for _, namespace := range []string{"github", "GitHub", "jira", "nobody"} {
			arguments, err := json.Marshal(map[string]any{"query": text, "namespace": namespace, "max_results": toolsearch.DefaultMaxResultsCap})
			if err != nil {
				return err
			}
			answer, err := tool.InvokableRun(ctx, string(arguments))
			if err != nil {
				return fmt.Errorf("tool_search fails on %s: %w", arguments, err)
			}
			var found struct{ Matches []string }
			if err := json.Unmarshal([]byte(answer), &found); err != nil {
				return fmt.Errorf("tool_search answers %s with %q: %w", arguments, answer, err)
			}
			for _, name := range found.Matches {
				if !strings.Contains(name, strings.ToLower(namespace)) {
					return fmt.Errorf("%s finds %s", arguments, name)
				}
			}
			for _, m := range all.Matches {
				if strings.Contains(m.Info.Name, strings.ToLower(namespace)) && !slices.Contains(found.Matches, m.Info.Name) {
					return fmt.Errorf("%q finds %s, %s does not", text, m.Info.Name, arguments)
				}
			}
		}
	}
	return nil
}

func checkExplain(ctx context.Context, s *subject) error {
	explainer, ok := s.searcher.(search.Explainer)
	if !ok {
		return nil
	}
	return s.each(ctx, func(q search.Query, hits []search.Hit) error {
		for _, limit := range []int{0, 1} {
			q.Limit = limit
			for rank, hit := range hits {
				explanation, err := explainer.Explain(ctx, q, hit.Doc)
				if err != nil {
					return fmt.Errorf("limit %d: Explain of hit %d: %w", limit, rank+1, err)
				}
				// Adding in another order changes the last bits of a sum.
				if math.Abs(explanation.Score-hit.Score) > 1e-9*max(1, math.Abs(hit.Score)) {
					return fmt.Errorf("limit %d: hit %d has the score %g, explained is %g", limit, rank+1, hit.Score, explanation.Score)
				}
			}
		}
		return nil
	})
}

func checkExplainZero(ctx context.Context, s *subject) error {
	explainer, ok := s.searcher.(search.Explainer)
	if !ok {
		return nil
	}
	return s.each(ctx, func(q search.Query, hits []search.Hit) error {
		found := make(map[int]bool)
		for _, hit := range hits {
			found[hit.Doc] = true
		}
		for doc := range s.docs {
			if found[doc] || !q.Allows(doc) {
				continue
			}
			explanation, err := explainer.Explain(ctx, q, doc)
			if err != nil {
				return fmt.Errorf("explaining document %d, which Search does not find: %w", doc, err)
			}
			if explanation.Score != 0 {
				return fmt.Errorf("document %d, which Search does not find, is explained to score %g", doc, explanation.Score)
			}
		}
		return nil
	})
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
		restrict := func(ctx context.Context) (search.Searcher, error) {
			return restricter.Restrict(ctx, slices.Clone(numbers))
		}
		if err := s.checkDerived(ctx, part.what, restrict, s.docs, numbers); err != nil {
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
		rebuild := func(ctx context.Context) (search.Searcher, error) {
			return rebuilder.Rebuild(ctx, slices.Clone(next.docs))
		}
		if err := s.checkDerived(ctx, next.what, rebuild, next.docs, numbers); err != nil {
			return err
		}
	}
	return nil
}

// checkDerived compares a searcher that is derived from another with one that is built from the same
// of some documents, those with the numbers.
func (s *subject) checkDerived(ctx context.Context, what string, derive func(context.Context) (search.Searcher, error), docs []search.Document, numbers []int) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := derive(done); !errors.Is(err, done.Err()) {
		return fmt.Errorf("%s with ctx done, the error is %v, want %w", what, err, done.Err())
	}
	derived, err := derive(ctx)
	if err != nil {
		return fmt.Errorf("it cannot be %s: %w", what, err)
	}
	if derived == nil {
		return fmt.Errorf("%s, there is no Searcher and no error", what)
	}
	var same []search.Document
	for _, doc := range numbers {
		same = append(same, docs[doc])
	}
	alone, err := s.build(ctx, same)
	if err != nil {
		return err
	}
	if err := s.compare(ctx, derived, alone, numbers); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// compare compares the answers of a searcher with the answers of a searcher that was built
// only from the documents with these numbers.
func (s *subject) compare(ctx context.Context, searcher, alone search.Searcher, numbers []int) error {
	for _, text := range contractQueries {
		for _, limit := range []int{0, 1, 5} {
			q := s.read(text)
			q.Limit = limit
			same := q
			if q.Allowed != nil {
				same.Allowed = func(doc int) bool { return q.Allowed(numbers[doc]) }
			}
			want, wantErr := alone.Search(ctx, same)
			for i := range want.Hits {
				want.Hits[i].Doc = numbers[want.Hits[i].Doc]
			}
			got, err := searcher.Search(ctx, q)
			if (err == nil) != (wantErr == nil) || isQueryError(err) != isQueryError(wantErr) {
				return fmt.Errorf("query %q, limit %d: the error is %v, alone %v", text, limit, err, wantErr)
			}
			if !slices.Equal(got.Hits, want.Hits) {
				return fmt.Errorf("query %q, limit %d: %v, alone %v", text, limit, got.Hits, want.Hits)
			}
			if max(got.Total, len(got.Hits)) != max(want.Total, len(want.Hits)) {
				return fmt.Errorf("query %q, limit %d: the total is %d, alone %d", text, limit, got.Total, want.Total)
			}
		}
	}
	return nil
}
