package trial

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/ui"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// The model "manual": a person, or any program, at an address of this machine.
//
//	GET  .../       a page with the request, what is new in it marked, and fields for the reply
//	GET  .../next   the same as text; it waits for the next request
//	POST .../reply  {"calls": [{"name": ..., "arguments": {...}}]} or {"say": ...}; or the page's fields
//
// Nobody else can guess the address, and a page of another site cannot read or send to it.

// A manual is a model that somebody plays. Its requests come one after the other.
type manual struct {
	model.BaseModel[*schema.Message] // its Stream, which trials do not call
	address                          string
	over                             <-chan struct{} // closed at the end of the trial

	mu     sync.Mutex
	before map[string]int // how often the request before this one had a block
	open   []block        // the request that waits for a reply; nil means none
	asked  chan struct{}  // closed while a request waits
	reply  chan *schema.Message
	calls  int // so far, for their ids
}

// A block is a part of a request.
type block struct {
	Title, Text string
	New         bool // since the request before it
}

const (
	maxReply = 1 << 20 // bytes
	patience = 25 * time.Second
)

// listen serves a manual model until ctx is done.
func listen(ctx context.Context) (*manual, error) {
	m := &manual{asked: make(chan struct{}), over: ctx.Done()}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		m.wait(r.Context())
		w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; frame-ancestors 'none'")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		m.mu.Lock()
		defer m.mu.Unlock()
		_ = manualPage.Execute(w, m.open)
	})
	mux.HandleFunc("GET /next", m.next)
	mux.HandleFunc("POST /reply", m.take)
	server, err := ui.Private(ctx, mux, 0, http.MethodGet, http.MethodPost)
	if err == nil {
		m.address = server.URL()
		go func() { _ = server.Serve(ctx) }()
	}
	return m, err
}

// Generate implements model.BaseModel: it shows the request, and waits for the reply.
func (m *manual) Generate(ctx context.Context, input []*schema.Message, opts ...model.Option) (*schema.Message, error) {
	var now []block
	size := 0
	add := func(title, text string) {
		now = append(now, block{Title: title, Text: text})
		size += tokens.Of(text)
	}
	for _, message := range input {
		title, text := string(message.Role), message.Content
		if message.Role == schema.Tool {
			title = "result of " + message.ToolName
		}
		for _, c := range message.ToolCalls {
			text = strings.TrimSpace(text + "\n" + c.Function.Name + " " + c.Function.Arguments)
		}
		add(title, text)
	}
	options := model.GetCommonOptions(nil, opts...)
	for _, info := range options.Tools {
		add("tool "+info.Name, info.Desc+"\n"+schemacheck.JSON(info))
	}
	m.mu.Lock()
	seen, own := make(map[string]int), string(schema.Assistant)
	isFirst := !slices.ContainsFunc(now, func(b block) bool { return b.Title == own })
	for i, b := range now {
		key := b.Title + "\n" + b.Text
		seen[key]++
		now[i].New = isFirst || seen[key] > m.before[key] && b.Title != own
	}
	if m.open == nil { // else nobody has replied to the request before
		close(m.asked)
	}
	reply := make(chan *schema.Message, 1)
	m.before, m.open, m.reply = seen, now, reply
	m.mu.Unlock()
	select {
	case answer := <-reply:
		answer.ResponseMeta.Usage.PromptTokens = size
		return answer, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wait waits for a request, but not for long.
func (m *manual) wait(ctx context.Context) {
	m.mu.Lock()
	asked := m.asked
	m.mu.Unlock()
	select {
	case <-asked:
	case <-m.over:
	case <-ctx.Done():
	case <-time.After(patience):
	}
}

// next writes the request that waits, as text: what is new in it in full.
func (m *manual) next(w http.ResponseWriter, r *http.Request) {
	m.wait(r.Context())
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		w.WriteHeader(http.StatusNoContent)
	}
	old := ""
	for _, b := range m.open {
		if b.New {
			fmt.Fprintf(w, "== %s\n%s\n", b.Title, b.Text)
		} else {
			old += ", " + b.Title
		}
	}
	if old != "" {
		fmt.Fprintf(w, "== as before: %s\n", old[2:])
	}
}

// take takes a reply to the request that waits.
func (m *manual) take(w http.ResponseWriter, r *http.Request) {
	var reply struct {
		Say   string
		Calls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxReply))
	isForm := !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{"))
	if isForm && err == nil {
		var form url.Values
		form, err = url.ParseQuery(string(body))
		reply.Say = form.Get("say")
		if calls := form.Get("calls"); calls != "" {
			err = json.Unmarshal([]byte(calls), &reply.Calls)
		}
	} else if err == nil {
		err = json.Unmarshal(body, &reply)
	}
	if err != nil || reply.Say == "" && len(reply.Calls) == 0 {
		http.Error(w, `want {"calls": [{"name": "...", "arguments": {...}}]} or {"say": "..."}; in the page's field, the list of calls alone`, http.StatusBadRequest)
		return
	}
	usage := &schema.TokenUsage{CompletionTokens: tokens.Of(body)} // estimates
	answer := &schema.Message{Role: schema.Assistant, Content: reply.Say, ResponseMeta: &schema.ResponseMeta{Usage: usage}}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.open == nil {
		http.Error(w, "no request waits for a reply: get next", http.StatusConflict)
		return
	}
	for _, c := range reply.Calls {
		m.calls++
		answer.ToolCalls = append(answer.ToolCalls, schema.ToolCall{ID: fmt.Sprintf("call_%d", m.calls), Type: "function",
			Function: schema.FunctionCall{Name: c.Name, Arguments: cmp.Or(string(c.Arguments), "{}")}})
	}
	m.open, m.asked = nil, make(chan struct{})
	m.reply <- answer
	if isForm {
		http.Redirect(w, r, m.address, http.StatusSeeOther)
	}
}

//go:embed manual.html
var manualHTML string

var manualPage = template.Must(template.New("manual").Parse(manualHTML))
