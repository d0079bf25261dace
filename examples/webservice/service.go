package main

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// The service:
//
//	POST /conversations       -> {"id": "..."}
//	GET  /conversations/{id}  -> {"messages": [...], "loaded": [...]}
//	POST /conversations/{id}  {"text": "..."} -> server-sent events: text, call, result, error, done
//
// Every other path is a file of the page.

const (
	maxBody      = 64 << 10        // bytes of a question
	maxShown     = 4 << 10         // bytes of a tool's result that the browser gets
	answerTime   = 5 * time.Minute // of a whole answer
	writeTimeout = 30 * time.Second
	instruction  = "You help with the work of a software company. Look for tools with tool_search first. Be brief."
)

//go:embed page
var page embed.FS

type service struct {
	http.Handler
	runner *adk.Runner
	store  files
	log    *slog.Logger
	limit  int      // of messages kept; see conversation.keep
	busy   sync.Map // ids of conversations with a question that is being answered
}

// newService returns the service over a chat model.
func newService(ctx context.Context, chatModel model.BaseChatModel, kept files, log *slog.Logger) (*service, error) {
	middleware, err := toolsearch.New(ctx, &toolsearch.Config{
		DynamicTools: services.Tools(),
		Index:        toolsearch.BM25,
		Fallback:     toolsearch.Fuzzy,
		Filter:       permitted,
		OnEvent: func(ctx context.Context, e toolsearch.Event) {
			log.InfoContext(ctx, "toolsearch", "user", userIn(ctx), "event", e)
		},
	})
	if err != nil {
		return nil, err
	}
	agent, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "assistant", Description: "Helps", Instruction: instruction, Model: chatModel,
		Handlers: []adk.ChatModelAgentMiddleware{middleware},
	})
	if err != nil {
		return nil, err
	}
	pages, err := fs.Sub(page, "page")
	if err != nil {
		return nil, err
	}
	s := &service{
		runner: adk.NewRunner(ctx, adk.RunnerConfig{Agent: agent, EnableStreaming: true}), store: kept, log: log, limit: maxMessages,
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(pages))
	mux.HandleFunc("POST /conversations", s.begin)
	mux.HandleFunc("GET /conversations/{id}", s.show)
	mux.HandleFunc("POST /conversations/{id}", s.answer)
	s.Handler = mux
	return s, nil
}

// rights say which tools a user may see. A real service asks its database.
var rights = map[string]func(context.Context, toolsearch.Document) bool{
	"ann": toolsearch.FilterTools([]string{"stripe", "zendesk", "slack", "github", "weather"}, nil),
	"ben": toolsearch.FilterTools([]string{"weather"}, []string{"zendesk:get_*", "slack:send_message"}),
}

type userKey struct{}

func userIn(ctx context.Context) string {
	user, _ := ctx.Value(userKey{}).(string)
	return user
}

// permitted is the Config.Filter.
func permitted(ctx context.Context, doc toolsearch.Document) bool {
	right, known := rights[userIn(ctx)]
	return known && right(ctx, doc)
}

// userOf returns the user of a request, and answers a request of nobody. Anybody can claim any name
// here: put your own authentication in its place.
func userOf(w http.ResponseWriter, r *http.Request) (name string, ok bool) {
	if name = r.Header.Get("X-User"); rights[name] == nil {
		http.Error(w, "Who are you?", http.StatusUnauthorized)
	}
	return name, rights[name] != nil
}

// ServeHTTP implements http.Handler.
func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:; frame-ancestors 'none'")
	s.Handler.ServeHTTP(w, r)
}

// begin begins a conversation.
func (s *service) begin(w http.ResponseWriter, r *http.Request) {
	user, ok := userOf(w, r)
	if !ok {
		return
	}
	id := rand.Text()
	if err := s.store.Save(id, &conversation{User: user}); err != nil {
		s.fail(w, r, err)
		return
	}
	writeJSON(w, map[string]string{"id": id})
}

// show returns a conversation for a page that was reloaded.
func (s *service) show(w http.ResponseWriter, r *http.Request) {
	c, ok := s.load(w, r)
	if !ok {
		return
	}
	messages := []event{}
	for _, message := range c.Messages {
		messages = append(messages, eventsOf(message)...)
	}
	writeJSON(w, map[string]any{"messages": messages, "loaded": c.loaded()})
}

// load returns the conversation of a request, if it is the user's.
func (s *service) load(w http.ResponseWriter, r *http.Request) (c *conversation, ok bool) {
	user, ok := userOf(w, r)
	if !ok {
		return nil, false
	}
	c, err := s.store.Load(r.PathValue("id"))
	switch {
	case errors.Is(err, errNoConversation) || err == nil && c.User != user:
		http.Error(w, "There is no such conversation.", http.StatusNotFound)
		return nil, false
	case err != nil:
		s.fail(w, r, err)
		return nil, false
	}
	return c, true
}

// answer answers a question, event by event.
func (s *service) answer(w http.ResponseWriter, r *http.Request) {
	// Without permission, a page of another site can send a form, but not JSON.
	var body struct {
		Text string `json:"text"`
	}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(&body)
	if kind != "application/json" || err != nil || strings.TrimSpace(body.Text) == "" {
		http.Error(w, `Send {"text": "a question"} as JSON, of at most 64 KB.`, http.StatusBadRequest)
		return
	}
	id := r.PathValue("id")
	if _, isBusy := s.busy.LoadOrStore(id, true); isBusy {
		http.Error(w, "The previous question is still being answered.", http.StatusConflict)
		return
	}
	defer s.busy.Delete(id)
	c, ok := s.load(w, r)
	if !ok {
		return
	}

	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), userKey{}, c.User), answerTime)
	defer cancel() // the request's context ends when the browser leaves
	out := newStream(w, cancel)
	messages, err := s.ask(ctx, c, body.Text, out)
	// What the tools did cannot be undone, so it is kept even if the answer failed.
	c.keep(messages, s.limit)
	err = errors.Join(err, s.store.Save(id, c))
	if err != nil {
		s.log.WarnContext(ctx, "an answer failed", "conversation", id, "err", err)
		out.send(textEvent("error", "The answer failed. Ask again.")) // no details: they are for the log
	}
	out.send(event{"done", map[string]any{"loaded": c.loaded()}})
}

// ask runs the agent and returns the extended history. With an error it returns the messages up
// to the error.
func (s *service) ask(ctx context.Context, c *conversation, question string, out *stream) ([]*schema.Message, error) {
	messages := append(slices.Clip(c.Messages), schema.UserMessage(question))
	events := s.runner.Run(toolsearch.WithSession(ctx, &c.Session), slices.Clip(messages))
	var failure error
	for e, ok := events.Next(); ok; e, ok = events.Next() { // read to the end: the run may still be busy
		err := e.Err
		if err == nil && e.Output != nil && e.Output.MessageOutput != nil {
			var message *schema.Message
			if message, err = read(e.Output.MessageOutput, out); err == nil {
				messages = append(messages, message)
			}
		}
		failure = errors.Join(failure, err)
	}
	return messages, failure
}

// read sends a message to the browser, its text as it comes, and returns the whole message.
func read(output *adk.MessageVariant, out *stream) (*schema.Message, error) {
	if !output.IsStreaming {
		out.send(eventsOf(output.Message)...)
		return output.Message, nil
	}
	defer output.MessageStream.Close()
	var chunks []*schema.Message
	for {
		chunk, err := output.MessageStream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if chunk.Role == schema.Assistant && chunk.Content != "" {
			out.send(textEvent("text", chunk.Content))
		}
		chunks = append(chunks, chunk)
	}
	message, err := schema.ConcatMessages(chunks)
	if err == nil {
		rest := eventsOf(message)
		out.send(slices.DeleteFunc(rest, func(e event) bool { return e.Name == "text" })...) // it was sent above
	}
	return message, err
}

// event is a server-sent event, and a line of a stored conversation.
type event struct {
	Name string `json:"name"`
	Data any    `json:"data"`
}

func textEvent(name, text string) event { return event{name, map[string]string{"text": text}} }

// eventsOf returns the events that tell the browser about a message.
func eventsOf(message *schema.Message) (events []event) {
	switch {
	case message.Role == schema.User:
		return []event{textEvent("question", message.Content)}
	case message.Role == schema.Tool:
		text := strings.ToValidUTF8(message.Content[:min(len(message.Content), maxShown)], "")
		return []event{{"result", map[string]string{"name": message.ToolName, "text": text}}}
	case message.Content != "":
		events = append(events, textEvent("text", message.Content))
	}
	for _, call := range message.ToolCalls {
		events = append(events, event{"call", map[string]string{"name": call.Function.Name, "arguments": call.Function.Arguments}})
	}
	return events
}

// stream writes server-sent events.
type stream struct {
	w      http.ResponseWriter
	cancel func() // ends the run if the browser has stopped reading
}

func newStream(w http.ResponseWriter, cancel func()) *stream {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // nginx would collect the events
	return &stream{w, cancel}
}

func (s *stream) send(events ...event) {
	control := http.NewResponseController(s.w)
	for _, e := range events {
		data, _ := json.Marshal(e.Data) // on one line, as the format requires; texts cannot fail
		late := control.SetWriteDeadline(time.Now().Add(writeTimeout))
		_, lost := fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", e.Name, data)
		if errors.Join(late, lost, control.Flush()) != nil {
			s.cancel()
			return
		}
	}
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_ = json.NewEncoder(w).Encode(value) // fails if the browser has left
}

// fail answers with an error whose details are for the log only.
func (s *service) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.log.WarnContext(r.Context(), "a request failed", "path", r.URL.Path, "err", err)
	http.Error(w, "That failed. Try again.", http.StatusInternalServerError)
}
