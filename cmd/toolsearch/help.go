package main

import (
	"fmt"
	"strings"
)

// The help texts, one for the program and one for each command. "{searchers}" is the list
// of what -searcher takes.

const catalogHelp = `CATALOG is a file of tools: JSONL, one {"name", "description", "parameters",
"server"} a line, or an MCP server's answer to tools/list. "-" is standard input.
`

const programHelp = `toolsearch searches a catalog of tools the way an agent's tool_search does.

Usage:

	toolsearch search  [flags] CATALOG QUERY...       find tools
	toolsearch explain [flags] CATALOG QUERY TOOL     take a score apart
	toolsearch eval    [flags] CATALOG QUERIES        measure a searcher, compare two
	toolsearch inspect [flags] CATALOG                see what to fix in a catalog
	toolsearch inspect [flags] -- COMMAND [ARG...]    the same for a live MCP server

"toolsearch COMMAND -h" tells a command's flags and shows examples. Flags may stand
anywhere; what follows "--" is no flag. Output has color on a terminal, unless
NO_COLOR is set.

` + catalogHelp + `
Searchers, for -searcher:

{searchers}
Exit status:

	0  something was found; the evaluation was made; there is nothing to fix
	1  nothing was found; the tool explained does not match; there is something to fix
	2  wrong usage, a file that cannot be read, a server that does not answer
`

const searcherFlag = "\t-searcher NAME   how to search (keyword); toolsearch -h lists them\n"

// helps are the texts of the commands.
var helps = map[string]string{
	"search": `toolsearch search [flags] CATALOG QUERY...

Prints the best tools for a query: words, "+word" for one that must match, or
"select:name,name" for tools by name.

` + catalogHelp + `
Flags:

` + searcherFlag + `	-n N             most tools to print, 1 to 50 (5)
	-json            print JSON

Examples:

	toolsearch search tools.jsonl create an issue
	toolsearch search -searcher bm25 -n 10 tools.jsonl +github issue
	toolsearch search tools.jsonl select:get_weather,send_mail

Exit status: 0 something was found, 1 nothing was, 2 a mistake.
`,
	"explain": `toolsearch explain [flags] CATALOG QUERY TOOL

Prints what the score of one tool for a query is made of. Quote a query of several
words.

` + catalogHelp + `
Flags:

` + searcherFlag + `	-json            print JSON

Examples:

	toolsearch explain tools.jsonl "open a ticket" create_issue
	toolsearch explain -searcher bm25 tools.jsonl "open a ticket" create_issue

Exit status: 0 the tool matches, 1 it does not, 2 a mistake.
`,
	"eval": `toolsearch eval [flags] CATALOG QUERIES

Prints recall at k, the share of queries complete at k, MRR and nDCG@10 in percent
with 95 % bootstrap intervals; of two searchers also the difference, the second less
the first, with a "*" where its interval excludes zero.

` + catalogHelp + `QUERIES is a file of JSONL, one {"id", "query", "gold", "accept", "kind"} a line.

Flags:

	-searcher NAME   how to search (keyword); two, NAME,NAME, are compared
	-n N             how many hits are asked for, from 10 (50)
	-resamples N     bootstrap samples behind an interval, 0 for none (2000)
	-v               also print the ranks of every query's tools
	-json            print JSON

Examples:

	toolsearch eval tools.jsonl queries.jsonl
	toolsearch eval -searcher keyword,bm25 tools.jsonl queries.jsonl
	toolsearch eval -v -resamples 0 tools.jsonl queries.jsonl

Exit status: 0 the evaluation was made, 2 a mistake.
`,
	"inspect": `toolsearch inspect [flags] CATALOG
toolsearch inspect [flags] -- COMMAND [ARG...]

Lists the tools of a file, or of an MCP server that COMMAND starts and that speaks
over its standard input and output, and what to fix in them: names a provider would
refuse or that two tools have, near-duplicate names and descriptions, missing
descriptions of tools and parameters, schemas that are no object, tools no query finds.

Tokens are bytes/4 of name, description and parameters as compact JSON, about what a
model pays for the tool in every call. A tool is found if it is among the first five
for the words of its own name, or for those of its description; "-" is not among them.

COMMAND runs with your rights and your environment: start what you trust. It is ended
with the inspection. Of its answers at most 32 MiB and 10,000 tools are read.

` + catalogHelp + `
Flags:

	-searcher NAME   how to search (keyword); any but regexp
	-timeout D       how long the server may take in all, as in 90s or 2m (1m)
	-json            print JSON

Examples:

	toolsearch inspect tools.jsonl
	toolsearch inspect -- npx -y @modelcontextprotocol/server-everything
	toolsearch inspect -json -searcher bm25 -timeout 2m -- ./server --stdio

Exit status: 0 nothing to fix, 1 something to fix, 2 a mistake or no answer.
`,
}

// help prints the text of a command, or of the program.
func (c *command) help(command string) error {
	text, ok := helps[command]
	if !ok {
		text = programHelp
	}
	var list strings.Builder
	for _, s := range searchers {
		fmt.Fprintf(&list, "\t%-10s  %s\n", s.name, s.about)
	}
	_, err := fmt.Fprint(c.out, strings.ReplaceAll(text, "{searchers}", list.String()))
	return err
}
