package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/cost"
)

// The bill. Each attempt to call the model reserves the largest price that it can have before it is sent:
// a token is at least a byte, so a prompt costs at most its bytes. What was billed replaces the reservation.

const (
	maxOutput   = 4096     // tokens of an answer, thinking included
	maxResponse = 32 << 20 // bytes
)

var errBudget = errors.New("the budget is used up")

// A meter counts what the calls of the models cost. It is safe for concurrent use.
type meter struct {
	base     http.RoundTripper
	provider *cost.Provider // nil means that prices are not known
	budget   float64        // in US dollars; 0 means none

	mu      sync.Mutex
	changed *sync.Cond // held is less; its lock is mu
	spent   float64    // what was billed; of calls without a bill, what was reserved
	held    float64    // by attempts under way
}

// A slip is what the attempts of one call of the model reserve. The meter's lock guards it.
type slip struct {
	held float64 // by the attempt under way
	lost float64 // by attempts without an answer, which may have been billed
}

type slipKey struct{}

// reserve waits until what a call may cost fits the budget. It fails if it never will.
func (m *meter) reserve(ctx context.Context, s *slip, most float64) error {
	defer context.AfterFunc(ctx, func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.changed.Broadcast()
	})()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settle(s, s.held, 0) // an attempt before this one
	for m.budget > 0 && m.spent+m.held+most > m.budget && ctx.Err() == nil {
		if m.spent+most > m.budget {
			return fmt.Errorf("%w: the next call may cost %.4f, and %.4f of %.2f are spent", errBudget, most, m.spent, m.budget)
		}
		m.changed.Wait()
	}
	m.held += most
	s.held = most
	return ctx.Err()
}

// settle ends an attempt, of which lost may have been billed and paid was.
func (m *meter) settle(s *slip, lost, paid float64) {
	m.held -= s.held
	m.spent += lost + paid
	s.held, s.lost = 0, s.lost+lost
	m.changed.Broadcast()
}

// RoundTrip implements http.RoundTripper.
func (m *meter) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	s, _ := r.Context().Value(slipKey{}).(*slip)
	most := 0.0
	if m.provider != nil {
		most = m.provider.Most(len(body), maxOutput)
	}
	if err := m.reserve(r.Context(), s, most); err != nil {
		return nil, err
	}
	response, err := m.base.RoundTrip(r)
	unsent := (*net.OpError)(nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case err != nil && !(errors.As(err, &unsent) && unsent.Op == "dial"):
		m.settle(s, most, 0)
	case err != nil || response.StatusCode >= http.StatusBadRequest: // providers bill no refusal
		m.settle(s, 0, 0)
	}
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxResponse), response.Body}
	}
	return response, err
}

// billed counts what a call of the model used, by the keys of eval.ModelCall, and returns its price. Without tokens nobody says, and what is reserved
// counts.
func (m *meter) billed(s *slip, used map[string]int) (price float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	price = s.held
	if prompt := used["prompt_tokens"]; prompt > 0 && m.provider != nil {
		price = m.provider.Price(m.provider.Usage(prompt, used["cached_tokens"], used["written_tokens"], used["output_tokens"]))
	}
	m.settle(s, 0, price)
	return price + s.lost
}
