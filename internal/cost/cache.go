package cost

import (
	"bytes"
	"time"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// What a provider's prompt cache finds of each request:
//
//	request -> its longest beginning that is kept -> cached | written | plain
//
// An automatic cache keeps every request, and finds any common beginning, in blocks of
// Provider.Block tokens. A marked cache keeps the beginnings that end at a request's Marks,
// and finds only those. Neither finds fewer tokens than Provider.MinTokens.

// Bill returns what each request of a conversation uses. A request finds in the cache what it has
// in common with a request before it, or with one of earlier: the requests of the turns before,
// which are not billed. Both lists are in the order in which they were sent.
func (p *Provider) Bill(earlier, requests []Request) []Usage {
	c := cache{provider: p}
	for i := range earlier {
		c.use(&earlier[i])
	}
	usages := make([]Usage, len(requests))
	for i := range requests {
		usages[i] = c.use(&requests[i])
	}
	return usages
}

// A cache is what a provider keeps of the requests so far.
type cache struct {
	provider *Provider
	kept     []kept
	last     *counted // the last prompt, with which the next prompt has most in common
}

// kept is a beginning of a prompt.
type kept struct {
	prompt *counted
	length int // in bytes
	used   time.Duration
}

// use bills a request and keeps it.
func (c *cache) use(r *Request) Usage {
	p, bytes := c.provider, r.Prompt()
	prompt := count(bytes, c.last)
	c.last = prompt
	all := prompt.tokens(len(bytes))
	u := Usage{Output: r.Output}
	if p.Cache == CacheNone {
		u.Plain = all
		return u
	}
	length, best := c.find(bytes, r.At)
	u.Cached = prompt.tokens(length)
	if p.Block > 1 {
		u.Cached -= u.Cached % p.Block
	}
	if u.Cached < p.MinTokens {
		u.Cached = 0
	}
	if u.Cached > 0 {
		c.kept[best].used = r.At
	}
	end := len(bytes) // of the part of this request that is kept
	if p.Cache == CacheMarked {
		if end = 0; len(r.Marks) > 0 {
			end = max(0, min(r.Marks[len(r.Marks)-1], len(bytes)))
		}
	}
	if toKeep := prompt.tokens(end); toKeep >= p.MinTokens && p.Written > 0 {
		u.Written = max(toKeep-u.Cached, 0)
	}
	u.Plain = all - u.Cached - u.Written
	c.keep(r, prompt)
	return u
}

// find returns the length and the index of the longest kept beginning of a prompt.
func (c *cache) find(prompt []byte, now time.Duration) (length, best int) {
	for i, k := range c.kept {
		if ttl := time.Duration(c.provider.TTL); ttl > 0 && now-k.used > ttl {
			continue
		}
		n := commonPrefix(prompt, k.prompt.bytes[:k.length])
		if n > length && (n == k.length || c.provider.Cache == CacheAutomatic) {
			length, best = n, i
		}
	}
	return length, best
}

func (c *cache) keep(r *Request, prompt *counted) {
	places := r.Marks
	if c.provider.Cache == CacheAutomatic {
		places = []int{len(prompt.bytes)}
	}
	for _, place := range places {
		if 0 <= place && place <= len(prompt.bytes) && prompt.tokens(place) >= c.provider.MinTokens {
			c.kept = append(c.kept, kept{prompt, place, r.At})
		}
	}
}

// commonPrefix returns the length of the longest common beginning. It ends between characters.
func commonPrefix(a, b []byte) int {
	n, most := 0, min(len(a), len(b))
	for step := 4096; step > 0; step /= 64 {
		for n+step <= most && bytes.Equal(a[n:n+step], b[n:n+step]) {
			n += step
		}
	}
	for n > 0 && n < len(a) && !utf8.RuneStart(a[n]) {
		n--
	}
	return n
}

// counted is a prompt and the counts of its beginnings at some places, so that the common part
// of two prompts is counted once.
type counted struct {
	bytes  []byte
	places []int
	counts []tokens.Counter // at places
}

const placeEvery = 4096 // bytes

// count counts a prompt. like is a similar prompt; nil means none.
func count(prompt []byte, like *counted) *counted {
	p := &counted{bytes: prompt}
	var counter tokens.Counter
	at := 0
	if like != nil {
		common := commonPrefix(prompt, like.bytes)
		for i, place := range like.places {
			if place <= common {
				p.places, p.counts = like.places[:i+1:i+1], like.counts[:i+1:i+1]
				at, counter = place, like.counts[i]
			}
		}
	}
	for len(prompt)-at > placeEvery {
		next := at + placeEvery
		for !utf8.RuneStart(prompt[next]) && next > at+1 {
			next--
		}
		counter.Add(prompt[at:next])
		at = next
		p.places, p.counts = append(p.places, at), append(p.counts, counter)
	}
	return p
}

// tokens returns the tokens of the beginning of a length.
func (p *counted) tokens(length int) int {
	var counter tokens.Counter
	at := 0
	for i := len(p.places) - 1; i >= 0; i-- {
		if p.places[i] <= length {
			at, counter = p.places[i], p.counts[i]
			break
		}
	}
	counter.Add(p.bytes[at:length])
	return counter.Tokens()
}
