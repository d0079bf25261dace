package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// A conversation's loaded tools. A Session serves programs that do not store the messages of tools,
// and agents that work on one conversation without sharing its messages.

// A Session is the loaded tools of one conversation. WithSession shares it with every agent that
// runs within the context: sub-agents, agents called as tools, the steps of plan-execute, the
// tasks of the deep agent, the next request of the same user. A tool that one agent loads is
// visible to the others from their next model call on, if their catalog has the tool. A tool
// that one agent unloads is hidden from the others, unless their own history shows it. It comes back when
// another agent finds, adds or calls it.
//
// The middleware updates a Session before every model call and at the end of a successful run. A
// Session marshals as a JSON list of names. It is safe for concurrent use. Its zero value is an empty
// session.
type Session struct {
	mu    sync.Mutex
	names []string // in the order of their first loading
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

// MarshalJSON implements json.Marshaler. It writes a list of names.
func (s *Session) MarshalJSON() ([]byte, error) {
	return json.Marshal(append([]string{}, s.Loaded()...))
}

// UnmarshalJSON implements json.Unmarshaler. It replaces everything in the session.
func (s *Session) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return fmt.Errorf("toolsearch: a session is a list of names: %w", err)
	}
	read := NewSession(names...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names = read.names
	return nil
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
