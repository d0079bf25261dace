package main

import (
	"fmt"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// The help texts of the program and of each command. "{searchers}" stands for the list of
// searchers, "{providers}" for the names of providers.

const catalogHelp = `CATALOG is one of these:

	tools.jsonl   a file of tools: JSONL, one {"name", "description", "parameters",
	              "server"} a line; an MCP server's answer to tools/list; the tools
	              of a request to OpenAI or Anthropic; "-" is standard input
	mcp.json      a file of MCP servers, {"mcpServers": {...}}; all of them are asked,
	              and their names are the namespaces of their tools
	https://...   an MCP server with a URL, over streamable HTTP or SSE
	-- COMMAND    an MCP server that COMMAND starts, after all other arguments
`

const serverFlags = "\t-header \"K: V\"   a header for a URL, any number of them; ${NAME} is a variable\n" +
	"\t-timeout D       total time to read the catalog, such as 90s or 2m (1m)\n"

const programHelp = `toolsearch searches a catalog of tools the way an agent's tool_search does.

Usage:

	toolsearch search  [flags] CATALOG QUERY...       find tools
	toolsearch explain [flags] CATALOG QUERY TOOL     show what a score is made of
	toolsearch eval    [flags] CATALOG QUERIES        measure a searcher, compare two
	toolsearch inspect [flags] CATALOG                see what to fix in a catalog
	toolsearch cost    [flags] CATALOG                see what conversations cost
	toolsearch list    [flags] CATALOG                write the tools as JSONL
	toolsearch ui      [flags] CATALOG                see all of it on a page
	toolsearch lock    [flags] CATALOG                write a lock file of all definitions
	toolsearch verify  [flags] CATALOG                list what is not as approved
	toolsearch diff    [flags] CATALOG                show what changed
	toolsearch approve [flags] CATALOG TOOL...        approve definitions as they are now
	toolsearch version                                print what this was built from

"toolsearch COMMAND -h" shows a command's flags and examples. Flags may stand
anywhere before "--". Output has color on a terminal unless NO_COLOR is set.

` + catalogHelp + `
Commands, including those in a file of servers, run with your rights and your
environment, so start only what you trust. They are stopped when their tools are known.
A server that sends more than 32 MiB or has more than 10,000 tools is an error.

Searchers, for -searcher:

{searchers}
Emulated searchers follow the public documentation of a service, which leaves gaps:
cmd/toolsearch/README.md says what is assumed.

embedding and hybrid need -embed URL, an endpoint that speaks OpenAI's protocol, and -model
NAME. It is sent the texts of tools and queries. Its key, if it needs one, is in the
variable TOOLSEARCH_EMBED_KEY. Vectors are kept in your cache folder.

Exit status:

	0  something was found; the evaluation was made; there is nothing to fix
	1  nothing was found; the explained tool does not match; the evaluation fell short;
	   there is something to fix; a tool is not as approved
	2  wrong usage, an unreadable file, a server that does not answer
`

const searcherFlag = "\t-searcher NAME   the searcher (keyword); toolsearch -h lists all\n" + embedFlags + lexiconFlag

const embedFlags = "\t-embed URL       an endpoint for vectors, such as https://api.openai.com/v1, for the\n" +
	"\t                 searchers embedding and hybrid; its key is in $TOOLSEARCH_EMBED_KEY\n" +
	"\t-model NAME      the model that makes the vectors\n"

const lexiconFlag = "\t-lexicon FILE    words of your own for bm25; see docs/tuning.md\n"

// helps are the texts of the commands.
var helps = map[string]string{
	"search": `toolsearch search [flags] CATALOG QUERY...

Prints the best tools for a query. A query is words, "+word" for a word that must
match, or "select:name,name" for tools by name.

` + catalogHelp + `
Flags:

` + searcherFlag + `	-n N             how many tools to print, 1 to 50 (5)
	-json            print JSON
` + serverFlags + `
Examples:

	toolsearch search tools.jsonl create an issue
	toolsearch search -searcher bm25 -n 10 tools.jsonl +github issue
	toolsearch search tools.jsonl select:get_weather,send_mail
	toolsearch search -searcher hybrid -embed http://localhost:11434/v1 \
	    -model nomic-embed-text tools.jsonl where is my parcel
	toolsearch search -header 'Authorization: Bearer ${TOKEN}' https://a.example/mcp issue
	toolsearch search send a mail -- npx -y some-mail-server

Exit status: 0 something was found, 1 nothing was found, 2 a mistake.
`,
	"explain": `toolsearch explain [flags] CATALOG QUERY TOOL

Prints what a tool's score for a query is made of. Quote a query of several words.

` + catalogHelp + `
Flags:

` + searcherFlag + `	-json            print JSON
` + serverFlags + `
Examples:

	toolsearch explain tools.jsonl "open a ticket" create_issue
	toolsearch explain -searcher bm25 tools.jsonl "open a ticket" create_issue

Exit status: 0 the tool matches, 1 it does not, 2 a mistake.
`,
	"eval": `toolsearch eval [flags] CATALOG QUERIES

Prints recall at k, the share of queries complete at k, MRR and nDCG@10, in percent
with 95 % bootstrap intervals. For two searchers it also prints the difference, second
minus first, with a "*" where the interval excludes zero.

` + catalogHelp + `
QUERIES is a file of JSONL, one {"id", "query", "gold", "accept", "kind",
"max_rank"} a line. max_rank is the rank that the query's tools must reach.

Flags:

	-searcher NAME   the searcher (keyword); NAME,NAME compares two
` + embedFlags + lexiconFlag + `	-n N             hits per query, at least 10 (50)
	-resamples N     bootstrap samples behind an interval, 0 for no intervals (2000)
	-v               also print the ranks of every query's tools, and which tools came
	                 first instead and why
	-min M=SHARE     the least value of a metric, such as R@5=0.9; any number of them
	-baseline FILE   what eval -json printed before; no metric may be lower
	-tolerance T     how much lower than the baseline is still accepted (0)
	-json            print JSON
` + serverFlags + `
Examples:

	toolsearch eval tools.jsonl queries.jsonl
	toolsearch eval -searcher keyword,bm25 tools.jsonl queries.jsonl
	toolsearch eval -v -resamples 0 tools.jsonl queries.jsonl
	toolsearch eval -searcher bm25 -min R@5=0.9,MRR=0.7 tools.jsonl queries.jsonl
	toolsearch eval -baseline before.json -tolerance 0.02 tools.jsonl queries.jsonl

What falls short of -min, -baseline or a query's max_rank is printed with the queries
to blame, and with the tool that came first instead. A comparison of two searchers
never falls short.

Exit status: 0 the evaluation was made, 1 it fell short, 2 a mistake.
`,
	"inspect": `toolsearch inspect [flags] CATALOG

Lists tools and what to fix in them. Problems are names and schemas that a provider
would refuse, names that two tools have, missing descriptions of tools and parameters,
and tools that no query finds. So are hidden characters, instructions to the model, and
names of other servers' tools.

Tokens are bytes/4 of name, description and parameters as compact JSON: about the
price of the tool in every model call. A tool counts as found if it is among the first
five for the words of its own name or of its description. "-" means that it is not.

` + catalogHelp + `
Flags:

	-searcher NAME   the searcher (keyword); any but regexp
` + embedFlags + `	-lexicon FILE    words of your own for bm25; lines that do nothing are listed
	-json            print JSON
` + serverFlags + `
Examples:

	toolsearch inspect tools.jsonl
	toolsearch inspect -- npx -y @modelcontextprotocol/server-everything
	toolsearch inspect -json -searcher bm25 -timeout 2m -- ./server --stdio

Exit status: 0 nothing to fix, 1 something to fix, 2 a mistake or no answer.
`,
	"cost": `toolsearch cost [flags] CATALOG

Prints what conversations over the catalog cost, the provider's prompt cache included:
with every tool shown, and with each protocol that hides them. It recommends a
protocol, and says from how many tools it pays.

A provider bills the part of a prompt that it has just read at a fraction, and a prompt
is the tools, then the messages. A tool list that grows ends that part, so that every
load bills the whole history again. The conversations are played by a real agent with a
model that follows a plan. "Cold" means that nothing is cached before the run, "warm"
that the previous turn is. Tokens are estimated.

` + catalogHelp + `
Flags:

	-provider NAME   whose prices and cache (anthropic): {providers}
	-prices FILE     a table of your own, in the form of internal/cost/prices.json
	-shape H,C,L     a conversation of H tokens of history, C calls of the model
	                 without searches, and L tools; any number of them
	-made N,TOKENS   N tools of TOKENS tokens each, instead of CATALOG
	-log FILE        the runs of a recorded conversation, instead of -shape: JSON lines of
	                 this library's events and of your model's usage; what was billed is
	                 shown beside what is computed
	-svg FILE        write a picture
	-json            print JSON
` + serverFlags + `
Examples:

	toolsearch cost tools.jsonl
	toolsearch cost -provider openai -shape 20000,10,3 tools.jsonl
	toolsearch cost -made 200,120 -svg cost.svg
	toolsearch cost -log conversation.jsonl tools.jsonl
	toolsearch cost -prices mine.json -provider mine -- npx -y some-server

Exit status: 0 the costs were printed, 2 a mistake.
`,
	"list": `toolsearch list [flags] CATALOG

Writes the tools as JSONL, one {"name", "description", "parameters", "server"} a line.
Every command reads it, so servers need to be asked only once. Tools of several servers
with the same name are named server__tool. Tools that no catalog can hold, such as a tool
without a name, are left out, with a note on standard error.

` + catalogHelp + `
Flags:

` + serverFlags + `
Examples:

	toolsearch list mcp.json > tools.jsonl
	toolsearch list -- npx -y @modelcontextprotocol/server-everything | toolsearch search - echo

Exit status: 0 the tools were written, 2 a mistake or no answer.
`,
	"ui":      uiHelp,
	"lock":    lockHelp,
	"verify":  verifyHelp,
	"diff":    diffHelp,
	"approve": approveHelp,
}

// help prints the text of a command, or of the program.
func (c *command) help(command string) error {
	text, ok := helps[command]
	if !ok {
		text = programHelp
	}
	var list strings.Builder
	for _, s := range searchers {
		fmt.Fprintf(&list, "\t%-15s  %s\n", s.name, s.about)
	}
	for _, s := range embedSearchers {
		fmt.Fprintf(&list, "\t%-15s  %s\n", s.name, s.about)
	}
	var providers []string
	for _, p := range cost.Providers() {
		providers = append(providers, p.Name)
	}
	fill := strings.NewReplacer("{searchers}", list.String(), "{providers}", strings.Join(providers, ", "))
	_, err := fill.WriteString(c.out, text)
	return err
}
