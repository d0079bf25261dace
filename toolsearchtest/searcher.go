package toolsearchtest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The contract of search.Searcher and its companions, as a test. Every clause is a subtest
// that stands for one sentence of the doc comments in package search, word for word, and a
// failure quotes it.

// TestSearcher tests that what index builds keeps the contract of search.Indexer and
// Searcher, and, where it implements them, of Explainer, Restricter and Rebuilder:
//
//	func TestMine(t *testing.T) { toolsearchtest.TestSearcher(t, mine.Index) }
//
// A searcher has one duty, to rank. The catalog resolves all other demands, "+word",
// "github: create issue", the namespace argument of tool_search and Config.Filter, into
// Query.Allowed, by the rule in search.Query. A searcher only has to return and count what
// Allowed allows. A catalog with the index tests that this is enough. For a QueryReader,
// which reads a text by its own rule, it tests only the namespace argument.
//
// It builds a handful of indexes over small catalogs of its own and runs a few hundred
// searches. Run it with -race, which finds data races that the test alone cannot find.
// Test a searcher that uses a network against a stand-in for its server.
//
// TestSearcher does not judge how good the ranking is. Package eval measures that.
func TestSearcher(t *testing.T, index search.Indexer) {
	t.Helper()
	s, err := newSubject(t.Context(), index)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			if err := c.test(t.Context(), s); err != nil {
				t.Errorf("%v\n\tthe contract says: %q", err, c.sentence)
			}
		})
	}
}

// A clause is one sentence of the contract, or part of one, and its check.
type clause struct {
	name     string
	sentence string
	check    func(*subject)
}

// test returns what breaks the clause, or nil.
func (c clause) test(ctx context.Context, s *subject) error {
	s.ctx, s.at = ctx, ""
	err := breachOf(func() { c.check(s) })
	if err != nil && s.at != "" {
		err = fmt.Errorf("%s: %w", s.at, err)
	}
	return err
}

// A breach is what breaks a clause. The checks panic with it.
type breach struct{ error }

func must(holds bool, format string, args ...any) {
	if !holds {
		panic(breach{fmt.Errorf(format, args...)})
	}
}

// breachOf returns the breach that f panics with, or nil.
func breachOf(f func()) (err error) {
	defer func() {
		switch recovered := recover().(type) {
		case nil:
		case breach:
			err = recovered.error
		default:
			panic(recovered)
		}
	}()
	f()
	return nil
}

var clauses = []clause{
	{"document", "index into the documents the Indexer was given", checkDocument},
	{"once", "each document once", checkOnce},
	{"best-first", "best first", checkBestFirst},
	{"limit", "at most as many as the query's limit (all, if it is 0), best first", checkLimit},
	{"allowed", "Search returns only documents that q.Allowed allows, and counts no others", checkAllowed},
	{"same-order", "The same query gets the same answer, in the same order, every time", checkSameOrder},
	{"no-match", "no match is no hits, not an error", checkNoMatch},
	{"concurrent", "It is safe for concurrent use", checkConcurrent},
	{"context", "returns soon after ctx is done, with ctx's error", checkContext},
	{"unchanged", "It may keep docs and must not change them", checkUnchanged},
	{"total", "Total is how many documents matched before the limit", checkTotal},
	{"required", "Every required word must match", narrowed(requiredWords)},
	{"namespace-text", `A namespace, as an argument or in front of the text ("github: create issue"): the tool is of that namespace`,
		narrowed(namespaceTexts)},
	{"namespace-argument", "Namespace arguments and filters hold for every searcher", narrowed(namespaceArguments())},
	{"explain", "explains the score of one document for a query, whose limit does not count", explains(true)},
	{"explain-zero", "A document that does not match has the score 0", explains(false)},
	{"restrict", "The documents keep their numbers, and the searcher answers as if it were built from them alone", checkRestrict},
	{"rebuild", "Rebuild returns a searcher of other documents, which answers as if the Rebuilder's Indexer had built it",
		checkRebuild},
}

// A subject is an Indexer under test, and a Searcher it built.
type subject struct {
	ctx      context.Context // of the clause that is tested
	at       string          // the query that is looked at, for messages
	index    search.Indexer
	docs     []search.Document
	searcher search.Searcher
	catalog  *toolsearch.Catalog // of the same documents
}

// newSubject builds the Searcher. It fails if no search finds anything, since every clause
// would then hold trivially.
func newSubject(ctx context.Context, index search.Indexer) (*subject, error) {
	s := &subject{ctx: ctx, index: index}
	return s, breachOf(func() {
		s.docs = contractDocuments()
		s.searcher = s.build(s.docs)
		ready := func(context.Context, []search.Document) (search.Searcher, error) { return s.searcher, nil }
		var err error
		s.catalog, err = toolsearch.NewCatalogFromInfos(ctx, contractTools(), &toolsearch.CatalogOptions{Index: ready})
		must(err == nil, "%w", err)
		found := 0
		for _, hits := range s.answers() {
			found += len(hits)
		}
		must(found > 0, "none of %q finds anything, so nothing can be tested", contractQueries)
	})
}

func (s *subject) build(docs []search.Document) search.Searcher {
	searcher, err := s.index(s.ctx, slices.Clone(docs))
	must(err == nil, "the Indexer fails on %d documents: %w", len(docs), err)
	must(searcher != nil, "the Indexer returns no Searcher and no error for %d documents", len(docs))
	return searcher
}

// answers are the queries with all their hits. It skips queries that the searcher refuses.
func (s *subject) answers() iter.Seq2[search.Query, []search.Hit] {
	return func(yield func(search.Query, []search.Hit) bool) {
		for _, text := range contractQueries {
			q := s.read(text)
			answer, err := s.searcher.Search(s.ctx, q)
			if isQueryError(err) {
				continue
			}
			must(err == nil, "query %q fails: %w", text, err)
			if s.at = fmt.Sprintf("query %q", text); !yield(q, answer.Hits) {
				return
			}
		}
		s.at = ""
	}
}

// read reads a text as the searcher does. The query's demands stay unresolved, which a
// searcher that only ranks does not notice.
func (s *subject) read(text string) search.Query {
	if reader, ok := s.searcher.(search.QueryReader); ok {
		return reader.ReadQuery(text)
	}
	return search.ParseQuery(text)
}

// limited are some limits with the answers to a query.
func (s *subject) limited(q search.Query, limits ...int) iter.Seq2[int, search.Hits] {
	return func(yield func(int, search.Hits) bool) {
		for _, q.Limit = range limits {
			answer, err := s.searcher.Search(s.ctx, q)
			must(err == nil, "limit %d: %w", q.Limit, err)
			if !yield(q.Limit, answer) {
				return
			}
		}
	}
}

// isQueryError reports whether the searcher refused a query, as a pattern searcher does
// if the text is not a pattern.
func isQueryError(err error) bool {
	wrong := (*search.QueryError)(nil)
	return errors.As(err, &wrong)
}

// contractQueries are words, names, sentences, required words, Chinese, a query with the most
// keywords that are read, and queries that find nothing. A pattern searcher may refuse some of
// them.
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

// contractTools makes tools whose names share words. Some have no description or parameters, and
// many score alike.
func contractTools() []*schema.ToolInfo {
	infos := []*schema.ToolInfo{
		toolOf("mcp__github__create_issue", "Opens an issue in a repository", "title", "Title of the issue"),
		toolOf("mcp__github__list_issues", "Lists the issues of a repository", "state", "Which issues", "open", "closed"),
		toolOf("mcp__github__close_issue", "Closes an issue"),
		toolOf("jira__create_ticket", "Creates a ticket, which jira calls an issue"),
		toolOf("zendesk__create_ticket", "Creates a support ticket for a customer"),
		toolOf("mcp__slack__send_message", "Posts a message into a channel", "channel", "Channel whose people read it"),
		toolOf("get_weather", "Current weather and forecast of a city. 查询城市的天气", "city", "城市名称"),
		toolOf("发送邮件", "发送一封邮件给收件人"),
		toolOf("sendMail", ""),
		toolOf("HTTPServer", "Starts a server."),
		toolOf("x", "?"),
		toolOf("read_sheet", "", "cells", "Cells of the sheet to read, such as B7"),
	}
	for _, verb := range []string{"get", "put", "list"} {
		for i := range 30 {
			infos = append(infos, toolOf(fmt.Sprintf("store%d__%s_record", i%4, verb)+strings.Repeat("_x", i/4), "Works on a record of the store"))
		}
	}
	return infos
}

// toolOf makes a tool. parameter is the name, the description and the choices of its parameter, if it has any.
func toolOf(name, description string, parameter ...string) *schema.ToolInfo {
	info := &schema.ToolInfo{Name: name, Desc: description}
	if len(parameter) > 0 {
		info.ParamsOneOf = schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			parameter[0]: {Type: schema.String, Desc: parameter[1], Enum: parameter[2:]}})
	}
	return info
}

// contractDocuments makes the documents of new contractTools.
func contractDocuments() []search.Document {
	docs, err := search.Documents(contractTools(), nil)
	must(err == nil, "%w", err)
	return docs
}
