package cost

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch"
)

// The providers: what they charge, and how they cache.

// Values of Provider.Cache.
const (
	// CacheNone means that every token of every request is billed in full.
	CacheNone = "none"
	// CacheAutomatic means that a provider caches every request, and finds any common beginning.
	CacheAutomatic = "automatic"
	// CacheMarked means that a provider caches up to a request's Marks, and finds only these.
	CacheMarked = "marked"
)

// Values of Provider.Wire.
const (
	// WireMessages is Anthropic's Messages API.
	WireMessages = "messages"
	// WireChat is OpenAI's chat completions, and that of the many providers that speak it.
	WireChat = "chat"
)

// A Provider is a model's prices and the rules of its provider's prompt cache. Prices are US
// dollars for a million tokens.
type Provider struct {
	Name  string `json:"name"`  // what -provider of the command takes
	Model string `json:"model"` // the model that has these prices

	Input   float64 `json:"input"`             // price of input that is not in the cache
	Cached  float64 `json:"cached,omitempty"`  // price of input that is
	Written float64 `json:"written,omitempty"` // price of input that is put into the cache; 0 means Input
	Output  float64 `json:"output"`            // price of what the model answers

	Cache     string   `json:"cache"`                // CacheNone, CacheAutomatic or CacheMarked
	MinTokens int      `json:"min_tokens,omitempty"` // the shortest beginning that is cached
	Block     int      `json:"block,omitempty"`      // cached tokens are a multiple of it; 0 means 1
	TTL       Duration `json:"ttl,omitempty"`        // how long a beginning is kept after its last use; 0 means for ever

	Wire   string `json:"wire"`             // WireMessages or WireChat: what requests look like
	Native string `json:"native,omitempty"` // the native protocol, as toolsearch.Protocol's String; "" means none
	With   string `json:"with,omitempty"`   // the adapter of eino-ext that Native needs

	Date   string `json:"date"`           // the day for which Source was read, YYYY-MM-DD
	Source string `json:"source"`         // the pages that say so, divided by blanks
	Note   string `json:"note,omitempty"` // what the source does not say and is assumed here
}

// A Duration is a time.Duration that is "5m" in JSON.
type Duration time.Duration

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	*d = Duration(parsed)
	return err
}

//go:embed prices.json
var prices []byte

// Providers returns the built-in table: "anthropic", "openai", "deepseek", "qwen", "gemini",
// and "none", which has no cache and charges one dollar for a million tokens of any kind. Prices
// change. Look at the dates, and replace what is old by a file of your own.
func Providers() []Provider {
	list, err := ReadProviders(bytes.NewReader(prices))
	if err != nil {
		panic(err) // a test reads it
	}
	return list
}

const maxPriceBytes = 1 << 20

// ReadProviders reads a table of providers: a JSON list of objects with the keys of Provider. A
// key it does not know is an error, since a price that is misspelled would be zero.
func ReadProviders(r io.Reader) ([]Provider, error) {
	var list []Provider
	decoder := json.NewDecoder(io.LimitReader(r, maxPriceBytes))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return nil, fmt.Errorf("cost: prices: %w", err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("cost: prices: no providers")
	}
	seen := make(map[string]bool, len(list))
	for i := range list {
		p := &list[i]
		if err := p.check(); err != nil {
			return nil, fmt.Errorf("cost: prices: provider %d, %q: %w", i+1, p.Name, err)
		}
		if seen[p.Name] {
			return nil, fmt.Errorf("cost: prices: two providers are named %q", p.Name)
		}
		seen[p.Name] = true
	}
	return list, nil
}

// check reports what is wrong with a line of the table.
func (p *Provider) check() error {
	for _, price := range []float64{p.Input, p.Cached, p.Written, p.Output} {
		if price < 0 || math.IsInf(price, 0) {
			return fmt.Errorf("a price of %v", price)
		}
	}
	_, err := time.Parse(time.DateOnly, p.Date)
	_, known := p.native()
	switch {
	case p.Name == "":
		return fmt.Errorf("no name")
	case p.Cache != CacheNone && p.Cache != CacheAutomatic && p.Cache != CacheMarked:
		return fmt.Errorf("cache is %q; want %s, %s or %s", p.Cache, CacheNone, CacheAutomatic, CacheMarked)
	case p.Wire != WireMessages && p.Wire != WireChat:
		return fmt.Errorf("wire is %q; want %s or %s", p.Wire, WireMessages, WireChat)
	case p.MinTokens < 0 || p.Block < 0 || p.TTL < 0:
		return fmt.Errorf("min_tokens %d, block %d and ttl %v must not be negative", p.MinTokens, p.Block, time.Duration(p.TTL))
	case p.Native != "" && !known:
		return fmt.Errorf("native is %q; want %v or %v", p.Native, toolsearch.ProtocolNativeReferences, toolsearch.ProtocolNativeDeferred)
	case err != nil:
		return fmt.Errorf("date %q: want YYYY-MM-DD", p.Date)
	case strings.TrimSpace(p.Source) == "":
		return fmt.Errorf("no source")
	}
	return nil
}

// native returns the provider's native protocol. What the provider searches by itself cannot be
// played without it.
func (p *Provider) native() (toolsearch.Protocol, bool) {
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolNativeReferences, toolsearch.ProtocolNativeDeferred} {
		if p.Native == protocol.String() {
			return protocol, true
		}
	}
	return 0, false
}

// Named returns the provider of that name.
func Named(list []Provider, name string) (*Provider, bool) {
	for i := range list {
		if list[i].Name == name {
			return &list[i], true
		}
	}
	return nil, false
}
