// Package cost computes what a conversation costs, the provider's prompt cache included.
//
// Hiding tools makes every request smaller, but a bill counts more than size. Providers bill the
// part of a prompt that they have just read at a fiftieth to a fifth, and a prompt is the tools, then
// the system message, then the messages. A tool list that grows ends the shared part before the
// messages, so that every load bills the whole history anew. Which way to show tools is
// cheapest depends on the provider, the catalog, the length of the history and the number of
// loads. This package measures it:
//
//	provider, _ := cost.Named(cost.Providers(), "anthropic")
//	report, err := cost.Compare(ctx, tools, provider, cost.Shapes)
//	fmt.Println(report.Advice)
//
// [Compare] plays conversations through a real agent, once for each protocol and once with every
// tool shown. Each model call is a [Request], in the order in which the provider caches it.
// [Provider.Bill] splits its tokens into cached, written and plain tokens, and [Provider.Price]
// prices them by a table whose every line has a date and a source ([ReadProviders] reads your
// own). [Replay] plays one conversation, and [ReadBody] takes requests from recorded HTTP bodies.
//
// A conversation that was held can be played too: [ReadLog] reads it from the log of a program,
// and [CompareLog] plays it with every protocol, beside what was billed for it.
//
// Tokens are estimated: see [Tokens]. Output is the model's calls and texts alone, without
// thinking. A provider may keep a prompt for a shorter or longer time than it says, and some send
// a request to a machine that has not seen the prompt, so real bills are a little higher where
// tools do not change: compare with the cached tokens in your model's usage.
//
// All functions are safe for concurrent use, as long as nobody changes what they are given.
package cost

import (
	"bytes"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// Tokens estimates how many tokens a text is, without a vocabulary. For the tools of a catalog
// together the estimate is within 10 % of OpenAI's o200k_base, mostly within 5 %, and for prose
// within 10 %. Other providers' counts differ by a factor that is much the same for all requests.
func Tokens(text string) int { return tokens.Of(text) }

// A Request is what one model call sends, in the order in which providers cache it: the tools,
// the system message, the messages. Bytes that the model does not read are left out, such as the
// definitions of deferred tools.
type Request struct {
	Tools, System, Messages []byte // as they go out, an element a line

	// Marks are the places up to which the request asks its provider to cache it, in bytes from
	// the beginning, ascending. Anthropic calls them cache breakpoints. Only a provider whose
	// Cache is CacheMarked looks at them.
	Marks []int

	Output int           // tokens of the model's answer
	At     time.Duration // when it was sent, since the first request of the conversation
}

// Prompt returns the tools, the system message and the messages, joined.
func (r *Request) Prompt() []byte { return bytes.Join([][]byte{r.Tools, r.System, r.Messages}, nil) }

// Shared returns the length of the longest beginning, in bytes of Prompt, that a request has in
// common with any of the earlier requests. It ends between characters.
func (r *Request) Shared(earlier []Request) (length int) {
	prompt := r.Prompt()
	for i := range earlier {
		length = max(length, commonPrefix(prompt, earlier[i].Prompt()))
	}
	return length
}

// Usage is what a provider bills, in tokens.
type Usage struct {
	Cached  int // read from the cache
	Written int // written into the cache
	Plain   int // all other input
	Output  int // the model's answer
}

// Input returns the tokens of the prompt.
func (u Usage) Input() int { return u.Cached + u.Written + u.Plain }

// Sum adds what the requests of a conversation use.
func Sum(usages []Usage) (sum Usage) {
	for _, u := range usages {
		sum.Cached += u.Cached
		sum.Written += u.Written
		sum.Plain += u.Plain
		sum.Output += u.Output
	}
	return sum
}

// Price returns what the provider charges, in US dollars. The price of CacheNone is millionths
// of the tokens if the provider is "none" of Providers.
func (p *Provider) Price(u Usage) float64 {
	written := p.Written
	if written == 0 {
		written = p.Input
	}
	return (float64(u.Cached)*p.Cached + float64(u.Written)*written + float64(u.Plain)*p.Input + float64(u.Output)*p.Output) / 1e6
}
