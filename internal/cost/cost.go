// Package cost computes what a conversation costs, the provider's prompt cache included.
//
// Providers bill the part of a prompt that they have just read at a fiftieth to a fifth, and a prompt is
// the tools, then the system message, then the messages. A tool list that grows ends the shared part
// before the messages, so that every load bills the whole history anew. This package measures that:
//
//	conversation --Replay, by a real agent--> requests --Provider.Bill--> usages --Provider.Price--> dollars
//
// Compare does so for made-up conversations in every way to show tools, and CompareLog for recorded ones.
// Output is the model's calls and texts alone, without thinking. Real bills are a little higher where tools
// do not change, since some providers send a request to a machine that has not seen the prompt.
package cost

import (
	"bytes"
	"cmp"
	"time"
)

// A Request is what one model call sends, in the order in which providers cache it: the tools,
// the system message, the messages. Bytes that the model does not read are left out, such as the
// definitions of deferred tools.
type Request struct {
	Tools, System, Messages []byte // as they go out, an element a line

	Marks []int // cache breakpoints, in bytes from the beginning, ascending; for CacheMarked

	Output int           // tokens of the model's answer
	At     time.Duration // when it was sent, since the first request of the conversation
}

// Prompt returns the tools, the system message and the messages, joined.
func (r *Request) Prompt() []byte { return bytes.Join([][]byte{r.Tools, r.System, r.Messages}, nil) }

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

// Price returns what the provider charges, in US dollars.
func (p *Provider) Price(u Usage) float64 {
	written := cmp.Or(p.Written, p.Input)
	return (float64(u.Cached)*p.Cached + float64(u.Written)*written + float64(u.Plain)*p.Input + float64(u.Output)*p.Output) / 1e6
}

// Most returns the largest price of a call: a token is at least a byte, so a prompt has at most its bytes.
func (p *Provider) Most(promptBytes, output int) float64 {
	return (float64(promptBytes)*max(p.Input, p.Written) + float64(output)*p.Output) / 1e6
}

// Usage returns what the provider bills for what it reports. If it charges for writing, and reports what it read from the
// cache but not what it wrote, then all other tokens count as written. Without a cache all tokens are plain.
func (p *Provider) Usage(prompt, cached, written, output int) Usage {
	u := Usage{Cached: cached, Written: written, Plain: prompt - cached - written, Output: output}
	if p.Cache == CacheNone {
		return Usage{Plain: prompt, Output: output}
	}
	if p.Written > 0 && cached > 0 && written == 0 {
		u.Written, u.Plain = u.Plain, 0
	}
	return u
}
