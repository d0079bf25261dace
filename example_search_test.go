// Examples of the searchers, over the tools of demoInfos.
package toolsearch_test

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/indexer"
	"github.com/cloudwego/eino/components/retriever"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

// printMatches searches the tools of demoInfos and prints the tools that are found.
func printMatches(index toolsearch.Indexer, queries ...string) {
	printMatchesOf(demoInfos(), index, queries...)
}

func printMatchesOf(infos []*schema.ToolInfo, index toolsearch.Indexer, queries ...string) {
	ctx := context.Background()
	catalog := must(toolsearch.NewCatalogFromInfos(ctx, infos, &toolsearch.CatalogOptions{Index: index}))
	for _, query := range queries {
		result := must(catalog.Search(ctx, query, 5))
		fmt.Printf("%s -> %s\n", query, cmp.Or(strings.Join(testtools.MatchNames(result), " "), "nothing"))
	}
}

// Every keyword earns a tool 10, 5, 3, 2 or 0 points. Keywords are not stemmed.
func ExampleKeyword() {
	printMatches(toolsearch.Keyword, "create issue", "opening")
	// Output:
	// create issue -> mcp__github__create_issue mcp__github__list_issues
	// opening -> nothing
}

// BM25 finds words in any inflection. A namespace with a colon restricts the search to its tools.
func ExampleBM25_namespace() {
	printMatches(toolsearch.BM25, "opening issues", "github: channel", "slack: post to a channel")
	// Output:
	// opening issues -> mcp__github__create_issue mcp__github__list_issues
	// github: channel -> nothing
	// slack: post to a channel -> mcp__slack__send_message
}

// A weight says how much a field counts. A field with a negative weight is not searched.
func ExampleBM25Options() {
	printMatches(toolsearch.BM25Options{Description: search.Field{Weight: -1}}.Index, "channel", "message")
	// Output:
	// channel -> nothing
	// message -> mcp__slack__send_message
}

// Fuzzy finds words that are misspelled or cut short.
func ExampleFuzzy() {
	printMatches(toolsearch.Fuzzy, "mesage", "creat issue")
	// Output:
	// mesage -> mcp__slack__send_message
	// creat issue -> mcp__github__create_issue mcp__github__list_issues
}

// A query is a regular expression.
func ExampleRegexp() {
	printMatches(toolsearch.Regexp, "github.*issues?$", "^mcp__slack")
	// Output:
	// github.*issues?$ -> mcp__github__create_issue mcp__github__list_issues
	// ^mcp__slack -> mcp__slack__send_message
}

// Similarity ranks tools by how similar their text is to the query.
func ExampleSimilarity() {
	printMatches(toolsearch.SimilarityOptions{Floor: 0.8}.Index, "opens an issue in a repository")
	// Output:
	// opens an issue in a repository -> mcp__github__create_issue mcp__github__list_issues
}

// topics stands for a sentence encoder, such as those of eino-ext. The vector of a text says how
// much of each topic the text has.
type topics [][]string

func (t topics) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, len(t)+1)
		vectors[i][len(t)] = 0.01 // no vector may be zero
		for j, words := range t {
			for _, word := range words {
				vectors[i][j] += float64(strings.Count(strings.ToLower(text), word))
			}
		}
	}
	return vectors, nil
}

var encoder = topics{{"issue", "bug", "defect"}, {"message", "channel", "chat"}, {"create", "open", "new"}}

// Embedding finds tools by the meaning of a query, not by its words.
func ExampleEmbedding() {
	index := toolsearch.EmbeddingOptions{Embedder: encoder, MinScore: 0.7}.Index
	printMatches(index, "new bug", "chat")
	// Output:
	// new bug -> mcp__github__create_issue mcp__github__list_issues
	// chat -> mcp__slack__send_message
}

// Hybrid searches by words and by meaning. Tools that both find come first.
func ExampleHybrid() {
	encode := toolsearch.EmbeddingOptions{Embedder: encoder, MinScore: 0.7}.Index
	printMatches(toolsearch.Hybrid(toolsearch.BM25, encode), "list defects", "chat")
	// Output:
	// list defects -> mcp__github__list_issues mcp__github__create_issue
	// chat -> mcp__slack__send_message
}

// LSA finds tools by words that other tools use together: "conversation" stands in one tool, but
// with "channel", which the other has too. It is a part for Hybrid where there is no embedder.
func ExampleLSA() {
	infos := []*schema.ToolInfo{
		{Name: "post", Desc: "Posts to a channel"},
		{Name: "history", Desc: "The conversation of a channel"},
		{Name: "refund", Desc: "Pays a charge back"},
		{Name: "charge", Desc: "Charges a card"},
	}
	printMatchesOf(infos, toolsearch.BM25, "conversation")
	printMatchesOf(infos, toolsearch.Hybrid(toolsearch.BM25, toolsearch.LSAOptions{Dimensions: 2}.Index), "conversation")
	// Output:
	// conversation -> history
	// conversation -> history post
}

// demoEngine stands for a search engine, such as those of eino-ext. It stores documents and ranks
// them by how often they have the words of the query.
type demoEngine struct{ docs []*schema.Document }

func (e *demoEngine) Store(_ context.Context, docs []*schema.Document, _ ...indexer.Option) (ids []string, err error) {
	e.docs = append(e.docs, docs...)
	for _, doc := range docs {
		ids = append(ids, doc.ID)
	}
	return ids, nil
}

func (e *demoEngine) Retrieve(_ context.Context, query string, _ ...retriever.Option) ([]*schema.Document, error) {
	var found []*schema.Document
	for _, doc := range e.docs {
		score := 0
		for _, word := range strings.Fields(query) {
			score += strings.Count(strings.ToLower(doc.Content), word)
		}
		if score > 0 {
			copied := &schema.Document{ID: doc.ID, MetaData: map[string]any{search.MetaName: doc.MetaData[search.MetaName]}}
			found = append(found, copied.WithScore(float64(score)))
		}
	}
	slices.SortStableFunc(found, func(a, b *schema.Document) int { return cmp.Compare(b.Score(), a.Score()) })
	return found, nil
}

// A process stores the catalog in an engine. This process or another process searches it there.
func ExampleRetriever() {
	ctx := context.Background()
	docs := must(search.Documents(demoInfos(), nil))
	e := &demoEngine{}
	hashes, _, err := search.StoreDocuments(ctx, e, docs, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("stored", len(hashes))
	printMatches(toolsearch.Retriever(e), "opens", "+slack channel")
	// Output:
	// stored 3
	// opens -> mcp__github__create_issue
	// +slack channel -> mcp__slack__send_message
}
