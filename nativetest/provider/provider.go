// Package provider has loopback servers that speak the wire formats of three model APIs:
// Anthropic's Messages, OpenAI's chat completions and OpenAI's Responses, each as one
// answer and as a stream of events.
//
// A server plays a script: each request is answered by the next [Turn]. Before that it
// holds the request to the provider's rules and, as the provider would, refuses with
// status 400 what breaks one. What it got is kept, byte for byte, in [Server.Requests].
//
// The rules are those the providers document or are publicly known to answer by; where a
// rule is in doubt the server lets the request through. The words of an error are the
// provider's own where they are known, its JSON form always is.
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

// A Turn is one answer of the model: a text, calls of tools, or both.
type Turn struct {
	Text  string
	Calls []Call
}

// A Call is a call of a tool. On Responses a call of "tool_search" is a tool_search_call
// if the request has the native search tool, and a function_call otherwise.
type Call struct {
	Name      string
	Arguments string // JSON; Messages sends an object only, the others whatever it is

	// Server says that the provider searches by itself, in the course of its answer, and
	// Found what it finds. The request must have its search tool.
	Server bool
	Found  []string
}

// Say is a turn that says something and ends the run.
func Say(text string) Turn { return Turn{Text: text} }

// CallTool is a turn that calls one tool.
func CallTool(name, arguments string) Turn { return CallTools(Call{Name: name, Arguments: arguments}) }

// CallTools is a turn that calls several tools at once.
func CallTools(calls ...Call) Turn { return Turn{Calls: calls} }

// A Request is what the server got.
type Request struct {
	Body     []byte   // as it came
	Stream   bool     // it asked for events
	Callable []string // the tools the model can call, in order: not those that are deferred and were not found
	Refused  string   // the provider's words for the rule it breaks; "" if it breaks none
}

// Server is a provider on the loopback interface. It is safe for concurrent use; requests
// get their turns in the order in which they come.
type Server struct {
	// URL is what an adapter of that API takes for its base URL.
	URL string

	api  API
	mu   sync.Mutex
	turn int
	plan []Turn
	got  []Request
}

// New starts a server, which ends with the test.
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

// Play adds turns to the script.
func (s *Server) Play(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.plan = append(s.plan, turns...)
}

// bodyLimit is far more than a test sends.
const bodyLimit = 16 << 20

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit))
	if err != nil {
		return // the client is gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	req := &request{}
	fault := req.read(s.api, body)
	entry := Request{Body: body, Stream: req.stream, Callable: req.callable}
	var answer reply
	if fault == nil {
		answer, fault = s.next(req)
	}
	if fault != nil {
		entry.Refused = fault.message
		s.got = append(s.got, entry)
		refuse(w, s.api, fault)
		return
	}
	s.got = append(s.got, entry)
	if req.stream {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range answer.events() {
			e.write(w)
		}
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer.whole())
}

// next makes the answer of the next turn. Ids are numbers of the turn and the call, so
// that the same conversation has the same bytes.
func (s *Server) next(req *request) (reply, *fault) {
	if s.turn == len(s.plan) {
		return nil, &fault{message: fmt.Sprintf("the script has %d turns and this is one request more", len(s.plan))}
	}
	turn := s.plan[s.turn]
	s.turn++
	return compose(s.api, req, turn, s.turn)
}

// reply is an answer in one of the formats.
type reply interface {
	whole() any
	events() []event
}

func compose(api API, req *request, turn Turn, number int) (reply, *fault) {
	switch api {
	case Messages:
		return composeMessage(req, turn, number)
	case Chat:
		return composeChat(req, turn, number), nil
	default:
		return composeResponse(req, turn, number)
	}
}

// event is one server-sent event.
type event struct {
	name string // may be empty
	data any    // JSON; a string is sent as it is
}

func (e event) write(w io.Writer) {
	if e.name != "" {
		fmt.Fprintf(w, "event: %s\n", e.name)
	}
	data, raw := e.data.(string)
	if !raw {
		encoded, err := json.Marshal(e.data)
		if err != nil {
			panic(err) // of maps, lists and strings that this package made
		}
		data = string(encoded)
	}
	fmt.Fprintf(w, "data: %s\n\n", data)
}

// halves cuts a text in two, so that every streamed text comes in more than one event.
func halves(text string) []string {
	runes := []rune(text)
	if len(runes) < 2 {
		return []string{text}
	}
	return []string{string(runes[:len(runes)/2]), string(runes[len(runes)/2:])}
}
