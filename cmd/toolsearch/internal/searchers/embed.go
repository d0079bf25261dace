package searchers

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/embedding"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The searchers embedding and hybrid. Their vectors come from the endpoint of -embed and -model,
// which takes POST /embeddings as OpenAI's does. Every large vendor and every local server of
// models has such an endpoint. The vectors of tools and of queries are kept in the user's cache
// folder, a file for each pair of URL and model.

const (
	embedKey       = "TOOLSEARCH_EMBED_KEY" // the variable of the environment with the key
	embedAttempts  = 4                      // for one batch
	embedLongest   = 10 * time.Second       // pause that an endpoint may ask for
	embedTimeout   = 30 * time.Second       // of an attempt
	maxVectorBytes = 32 << 20               // of an answer
)

// EmbedPause is the pause before the second attempt. Each further pause is twice as long. Tests
// shorten it.
var EmbedPause = 500 * time.Millisecond

// ByVectors are the searchers that need an endpoint.
var ByVectors = []struct{ Name, About string }{
	{"embedding", "the meaning of the text, by the vectors of -embed and -model"},
	{"hybrid", "bm25 and embedding together"},
}

func needsEndpoint(searcher string) bool {
	for _, s := range ByVectors {
		if s.Name == searcher {
			return true
		}
	}
	return false
}

// Indexer returns the searcher of a name. It is the place for whatever a searcher needs
// besides its name.
func (c *Choice) Indexer(name string) (search.Indexer, error) {
	if !needsEndpoint(name) {
		return plainIndexer(name)
	}
	if err := c.openEndpoint(name); err != nil {
		return nil, err
	}
	options := search.EmbeddingOptions{
		Embedder: c.vectors, QueryTimeout: embedAttempts * (embedTimeout + embedLongest),
		Progress: func(done, total int) { c.call.Step("embedding the tools", done, total) },
	}
	if name == "embedding" {
		return options.Index, nil
	}
	return search.HybridOptions{
		Parts: []search.Indexer{search.BM25, options.Index}, Timeout: options.QueryTimeout,
	}.Index, nil
}

// openEndpoint makes c.vectors of -embed and -model.
func (c *Choice) openEndpoint(searcher string) error {
	if c.vectors != nil {
		return nil
	}
	if c.embed == "" || c.model == "" {
		return cli.WrongUsage(c.call.Name+": -searcher %s needs -embed URL and -model NAME", searcher)
	}
	at, err := url.Parse(c.embed)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return cli.WrongUsage(c.call.Name+": %s", "-embed: want a URL that begins with http:// or https://, such as https://api.openai.com/v1")
	}
	if at.Path = strings.TrimRight(at.Path, "/"); !strings.HasSuffix(at.Path, "/embeddings") {
		at = at.JoinPath("embeddings")
	}
	c.vectors = &vectors{
		endpoint: at, model: c.model, key: os.Getenv(embedKey),
		// A redirect could carry the catalog's texts to another place.
		client: &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
		known:  make(map[string][]float32),
		warn: func(err error) {
			fmt.Fprintf(c.call.Stderr, "Vectors are not kept: %s\n", cli.OneLine(err.Error(), 300))
		},
	}
	folder, err := os.UserCacheDir()
	if err != nil {
		c.vectors.dropStore(err)
		return nil
	}
	c.vectors.file = filepath.Join(folder, "toolsearch", "vectors-"+c.vectors.keyOf("")[:16])
	c.vectors.store = search.NewFileStore(c.vectors.file)
	return nil
}

// EmbedQueries gets the vectors of queries in batches, before each of them is searched for. It
// does nothing for searchers without vectors.
func (c *Choice) EmbedQueries(ctx context.Context, queries []string) error {
	if c.vectors == nil {
		return nil
	}
	defer c.call.Waiting("embedding the queries")()
	// The index of tools that have the queries as their descriptions embeds just these texts.
	docs := make([]search.Document, len(queries))
	for i, query := range queries {
		docs[i].Description = search.ParseQuery(query).Text
	}
	_, err := search.EmbeddingOptions{
		Embedder: c.vectors,
		Progress: func(done, total int) { c.call.Step("embedding the queries", done, total) },
	}.Index(ctx, docs)
	if err != nil {
		return fmt.Errorf("embedding the queries: %w", err)
	}
	return nil
}

// Texts returns the texts of queries.
func Texts(queries []eval.Query) []string {
	list := make([]string, len(queries))
	for i, q := range queries {
		list[i] = q.Text
	}
	return list
}

// VectorFailure returns the first failure of the endpoint. A catalog whose searcher fails answers by
// keywords, and a measurement must not take that for the searcher's answer.
func (c *Choice) VectorFailure() error {
	if c.vectors == nil {
		return nil
	}
	c.vectors.mu.Lock()
	defer c.vectors.mu.Unlock()
	return c.vectors.failed
}

// vectors is an Embedder that remembers.
type vectors struct {
	endpoint *url.URL
	model    string
	key      string
	client   *http.Client
	warn     func(error) // reports that vectors cannot be kept

	mu     sync.Mutex
	known  map[string][]float32
	store  *search.FileStore // nil means none
	file   string            // of the store
	failed error             // the first failure
}

var _ embedding.Embedder = (*vectors)(nil)

// keyOf returns the key of a text in the store: 64 hexadecimal digits.
func (v *vectors) keyOf(text string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", v.endpoint, v.model, text))
	return hex.EncodeToString(sum[:])
}

// EmbedStrings implements embedding.Embedder. It asks the endpoint only for texts whose vectors
// are not kept.
func (v *vectors) EmbedStrings(ctx context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	var missing []string
	for i, vector := range v.load(ctx, texts) {
		if vector == nil {
			missing = append(missing, texts[i])
		}
	}
	if len(missing) > 0 {
		fresh, err := v.ask(ctx, missing)
		if err == nil {
			err = v.save(ctx, missing, fresh)
		}
		if err != nil {
			v.mu.Lock()
			defer v.mu.Unlock()
			v.failed = cmp.Or(v.failed, err)
			return nil, err
		}
	}
	answer := make([][]float64, len(texts))
	for i, vector := range v.load(ctx, texts) {
		answer[i] = make([]float64, len(vector))
		for j, x := range vector {
			answer[i][j] = float64(x)
		}
	}
	return answer, nil
}

// load returns the vectors that are known, and nil for the others.
func (v *vectors) load(ctx context.Context, texts []string) [][]float32 {
	v.mu.Lock()
	defer v.mu.Unlock()
	found := make([][]float32, len(texts))
	var keys []string
	var at []int
	for i, text := range texts {
		if found[i] = v.known[text]; found[i] == nil {
			keys, at = append(keys, v.keyOf(text)), append(at, i)
		}
	}
	if v.store == nil || len(keys) == 0 {
		return found
	}
	kept, err := v.store.Load(ctx, keys)
	if err != nil {
		if ctx.Err() == nil {
			v.dropStore(err)
		}
		return found
	}
	for k, i := range at {
		if found[i] = kept[k]; found[i] != nil {
			v.known[texts[i]] = kept[k]
		}
	}
	return found
}

// save keeps fresh vectors. It fails if their length differs from that of the kept vectors.
func (v *vectors) save(ctx context.Context, texts []string, fresh [][]float32) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, kept := range v.known {
		if len(kept) != len(fresh[0]) {
			return fmt.Errorf("%s: vectors of %d numbers, but those before had %d; if the model has changed, remove %s",
				v.endpoint.Host, len(fresh[0]), len(kept), v.file)
		}
		break
	}
	keys := make([]string, len(texts))
	for i, text := range texts {
		v.known[text], keys[i] = fresh[i], v.keyOf(text)
	}
	if v.store == nil {
		return nil
	}
	if err := v.store.Save(ctx, keys, fresh); err != nil && ctx.Err() == nil {
		v.dropStore(err)
	}
	return nil
}

func (v *vectors) dropStore(err error) {
	v.store = nil
	v.warn(err)
}

// close writes the vectors that the file does not have yet.
func (v *vectors) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.store == nil {
		return
	}
	if err := v.store.Flush(); err != nil {
		v.dropStore(err)
	}
}

// ask asks the endpoint for vectors. It tries again where that may help: the endpoint is busy, has
// failed, or cannot be reached.
func (v *vectors) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": v.model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, err
	}
	pause := EmbedPause
	for attempt := 1; ; attempt++ {
		answer, wait, err := v.post(ctx, body)
		if err == nil {
			list, err := readVectors(answer, len(texts))
			if err != nil {
				err = fmt.Errorf("%s: %w", v.endpoint.Host, err)
			}
			return list, err
		}
		if wait < 0 || attempt == embedAttempts || ctx.Err() != nil {
			return nil, err
		}
		timer := time.NewTimer(min(max(wait, pause), embedLongest))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, ctx.Err()
		}
		pause *= 2
	}
}

// post makes one request. For an error, wait is how long the endpoint wants the next attempt to
// wait, and negative if another attempt is of no use.
func (v *vectors) post(ctx context.Context, body []byte) (answer []byte, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, embedTimeout, fmt.Errorf("no answer within %v", embedTimeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, v.endpoint.String(), bytes.NewReader(body))
	if err != nil {
		return nil, -1, err
	}
	request.Header.Set("Content-Type", "application/json")
	if v.key != "" {
		request.Header.Set("Authorization", "Bearer "+v.key)
	}
	response, err := v.client.Do(request)
	if err != nil {
		wrong := (*url.Error)(nil)
		if errors.As(err, &wrong) { // it quotes the URL, which may hold a secret
			err = wrong.Err
		}
		return nil, 0, fmt.Errorf("%s: %w", v.endpoint.Host, cmp.Or(context.Cause(ctx), err))
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxVectorBytes+1))
	switch {
	case response.StatusCode == http.StatusOK && err != nil:
		return nil, 0, fmt.Errorf("%s: %w", v.endpoint.Host, cmp.Or(context.Cause(ctx), err))
	case len(answer) > maxVectorBytes:
		return nil, -1, fmt.Errorf("%s: it sent more than %d MiB", v.endpoint.Host, maxVectorBytes>>20)
	case response.StatusCode == http.StatusOK:
		return answer, 0, nil
	}
	wait = -1
	if response.StatusCode == http.StatusTooManyRequests || response.StatusCode >= 500 {
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		wait = time.Duration(min(max(seconds, 0), 60)) * time.Second
	}
	return nil, wait, fmt.Errorf("%s: %d %s%s", v.endpoint.Host, response.StatusCode, http.StatusText(response.StatusCode), v.complaint(response.StatusCode, answer))
}

// complaint returns what the endpoint says about an error, without the key, which it may quote.
func (v *vectors) complaint(status int, answer []byte) string {
	var said struct {
		Error struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	text := string(answer[:min(len(answer), 4<<10)])
	if json.Unmarshal(answer, &said) == nil && said.Error.Message != "" {
		text = said.Error.Message
	}
	if v.key != "" {
		text = strings.ReplaceAll(text, v.key, "***")
	}
	if text = cli.OneLine(text, 200); text != "" {
		text = ": " + text
	}
	if v.key == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		text += fmt.Sprintf(" (%s is not set)", embedKey)
	}
	return text
}

// readVectors reads the answer for a number of texts. A vector without a direction is an error, so
// that it is not kept.
func readVectors(answer []byte, texts int) ([][]float32, error) {
	var read struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(answer, &read); err != nil {
		return nil, fmt.Errorf("want a list of embeddings, not %q", cli.OneLine(string(answer[:min(len(answer), 400)]), 80))
	}
	if len(read.Data) != texts {
		return nil, fmt.Errorf("%s for %s", cli.Plural(len(read.Data), "vector"), cli.Plural(texts, "text"))
	}
	list := make([][]float32, texts)
	for i, d := range read.Data {
		if d.Index != nil {
			i = *d.Index
		}
		if i < 0 || i >= texts || list[i] != nil {
			return nil, fmt.Errorf("no vector, or two, for a text: index %d of %s", i, cli.Plural(texts, "text"))
		}
		if !slices.ContainsFunc(d.Embedding, func(x float32) bool { return x != 0 }) {
			return nil, fmt.Errorf("the vector of text %d of %d is empty or zero", i+1, texts)
		}
		if len(d.Embedding) != len(read.Data[0].Embedding) {
			return nil, fmt.Errorf("vectors of %d and of %d numbers", len(read.Data[0].Embedding), len(d.Embedding))
		}
		list[i] = d.Embedding
	}
	return list, nil
}
