package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
)

// Requests to the endpoint of a model: they are tried again, and an answer is bounded.

const (
	postAttempts = 4                // of one request
	longestPause = 10 * time.Second // that an endpoint may ask for
	maxAnswer    = 32 << 20         // bytes
)

// PostPause is the pause before the second attempt. Each further pause is twice as long. Tests
// shorten it.
var PostPause = 500 * time.Millisecond

// An Endpoint takes requests in the form of OpenAI's. Every large vendor and every local server of models has one.
type Endpoint struct {
	URL     *url.URL
	key     string
	keyName string // the variable of the environment with the key
	timeout time.Duration
	client  http.Client
}

// NewEndpoint returns the endpoint for a kind of request, such as embeddings, below an address, or an error about the
// address. The variable keyName may have its key. An attempt ends after timeout.
func NewEndpoint(address, kind, keyName string, timeout time.Duration) (*Endpoint, error) {
	at, err := url.Parse(address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("want a URL that begins with http:// or https://, such as https://api.openai.com/v1")
	}
	if at.Path = strings.TrimRight(at.Path, "/"); !strings.HasSuffix(at.Path, "/"+kind) {
		at = at.JoinPath(kind)
	}
	return &Endpoint{
		URL: at, key: os.Getenv(keyName), keyName: keyName, timeout: timeout,
		// A redirect could carry the catalog's texts to another place.
		client: http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }},
	}, nil
}

// Longest is how long Post takes at most.
func (e *Endpoint) Longest() time.Duration { return postAttempts * (e.timeout + longestPause) }

// Post sends what becomes the JSON of a request, and has the answer read. It tries again where that may help: the
// endpoint is busy, has failed, or cannot be reached. It neither keeps nor quotes the key.
func (e *Endpoint) Post(ctx context.Context, request any, read func(answer []byte) error) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	pause := PostPause
	for attempt := 1; ; attempt++ {
		answer, wait, err := e.post(ctx, body)
		if err == nil {
			err, wait = read(answer), -1
		}
		if err == nil {
			return nil
		}
		if wait < 0 || attempt == postAttempts || ctx.Err() != nil {
			return fmt.Errorf("%s: %w", e.URL.Host, err)
		}
		select {
		case <-time.After(min(max(wait, pause), longestPause)):
		case <-ctx.Done():
			return ctx.Err()
		}
		pause *= 2
	}
}

// post makes one attempt. For an error, wait is how long the endpoint wants the next attempt to wait, and negative
// if another attempt is of no use.
func (e *Endpoint) post(ctx context.Context, body []byte) (answer []byte, wait time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, e.timeout, fmt.Errorf("no answer within %v", e.timeout))
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, e.URL.String(), bytes.NewReader(body))
	if err != nil {
		return nil, -1, err
	}
	request.Header.Set("Content-Type", "application/json")
	if e.key != "" {
		request.Header.Set("Authorization", "Bearer "+e.key)
	}
	response, err := e.client.Do(request)
	if err != nil {
		wrong := (*url.Error)(nil)
		if errors.As(err, &wrong) { // it quotes the URL, which may hold a secret
			err = wrong.Err
		}
		return nil, 0, cmp.Or(context.Cause(ctx), err)
	}
	defer response.Body.Close()
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	status := response.StatusCode
	switch {
	case len(answer) > maxAnswer:
		return nil, -1, fmt.Errorf("it sent more than %d MiB", maxAnswer>>20)
	case status == http.StatusOK && err != nil:
		return nil, 0, cmp.Or(context.Cause(ctx), err)
	case status == http.StatusOK:
		return answer, 0, nil
	case status != http.StatusTooManyRequests && status < 500:
		wait = -1
	default:
		seconds, _ := strconv.Atoi(response.Header.Get("Retry-After"))
		wait = time.Duration(min(max(seconds, 0), 60)) * time.Second
	}
	return nil, wait, fmt.Errorf("%d %s%s", status, http.StatusText(status), e.complaint(status, answer))
}

// complaint returns what the endpoint says about an error, without the key, which it may quote.
func (e *Endpoint) complaint(status int, answer []byte) string {
	var said struct{ Error struct{ Message string } }
	text := string(answer[:min(len(answer), 4<<10)])
	if json.Unmarshal(answer, &said) == nil && said.Error.Message != "" {
		text = said.Error.Message
	}
	text = strings.ReplaceAll(text, cmp.Or(e.key, "\x00"), "***")
	if text = OneLine(text, 200); text != "" {
		text = ": " + text
	}
	if e.key == "" && (status == http.StatusUnauthorized || status == http.StatusForbidden) {
		text += fmt.Sprintf(" (%s is not set)", e.keyName)
	}
	return text
}
