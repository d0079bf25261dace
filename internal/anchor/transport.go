package anchor

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// transport moves definitions on their way to a provider.
type transport struct {
	base    http.RoundTripper
	accepts []string

	mu      sync.Mutex
	refused map[string]error // by host, wire and model: how it refused definitions in the conversation
}

// Bounds on what is read and remembered.
const (
	maxBody    = 32 << 20 // bytes of a request
	maxError   = 64 << 10 // bytes of an error
	maxQuoted  = 200      // bytes of it that a report quotes
	maxRefused = 1000
)

// ErrDemanded is why one request has its tools in the list. The next may have them in the conversation.
var ErrDemanded = errors.New("the request's tool_choice names a loaded tool")

// Transport returns a transport that follows the plans of its requests. base sends them; nil means
// http.DefaultTransport. accepts are patterns of models that take definitions in the conversation, besides
// those that are known to.
func Transport(base http.RoundTripper, accepts ...string) http.RoundTripper {
	base = cmp.Or(base, http.DefaultTransport)
	return &transport{base: base, accepts: slices.Clone(accepts), refused: make(map[string]error)}
}

// CloseIdleConnections does what that of an http.Client does.
func (t *transport) CloseIdleConnections() { (&http.Client{Transport: t.base}).CloseIdleConnections() }

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	plan, _ := r.Context().Value(planKey{}).(*Plan)
	at := slices.IndexFunc(wires, func(w *wire) bool { return strings.HasSuffix(r.URL.Path, w.path) })
	isSigned := strings.Contains(r.Header.Get("Authorization"), "Signature=") || r.URL.Query().Has("X-Amz-Signature")
	// Headers that hold for the bytes of one body: how they are compressed, a sum of them or a signature.
	ofBytes := strings.Fields("Content-Encoding Content-Digest Digest Content-Md5 X-Amz-Content-Sha256 Signature Signature-Input")
	isFixed := isSigned || slices.ContainsFunc(ofBytes, func(key string) bool { return r.Header.Get(key) != "" })
	isRedirected := r.Response != nil // maybe to another host
	if plan == nil || at < 0 || r.Method != http.MethodPost || r.Body == nil || isFixed || isRedirected {
		return t.base.RoundTrip(r)
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		_ = r.Body.Close()
		return nil, err
	}
	w := wires[at]
	b, ok := w.read(text)
	if !ok || b.tools[plan.Search] == nil {
		ordinary := r.Clone(r.Context())
		ordinary.Body = rest{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
		return t.base.RoundTrip(ordinary)
	}
	_ = r.Body.Close()
	key := r.URL.Host + " " + w.name + " " + b.model
	moved, report := t.move(plan, w, b, key)
	defer func() { plan.Report(report) }()
	if len(plan.Excess) > 0 {
		text = b.write(w, func(tool string) bool { return slices.Contains(plan.Excess, tool) && !b.demands(tool) }, nil, nil)
	}
	if moved == nil {
		return t.send(r, w, text, "", plan, &report)
	}
	response, err := t.send(r, w, moved, w.beta, plan, &report)
	if err != nil {
		return response, err
	}
	if response.StatusCode/100 == 3 {
		report = Report{Err: fmt.Errorf("%s redirects the request, and the list is what follows", r.URL.Host), Dropped: report.Dropped}
	} else if words, isRefusal := refuses(response, w.refusal); isRefusal {
		_ = response.Body.Close()
		response, err = t.send(r, w, text, "", plan, &report)
		if err == nil && response.StatusCode/100 == 2 { // the definitions were to blame
			report = Report{Err: fmt.Errorf("%q refuses definitions in the conversation: %q", b.model, words), Dropped: report.Dropped}
			t.mu.Lock()
			if len(t.refused) == maxRefused {
				clear(t.refused)
			}
			t.refused[key] = report.Err
			t.mu.Unlock()
		}
	}
	return response, err
}

// move returns the body with the definitions that can be moved, or nil, and a report of these and of the others.
func (t *transport) move(plan *Plan, w *wire, b *body, key string) (text []byte, report Report) {
	t.mu.Lock()
	refusal := t.refused[key]
	t.mu.Unlock()
	switch {
	case refusal != nil:
		return nil, Report{Err: refusal}
	case !w.takes(b.model, t.accepts):
		return nil, Report{Err: fmt.Errorf("%q is not known to take definitions in the conversation; if it does, name it to "+
			"AnchoredTransport", b.model)}
	case slices.ContainsFunc(plan.Tools, func(t Tool) bool { return b.demands(t.Name) }):
		return nil, Report{Err: ErrDemanded}
	}
	return plan.apply(w, b)
}

// tied matches how Claude refuses the thinking of an earlier answer, since something before it changed.
var tied = regexp.MustCompile("prefix_mismatch_behavior")

// send sends a body. If Claude refuses earlier thinking, it sends the body once more and asks to leave that out.
// https://platform.claude.com/docs/en/build-with-claude/preserved-thinking (November 2026)
func (t *transport) send(r *http.Request, w *wire, text []byte, beta string, plan *Plan, report *Report) (*http.Response, error) {
	request := withBody(r, text, beta)
	if plan.Drops && w.beta != "" {
		return t.base.RoundTrip(cmp.Or(untied(request, text), request))
	}
	response, err := t.base.RoundTrip(request)
	if err != nil || w.beta == "" {
		return response, err
	}
	if _, isTied := refuses(response, tied); isTied {
		if again := untied(request, text); again != nil {
			_ = response.Body.Close()
			response, err = t.base.RoundTrip(again)
			report.Dropped = err == nil && response.StatusCode/100 == 2
		}
	}
	return response, err
}

// untied returns a request with a body that asks to leave out tied thinking, or nil if the body has other wishes.
func untied(request *http.Request, text []byte) *http.Request {
	fields, _ := fieldsOf(text)
	at := slices.IndexFunc(fields, func(f field) bool { return f.key == "thinking" })
	if at < 0 {
		at, fields = len(fields), append(fields, field{"thinking", json.RawMessage(`{"type":"adaptive"}`)}) // Claude's default
	}
	thinking, ok := fieldsOf(fields[at].raw)
	if !ok || only(fields[at].raw, "block_binding") != nil {
		return nil
	}
	fields[at].raw = join(append(thinking, field{"block_binding", json.RawMessage(`{"prefix_mismatch_behavior":"drop_block"}`)}))
	return withBody(request, join(fields), "thinking-binding-controls-2026-08-01")
}

// withBody returns a request with another body, and with a value of the header anthropic-beta; "" means none.
func withBody(r *http.Request, text []byte, beta string) *http.Request {
	next := r.Clone(r.Context())
	if !strings.Contains(strings.Join(next.Header.Values("Anthropic-Beta"), ","), beta) {
		next.Header.Add("Anthropic-Beta", beta)
	}
	next.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(text)), nil }
	next.Body, _ = next.GetBody()
	next.ContentLength = int64(len(text))
	return next
}

// rest is a body of which the beginning was read.
type rest struct {
	io.Reader
	io.Closer
}

// refuses reports whether a response refuses the request in words that match, in any spelling of JSON, and quotes them. The
// response can still be read.
func refuses(response *http.Response, pattern *regexp.Regexp) (words string, ok bool) {
	if code := response.StatusCode; response.Body == nil || code != http.StatusBadRequest && code != http.StatusUnprocessableEntity {
		return "", false
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError))
	response.Body = rest{io.MultiReader(bytes.NewReader(text), response.Body), response.Body}
	var value any
	if json.Unmarshal(text, &value) != nil {
		value = string(text)
	}
	return string(bytes.ToValidUTF8(text[:min(len(text), maxQuoted)], nil)), pattern.MatchString(fmt.Sprint(value))
}
