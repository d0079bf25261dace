package search_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Each query finds its tool first. Only the place in the third column can tell it from the others.
func TestBM25Finds(t *testing.T) {
	docs := []search.Document{
		0: {Name: "get_weather", Description: "Current conditions in a city"},
		1: {Name: "get_weather_forecast", Description: "Conditions of the coming days"},
		2: {Name: "HTTP2URLResolver", Description: "Naïve résumé of addresses"},
		3: {Name: "mcp__github__create_issue", Description: "Opens a report", Annotation: search.Annotation{Namespace: "github"}},
		4: {Name: "mcp__jira__create_issue", Description: "Opens a ticket", Annotation: search.Annotation{Namespace: "jira"}},
		5: {Name: "日历创建", Description: "在日历中创建新的事件"},
		6: {Name: "plot", Description: "Draws", Parameters: []search.Parameter{
			{Name: "histogramBins", Description: "How many buckets"}, {Name: "style", Enum: []string{"dotted", "dashed"}}}},
		7: {Name: "x1", Description: "", Annotation: search.Annotation{Hint: "payroll salaries", Aliases: []string{"pay_people"}, Tags: []string{"finance"}}},
		8: {Name: "the_who", Description: "A band"},
		9: {Name: "file_remover", Description: "Deletes documents"},
	}
	s := searcherOf(t, search.BM25, docs...)
	for _, tt := range []struct {
		query string
		want  int // -1 means that nothing is found
		why   string
	}{
		{"get_weather", 0, "an exact name comes before a name that begins with it"},
		{"Get Weather", 0, "an exact name in another spelling"},
		{"get_weather_forecast", 1, "the longer exact name"},
		{"weathers", 0, "a plural"},
		{"forecasting", 1, "another inflection"},
		{"http", 2, "a part of an acronym with digits"},
		{"url resolve", 2, "a part after digits"},
		{"naive resume", 2, "diacritics in the catalog"},
		{"gét wéather", 0, "diacritics in the query"},
		{"ＷＥＡＴＨＥＲ", 0, "full-width letters"},
		{"创建日历事件", 5, "Chinese, in another order"},
		{"请帮我在日历里新建一个事件", 5, "Chinese, a sentence"},
		{"bins of a histogram", 6, "the name of a parameter"},
		{"buckets", 6, "the description of a parameter"},
		{"dashed", 6, "an enum value"},
		{"salary", 7, "a hint"},
		{"pay people", 7, "an alias"},
		{"finance", 7, "a tag"},
		{"the who", 8, "a name made of stop words"},
		{"github: create issue", 3, "a namespace before a colon"},
		{"jira: create issue", 4, "the other namespace"},
		{"jira create issue", 4, "a namespace among the words"},
		{"+ticket create issue", 4, "a required word"},
		{"+the +who", 8, "required stop words"},
		{"+ticket +report", -1, "required words that no tool has together"},
		{"delete file", 9, "a synonym and an inflection"},
		{"nothing like it zzz", -1, "words that no tool has"},
		{"", -1, "an empty query"},
		{"the of and", -1, "only stop words"},
		{strings.Repeat("weather ", 10_000), 0, "a query of 80,000 bytes"},
		{"\xff\xfe weather", 0, "invalid bytes"},
	} {
		got := bestOf(t, s, read(docs, s, tt.query))
		if tt.want < 0 {
			assert.Empty(t, got, "%s: %.40q", tt.why, tt.query)
		} else if assert.NotEmpty(t, got, "%s: %.40q", tt.why, tt.query) {
			assert.Equal(t, tt.want, got[0], "%s: %.40q found %v", tt.why, tt.query, got)
		}
	}
	for namespace, want := range map[string][]int{"GitHub": {3}, "jira": {4}, "none": nil} {
		got := bestOf(t, s, search.NewNarrower(docs).Narrow(search.Query{Text: "create issue", Namespace: namespace}, nil))
		assert.Equal(t, want, got, "in namespace %q", namespace)
	}
	assert.Equal(t, []int{0}, bestOf(t, s, search.Query{Keywords: []string{"weather"}, Limit: 1}), "a query without text")
}

// A question is not answered with tools that only share its figures of speech, or a stem with another meaning.
func TestBM25ReadsRequests(t *testing.T) {
	docs := []search.Document{
		0: {Name: "exchange_rates", Description: "Rates between currencies"},
		1: {Name: "movie_scores", Description: "The ratings of a movie"},
		2: {Name: "find_parks", Description: "National parks, their campgrounds and rates"},
		3: {Name: "find_garage", Description: "Parking near a place"},
		4: {Name: "insert-many", Description: "Insert an array of documents into a collection"},
		5: {Name: "count", Description: "Gets the number of documents in a collection"},
		6: {Name: "get_likes", Description: "Who applauded a post"},
		7: {Name: "create_entities", Description: "Remember facts about people"},
		8: {Name: "delete-many", Description: "Removes all documents that match from a collection"},
		9: {Name: "update-many", Description: "Updates all documents that match in a collection"},
	}
	s := searcherOf(t, search.BM25, docs...)
	for query, want := range map[string]int{
		"ratings": 1, "parking": 3, "parks": 2, "a rate": 0, "how many documents": 5, "how many orders": 5,
		"insert many documents": 4, "remember that Bob likes tea": 7, "the likes": 6,
	} {
		assert.Equal(t, want, bestOf(t, s, read(docs, s, query))[0], query)
	}
}

// An index that several workers build at the same time has the same hits and scores as an index of
// a single worker.
func TestBM25Workers(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	docs := randomDocs(random, 2_000)
	build := func(processors int) search.Searcher {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		return searcherOf(t, search.BM25, docs...)
	}
	one, many := build(1), build(7)
	for _, word := range append(words, docs[0].Name, docs[len(docs)-1].Name) {
		q := search.ParseQuery(word)
		assert.Equal(t, hitsOf(t, one, q), hitsOf(t, many, q), "%q: by the index of one worker, and of seven", word)
	}
}

// A score is what the formula says.
func TestBM25Score(t *testing.T) {
	docs := []search.Document{
		{Name: "alpha_beta", Description: "gamma gamma delta"},
		{Name: "beta", Description: "epsilon"},
		{Name: "zeta", Description: "eta"},
	}
	options := search.BM25Options{K1: 2, Coverage: 0.25, Name: search.Field{Weight: 3, B: 0.5}, Description: search.Field{Weight: 1.5, B: 0.75}}
	hits := hitsOf(t, searcherOf(t, options.Index, docs...), search.ParseQuery("beta gamma"))
	idf := func(df float64) float64 { return math.Log(1 + (3-df+0.5)/(df+0.5)) }
	saturate := func(f float64) float64 { return f / (2 + f) }
	nameMean, textMean := 4.0/3, 5.0/3
	beta := idf(2) * saturate(3/(1-0.5+0.5*2/nameMean))
	gamma := idf(1) * saturate(1.5*2/(1-0.75+0.75*3/textMean))
	share := idf(2) / (idf(1) + idf(2)) // the query has beta of alpha_beta
	want := (beta + gamma) * (1 + 0.25*share)
	require.Len(t, hits, 2)
	assert.Equal(t, 0, hits[0].Doc)
	assert.InDelta(t, want, hits[0].Score, 1e-5)
}

// bm25Text returns a query that may have everything that changes a score.
func bm25Text(random *rand.Rand, docs []search.Document) string {
	var b strings.Builder
	for range 1 + random.IntN(12) {
		word := testtools.Pick(random, append(words, docs[random.IntN(len(docs))].Name, "2024", "details", "创建日历事件", "MongoDB", "webpage"))
		if at := 1 + random.IntN(len(word)); random.IntN(4) == 0 {
			word = word[:at-1] + word[at:] // a letter is missing
		}
		b.WriteString(fmt.Sprintf(testtools.Pick(random, []string{"%s ", "%s ", "%s ", "%s. ", "\"%s\" ", "%s?\n", "+%s "}), word))
	}
	return b.String()
}

func TestBM25IsASearcher(t *testing.T) {
	checkSearcher(t, search.BM25, bm25Text)
}

// Parameters are found wherever they are in the schema.
func TestBM25ReadsWholeSchemas(t *testing.T) {
	text := `{"type":"object","properties":{
		"outer":{"type":"object","properties":{"innermost":{"type":"string","description":"walnut"}}},
		"list":{"type":"array","items":{"type":"object","properties":{"element":{"description":"hazelnut"}}}},
		"either":{"anyOf":[{"type":"string","description":"pecan"},{"oneOf":[{"enum":["cashew",7,null]}]}]},
		"more":{"additionalProperties":{"description":"almond"}}},
		"$defs":{"shared":{"properties":{"nested":{"description":"pistachio"}}}}}`
	var js jsonschema.Schema
	require.NoError(t, js.UnmarshalJSON([]byte(text)))
	nuts := &schema.ToolInfo{Name: "nuts", Desc: "Sells", ParamsOneOf: schema.NewParamsOneOfByJSONSchema(&js)}
	s := searcherOf(t, search.BM25, testtools.Must(search.Documents([]*schema.ToolInfo{nuts, {Name: "fruit", Desc: "Sells"}}, nil))(t)...)
	for _, word := range []string{"innermost", "walnut", "element", "hazelnut", "pecan", "cashew", "almond", "pistachio", "nested"} {
		assert.Equal(t, []int{0}, bestOf(t, s, search.ParseQuery(word)), word)
	}
}

// A word that no tool has finds the tools with a near word.
func TestBM25Near(t *testing.T) {
	s := searcherOf(t, search.BM25Options{}.Index,
		doc("create_invoice", "Bills a customer"),
		doc("list_channels", "Of the workspace"),
		doc("kubernetes_pods", "Running ones"),
		doc("open_web_page", "In a browser"),
		doc("read_v20", "Of the year 2024"),
		doc("get_subscription", "Of a customer"),
		doc("get_prescription", "Of a patient"),
		doc("подключить", "Ставит связь"),
	)
	for _, tt := range []struct {
		query string
		want  []int
		why   string
	}{
		{"invioce", []int{0}, "two neighbours swapped"},
		{"invoce", []int{0}, "a missing letter"},
		{"invooice", []int{0}, "an extra letter"},
		{"inwoice", []int{0}, "another letter"},
		{"nivoice", []int{0}, "two neighbours swapped at the beginning"},
		{"invxxce", nil, "two slips in a short word"},
		{"subcsrpition", []int{5}, "two slips in a long word, but not three"},
		{"kube", []int{2}, "the beginning of a word"},
		{"ku", nil, "a beginning that is too short"},
		{"webpage", []int{3}, "two words written as one"},
		{"2025", nil, "another number"},
		{"v21", []int{4}, "another number after a letter that is found"},
		{"подключть", []int{7}, "another alphabet"},
		{"delete chanel", []int{1}, "a slip beside a word of the lexicon"},
		{"'chanel' kubernetes", []int{2}, "a slip in a value"},
		{"so many words that chanel here stands among eight others of no use today kubernetes green yellow purple", []int{2, 1}, "a slip in a sentence"},
		{"so many words that kube here stands among eight others of no use today channels green yellow purple", []int{1}, "a beginning in a sentence"},
		{strings.Repeat("x", 4000), nil, "a long word"},
	} {
		assert.Equal(t, tt.want, bestOf(t, s, search.ParseQuery(tt.query)), "%s: %.40q", tt.why, tt.query)
	}
}

// A quoted word of a query counts less than the other words.
func TestBM25Values(t *testing.T) {
	s := searcherOf(t, search.BM25Options{}.Index,
		doc("walnut_maker", "Makes it"),
		doc("pecan_maker", "Makes it"),
		doc("cashew.nuts", "Some"),
	)
	for _, query := range []string{
		`"walnut" pecan`, `pecan "walnut"`, "walnut.txt pecan", "pecan at https://walnut/", "pecan for me@walnut.org",
		"pecan 'walnut'", "pecan <walnut>", "pecan “walnut”", "pecan `walnut`", "pecan 「walnut」",
	} {
		assert.Equal(t, []int{1, 0}, bestOf(t, s, search.ParseQuery(query)), "%q: the tool of the word that is not quoted comes first", query)
	}
	for _, query := range []string{
		"walnut pecan", "pecan's walnut's", `"walnut" and "pecan"`, `walnut "walnut" pecan`, `pecan "walnut`, "walnut, pecan.", "walnut's 5' pecan",
		`walnut pecan "`,
	} {
		assert.Equal(t, []int{0, 1}, bestOf(t, s, search.ParseQuery(query)), "%q: both words count the same", query)
	}
	assert.Equal(t, []int{2}, bestOf(t, s, search.ParseQuery("use cashew.nuts")), "a name with a dot")
}

// A word in camel case, with digits or with a hyphen after a single letter meets the same word in
// small letters.
func TestBM25Wholes(t *testing.T) {
	s := searcherOf(t, search.BM25Options{}.Index,
		doc("mongodb_find", "Reads"),
		doc("db_find", "Reads"),
		doc("clip_download", "From YouTube"),
		doc("tube_amplifier", "Louder"),
		doc("linkedin_profile", "Of a person"),
		doc("linked_profile", "Of a person"),
		doc("upload", "To S3"),
		doc("pages", "3 of them"),
		doc("WhoIs", "Of a domain"),
		doc("createNote", "Writes"),
		doc("create_note", "Writes"),
		doc("post", "Sends an e-mail"),
		doc("mail", "Posts"),
	)
	for _, tt := range []struct {
		query string
		want  []int // the beginning of the ranking
		why   string
	}{
		{"MongoDB find", []int{0, 1}, "camel case in the query"},
		{"youtube", []int{2}, "camel case in a description"},
		{"YouTube clips", []int{2, 3}, "camel case in both"},
		{"LinkedIn profile", []int{4, 5}, "a word that ends in a stop word"},
		{"s3 pages upload", []int{6, 7}, "a letter and a digit"},
		{"whois domain", []int{8}, "a word of stop words"},
		{"createNote", []int{9, 10}, "a name in camel case"},
		{"emails", []int{11, 12}, "a single letter and a hyphen in a description"},
	} {
		got := bestOf(t, s, search.ParseQuery(tt.query))
		assert.Equal(t, tt.want, got[:min(len(got), len(tt.want))], "%s: %q", tt.why, tt.query)
	}
}

// An identifier of a query is no words, unless the query has nothing else.
func TestBM25Identifiers(t *testing.T) {
	s := searcherOf(t, search.BM25Options{}.Index,
		doc("get_walnut", "By a key such as 20de 5d3b7c9a-a4b0-56c7-d890-e1f2a3f4c0de, 12345678 or deadbeef"),
		doc("close_account", "Of a customer"),
		doc("run_c", "Compiles"),
		doc("read_v20", "C or R"),
		doc("send_email", ""),
	)
	for _, tt := range []struct {
		query string
		want  []int
		why   string
	}{
		{"account 9123a4b056c7d890e1f2a3f4", []int{1}, "runs of hexadecimal digits"},
		{"account 5d3b7c9a-a4b0-56c7-d890-e1f2a3f4c0de", []int{1}, "a UUID"},
		{"account deadbe3f-a4b0-56c7-d890-e1f2a3f4c0de", []int{1}, "a UUID of few numbers"},
		{"account 12345678-a4b0-56c7-d890-e1f2a3f4c0de", []int{1}, "a UUID that begins with digits"},
		{"account deadbeef-a4b0-56c7-d890-e1f2a3f4c0de", []int{1}, "a UUID that begins with letters"},
		{"account DEADBEEF-A4B0-56C7-D890-E1F2A3F4C0DE.", []int{1}, "a UUID in capitals"},
		{"account x-12345678-1234-5678-1234-567812345678-20de", []int{1}, "a UUID of digits alone, between hyphens"},
		{"12345678-a4b0-56c7-d890-e1f2a3f4c0de", []int{0}, "a UUID alone"},
		{"account 12345678-a4b0-56c7-d890-e1f2a3f4c0de5", []int{0, 1}, "a group of 13 digits is of no UUID"},
		{"account 12345678-a4b0", []int{1, 0}, "two groups are no UUID"},
		{"account deadbeef", []int{1, 0}, "letters alone are a word"},
		{"account d3e4b7c9", []int{1}, "letters and digits in turns"},
		{"account d b c", []int{1}, "single letters"},
		{"account, e-mail", []int{1, 4}, "a single letter beside its word"},
		{"account 20de", []int{1, 0, 3}, "a number and a few letters are words"},
		{"a4b0", []int{0}, "an identifier alone"},
		{"c", []int{2, 3, 0}, "a letter alone"},
		{"R", []int{3}, "a capital alone"},
		{"v21", []int{3}, "a letter and a number"},
		{"the v21", []int{3}, "a letter and a number beside a stop word"},
	} {
		assert.Equal(t, tt.want, bestOf(t, s, search.ParseQuery(tt.query)), "%s: %q", tt.why, tt.query)
	}
}

// Two tools have the same number of words of a request. A tool whose words are in one sentence gets
// a quarter of that sentence's score in addition.
func TestBM25Sentences(t *testing.T) {
	s := searcherOf(t, search.BM25Options{Coverage: -1}.Index,
		doc("apart", "walnut cashew"), doc("together", "walnut pecan"), doc("other", "pecan cashew"))
	one := scoresOf(t, s, search.ParseQuery("walnut"))[0] // every word scores the same, since two of three tools have it
	for _, tt := range []struct {
		query           string
		apart, together float64 // scores, in units of a word's score
	}{
		{"walnut pecan cashew", 2, 2},
		{"walnut pecan. cashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut walnut pecan. cashew", math.Pow(2, 0.3) + 1 + 0.25*math.Pow(2, 0.3), math.Pow(2, 0.3) + 1 + 0.25*(math.Pow(2, 0.3)+1)},
		{"walnut pecan! cashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut pecan\ncashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut pecan。cashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut. pecan. cashew", 2 + 0.25, 2 + 0.25},
		{"the. walnut pecan cashew.", 2, 2},
		{"walnut pecan cashew. Thank you!", 2, 2},
		{"walnut pecan. walnut cashew", math.Pow(2, 0.3) + 1 + 0.25*(math.Pow(2, 0.3)+1), math.Pow(2, 0.3) + 1 + 0.25*(math.Pow(2, 0.3)+1)},
		{"a. b. c. d. e. f. g. walnut pecan. cashew", 2, 2}, // the sentences from the eighth on are one
	} {
		scores := scoresOf(t, s, search.ParseQuery(tt.query))
		assert.InDelta(t, tt.apart, scores[0]/one, 1e-5, tt.query)
		assert.InDelta(t, tt.together, scores[1]/one, 1e-5, tt.query)
	}
}

// A word counts less, but it counts, behind the first 400 bytes of a description.
func TestBM25ReadsTheBeginningFirst(t *testing.T) {
	usage := strings.Repeat("usage ", 70)
	s := searcherOf(t, search.BM25, doc("late", usage+"walnut"), doc("early", "walnut "+usage), doc("other", usage))
	hits := testtools.Must(find(t.Context(), s, search.ParseQuery("walnut")))(t)
	require.Len(t, hits, 2)
	assert.Equal(t, []int{1, 0}, []int{hits[0].Doc, hits[1].Doc})
	assert.Less(t, hits[1].Score, hits[0].Score/2)
	assert.Contains(t, explained(t, s, search.ParseQuery("walnut"), 0).String(), `"walnut" in description`)
}

// A task of more than 75 words does without a word that more than half of the tools have, unless it is the only one.
func TestBM25LeavesCommonWordsOutOfLongTasks(t *testing.T) {
	docs := []search.Document{doc("open_ledger", "Opens a record")}
	for i := range 599 {
		docs = append(docs, doc(fmt.Sprintf("tool_%d", i), "A record"))
	}
	s := searcherOf(t, search.BM25, docs...)
	for _, tt := range []struct {
		query string
		want  bool // whether "record" counts
	}{
		{"ledger record " + strings.Repeat("zebra ", 73), true},
		{"ledger record " + strings.Repeat("zebra ", 74), false},
		{"record " + strings.Repeat("zebra ", 75), true},
	} {
		assert.Equal(t, tt.want, strings.Contains(explained(t, s, search.ParseQuery(tt.query), 0).String(), "record"), tt.query)
	}
}

func ExampleBM25() {
	ctx := context.Background()
	catalog, err := toolsearch.NewCatalogFromInfos(ctx, []*schema.ToolInfo{
		{Name: "mcp__github__create_issue", Desc: "Opens an issue in a repository"},
		{Name: "mcp__jira__create_issue", Desc: "Opens a ticket in a project"},
	}, &toolsearch.CatalogOptions{Index: search.BM25})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, query := range []string{"file some tickets", "github: issues"} {
		result, err := catalog.Search(ctx, query, 1)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s -> %s\n", query, result.Matches[0].Info.Name)
	}
	// Output:
	// file some tickets -> mcp__jira__create_issue
	// github: issues -> mcp__github__create_issue
}

// The search does not fail, whatever a catalog and a query have. It gives the same answer twice, and
// it explains what it found.
func FuzzBM25(f *testing.F) {
	f.Add("create issue", "mcp__github__create_issue", "Opens an issue", "bug")
	f.Add("+github: naïve 日历 HTTP2URLs", "github__HTTP2URLs", "naïve", "日历")
	f.Add("\xff\u0301 a", "\u0301", "ﬁ", "İ'ß")
	f.Fuzz(func(t *testing.T, query, name, text, hint string) {
		docs := []search.Document{
			{Name: name, Description: text, Annotation: search.Annotation{Namespace: hint, Hint: hint, Aliases: []string{text}, Tags: []string{name}}},
			{Name: text, Description: hint, Parameters: []search.Parameter{{Name: hint, Description: name, Enum: []string{query}}}},
		}
		searcher := searcherOf(t, search.BM25, docs...)
		q := read(docs, searcher, query)
		hits := hitsOf(t, searcher, q)
		again := hitsOf(t, searcher, q)
		assert.Equal(t, hits, again, "hits of the same query")
		assert.LessOrEqual(t, len(hits), len(docs))
		for _, hit := range hits {
			e, err := searcher.(search.Explainer).Explain(t.Context(), q, hit.Doc)
			if err != nil || math.Abs(e.Score-hit.Score) > 1e-3*max(1, hit.Score) || !(hit.Score > 0) {
				t.Errorf("score %v, explained as %v, %v", hit.Score, e, err)
			}
		}
	})
}
