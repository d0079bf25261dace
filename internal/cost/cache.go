package cost

import (
	"bytes"
	"slices"
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
	var usages []Usage
	for _, r := range slices.Concat(earlier, requests) {
		usages = append(usages, c.use(&r))
	}
	return usages[len(earlier):]
}

// A cache is what a provider keeps of the requests so far.
type cache struct {
	provider *Provider
	kept     []kept
}

// kept is a beginning of a prompt.
type kept struct {
	text    []byte
	used    time.Duration
	counter tokens.Counter // of the text
}

// use bills a request and keeps it.
func (c *cache) use(r *Request) Usage {
	p, prompt := c.provider, r.Prompt()
	if p.Cache == CacheNone {
		return Usage{Plain: tokens.Of(prompt), Output: r.Output}
	}
	ends := r.Marks
	if p.Cache == CacheAutomatic {
		ends = []int{len(prompt)}
	}
	length, found := c.find(prompt, r.At)
	count := c.count(prompt, append(slices.Clone(ends), length, len(prompt)))
	u := Usage{Cached: count[length].Tokens(), Output: r.Output}
	u.Cached -= u.Cached % max(p.Block, 1)
	if u.Cached < p.MinTokens {
		u.Cached = 0
	}
	if u.Cached > 0 {
		c.kept[found].used = r.At
	}
	for _, end := range ends {
		if count[end].Tokens() < p.MinTokens {
			continue
		}
		c.kept = append(c.kept, kept{prompt[:end], r.At, count[end]})
		if p.Written > 0 {
			u.Written = max(count[end].Tokens()-u.Cached, 0)
		}
	}
	u.Plain = count[len(prompt)].Tokens() - u.Cached - u.Written
	return u
}

// find returns the length of the longest kept beginning of a prompt, and which it is.
func (c *cache) find(prompt []byte, now time.Duration) (length, found int) {
	for i, k := range c.kept {
		if ttl := time.Duration(c.provider.TTL); ttl > 0 && now-k.used > ttl {
			continue
		}
		n := commonPrefix(prompt, k.text)
		if n > length && (n == len(k.text) || c.provider.Cache == CacheAutomatic) {
			length, found = n, i
		}
	}
	return length, found
}

// count counts a prompt's beginnings, by their ends, in one reading that skips the last beginning that was kept.
func (c *cache) count(prompt []byte, ends []int) map[int]tokens.Counter {
	slices.Sort(ends)
	count := make(map[int]tokens.Counter, len(ends))
	var counter tokens.Counter
	at := 0
	for _, end := range ends {
		for _, k := range slices.Backward(c.kept) {
			if n := len(k.text); n > at && n <= end && bytes.Equal(k.text, prompt[:n]) {
				counter, at = k.counter, n
				break
			}
		}
		counter.Add(prompt[at:end])
		at, count[end] = end, counter
	}
	return count
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
