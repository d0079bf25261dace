// Package provider has loopback servers that speak the wire formats of three model APIs:
// Anthropic's Messages, OpenAI's chat completions and OpenAI's Responses, each as one
// answer and as a stream of events.
//
// A server plays a script: it answers each request with the next [Turn]. Like the provider, it refuses
// a request that breaks a rule with status 400, by rules that are documented or publicly known. If a
// rule is in doubt, it accepts the request. The JSON form of an error is always the provider's own, and
// so is its text if that is known. [Server.Requests] keeps the requests byte for byte.
package provider

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
)

// An API is one of the wire formats.
type API string

// The wire formats, named by the path of their requests.
const (
	Messages  API = "/v1/messages"         // Anthropic
	Chat      API = "/v1/chat/completions" // OpenAI
	Responses API = "/v1/responses"        // OpenAI
)

// A Turn is an answer of the model: a text, tool calls, or both.
type Turn struct {
	Text  string
	Calls []Call
}

// A Call is a call of a tool. On Responses a call of "tool_search" is a tool_search_call
// if the request has the native search tool, and a function_call otherwise.
type Call struct {
	Name      string
	Arguments string // JSON; Messages sends only objects, the other APIs any text

	// Server means that the provider searches by itself while it answers. Found is what it
	// finds. The request must have the provider's search tool.
	Server bool
	Found  []string
}

// Say is a turn that says something and ends the run.
func Say(text string) Turn { return Turn{Text: text} }

// A Request is a request that the server got.
type Request struct {
	Body     []byte   // the original bytes
	Stream   bool     // it asked for events
	Callable []string // the tools the model can call, in order; deferred tools only once found
	Refused  string   // the provider's error message; "" means that the request breaks no rule
}

// Server is a provider on the loopback interface. It is safe for concurrent use. Requests get
// turns in the order in which they arrive.
type Server struct {
	// URL is the base URL for an adapter of this API.
	URL string

	api  API
	mu   sync.Mutex
	turn int
	plan []Turn
	got  []Request
}

// New starts a server that ends with the test.
func New(t testing.TB, api API, turns ...Turn) *Server {
	t.Helper()
	s := &Server{api: api, plan: turns}
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+string(api), s.serve)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	s.URL = server.URL
	if api != Messages {
		s.URL += "/v1"
	}
	return s
}

// Requests returns what the server got so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	req := &request{}
	var answer reply
	fault := broken(func() {
		req.read(s.api, body, r.Header)
		answer = s.next(req)
	})
	s.got = append(s.got, Request{Body: body, Stream: req.stream, Callable: req.callable, Refused: string(fault)})
	if req.stream && fault == "" {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range answer.events {
			e.write(w)
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if fault != "" {
		w.WriteHeader(http.StatusBadRequest)
		answer.whole = refusal(s.api, fault)
	}
	_ = json.NewEncoder(w).Encode(answer.whole)
}

// next makes the answer of the next turn. Ids are made of the numbers of the turn and the
// call, so the same conversation has the same bytes.
func (s *Server) next(req *request) reply {
	must(s.turn < len(s.plan), "the script has %d turns, and this request comes after them", len(s.plan))
	turn := s.plan[s.turn]
	s.turn++
	switch s.api {
	case Messages:
		return composeMessage(req, turn, s.turn)
	case Chat:
		return composeChat(req, turn, s.turn)
	default:
		return composeResponse(req, turn, s.turn)
	}
}

// reply is an answer in one of the formats.
type reply struct {
	whole  object
	events []event // the same as a stream
}

// event is one server-sent event.
type event struct {
	name string // may be empty
	data any    // encoded as JSON; a string is sent unchanged
}

func (e event) write(w io.Writer) {
	if e.name != "" {
		fmt.Fprintf(w, "event: %s\n", e.name)
	}
	data, raw := e.data.(string)
	if !raw {
		encoded, _ := json.Marshal(e.data) // maps, lists and strings of this package, so it cannot fail
		data = string(encoded)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
}

// halves splits a text in two, so every streamed text comes in several events.
func halves(text string) []string {
	runes := []rune(text)
	if len(runes) < 2 {
		return []string{text}
	}
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}
