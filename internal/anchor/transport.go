package anchor

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// transport moves definitions on their way to a provider.
type transport struct {
	base    http.RoundTripper
	accepts []string

	mu      sync.Mutex
	refused map[string]bool // hosts and models that refuse definitions in the conversation
}

// Bounds on what is read and remembered.
const (
	maxBody    = 32 << 20 // bytes of a request
	maxError   = 64 << 10 // bytes of an error
	maxQuoted  = 200      // bytes of it that a report quotes
	maxRefused = 1000
)

// Transport returns a transport that follows the plans of its requests. base sends them; nil means
// http.DefaultTransport. accepts are patterns of models that take definitions in the conversation, besides
// those that are known to.
func Transport(base http.RoundTripper, accepts ...string) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{base: base, accepts: slices.Clone(accepts), refused: make(map[string]bool)}
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	plan, _ := r.Context().Value(planKey{}).(*Plan)
	at := slices.IndexFunc(wires, func(w *wire) bool { return strings.HasSuffix(r.URL.Path, w.path) })
	isSigned := strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-")
	if plan == nil || at < 0 || r.Method != http.MethodPost || r.Body == nil || r.Header.Get("Content-Encoding") != "" || isSigned {
		return t.base.RoundTrip(r)
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	switch {
	case err != nil:
		_ = r.Body.Close()
		return nil, err
	case len(text) > maxBody:
		whole := r.Clone(r.Context())
		whole.Body = rest{io.MultiReader(bytes.NewReader(text), r.Body), r.Body}
		return t.base.RoundTrip(whole)
	}
	_ = r.Body.Close()
	w := wires[at]
	b, ok := w.read(text)
	if !ok || b.tools[plan.Search] == nil {
		return t.base.RoundTrip(withBody(r, text))
	}
	key := r.URL.Host + " " + b.model
	moved, steps, problem := t.move(plan, w, b, key)
	if problem != nil || moved == nil {
		plan.Report(Report{steps, problem})
		return t.base.RoundTrip(withBody(r, text))
	}
	request := withBody(r, moved)
	if w.beta != "" && !strings.Contains(strings.Join(request.Header.Values("Anthropic-Beta"), ","), w.beta) {
		request.Header.Add("Anthropic-Beta", w.beta)
	}
	response, err := t.base.RoundTrip(request)
	if err != nil || response.StatusCode != http.StatusBadRequest {
		plan.Report(Report{Steps: steps})
		return response, err
	}
	words, isRefusal := w.refuses(response)
	if !isRefusal {
		plan.Report(Report{Steps: steps})
		return response, nil
	}
	_ = response.Body.Close()
	ordinary, err := t.base.RoundTrip(withBody(r, text))
	if err != nil || ordinary.StatusCode == http.StatusBadRequest { // the definitions are not to blame
		plan.Report(Report{Steps: steps})
		return ordinary, err
	}
	t.mu.Lock()
	if len(t.refused) == maxRefused {
		clear(t.refused)
	}
	t.refused[key] = true
	t.mu.Unlock()
	plan.Report(Report{Err: fmt.Errorf("%s refuses definitions in the conversation: %s", b.model, words)})
	return ordinary, nil
}

// move returns the body with the definitions in the conversation; nil means that there is nothing to move.
func (t *transport) move(plan *Plan, w *wire, b *body, key string) (text []byte, steps map[string][]Step, err error) {
	t.mu.Lock()
	isRefused := t.refused[key]
	t.mu.Unlock()
	switch {
	case isRefused:
		return nil, nil, fmt.Errorf("%s refused definitions in the conversation before", b.model)
	case !w.takes(b.model, t.accepts):
		return nil, nil, fmt.Errorf("%q is not known to take definitions in the conversation; if it does, name it to AnchoredTransport", b.model)
	case b.choice != "":
		return nil, nil, errors.New("the request demands the call of one tool")
	}
	return plan.apply(w, b)
}

// withBody returns the request with another body.
func withBody(r *http.Request, text []byte) *http.Request {
	next := r.Clone(r.Context())
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

// refuses reports whether an error names the added field, and quotes it. The error can still be read.
func (w *wire) refuses(response *http.Response) (words string, ok bool) {
	text, _ := io.ReadAll(io.LimitReader(response.Body, maxError))
	response.Body = rest{io.MultiReader(bytes.NewReader(text), response.Body), response.Body}
	ok = slices.ContainsFunc(w.refusal, func(word string) bool { return bytes.Contains(text, []byte(word)) })
	return string(bytes.ToValidUTF8(text[:min(len(text), maxQuoted)], nil)), ok
}
