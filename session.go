package toolsearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/anchor"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
)

// A conversation's loaded tools. A Session serves programs that do not store the messages of tools,
// and agents that work on one conversation without sharing its messages.

// A Session is the loaded tools of one conversation. WithSession shares it with every agent that runs within the
// context: sub-agents, agents called as tools, the steps of plan-execute, the tasks of the deep agent, the next request
// of the same user. A tool that one agent loads is visible to the others from their next model call on, if their
// catalog has the tool. A tool that one agent unloads is hidden from the others, unless their own history shows it. It
// comes back when another agent finds, adds or calls it.
//
// The middleware updates a Session before every model call and at the end of a successful run. A Session
// marshals as a JSON list of names and, behind them, of what ProtocolAnchored has defined in the conversation.
// It is safe for concurrent use. Its zero value is an empty session.
type Session struct {
	mu       sync.Mutex
	names    []string   // in the order of their first loading
	isFull   bool       // a tool did not fit into anchored
	anchored []anchored // under ProtocolAnchored: what the conversation defines, in the order of the first definitions
}

// maxSessionNames bounds a session. The oldest name is forgotten first.
const maxSessionNames = 10_000

// NewSession returns a session in which the named tools are loaded, in that order. It keeps
// names that no catalog has; they show nothing.
func NewSession(names ...string) *Session {
	s := &Session{}
	s.update(names, nil)
	return s
}

// Loaded returns the names of the loaded tools in the order of their first loading, without the
// tools that are always loaded.
func (s *Session) Loaded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names)
}

// MarshalJSON implements json.Marshaler.
func (s *Session) MarshalJSON() ([]byte, error) {
	list := []any{}
	for _, name := range s.Loaded() {
		list = append(list, name)
	}
	definitions, isWhole := s.definitions()
	if !isWhole {
		definitions = append(slices.Clip(definitions), anchored{}) // without a name: others found no room
	}
	for _, tool := range definitions {
		list = append(list, tool)
	}
	return json.Marshal(list)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces everything in the session.
func (s *Session) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return fmt.Errorf("toolsearch: a session is a list of names and definitions: %w", err)
	}
	read := &Session{}
	var names []string
	for i, element := range list {
		var name string
		var tool anchored
		switch {
		case json.Unmarshal(element, &name) == nil:
			names = append(names, name)
		case i-len(names) > maxAnchored:
		case json.Unmarshal(element, &tool) == nil:
			read.keep(tool)
			read.isFull = read.isFull || tool.Name == ""
		default:
			return fmt.Errorf("toolsearch: a session is a list of names and definitions; element %d is neither", i)
		}
	}
	read.update(names, nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names, s.anchored, s.isFull = read.names, read.anchored, read.isFull
	return nil
}

// definitions returns what the session has, and whether there was room for all.
func (s *Session) definitions() (list []anchored, isWhole bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.anchored, !s.isFull
}

// define records the last step of a tool that a request had. doc is the tool in the catalog, nil if it is gone. The places
// of the session's other agents stay, and so do those in a history that lost earlier ones.
func (s *Session) define(name string, doc *Document, step anchor.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool := anchored{Name: name}
	if at := slices.IndexFunc(s.anchored, func(a anchored) bool { return a.Name == name }); at >= 0 {
		tool = s.anchored[at]
	}
	if doc != nil && tool.Namespace != doc.Namespace { // of another group
		tool = anchored{Name: name, Namespace: doc.Namespace}
	}
	if doc != nil && tool.doc == nil && tool.Hash == hashOfTool(doc.Info) { // the session was stored
		tool.doc = doc
		s.keep(tool)
	}
	isSame := len(tool.Steps) > 0 && tool.Steps[len(tool.Steps)-1].JSON == step.JSON
	if isSame && slices.Contains(tool.Steps, step) {
		return
	}
	// An equal step was at an earlier message like this one.
	tool.Steps = slices.DeleteFunc(slices.Clone(tool.Steps), func(s anchor.Step) bool { return s == step })
	n := len(tool.Steps)
	switch {
	case !isSame && doc != nil:
		tool.doc = doc
		hash := hashOfTool(doc.Info)
		if hash != tool.Hash && slices.ContainsFunc(tool.Steps, func(s anchor.Step) bool { return s.Wire != step.Wire }) {
			hash = "" // another provider has another definition, so calls are always checked
		}
		tool.Hash = hash
	case isSame && n >= maxSteps-2 && tool.Steps[n-2].JSON == step.JSON: // there is room for a change, and to take it back
		n--
	}
	tool.Steps = append(tool.Steps[:n], step)
	s.keep(tool)
}

// end records where a request on a wire ended and, as JSON, which tools it defined; instead of before, which are ends that it
// goes on from. They are kept as the steps of the search tool.
func (s *Session) end(search string, end anchor.Step, before []anchor.Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tool := anchored{Name: search}
	for _, a := range s.anchored {
		if a.Name == search {
			tool.Steps = slices.DeleteFunc(slices.Clone(a.Steps), func(s anchor.Step) bool {
				return s.Wire == end.Wire && (s.At == end.At || slices.Contains(before, s))
			})
		}
	}
	tool.Steps = append(tool.Steps[max(0, len(tool.Steps)+1-maxSteps):], end)
	s.keep(tool)
}

// forget drops what the session has of a tool's definitions.
func (s *Session) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.anchored = slices.DeleteFunc(slices.Clone(s.anchored), func(a anchored) bool { return a.Name == name })
}

// update adds the names that the session does not have, at the end, and removes others.
func (s *Session) update(add, remove []string) {
	if len(add)+len(remove) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := map[string]bool{"": true}
	for _, name := range remove {
		seen[name] = true
	}
	all := slices.DeleteFunc(slices.Concat(s.names, add), func(name string) bool {
		isSeen := seen[name]
		seen[name] = true
		return isSeen
	})
	s.names = all[max(0, len(all)-maxSessionNames):]
}

// anchored is what was sent of the definitions of one tool.
type anchored struct {
	Name      string        `json:"name"`
	Namespace string        `json:"namespace,omitempty"`
	Hash      string        `json:"hash"` // of the definition in the catalog when the last step was new; "" is like none
	Steps     []anchor.Step `json:"steps"`

	doc *Document // the tool in the catalog then, for a Filter once the tool is gone; nil if the session was stored since
}

// Bounds on what a session keeps of definitions. What does not fit is defined anew by each run.
const (
	maxSteps         = 8       // of a tool
	maxAnchored      = 1_000   // tools
	maxAnchoredBytes = 1 << 20 // of all tools
)

// size returns the bytes that count towards maxAnchoredBytes.
func (a *anchored) size() int {
	n := len(a.Name) + len(a.Namespace) + len(a.Hash)
	for _, step := range a.Steps {
		n += len(step.At.Call) + len(step.At.Text) + len(step.Wire) + len(step.JSON)
	}
	return n
}

// keep keeps what the conversation has of a tool, if there is room.
func (s *Session) keep(tool anchored) {
	size, at := tool.size(), len(s.anchored)
	for i := range s.anchored {
		if s.anchored[i].Name == tool.Name {
			at = i
			continue
		}
		size += s.anchored[i].size()
	}
	isNew := at == len(s.anchored)
	if tool.Name == "" || len(tool.Steps) == 0 || len(tool.Steps) > maxSteps || isNew && s.isFull {
		return
	}
	if at == maxAnchored || size > maxAnchoredBytes {
		s.isFull = true // what is defined anew comes behind what is kept, so nothing may come between
		return
	}
	s.anchored = append(append(slices.Clone(s.anchored[:at]), tool), s.anchored[min(at+1, len(s.anchored)):]...)
}

func hashOf(texts ...string) string {
	h := sha256.New()
	for _, text := range texts {
		fmt.Fprintf(h, "%d %s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func hashOfTool(info *schema.ToolInfo) string {
	return hashOf(info.Name, info.Desc, schemacheck.JSON(info))
}

// sessionKey is the context key of a session.
type sessionKey struct{}

// WithSession shares a session with every run of an agent within the returned context. A nil
// session ends the sharing by an outer context: each agent then loads tools for itself alone.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// WithLoaded is WithSession(ctx, NewSession(names...)). The named dynamic tools are visible from
// the first model call on.
func WithLoaded(ctx context.Context, names ...string) context.Context {
	return WithSession(ctx, NewSession(names...))
}
