package toolsearchtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// The contract of toolsearch.Searcher and what goes with it, as a test. Every clause is a
// subtest that stands for one sentence of the doc comments in package toolsearch, word
// for word, and a failure quotes it.

// TestSearcher tests that what index builds keeps the contract of toolsearch.Indexer and
// Searcher, and, where it implements them, of Counter and Explainer:
//
//	func TestMine(t *testing.T) { toolsearchtest.TestSearcher(t, mine.Index) }
//
// It builds a handful of indexes over small catalogs of its own and runs some hundred
// searches. Run it with -race, which sees more of the concurrency than the test can. A
// searcher that is asked over a network is best tested with a stand-in for its server.
//
// How good the ranking is, is not its concern; package eval measures that.
func TestSearcher(t *testing.T, index toolsearch.Indexer) {
	t.Helper()
	s, err := newSubject(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			if err := c.check(t.Context(), s); err != nil {
				t.Errorf("%v\n\tthe contract says: %q", err, c.sentence)
			}
		})
	}
}

// A clause is one sentence of the contract, or part of one, and its check.
type clause struct {
	name     string
	sentence string
	check    func(context.Context, *subject) error
}

var clauses = []clause{
	{"document", "index into the documents the Indexer was given", checkDocument},
	{"once", "each document once", checkOnce},
	{"best-first", "best first", checkBestFirst},
	{"limit", "Search returns at most q.Limit hits (all, if it is 0), best first", checkLimit},
	{"same-order", "the same ones in the same order every time", checkSameOrder},
	{"no-match", "no match is no hits, not an error", checkNoMatch},
	{"concurrent", "It is safe for concurrent use", checkConcurrent},
	{"context", "returns soon after ctx is done, with ctx's error", checkContext},
	{"unchanged", "It may keep docs and must not change them", checkUnchanged},
	{"count", "knows how many documents matched before the limit", checkCount},
	{"explain", "explains the score of one document for a query, whose limit does not count", checkExplain},
	{"explain-zero", "A document that does not match has the score 0", checkExplainZero},
}

// A subject is an Indexer under test, and a Searcher it built.
type subject struct {
	index    toolsearch.Indexer
	docs     []toolsearch.Document
	searcher toolsearch.Searcher
}

// newSubject builds the Searcher. It fails if no search finds anything, since then the
// clauses would hold of nothing.
func newSubject(ctx context.Context, index toolsearch.Indexer) (*subject, error) {
	docs, err := contractDocuments(ctx)
	if err != nil {
		return nil, err
	}
	s := &subject{index: index, docs: docs}
	if s.searcher, err = s.build(ctx, docs); err != nil {
		return nil, err
	}
	found := 0
	err = s.each(ctx, func(_ toolsearch.Query, hits []toolsearch.Hit) error {
		found += len(hits)
		return nil
	})
	if err == nil && found == 0 {
		err = fmt.Errorf("none of %q finds anything, so nothing can be tested", contractQueries)
	}
	return s, err
}

func (s *subject) build(ctx context.Context, docs []toolsearch.Document) (toolsearch.Searcher, error) {
	searcher, err := s.index(ctx, slices.Clone(docs))
	if err != nil {
		return nil, fmt.Errorf("the Indexer fails on %d documents: %w", len(docs), err)
	}
	if searcher == nil {
		return nil, fmt.Errorf("the Indexer returns no Searcher and no error for %d documents", len(docs))
	}
	return searcher, nil
}

// each calls f with the answer to every query that the searcher can search by, without a
// limit.
func (s *subject) each(ctx context.Context, f func(toolsearch.Query, []toolsearch.Hit) error) error {
	for _, text := range contractQueries {
		q := toolsearch.ParseQuery(text)
		hits, err := s.searcher.Search(ctx, q)
		if isQueryError(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("query %q fails: %w", text, err)
		}
		if err := f(q, hits); err != nil {
			return fmt.Errorf("query %q: %w", text, err)
		}
	}
	return nil
}

// isQueryError reports whether the searcher refused a query, as one of patterns does with
// words that are none.
func isQueryError(err error) bool {
	wrong := (*toolsearch.QueryError)(nil)
	return errors.As(err, &wrong)
}

func checkDocument(ctx context.Context, s *subject) error {
	return s.each(ctx, func(_ toolsearch.Query, hits []toolsearch.Hit) error {
		for rank, hit := range hits {
			if hit.Doc < 0 || hit.Doc >= len(s.docs) {
				return fmt.Errorf("hit %d is document %d of a catalog of %d", rank+1, hit.Doc, len(s.docs))
			}
		}
		return nil
	})
}

func checkOnce(ctx context.Context, s *subject) error {
	return s.each(ctx, func(_ toolsearch.Query, hits []toolsearch.Hit) error {
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
	return s.each(ctx, func(_ toolsearch.Query, hits []toolsearch.Hit) error {
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
	return s.each(ctx, func(q toolsearch.Query, all []toolsearch.Hit) error {
		for _, limit := range []int{1, 2, 5, len(s.docs), len(s.docs) + 10} {
			q.Limit = limit
			hits, err := s.searcher.Search(ctx, q)
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

// isBest reports whether hits are the first of all, and some of them if there are any. Under
// a limit a searcher may keep to a tighter one of its own.
func isBest(hits, all []toolsearch.Hit) bool {
	return len(hits) <= len(all) && (len(hits) > 0 || len(all) == 0) && slices.Equal(hits, all[:len(hits)])
}

// checkSameOrder also asks a second Searcher over the same documents: one built in the
// order of a map would differ.
func checkSameOrder(ctx context.Context, s *subject) error {
	second, err := s.build(ctx, s.docs)
	if err != nil {
		return err
	}
	return s.each(ctx, func(q toolsearch.Query, want []toolsearch.Hit) error {
		for range 3 {
			again, err := s.searcher.Search(ctx, q)
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
		if !slices.Equal(other, want) {
			return fmt.Errorf("%v, but %v from another Searcher over the same documents", want, other)
		}
		return nil
	})
}

func checkNoMatch(ctx context.Context, s *subject) error {
	for _, text := range []string{"", "+", "qqzzxxvv", "qqzzxxvv +jjwwkkyy"} {
		if _, err := s.searcher.Search(ctx, toolsearch.ParseQuery(text)); err != nil && !isQueryError(err) {
			return fmt.Errorf("query %q fails: %w", text, err)
		}
	}
	empty, err := s.build(ctx, nil)
	if err != nil {
		return err
	}
	for _, limit := range []int{0, 5} {
		q := toolsearch.ParseQuery("create issue")
		q.Limit = limit
		if hits, err := empty.Search(ctx, q); err != nil || len(hits) > 0 {
			return fmt.Errorf("an empty catalog answers %q, limit %d, with %v, error %v", q, limit, hits, err)
		}
	}
	return nil
}

func checkConcurrent(ctx context.Context, s *subject) error {
	var queries []toolsearch.Query
	var answers, kept [][]toolsearch.Hit
	err := s.each(ctx, func(q toolsearch.Query, hits []toolsearch.Hit) error {
		queries = append(queries, q)
		answers = append(answers, hits)
		kept = append(kept, slices.Clone(hits))
		return nil
	})
	if err != nil {
		return err
	}
	// Alone first: what one search overwrites of another needs no second goroutine to be
	// seen, and is a clearer message than a race.
	for i, q := range queries {
		if !slices.Equal(answers[i], kept[i]) {
			return fmt.Errorf("query %q: its hits were changed by a later search", q)
		}
		if fresh := toolsearch.ParseQuery(q.Text); !reflect.DeepEqual(q, fresh) {
			return fmt.Errorf("query %q was changed to %#v by the search for it", q.Text, q)
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
				hits, err := s.searcher.Search(ctx, queries[i])
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
	q := toolsearch.ParseQuery("create issue")
	for _, ctx := range []context.Context{cancelled, expired} {
		if _, err := s.searcher.Search(ctx, q); !errors.Is(err, ctx.Err()) {
			return fmt.Errorf("searching with ctx done returns the error %v, want %w", err, ctx.Err())
		}
		if counter, ok := s.searcher.(toolsearch.Counter); ok {
			if _, _, err := counter.SearchCount(ctx, q); !errors.Is(err, ctx.Err()) {
				return fmt.Errorf("counting with ctx done returns the error %v, want %w", err, ctx.Err())
			}
		}
	}
	return nil
}

// checkUnchanged gives documents of its own to a Searcher of its own and compares them
// with the same documents made afresh.
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
	if err := other.each(ctx, func(toolsearch.Query, []toolsearch.Hit) error { return nil }); err != nil {
		return err
	}
	for i := range want {
		if !reflect.DeepEqual(given[i], want[i]) {
			return fmt.Errorf("document %d was %+v and is now %+v", i, want[i], given[i])
		}
	}
	return nil
}

func checkCount(ctx context.Context, s *subject) error {
	counter, ok := s.searcher.(toolsearch.Counter)
	if !ok {
		return nil
	}
	return s.each(ctx, func(q toolsearch.Query, all []toolsearch.Hit) error {
		for _, limit := range []int{0, 1, 5, len(s.docs) + 10} {
			q.Limit = limit
			hits, total, err := counter.SearchCount(ctx, q)
			if err != nil {
				return fmt.Errorf("limit %d: SearchCount: %w", limit, err)
			}
			if total != len(all) {
				return fmt.Errorf("limit %d: SearchCount counts %d, Search without a limit finds %d", limit, total, len(all))
			}
			if limit > 0 && len(hits) > limit || limit == 0 && len(hits) != len(all) || !isBest(hits, all) {
				return fmt.Errorf("limit %d: SearchCount finds %v, Search without a limit %v", limit, hits, all)
			}
		}
		return nil
	})
}

func checkExplain(ctx context.Context, s *subject) error {
	explainer, ok := s.searcher.(toolsearch.Explainer)
	if !ok {
		return nil
	}
	return s.each(ctx, func(q toolsearch.Query, hits []toolsearch.Hit) error {
		for _, limit := range []int{0, 1} {
			q.Limit = limit
			for rank, hit := range hits {
				explanation, err := explainer.Explain(ctx, q, hit.Doc)
				if err != nil {
					return fmt.Errorf("limit %d: Explain of hit %d: %w", limit, rank+1, err)
				}
				// Sums taken in another order differ in their last bits.
				if math.Abs(explanation.Score-hit.Score) > 1e-9*max(1, math.Abs(hit.Score)) {
					return fmt.Errorf("limit %d: hit %d has the score %g, explained is %g", limit, rank+1, hit.Score, explanation.Score)
				}
			}
		}
		return nil
	})
}

func checkExplainZero(ctx context.Context, s *subject) error {
	explainer, ok := s.searcher.(toolsearch.Explainer)
	if !ok {
		return nil
	}
	return s.each(ctx, func(q toolsearch.Query, hits []toolsearch.Hit) error {
		found := make(map[int]bool)
		for _, hit := range hits {
			found[hit.Doc] = true
		}
		for doc := range s.docs {
			if found[doc] {
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

// contractQueries are words, names, sentences, required words, Chinese, a query at the
// bound on keywords and ones that find nothing. A searcher of patterns may refuse some.
var contractQueries = []string{
	"issue",
	"create issue",
	"+github issue",
	"jira__create_ticket",
	"Current weather and forecast of a city",
	"send a message to the people of a channel",
	"RECORD record Record",
	"lst of isues",
	"天气",
	"发送 邮件",
	"sheet cells? (all)",
	"qqzzxxvv",
	strings.TrimSpace(strings.Repeat("record get ", 32)),
}

// contractDocuments makes the documents of a catalog in which names repeat each other's
// words, some tools lack a description or parameters, and many score alike. Every call
// makes new ones.
func contractDocuments(ctx context.Context) ([]toolsearch.Document, error) {
	text := func(desc string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.String, Desc: desc}
	}
	params := func(p map[string]*schema.ParameterInfo) *schema.ParamsOneOf {
		return schema.NewParamsOneOfByParams(p)
	}
	infos := []*schema.ToolInfo{
		{Name: "mcp__github__create_issue", Desc: "Opens an issue in a repository",
			ParamsOneOf: params(map[string]*schema.ParameterInfo{"title": text("Title of the issue")})},
		{Name: "mcp__github__list_issues", Desc: "Lists the issues of a repository",
			ParamsOneOf: params(map[string]*schema.ParameterInfo{
				"state": {Type: schema.String, Desc: "Which issues", Enum: []string{"open", "closed"}}})},
		{Name: "mcp__github__close_issue", Desc: "Closes an issue"},
		{Name: "jira__create_ticket", Desc: "Creates a ticket, which jira calls an issue"},
		{Name: "zendesk__create_ticket", Desc: "Creates a support ticket for a customer"},
		{Name: "mcp__slack__send_message", Desc: "Posts a message into a channel",
			ParamsOneOf: params(map[string]*schema.ParameterInfo{"channel": text("Channel whose people read it")})},
		{Name: "get_weather", Desc: "Current weather and forecast of a city. 查询城市的天气",
			ParamsOneOf: params(map[string]*schema.ParameterInfo{"city": text("城市名称")})},
		{Name: "发送邮件", Desc: "发送一封邮件给收件人"},
		{Name: "sendMail", Desc: ""},
		{Name: "HTTPServer", Desc: "Starts a server."},
		{Name: "x", Desc: "?"},
		{Name: "read_sheet", ParamsOneOf: params(map[string]*schema.ParameterInfo{
			"cells": {Type: schema.Array, Desc: "Cells of the sheet to read", ElemInfo: text("A cell, such as B7")}})},
	}
	for _, verb := range []string{"get", "put", "list"} {
		for i := range 30 {
			infos = append(infos, &schema.ToolInfo{
				Name: fmt.Sprintf("store%d__%s_record", i%4, verb) + strings.Repeat("_x", i/4),
				Desc: "Works on a record of the store",
			})
		}
	}
	var docs []toolsearch.Document
	_, err := toolsearch.NewCatalogFromInfos(ctx, infos,
		func(ctx context.Context, given []toolsearch.Document) (toolsearch.Searcher, error) {
			docs = given
			return toolsearch.Keyword(ctx, nil)
		})
	return docs, err
}
