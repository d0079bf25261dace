package search_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/search"
)

// of returns a tool of a namespace.
func of(namespace, name, text string) search.Document {
	return search.Document{Name: name, Description: text, Annotation: search.Annotation{Namespace: namespace}}
}

// In a long request, a tool whose namespace has other tools that the request speaks of comes before
// an equal tool of another namespace. In a short query it does not.
func TestBM25SeesOtherToolsOfNamespace(t *testing.T) {
	docs := []search.Document{
		0: of("alpha", "find_red", "Find a record"),
		1: of("alpha", "draw_circle", "Draw a circle"),
		2: of("beta", "find_green", "Find a record"),
		3: of("beta", "book_hotel", "Book a hotel room for some nights"),
		4: of("beta", "rent_car", "Rent a car at an airport"),
		5: of("lonely", "find_blue", "Find a record"),
		6: of("", "find_white", "Find a record"),
	}
	s := searcherOf(t, search.BM25, docs...)
	const short = "find record hotel airport"
	long := short + " " + strings.Join(strings.Fields(`breakfast luggage passport beach sunscreen museum ferry
		taxi umbrella guidebook restaurant currency vaccine embassy festival mountain postcard souvenir`), " ")
	assert.Equal(t, []int{3, 0, 2, 5, 6, 4}, bestOf(t, s, search.ParseQuery(short)))
	assert.Equal(t, []int{3, 2, 4, 0, 5, 6}, bestOf(t, s, search.ParseQuery(long)))

	scores := scoresOf(t, s, search.ParseQuery(long))
	for doc, score := range scores {
		e := explained(t, s, search.ParseQuery(long), doc)
		assert.Equal(t, score, e.Score, "the explained score of %d", doc)
		hasOthers := doc == 2 || doc == 3 || doc == 4
		assert.Equal(t, hasOthers, strings.Contains(e.String(), `in namespace: the query matches other tools of "beta"`), "explaining %d", doc)
	}
	assert.Equal(t, scores[5], scores[6], "a namespace of one tool and none")

	alone := searcherOf(t, search.BM25, docs[2:5]...)
	assert.NotContains(t, explained(t, alone, search.ParseQuery(long), 0).String(), "other tools", "a catalog of one namespace")
}

// Two Chinese characters are a word of a request, so a sentence of some twenty is short.
func TestBM25ChineseRequestsMayBeLong(t *testing.T) {
	s := searcherOf(t, search.BM25Options{}.Index,
		of("sky", "get_forecast", "查询天气预报"), of("sky", "get_wind", "查询北京的风力"),
		of("post", "send_mail", "发送邮件"), of("post", "list_mail", "查询邮件"))
	for text, isLong := range map[string]bool{
		"帮我查询明天北京市的天气预报": false,
		"帮我查询明天北京市的天气预报，还要查询北京的风力，然后把结果整理成一份表格，发送邮件给市场部的所有同事，并且提醒他们下周一之前回复会议时间": true,
	} {
		assert.Equal(t, isLong, strings.Contains(explained(t, s, search.ParseQuery(text), 0).String(), "other tools of"), text)
	}
}

// A query that matches the description of a namespace lifts its tools, the more the fewer they are,
// although no tool has its words. A tool that has them itself comes first.
func TestBM25ReadsNamespaces(t *testing.T) {
	docs := []search.Document{
		0: of("sky", "get_current", "What it is like now"),
		1: of("sky", "get_coming", "What it will be like"),
		2: of("sea", "get_level", "How high it is now"),
		3: of("", "weather_report", "Weather in words"),
		4: of("sea", "list_ports", "Ports"),
		5: of("sea", "get_port", "A port"),
	}
	about := map[string]string{"sky": "Weather and forecasts for the whole planet", "sea": "Tides and waves"}
	for i := range docs {
		docs[i].NamespaceDescription = about[docs[i].Namespace]
	}
	s := searcherOf(t, search.BM25, docs...)
	for query, want := range map[string][]int{
		"weather":       {3, 0, 1},
		"planet":        {0, 1},
		"planets tides": {0, 1, 2, 4, 5},
		"planet level":  {2, 0, 1},
		"list_ports":    {4, 5},
		"submarine":     nil,
	} {
		for range 3 {
			assert.Equal(t, want, bestOf(t, s, search.ParseQuery(query)), query)
		}
		for doc, score := range scoresOf(t, s, search.ParseQuery(query)) {
			e := explained(t, s, search.ParseQuery(query), doc)
			assert.Equal(t, score, e.Score, "%s: the explained score of %d", query, doc)
			if query == "planet" {
				assert.Contains(t, e.String(), "in namespace: the query matches the description of the namespace", "the explanation of %d", doc)
			}
		}
	}
	allowed := search.ParseQuery("planet")
	allowed.Allowed = func(doc int) bool { return doc == 1 }
	assert.Equal(t, []int{1}, bestOf(t, s, allowed))
}
