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

// The checks of the contract's clauses.

func checkDocument(s *subject) {
	for _, hits := range s.answers() {
		for rank, hit := range hits {
			must(hit.Doc >= 0 && hit.Doc < len(s.docs), "hit %d is document %d of a catalog of %d", rank+1, hit.Doc, len(s.docs))
		}
	}
}

func checkOnce(s *subject) {
	for _, hits := range s.answers() {
		rankOf := make(map[int]int)
		for rank, hit := range hits {
			first, seen := rankOf[hit.Doc]
			must(!seen, "document %d is hit %d and hit %d", hit.Doc, first+1, rank+1)
			rankOf[hit.Doc] = rank
		}
	}
}

func checkBestFirst(s *subject) {
	for _, hits := range s.answers() {
		before := math.Inf(1)
		for rank, hit := range hits {
			must(!math.IsNaN(hit.Score), "the score of hit %d is not a number", rank+1)
			must(hit.Score <= before, "hit %d has the score %g, hit %d after it %g", rank, before, rank+1, hit.Score)
			before = hit.Score
		}
	}
}

// checkLimit allows fewer hits than the limit, since a searcher may have a tighter limit of its own,
// but none only if a search without a limit finds none.
func checkLimit(s *subject) {
	for q, all := range s.answers() {
		for limit, answer := range s.limited(q, 1, 2, 5, len(s.docs), len(s.docs)+10) {
			n := len(answer.Hits)
			must(n <= limit, "limit %d: there are %d hits", limit, n)
			must(n <= len(all) && (n > 0 || len(all) == 0) && slices.Equal(answer.Hits, all[:n]),
				"limit %d: it finds %v, limit 0 begins with %v", limit, answer.Hits, all[:min(limit, len(all))])
		}
	}
}

// checkSameOrder also asks a second Searcher over the same documents, to catch an index built
// in the order of a map.
func checkSameOrder(s *subject) {
	second := s.build(s.docs)
	for q, want := range s.answers() {
		for range 3 {
			for _, again := range s.limited(q, 0) {
				must(slices.Equal(again.Hits, want), "first %v, then %v", want, again.Hits)
			}
		}
		other, err := second.Search(s.ctx, q)
		must(err == nil && slices.Equal(other.Hits, want),
			"%v, but %v from another Searcher over the same documents, error %v", want, other.Hits, err)
	}
}

func checkNoMatch(s *subject) {
	for _, text := range []string{"", "+", "qqzzxxvv", "qqzzxxvv +jjwwkkyy"} {
		_, err := s.searcher.Search(s.ctx, s.read(text))
		must(err == nil || isQueryError(err), "query %q fails: %w", text, err)
	}
	empty := s.build(nil)
	for _, limit := range []int{0, 5} {
		q := s.read("create issue")
		q.Limit = limit
		answer, err := empty.Search(s.ctx, q)
		must(err == nil && len(answer.Hits) == 0, "an empty catalog answers %q, limit %d, with %v, error %v", q, limit, answer.Hits, err)
	}
}

func checkConcurrent(s *subject) {
	var queries []search.Query
	var answers, kept [][]search.Hit
	for q, hits := range s.answers() {
		queries, answers, kept = append(queries, q), append(answers, hits), append(kept, slices.Clone(hits))
	}
	// First without goroutines: if a search overwrites the hits of an earlier search, the
	// message here is clearer than a race report.
	for i, q := range queries {
		must(slices.Equal(answers[i], kept[i]), "query %q: its hits were changed by a later search", q)
		asked := s.read(q.Text).Keywords
		must(slices.Equal(q.Keywords, asked), "query %q was changed to %q by the search for it", asked, q.Keywords)
	}
	const goroutines, rounds = 8, 4
	failures := make([]error, goroutines)
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			failures[g] = breachOf(func() {
				for i := range rounds * len(queries) {
					i = (i + g) % len(queries)
					answer, err := s.searcher.Search(s.ctx, queries[i])
					must(err == nil && slices.Equal(answer.Hits, kept[i]),
						"query %q finds %v alone and %v, error %v, beside other searches", queries[i], kept[i], answer.Hits, err)
				}
			})
		})
	}
	group.Wait()
	err := errors.Join(failures...)
	must(err == nil, "%w", err)
}

func checkContext(s *subject) {
	cancelled, cancel := context.WithCancel(s.ctx)
	cancel()
	expired, cancelExpired := context.WithTimeout(s.ctx, -1)
	defer cancelExpired()
	for _, ctx := range []context.Context{cancelled, expired} {
		_, err := s.searcher.Search(ctx, s.read("create issue"))
		must(errors.Is(err, ctx.Err()), "searching with ctx done returns the error %v, want %w", err, ctx.Err())
	}
}

// checkUnchanged builds and uses a Searcher, and then compares its documents with fresh documents.
func checkUnchanged(s *subject) {
	given, want := contractDocuments(), contractDocuments()
	searcher, err := s.index(s.ctx, given)
	must(err == nil, "%w", err)
	other := &subject{ctx: s.ctx, searcher: searcher}
	for range other.answers() {
	}
	for i := range want {
		must(reflect.DeepEqual(given[i], want[i]), "document %d was %+v and is now %+v", i, want[i], given[i])
	}
}

// checkAllowed allows every second document. An allowed document that is found when all are
// allowed must still be found; a searcher that looks only at its best may find others too.
func checkAllowed(s *subject) {
	allowed := func(doc int) bool { return doc%2 == 1 }
	for wanted, all := range s.answers() {
		q, found := wanted, 0
		q.Allowed = func(doc int) bool { return allowed(doc) && wanted.Allows(doc) }
		for limit, answer := range s.limited(q, 0, 1, 5) {
			hits := len(answer.Hits)
			isFound := make(map[int]bool)
			for _, hit := range answer.Hits {
				isFound[hit.Doc] = true
				must(hit.Doc < 0 || hit.Doc >= len(s.docs) || allowed(hit.Doc), "limit %d: document %d was found and is not allowed", limit, hit.Doc)
			}
			if limit == 0 {
				found = hits
				for _, hit := range all {
					must(!allowed(hit.Doc) || isFound[hit.Doc],
						"document %d is allowed and found when all documents are, but not when only every second document is", hit.Doc)
				}
			}
			must(found == 0 || hits > 0, "limit %d: it finds nothing, limit 0 %d allowed documents", limit, found)
			must(answer.Total <= hits || answer.Total == found,
				"limit %d: it counts %d, but %d allowed documents match", limit, answer.Total, found)
		}
	}
}

// checkTotal checks only searchers that count: a Total that equals the number of hits
// promises nothing.
func checkTotal(s *subject) {
	counts, short := false, ""
	for q, all := range s.answers() {
		for limit, answer := range s.limited(q, 0, 1, 5, len(s.docs)+10) {
			isCounted := answer.Total > len(answer.Hits)
			counts = counts || isCounted
			must(!isCounted || answer.Total == len(all),
				"limit %d: the total is %d, a search without a limit finds %d", limit, answer.Total, len(all))
			if !isCounted && len(answer.Hits) < len(all) {
				short = fmt.Sprintf("%s, limit %d: the total is %d for %d hits, a search without a limit finds %d; other searches are counted",
					s.at, limit, answer.Total, len(answer.Hits), len(all))
			}
		}
	}
	must(!counts || short == "", "%s", short)
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
func narrowed(narrowings []narrowing) func(*subject) {
	return func(s *subject) {
		_, reads := s.searcher.(search.QueryReader)
		for _, n := range narrowings {
			if reads && n.namespace == "" {
				continue
			}
			all, _ := s.find(n.without, "")
			found, isCut := s.find(n.text, n.namespace)
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
				must(passes(name), "%s finds %s", asked, name)
			}
			for _, name := range all {
				must(isCut || !passes(name) || slices.Contains(found, name), "%q finds %s, %s does not", n.without, name, asked)
			}
		}
	}
}

// find returns what a catalog finds, and whether others may have come first. It asks for a namespace
// as a model does.
func (s *subject) find(text, namespace string) (names []string, isCut bool) {
	if namespace == "" {
		result, err := s.catalog.Search(s.ctx, text, toolsearch.DefaultMaxResultsCap)
		must(err == nil, "a catalog fails on %q: %w", text, err)
		for _, m := range result.Matches {
			names = append(names, m.Info.Name)
		}
		return names, result.Total > len(names)
	}
	arguments, err := json.Marshal(map[string]any{"query": text, "namespace": namespace, "max_results": toolsearch.DefaultMaxResultsCap})
	must(err == nil, "%w", err)
	answer, err := s.catalog.Tool().InvokableRun(s.ctx, string(arguments))
	must(err == nil, "tool_search fails on %s: %w", arguments, err)
	var found struct{ Matches []string }
	err = json.Unmarshal([]byte(answer), &found)
	must(err == nil, "tool_search answers %s with %q: %w", arguments, answer, err)
	return found.Matches, false
}

// explains checks the explained scores of the documents that Search finds, or of all others.
func explains(found bool) func(*subject) {
	return func(s *subject) {
		explainer, ok := s.searcher.(search.Explainer)
		if !ok {
			return
		}
		for q, hits := range s.answers() {
			scores := make(map[int]float64) // 0 for a document that is not found
			for _, hit := range hits {
				scores[hit.Doc] = hit.Score
			}
			for doc := range s.docs {
				score, isHit := scores[doc]
				if isHit != found || !isHit && !q.Allows(doc) {
					continue
				}
				for _, q.Limit = range []int{0, 1} {
					e, err := explainer.Explain(s.ctx, q, doc)
					must(err == nil, "limit %d: Explain of document %d: %w", q.Limit, doc, err)
					// Adding in another order changes the last bits of a sum.
					isSame := math.Abs(e.Score-score) <= 1e-9*max(1, math.Abs(score))
					must(isSame && (isHit || e.Score == 0),
						"limit %d: document %d has the score %g, explained is %g", q.Limit, doc, score, e.Score)
				}
			}
		}
	}
}

// checkRestrict compares restricted searchers with searchers that are built from the same
// documents.
func checkRestrict(s *subject) {
	restricter, ok := s.searcher.(search.Restricter)
	if !ok {
		return
	}
	var all, odd []int
	for doc := range s.docs {
		if all = append(all, doc); doc%2 == 1 {
			odd = append(odd, doc)
		}
	}
	for _, numbers := range [][]int{nil, {3}, odd, slices.Concat(all[:5], all[6:]), all} {
		checkDerived(s, fmt.Sprintf("restricted to %d of %d documents", len(numbers), len(all)), restricter.Restrict, numbers, s.docs, numbers)
	}
}

// checkRebuild compares rebuilt searchers with searchers that are built from the same documents.
func checkRebuild(s *subject) {
	rebuilder, ok := s.searcher.(search.Rebuilder)
	if !ok {
		return
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
		checkDerived(s, next.what, rebuilder.Rebuild, next.docs, next.docs, numbers)
	}
}

// checkDerived compares a searcher that is derived from another one with a searcher that is built from
// the same documents alone: those with the numbers.
func checkDerived[T any](s *subject, what string, derive func(context.Context, []T) (search.Searcher, error), of []T,
	docs []search.Document, numbers []int,
) {
	done, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err := derive(done, slices.Clone(of))
	must(errors.Is(err, done.Err()), "%s with ctx done, the error is %v, want %w", what, err, done.Err())
	derived, err := derive(s.ctx, slices.Clone(of))
	must(err == nil && derived != nil, "it cannot be %s: there is no Searcher; the error is %w", what, err)
	var same []search.Document
	for _, doc := range numbers {
		same = append(same, docs[doc])
	}
	alone := s.build(same)
	for _, text := range contractQueries {
		for _, limit := range []int{0, 1, 5} {
			q := s.read(text)
			q.Limit = limit
			ofSame := q
			if q.Allowed != nil {
				ofSame.Allowed = func(doc int) bool { return q.Allowed(numbers[doc]) }
			}
			want, wantErr := alone.Search(s.ctx, ofSame)
			for i := range want.Hits {
				want.Hits[i].Doc = numbers[want.Hits[i].Doc]
			}
			got, err := derived.Search(s.ctx, q)
			must((err == nil) == (wantErr == nil) && isQueryError(err) == isQueryError(wantErr),
				"%s: query %q, limit %d: the error is %v, alone %v", what, text, limit, err, wantErr)
			must(slices.Equal(got.Hits, want.Hits) && max(got.Total, len(got.Hits)) == max(want.Total, len(want.Hits)),
				"%s: query %q, limit %d: %v of %d, alone %v of %d", what, text, limit, got.Hits, got.Total, want.Hits, want.Total)
		}
	}
}
