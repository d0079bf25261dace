package search_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests hold for every searcher.

// doc returns a document with a name and a description.
func doc(name, text string) search.Document {
	return search.Document{Name: name, Description: text, Info: &schema.ToolInfo{Name: name, Desc: text}}
}

// numbered returns tools with numbers in their names.
func numbered(n int) (docs []search.Document) {
	for i := range n {
		docs = append(docs, doc(fmt.Sprintf("tool_%d", i), "Works"))
	}
	return docs
}

func searcherOf(t testing.TB, index search.Indexer, docs ...search.Document) search.Searcher {
	t.Helper()
	return testtools.Must(index(context.Background(), docs))(t)
}

// find returns only the hits of a searcher.
func find(ctx context.Context, s search.Searcher, q search.Query) ([]search.Hit, error) {
	answer, err := s.Search(ctx, q)
	return answer.Hits, err
}

// hitsOf returns the hits of a query, which must not fail.
func hitsOf(t testing.TB, s search.Searcher, q search.Query) []search.Hit {
	t.Helper()
	return testtools.Must(find(t.Context(), s, q))(t, "%.60q", q.Text)
}

// bestOf returns the documents of a query's hits, the best first.
func bestOf(t testing.TB, s search.Searcher, q search.Query) (docs []int) {
	t.Helper()
	for _, hit := range hitsOf(t, s, q) {
		docs = append(docs, hit.Doc)
	}
	return docs
}

// scoresOf returns the scores of the documents that a query finds.
func scoresOf(t testing.TB, s search.Searcher, q search.Query) map[int]float64 {
	t.Helper()
	scores := make(map[int]float64)
	for _, hit := range hitsOf(t, s, q) {
		scores[hit.Doc] = hit.Score
	}
	return scores
}

// explained returns the explanation of a document's score, which must not fail.
func explained(t testing.TB, s search.Searcher, q search.Query, doc int) search.Explanation {
	t.Helper()
	return testtools.Must(s.(search.Explainer).Explain(t.Context(), q, doc))(t, "%.60q", q.Text)
}

// read returns the query that a catalog of the documents makes of a text for a searcher.
func read(docs []search.Document, s search.Searcher, text string) search.Query {
	n := search.NewNarrower(docs)
	return n.Narrow(n.Read(s, text, "", nil), nil)
}

// checkScores checks that a query finds exactly the named documents, with those scores.
func checkScores(t *testing.T, index search.Indexer, docs []search.Document, query string, want map[string]float64) {
	t.Helper()
	s := searcherOf(t, index, docs...)
	got := make(map[string]float64)
	for doc, score := range scoresOf(t, s, read(docs, s, query)) {
		got[docs[doc].Name] = score
	}
	assert.InDeltaMapValues(t, want, got, 1e-9, "%q found %v", query, got)
}

// assertList is assert.Equal for lists. A nil list equals an empty list.
func assertList[T any](t testing.TB, want, got []T, msgAndArgs ...any) {
	t.Helper()
	if len(want) == 0 {
		assert.Empty(t, got, msgAndArgs...)
		return
	}
	assert.Equal(t, want, got, msgAndArgs...)
}

// words are pieces of names, descriptions and queries, some of them odd.
var words = strings.Fields(`create get list delete update send search issue issues message file files user users pull
	request branch commit HTTP URL api v2 Notebook Edit read write a the in of to İstanbul straße ЖУК жук 日历 创建 x1 2
	e.g. and/or "quoted" (see)`)

var blanks = []string{" ", "  ", "\t", "\n", "\u00a0", "\u2003", "\u0085"}

func randomWords(random *rand.Rand, most int) (list []string) {
	for range random.IntN(most + 1) {
		word := testtools.Pick(random, words)
		list = append(list, testtools.Pick(random, []string{word, word, word, strings.ToUpper(word)}))
	}
	return list
}

// randomCatalog returns tools whose names and descriptions share pieces, so that queries find several.
func randomCatalog(random *rand.Rand, size int) (infos []*schema.ToolInfo) {
	taken := map[string]bool{"tool_search": true}
	for range size {
		name := testtools.Pick(random, []string{"mcp__github__", "mcp__Jira__", "mcp__a.b__", "mcp__日历__", "_", ""}) +
			testtools.Pick(random, words) + strings.Join(randomWords(random, 3), testtools.Pick(random, []string{"_", "_", "___", "-", ".", " ", ""}))
		text := strings.Join(randomWords(random, 12), testtools.Pick(random, blanks))
		if random.IntN(20) == 0 {
			text += "bad \xff bytes\xc3"
		}
		if !taken[name] {
			infos = append(infos, &schema.ToolInfo{Name: name, Desc: text})
		}
		taken[name] = true
	}
	return infos
}

// randomQuery returns a query that may find some of the tools.
func randomQuery(random *rand.Rand, infos []*schema.ToolInfo) string {
	list := []string{testtools.Pick(random, words)}
	for _, word := range randomWords(random, 4) {
		switch random.IntN(6) {
		case 0: // a piece of a name, underscores and all, or of a word
			runes := []rune(testtools.Pick(random, []string{testtools.Pick(random, infos).Name, word}))
			from := random.IntN(len(runes))
			word = string(runes[from : from+1+random.IntN(len(runes)-from)])
		case 1:
			word = testtools.Pick(random, []string{"_", "__", "-", ".", "+", "++a", "e_", "_a", "s__c"})
		}
		list = append(list, testtools.Pick(random, []string{word, word, word, "+" + word, word + " " + word}))
	}
	return strings.Join(list, testtools.Pick(random, blanks))
}

func randomDocs(random *rand.Rand, size int) []search.Document {
	var docs []search.Document
	for i, info := range randomCatalog(random, size) {
		d := doc(info.Name, info.Desc)
		d.Namespace, d.NamespaceDescription = []string{"", "one", "two"}[i%3], []string{"", "Files and branches of users", ""}[i%3]
		d.Hint = testtools.Pick(random, append(words, "", ""))
		docs = append(docs, d)
	}
	return docs
}

// nameOrWords asks for a name or for two words, the first of which may be required.
func nameOrWords(random *rand.Rand, docs []search.Document) string {
	if random.IntN(4) == 0 {
		return testtools.Pick(random, docs).Name
	}
	first, second := testtools.Pick(random, words), testtools.Pick(random, words)
	return testtools.Pick(random, []string{"", "", "+"}) + first + " " + second
}

// checkSearcher asks a searcher many queries over random catalogs. It checks what Searcher and
// Explainer promise about the answers, beyond what TestSearchersKeepTheContract checks.
func checkSearcher(t *testing.T, index search.Indexer, ask func(*rand.Rand, []search.Document) string) {
	t.Helper()
	ctx := context.Background()
	for seed := range testtools.Rounds(3, 1) {
		random := rand.New(rand.NewPCG(uint64(seed), 11))
		docs := randomDocs(random, 1+random.IntN(120))
		s := searcherOf(t, index, docs...)
		narrower := search.NewNarrower(docs)
		for n := range 30 {
			q := narrower.Read(s, ask(random, docs), testtools.Pick(random, []string{"", "", "", "one", "two", "no such"}), nil)
			q = narrower.Narrow(q, nil)
			all, scores := hitsOf(t, s, q), scoresOf(t, s, q)
			require.Len(t, scores, len(all), "%q: documents of the hits", q.Text)
			for i, hit := range all {
				assert.Positive(t, hit.Score, "%q", q.Text)
				if i > 0 {
					assert.LessOrEqual(t, hit.Score, all[i-1].Score, "%q: a score after the score of the hit before", q.Text)
				}
				if q.Namespace != "" {
					assert.Equal(t, q.Namespace, docs[hit.Doc].Namespace, "%q", q.Text)
				}
			}
			for i := n % 4; i < len(docs); i += 4 { // an explanation is a search
				e := explained(t, s, q, i)
				if !q.Allows(i) { // the catalog explains these documents
					continue
				}
				sum := 0.0
				for _, part := range e.Parts {
					sum += part.Score
				}
				assert.Equal(t, scores[i], e.Score, "%q in %q, %q: explained as %s", q.Text, q.Namespace, docs[i].Name, e)
				near := 1e-6 * max(1, e.Score) // BM25 adds in single precision
				assert.InDelta(t, sum, e.Score, near, "%q in %q, %q: explained as %s", q.Text, q.Namespace, docs[i].Name, e)
			}
			even := func(doc int) bool { return doc%2 == 0 }
			allowed := slices.DeleteFunc(slices.Clone(all), func(h search.Hit) bool { return !even(h.Doc) })
			some := testtools.Must(s.Search(ctx, narrower.Narrow(q, even)))(t, "%q among even documents", q.Text)
			assertList(t, allowed, some.Hits, "%q among even documents", q.Text)
			assert.Equal(t, len(allowed), some.Total, "%q among even documents", q.Text)
			q.Limit = 1 + random.IntN(8)
			best := testtools.Must(s.Search(ctx, q))(t)
			assertList(t, all[:min(q.Limit, len(all))], best.Hits, "%q, limit %d", q.Text, q.Limit)
			assert.Equal(t, len(all), best.Total, "%q, limit %d", q.Text, q.Limit)
		}
		_, err := s.(search.Explainer).Explain(ctx, search.ParseQuery("a"), len(docs))
		assert.Error(t, err, "an explanation of a document outside the catalog")
		checkNoTrace(t, index, s, docs, random, ask)
	}

	docs := randomDocs(rand.New(rand.NewPCG(1, 1)), 50)
	assert.Empty(t, hitsOf(t, searcherOf(t, index, docs...), search.Query{}), "empty query")
	done, cancel := context.WithCancel(ctx)
	cancel()
	_, err := index(done, docs)
	assert.ErrorIs(t, err, context.Canceled, "an index built with a cancelled context")
}

// checkNoTrace checks that the documents that a request may not see leave no trace in an answer: it
// is that of a searcher that never had these documents.
func checkNoTrace(t *testing.T, index search.Indexer, s search.Searcher, docs []search.Document, random *rand.Rand, ask func(*rand.Rand, []search.Document) string) {
	t.Helper()
	var seen []int
	var alone []search.Document
	for i := range docs {
		if random.IntN(3) > 0 {
			seen, alone = append(seen, i), append(alone, docs[i])
		}
	}
	want := searcherOf(t, index, alone...)
	got, isSeen := s, func(doc int) bool { return slices.Contains(seen, doc) }
	if restricter, ok := s.(search.Restricter); ok {
		restricted := testtools.Must(restricter.Restrict(t.Context(), seen))(t)
		got, isSeen = restricted, nil
		_, err := restricter.Restrict(t.Context(), []int{len(docs)})
		assert.Error(t, err, "restricted to a document outside the catalog")
		_, err = restricter.Restrict(t.Context(), []int{0, 0})
		assert.Error(t, err, "restricted to a document twice")
	}
	for range 40 {
		text := ask(random, docs)
		wantQuery := read(alone, want, text)
		gotQuery := search.NewNarrower(docs).Narrow(search.NewNarrower(docs).Read(s, text, "", func(doc int) bool { return slices.Contains(seen, doc) }), isSeen)
		wantQuery.Limit = random.IntN(4)
		gotQuery.Limit = wantQuery.Limit
		wanted := testtools.Must(want.Search(t.Context(), wantQuery))(t, "%q", text)
		for i := range wanted.Hits {
			wanted.Hits[i].Doc = seen[wanted.Hits[i].Doc]
		}
		answer := testtools.Must(got.Search(t.Context(), gotQuery))(t, "%q", text)
		assertList(t, wanted.Hits, answer.Hits, "%q, without the other documents, and restricted", text)
		assert.Equal(t, wanted.Total, answer.Total, "%q, without the other documents, and restricted", text)
	}
}

// hostileDocs have texts that are empty, are not text, are very long, or repeat the same letters.
func hostileDocs() []search.Document { // the long ones are longer than search.MaxDescriptionBytes
	return []search.Document{
		doc("", ""), doc("_", " "), doc("\xff\xfe", "\xc3"), doc("\u202e<b>\x00", "\u0000\n"),
		doc(strings.Repeat("a", 1<<16), strings.Repeat("a", 1<<17)),
		doc(strings.Repeat("ab_", 1<<12), strings.Repeat("ba ", 1<<16)),
		doc(strings.Repeat("aB", 1<<12), strings.Repeat("日历", 1<<15)),
		doc("İ", strings.Repeat("İ", 1<<16)), doc("ﬀ", "ß ẞ"),
	}
}

var hostileQueries = []string{
	strings.Repeat("a", 4096), strings.Repeat("a ", 2048), strings.Repeat("ab", 2048), strings.Repeat("日历", 600),
	strings.Repeat("_", 4096), "\xff", "\x00", "\u202e", strings.Repeat("İ", 2000), strings.Repeat("+a ", 100), "+", "_", "-",
}

// checkHostile checks that a searcher neither panics nor fails over hostile documents and queries. A
// QueryError is not a failure.
func checkHostile(t *testing.T, index search.Indexer) {
	t.Helper()
	if testing.Short() {
		t.Log("long texts are left out")
		return
	}
	docs := hostileDocs()
	s := searcherOf(t, index, docs...)
	for _, text := range hostileQueries {
		q := read(docs, s, text)
		hits, err := find(context.Background(), s, q)
		if err != nil {
			assert.ErrorAs(t, err, new(*search.QueryError), "%.20q", text)
		}
		for _, hit := range hits {
			assert.Equal(t, hit.Score, explained(t, s, q, hit.Doc).Score, "%.20q: %v", text, hit)
		}
	}
}

// Every searcher of this package keeps the contract of Searcher.
func TestSearchersKeepTheContract(t *testing.T) {
	for name, index := range map[string]search.Indexer{
		"Keyword":         search.Keyword,
		"BM25":            search.BM25,
		"Fuzzy":           search.Fuzzy,
		"Regexp":          search.Regexp,
		"Similarity":      search.Similarity,
		"LSA":             search.LSA,
		"Embedding":       search.Embedding(&wordEmbedder{}),
		"Hybrid":          search.Hybrid(search.BM25, search.Embedding(&wordEmbedder{})),
		"Hybrid of a few": search.HybridOptions{Parts: []search.Indexer{search.Keyword, search.BM25}, Depth: 20}.Index,
		"Retriever":       inEngine,
	} {
		t.Run(name, func(t *testing.T) { toolsearchtest.TestSearcher(t, index) })
	}
}

// A toolAnswer is what the model reads of a search.
type toolAnswer struct {
	Message string
	Matches []string
}

// askTool asks the tool_search of a middleware, as a model would. It returns the answer and the event.
func askTool(t *testing.T, config toolsearch.Config, queries ...string) (answer toolAnswer, event *toolsearch.SearchEvent) {
	t.Helper()
	config.DynamicTools = testtools.NewsTools()
	config.OnEvent = func(_ context.Context, e toolsearch.Event) {
		if e, ok := e.(*toolsearch.SearchEvent); ok {
			event = e
		}
	}
	_, runCtx, err := testtools.Must(toolsearch.New(t.Context(), &config))(t).BeforeAgent(t.Context(), &adk.ChatModelAgentContext{})
	require.NoError(t, err)
	arguments := testtools.Must(json.Marshal(map[string]any{"query": queries}))(t)
	text := testtools.Must(runCtx.Tools[0].(tool.InvokableTool).InvokableRun(t.Context(), string(arguments)))(t)
	require.NoError(t, json.Unmarshal([]byte(text), &answer))
	return answer, event
}

func narrowDocs() []search.Document {
	docs := []search.Document{
		doc("mcp__github__create_issue", "Opens a report with the HTTP2Server"),
		doc("jira__create_ticket", "Opens an ISSUE"),
		doc("send_mail", "Sends naïve e-mails"),
		doc("日历创建", "在日历中创建新的事件"),
	}
	docs[0].Namespace, docs[1].Namespace = "GitHub", "my-jira"
	docs[0].Parameters = []search.Parameter{{Name: "assignee", Description: "Whose duty it is", Enum: []string{"nobody"}}}
	docs[1].Annotation.Hint, docs[1].Annotation.Tags, docs[1].Annotation.Aliases = "complaints", []string{"billing"}, []string{"file_bug"}
	return docs
}

// allowedOf returns the numbers of the documents that a query allows, as digits.
func allowedOf(q search.Query, docs int) string {
	allowed := ""
	for doc := range docs {
		if q.Allows(doc) {
			allowed += string(rune('0' + doc))
		}
	}
	return allowed
}

// A Narrower takes the demands out of a query: required words and a namespace. It leaves the text to
// rank by.
func TestNarrower(t *testing.T) {
	docs := narrowDocs()
	n := search.NewNarrower(docs)
	for _, tt := range []struct {
		text, namespace string
		rank            string // the text that is left to rank by
		allowed         string
	}{
		{"create issue", "", "create issue", "0123"},
		{"+issue", "", "issue", "01"},
		{"+ISSUES create", "", "ISSUES create", "01"}, // another inflection
		{"+sue  x", "", "sue  x", "01"},               // a piece of a word
		{"+opens +issue", "", "opens issue", "01"},
		{"+report +issue", "", "report issue", "0"},
		{"+report +ticket", "", "report ticket", ""},
		{"+report +report", "", "report report", "0"},
		{"+create_issue", "", "create_issue", "01"}, // each word of the name is required
		{"+e_iss", "", "e_iss", "0"},
		{"+http", "", "http", "0"},
		{"+server", "", "server", "0"},
		{"+assignees", "", "assignees", "0"}, // a word of a parameter
		{"+duties", "", "duties", "0"},
		{"+nobody", "", "nobody", "0"},
		{"+ignee", "", "ignee", ""}, // a piece of a word is found in names and descriptions only
		{"+jira", "", "jira", "1"},
		{"+complaint", "", "complaint", "1"},
		{"+billed", "", "billed", "1"},
		{"+bugs", "", "bugs", "1"},
		{"+the", "", "the", "0"}, // a stop word is found literally
		{"+with", "", "with", "0"},
		{"+naive", "", "naive", "2"},
		{"+事件", "", "事件", "3"},
		{"+missing", "", "missing", ""},
		{"++issue", "", "+issue", "01"}, // the second plus is part of the word, whose term is issue
		{"c++ +", "", "c++", "0123"},
		{"github: +report", "", "report", "0"},
		{"GITHUB : opens\n things", "", "opens\n things", "0"},
		{"github：opens", "", "opens", "0"}, // as in Chinese
		{"My_Jira:+opens", "", "opens", "1"},
		{"my jira: opens", "", "opens", "1"},
		{"github:", "", "", "0"},
		{"github: jira: x", "", "jira: x", "0"},
		{"nobody: +issue", "", "nobody: issue", "01"},
		{": issue", "", ": issue", "0123"},
		{"opens", "github", "opens", "0"},
		{"opens", "my_jira", "opens", "1"},
		{"opens", "nobody", "opens", ""},
		{"github: opens", "my-jira", "github: opens", "1"}, // the argument wins
		{"", "", "", "0123"},
	} {
		q := n.Narrow(n.Read(nil, tt.text, tt.namespace, nil), nil)
		assert.Equal(t, tt.rank, q.Text, "%q in %q", tt.text, tt.namespace)
		if tt.rank != "c++" && tt.rank != "+issue" {
			assert.Equal(t, strings.Fields(tt.rank), append([]string{}, q.Keywords...), "%q in %q", tt.text, tt.namespace)
		}
		assert.Equal(t, tt.allowed, allowedOf(q, len(docs)), "%q in %q", tt.text, tt.namespace)
		even := n.Narrow(n.Read(nil, tt.text, tt.namespace, nil), func(doc int) bool { return doc%2 == 0 })
		assert.Equal(t, strings.NewReplacer("1", "", "3", "").Replace(tt.allowed), allowedOf(even, len(docs)), "%q in %q, filtered", tt.text, tt.namespace)
	}
}

// A schema with very many or very long values is read in part.
func TestParametersOfManyValues(t *testing.T) {
	many := func(n int, value string) *schema.ParameterInfo {
		return &schema.ParameterInfo{Type: schema.String, Enum: slices.Repeat([]string{value}, n)}
	}
	for _, tt := range []struct {
		what       string
		parameters map[string]*schema.ParameterInfo
		want       []int // values of the parameters
		longest    int   // bytes
	}{
		{"some", map[string]*schema.ParameterInfo{"a": many(250, "Germany"), "b": many(600, "Europe/Berlin")}, []int{250, 600}, 13},
		{"300,000", map[string]*schema.ParameterInfo{"a": many(300_000, "value")}, []int{1000}, 5},
		{"too many in all", map[string]*schema.ParameterInfo{"a": many(700, "x"), "b": many(700, "y"), "c": many(700, "z")}, []int{700, 300, 0}, 1},
		{"a long one", map[string]*schema.ParameterInfo{"a": many(1, strings.Repeat("word ", 1<<20))}, []int{1}, 124},
	} {
		parameters := search.ParametersOf(&schema.ToolInfo{Name: "tool", ParamsOneOf: schema.NewParamsOneOfByParams(tt.parameters)})
		var got []int
		longest := 0
		for _, p := range parameters {
			got = append(got, len(p.Enum))
			for _, value := range p.Enum {
				longest = max(longest, len(value))
			}
		}
		assert.Equal(t, tt.want, got, tt.what)
		assert.Equal(t, tt.longest, longest, tt.what)
	}
}

// The descriptions and names of parameters are read in part, the first ones first.
func TestParametersOfLongTexts(t *testing.T) {
	long := strings.Repeat("word ", 10_000)
	parameters := search.ParametersOf(&schema.ToolInfo{Name: "tool", ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
		"a": {Type: schema.String, Desc: long}, "b": {Type: schema.String, Desc: long}, "c" + strings.Repeat("d", 1000): {Type: schema.String, Desc: long},
	})})
	require.Len(t, parameters, 3)
	assert.Equal(t, long, parameters[0].Description)
	assert.Len(t, parameters[1].Description, search.MaxDescriptionBytes-len(long))
	assert.Empty(t, parameters[2].Description)
	assert.LessOrEqual(t, len(parameters[2].Name), 128)
}

// The namespace of tools that a request may not see is a word like others.
func TestNarrowerReadsNamespacesThatAreSeen(t *testing.T) {
	n := search.NewNarrower(narrowDocs())
	for _, tt := range []struct {
		text            string
		seen            int
		rank, namespace string
	}{
		{"github: issue", 0, "issue", "github"},
		{"github: issue", 1, "github: issue", ""},
		{"my_jira: issue", 0, "my_jira: issue", ""},
		{"my_jira: issue", 1, "issue", "my_jira"},
	} {
		q := n.Read(nil, tt.text, "", func(doc int) bool { return doc == tt.seen })
		assert.Equal(t, tt.rank, q.Text, "%q, seen %d", tt.text, tt.seen)
		assert.Equal(t, tt.namespace, q.Namespace, "%q, seen %d", tt.text, tt.seen)
	}
}

// A Narrower borrows indexes from searchers. It gives the same answers with any searchers, even if
// they were built of other documents.
func TestNarrowerBorrows(t *testing.T) {
	docs := narrowDocs()
	fewer, others := docs[:2], narrowDocs()
	others[2].Description = "issue"
	for name, s := range map[string]search.Searcher{
		"no searcher":             nil,
		"Keyword":                 searcherOf(t, search.Keyword, docs...),
		"BM25":                    searcherOf(t, search.BM25, docs...),
		"BM25 without parameters": searcherOf(t, search.BM25Options{ParameterName: search.Field{Weight: -1}}.Index, docs...),
		"both within a hybrid":    searcherOf(t, search.Hybrid(search.Hybrid(search.Fuzzy, search.BM25), search.Keyword), docs...),
		"Keyword of fewer":        searcherOf(t, search.Keyword, fewer...),
		"BM25 of fewer":           searcherOf(t, search.BM25, fewer...),
		"Keyword of others":       searcherOf(t, search.Keyword, others...),
		"BM25 of others":          searcherOf(t, search.BM25, others...),
		"Keyword of no documents": searcherOf(t, search.Keyword),
	} {
		n := search.NewNarrower(docs, s)
		for text, want := range map[string]string{"+issues": "01", "+sue": "01", "+assignees": "0", "+mails": "2", "+opens": "01"} {
			assert.Equal(t, want, allowedOf(n.Narrow(n.Read(nil, text, "", nil), nil), len(docs)), "%s: %q", name, text)
		}
		assert.Len(t, hitsOf(t, n.Keyword(), search.ParseQuery("opens")), 2, name)
	}
}

// Keyword and Regexp read a query's text by rules of their own.
func TestQueryReaders(t *testing.T) {
	docs := narrowDocs()
	n := search.NewNarrower(docs)
	for _, tt := range []struct {
		index                 search.Indexer
		text, namespace, rank string
		words                 int
		allowed               string
	}{
		{search.Keyword, "+issue", "", "issue", 1, "01"},
		{search.Keyword, "+ISSUE create +r", "", "ISSUE create r", 3, "01"},
		{search.Keyword, "+issues", "", "issues", 1, ""}, // the word scores 0 everywhere
		{search.Keyword, "+assignee", "", "assignee", 1, ""},
		{search.Keyword, "+e_iss", "", "e_iss", 1, "0"},
		{search.Keyword, "+the", "", "the", 1, "0"},
		{search.Keyword, "github: +opens", "", "github: opens", 2, "01"}, // "github:" is an ordinary word
		{search.Keyword, "+opens", "github", "opens", 1, "0"},
		{search.Regexp, "+x github: y", "", "+x github: y", 0, "0123"},
		{search.Regexp, " github:.* ", "github", "github:.*", 0, "0"},
	} {
		q := n.Narrow(n.Read(searcherOf(t, tt.index, docs...), tt.text, tt.namespace, nil), nil)
		assert.Equal(t, tt.rank, q.Text, "%q in %q", tt.text, tt.namespace)
		assert.Len(t, q.Keywords, tt.words, "%q in %q", tt.text, tt.namespace)
		assert.Equal(t, tt.allowed, allowedOf(q, len(docs)), "%q in %q", tt.text, tt.namespace)
	}
}

// Annotate knows what eino-ext's official MCP adapter says of a tool.
func TestAnnotateKnowsTheMCPAdapter(t *testing.T) {
	annotate := func(name string, extra map[string]any) search.Annotation {
		return search.Annotate(&schema.ToolInfo{Name: name, Extra: extra})
	}
	assert.Equal(t, search.Annotation{Namespace: "github"}, annotate("mcp__github__create_issue", nil))
	assert.Equal(t, search.Annotation{}, annotate("read_file", map[string]any{"mcp.server_name": ""}))
	assert.Equal(t, search.Annotation{Namespace: "filesystem", Aliases: []string{"Read File"}, Tags: []string{"read-only", "idempotent"}},
		annotate("evil__read_file", map[string]any{"mcp.server_name": "filesystem", "mcp.annotations": map[string]any{
			"title": "Read File", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": true}}))
	assert.Equal(t, search.Annotation{Namespace: "x", Tags: []string{"destructive", "open-world"}},
		annotate("a", map[string]any{"mcp.server_name": "x", "mcp.annotations": map[string]any{"title": 7, "destructiveHint": true, "openWorldHint": true}}))
	for mark, tags := range map[any][]string{true: {"always-load"}, false: nil, "true": nil} {
		raw := map[string]any{"name": "a", "_meta": map[string]any{"anthropic/alwaysLoad": mark}}
		assert.Equal(t, search.Annotation{Tags: tags}, annotate("a", map[string]any{"mcp.raw_tool": raw}), "%v", mark)
	}
}
