// Package searchers is the menu of searchers of the command, with Anthropic's emulated (emulated.go)
// and those that ask an endpoint for vectors (embed.go), and the commands search and explain.
package searchers

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/search"
)

// FlagsHelp is the help text of all flags.
const FlagsHelp = "\t-searcher NAME   the searcher (bm25); toolsearch -h lists all\n" + EmbedFlagsHelp + LexiconFlagHelp

// EmbedFlagsHelp is the help text of the flags for vectors.
const EmbedFlagsHelp = "\t-embed URL       an endpoint for vectors, such as https://api.openai.com/v1, for the\n" +
	"\t                 searchers embedding and hybrid; its key is in $TOOLSEARCH_EMBED_KEY\n" +
	"\t-model NAME      the model that makes the vectors\n"

// LexiconFlagHelp is the help text of the flag for words.
const LexiconFlagHelp = "\t-lexicon FILE    words of your own for bm25; see docs/tuning.md\n" +
	"\t-hints FILE      questions of toolsearch expand, for searchers that read hints\n"

// A Searcher is a value of -searcher.
type Searcher struct {
	Name  string
	Index search.Indexer // nil means that it needs an endpoint for vectors
	About string
}

// Menu holds the values of -searcher, the default first. A new searcher is a new line here.
var Menu = []Searcher{
	{"keyword", search.Keyword, "four tiers: part of the name, in a part, in the name, in the description"},
	{"bm25", search.BM25, "stemmed words of names, descriptions and parameters; finds best"},
	{"fuzzy", search.Fuzzy, "substrings, then words, then misspellings"},
	{"regexp", search.Regexp, "names that match a regular expression (RE2)"},
	{"similarity", search.Similarity, "similarity to the tool's text, as difflib measures it"},
	{"lsa", search.LSA, "topics of the catalog, by latent semantic analysis; alone it finds less than bm25"},
	{"bm25+lsa", search.Hybrid(search.BM25, search.LSA), "bm25 and lsa together; finds more for long requests, and builds slowly"},
	{"anthropic-bm25", anthropicBM25, "emulated: Claude's own search by words"},
	{"anthropic-regex", anthropicRegex, "emulated: Claude's own search by a Python pattern"},
	{"embedding", nil, "the meaning of the text, by the vectors of -embed and -model"},
	{"hybrid", nil, "bm25 and embedding together"},
}

// A Choice is a Reader with the searchers that a call chooses by its flags. It is embedded in the
// commands.
type Choice struct {
	*catalog.Reader
	Searcher string // the value of -searcher
	Lexicon  string // of -lexicon, a file
	Hints    string // of -hints, likewise
	JSON     bool   // -json
	log      string // of search and explain: a recording
	called   string // likewise: names of tools
	embed    string // URL of -embed
	model    string
	endpoint *endpoint // of -embed; nil until a searcher needs it
}

// NewChoice returns the Choice of a call and its flags, to which a command adds its own.
func NewChoice(call *cli.Call, searcher string) (*Choice, *flag.FlagSet) {
	reader, flags := catalog.NewReader(call)
	c := &Choice{Reader: reader}
	flags.StringVar(&c.Searcher, "searcher", searcher, "")
	flags.StringVar(&c.embed, "embed", "", "")
	flags.StringVar(&c.model, "model", "", "")
	if call.Name != "ui" {
		flags.StringVar(&c.Lexicon, "lexicon", "", "")
		flags.StringVar(&c.Hints, "hints", "", "")
		flags.BoolVar(&c.JSON, "json", false, "")
	}
	if call.Name == "search" || call.Name == "explain" {
		flags.StringVar(&c.log, "log", "", "")
		flags.StringVar(&c.called, "called", "", "")
	}
	return c, flags
}

// Parse does what Reader.Parse does, and refuses flags that have no meaning for the searchers.
func (c *Choice) Parse(flags *flag.FlagSet, args []string, least, most int, want string) (rest []string) {
	rest = c.Reader.Parse(flags, args, least, most, want)
	if c.embed+c.model != "" && !slices.ContainsFunc(strings.Split(c.Searcher, ","), needsEndpoint) {
		c.WrongUsage("-embed and -model are for the searchers embedding and hybrid")
	}
	return rest
}

// HasEndpoint reports whether -embed names an endpoint for vectors.
func (c *Choice) HasEndpoint() bool { return c.embed != "" }

// Close writes the vectors that the endpoint gave.
func (c *Choice) Close() {
	if c.endpoint != nil && c.endpoint.store != nil {
		c.endpoint.forget(c.endpoint.file.Flush())
	}
}

// Indexers returns the searchers of -searcher, bm25 with the words of -lexicon, and all with the questions of -hints.
func (c *Choice) Indexers(ctx context.Context, names ...string) []search.Indexer {
	at := slices.Index(names, "bm25")
	if at < 0 && c.Lexicon != "" && c.Name != "inspect" { // inspect checks the lexicon in any case
		c.WrongUsage("-lexicon wants -searcher bm25")
	}
	indexes := make([]search.Indexer, len(names))
	for i, name := range names {
		indexes[i] = c.Indexer(name)
		if i == at && c.Lexicon != "" {
			indexes[i] = search.BM25Options{Lexicon: c.ReadLexicon(ctx)}.Index
		}
		if c.Hints != "" && c.Name != "eval" { // eval compares with and without
			indexes[i] = c.Hinted(ctx, indexes[i])
		}
	}
	return indexes
}

// Hinted returns a searcher with the questions of -hints.
func (c *Choice) Hinted(ctx context.Context, index search.Indexer) search.Indexer {
	file, data := c.ReadFile(ctx, c.Hints)
	return eval.Hinted(index, eval.Hints(cli.Must(eval.ReadExpansions(bytes.NewReader(data), file))))
}

// ReadLexicon reads the file of -lexicon.
func (c *Choice) ReadLexicon(ctx context.Context) *search.Lexicon {
	_, text := c.ReadFile(ctx, c.Lexicon)
	lexicon, err := search.ParseLexicon(string(text))
	if err != nil {
		cli.Check(fmt.Errorf("%s: %s", c.Lexicon, strings.ReplaceAll(err.Error(), "toolsearch: ", "")))
	}
	return lexicon
}

// NoteEmulated says below a table that its searcher is emulated.
func (c *Choice) NoteEmulated() {
	if IsEmulated(c.Searcher) {
		fmt.Fprintln(c.Out, c.Paint(cli.Dim, c.Searcher+" is emulated: Anthropic documents what it reads, not how it ranks."))
	}
}
