package cost

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/eino-toolsearch/toolsearch"
)

// The providers: what they charge, and how they cache.

// Values of Provider.Cache.
const (
	CacheNone      = "none"      // every token of every request is billed in full
	CacheAutomatic = "automatic" // every request is cached, and any beginning that two requests share is found
	CacheMarked    = "marked"    // the beginnings up to a request's Marks are cached, and only these are found
)

// Values of Provider.Wire.
const (
	WireMessages = "messages" // Anthropic's Messages API
	WireChat     = "chat"     // OpenAI's chat completions API, which many providers speak
)

// A Provider is a model's prices and the rules of its provider's prompt cache. Prices are US
// dollars for a million tokens.
type Provider struct {
	Name  string `json:"name"`  // what -provider of the command takes
	Model string `json:"model"` // the model that has these prices

	Input   float64 `json:"input"`             // price of input that is not in the cache
	Cached  float64 `json:"cached"`            // price of input that is in the cache
	Written float64 `json:"written,omitempty"` // price of input that is put into the cache; 0 means Input
	Output  float64 `json:"output"`            // price of the model's answer

	Cache     string   `json:"cache"`                // CacheNone, CacheAutomatic or CacheMarked
	MinTokens int      `json:"min_tokens,omitempty"` // the shortest beginning that is cached
	Block     int      `json:"block,omitempty"`      // cached tokens are a multiple of Block; 0 means 1
	TTL       Duration `json:"ttl,omitempty"`        // how long a beginning is kept after its last use; 0 means forever

	Wire     string `json:"wire"`               // WireMessages or WireChat: what requests look like
	Anchored bool   `json:"anchored,omitempty"` // the model takes definitions in the conversation, as ProtocolAnchored sends them
	Native   string `json:"native,omitempty"`   // the native protocol, as toolsearch.Protocol's String; "" means none
	With     string `json:"with,omitempty"`     // the adapter of eino-ext that Native needs

	Date    string `json:"date"`           // the day for which Source was read, YYYY-MM-DD
	Source  string `json:"source"`         // the pages with the prices, separated by blanks
	Assumed string `json:"note,omitempty"` // what is assumed where Source is silent
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

// Providers returns the table of prices.json.
func Providers() []Provider {
	list, err := ReadProviders(bytes.NewReader(prices))
	if err != nil {
		panic(err) // a test reads it
	}
	return list
}

const maxPriceBytes = 1 << 20

// maxPrice is far above every price, and low enough that sums of prices are finite.
const maxPrice = 1e6

// ReadProviders reads a JSON list of providers. An unknown key is an error, and so is a missing price, since
// the price would be zero. Only a provider with CacheNone needs no price of cached input.
func ReadProviders(r io.Reader) ([]Provider, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxPriceBytes+1))
	if err != nil {
		return nil, fmt.Errorf("cost: prices: %w", err)
	}
	if len(data) > maxPriceBytes {
		return nil, errors.New("cost: prices: more than 1 MiB")
	}
	var lines []json.RawMessage
	if err := json.Unmarshal(data, &lines); err != nil {
		return nil, fmt.Errorf("cost: prices: want a list of providers: %w", err)
	}
	if len(lines) == 0 {
		return nil, errors.New("cost: prices: no providers")
	}
	var list []Provider
	for i, line := range lines {
		p, err := readProvider(line)
		if err != nil {
			return nil, fmt.Errorf("cost: prices: provider %d, %q: %w", i+1, p.Name, err)
		}
		if _, isThere := Named(list, p.Name); isThere {
			return nil, fmt.Errorf("cost: prices: two providers are named %q", p.Name)
		}
		list = append(list, p)
	}
	return list, nil
}

// readProvider reads a line of the table.
func readProvider(line []byte) (p Provider, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&p); err != nil {
		return p, err
	}
	var given struct{ Input, Cached, Output *float64 }
	_ = json.Unmarshal(line, &given) // as p has read them
	if given.Input == nil || given.Output == nil || given.Cached == nil && p.Cache != CacheNone {
		return p, errors.New("want a price of input, of output, and of cached input if there is a cache")
	}
	_, err = time.Parse(time.DateOnly, p.Date)
	switch {
	case p.Name == "":
		return p, errors.New("no name")
	case err != nil:
		return p, fmt.Errorf("date %q: want YYYY-MM-DD", p.Date)
	case strings.TrimSpace(p.Source) == "":
		return p, errors.New("no source")
	}
	return p, p.check()
}

// check reports what is wrong with a provider's prices and with the rules of its cache.
func (p *Provider) check() error {
	for _, price := range []float64{p.Input, p.Cached, p.Written, p.Output} {
		if !(price >= 0 && price <= maxPrice) { // also NaN
			return fmt.Errorf("a price of %v; want 0 to %.0f", price, float64(maxPrice))
		}
	}
	_, known := p.native()
	switch {
	case p.Cache != CacheNone && p.Cache != CacheAutomatic && p.Cache != CacheMarked:
		return fmt.Errorf("cache is %q; want %s, %s or %s", p.Cache, CacheNone, CacheAutomatic, CacheMarked)
	case p.MinTokens < 0 || p.Block < 0 || p.TTL < 0:
		return fmt.Errorf("min_tokens %d, block %d and ttl %v must not be negative", p.MinTokens, p.Block, time.Duration(p.TTL))
	case p.Wire != WireMessages && p.Wire != WireChat:
		return fmt.Errorf("wire is %q; want %s or %s", p.Wire, WireMessages, WireChat)
	case p.Native != "" && !known:
		return fmt.Errorf("native is %q; want %v or %v", p.Native, toolsearch.ProtocolNativeReferences, toolsearch.ProtocolNativeDeferred)
	}
	return nil
}

// nativeProtocols are the native protocols that can be played. A search by the provider itself
// cannot, without the provider.
var nativeProtocols = []toolsearch.Protocol{toolsearch.ProtocolNativeReferences, toolsearch.ProtocolNativeDeferred}

// native returns the provider's native protocol.
func (p *Provider) native() (toolsearch.Protocol, bool) {
	way, _ := WayNamed(p.Native)
	return way.Protocol, slices.Contains(nativeProtocols, way.Protocol)
}

// Named returns the provider with a name. It fails for a name that is not in the list.
func Named(list []Provider, name string) (*Provider, bool) {
	i := slices.IndexFunc(list, func(p Provider) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return &list[i], true
}
