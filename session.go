package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

// A conversation's loaded tools, for callers that do not keep the messages which show them,
// and for agents that work on one conversation without sharing its messages.

// A Session is what one conversation has loaded. It is shared, through WithSession, by every
// agent that runs within the context: sub-agents, agents called as tools, the steps of
// plan-execute, the tasks of the deep agent, the next request of the same user. A tool that
// one of them loads is visible to the others from their next model call on, if their catalog
// has it; a tool that one of them unloads is hidden from the others, unless their own history
// shows it.
//
// A Session is kept up to date before every model call and at the end of a successful run. It
// marshals as a JSON list of names. It is safe for concurrent use, and its zero value is an
// empty session.
type Session struct {
	mu     sync.Mutex
	names  []string // in the order in which they were first loaded
	loaded map[string]bool
}

// maxSessionNames bounds a session, whatever is unmarshalled into it or loaded by catalogs that
// come and go. The names loaded first are forgotten first.
const maxSessionNames = 10_000

// NewSession returns a session that has loaded the named tools, in that order. Names that no
// catalog has are kept and show nothing.
func NewSession(names ...string) *Session {
	s := &Session{}
	s.update(names, nil)
	return s
}

// Loaded returns the names of the loaded tools in the order in which they were first loaded.
// Tools that are always loaded are not among them.
func (s *Session) Loaded() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.names)
}

// MarshalJSON implements json.Marshaler: a list of names.
func (s *Session) MarshalJSON() ([]byte, error) {
	names := s.Loaded()
	if names == nil {
		names = []string{}
	}
	return json.Marshal(names)
}

// UnmarshalJSON implements json.Unmarshaler. The session has just the names of the list then.
func (s *Session) UnmarshalJSON(text []byte) error {
	var names []string
	if err := json.Unmarshal(text, &names); err != nil {
		return fmt.Errorf("toolsearch: a session is a list of names: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names, s.loaded = nil, nil
	s.updateLocked(names, nil)
	return nil
}

// update adds names at the end, but for those the session has, and removes others.
func (s *Session) update(add, remove []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updateLocked(add, remove)
}

func (s *Session) updateLocked(add, remove []string) {
	for _, name := range add {
		if name == "" || s.loaded[name] {
			continue
		}
		if s.loaded == nil {
			s.loaded = make(map[string]bool)
		}
		s.loaded[name] = true
		s.names = append(s.names, name)
	}
	removed := false
	for _, name := range remove {
		removed = removed || s.loaded[name]
		delete(s.loaded, name)
	}
	if removed {
		s.names = slices.DeleteFunc(s.names, func(name string) bool { return !s.loaded[name] })
	}
	if excess := len(s.names) - maxSessionNames; excess > 0 {
		for _, name := range s.names[:excess] {
			delete(s.loaded, name)
		}
		s.names = slices.Delete(s.names, 0, excess)
	}
}

// sessionKey is the context key of a session.
type sessionKey struct{}

// WithSession shares a session with every run of an agent within the returned context. Nil
// means that the run has a session of its own, as without WithSession: it ends what an outer
// context shares, for an agent that is to load for itself.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionIn returns the session that the context carries, or nil.
func sessionIn(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// WithLoaded is WithSession(ctx, NewSession(names...)): the named dynamic tools are visible
// from the first model call on.
func WithLoaded(ctx context.Context, names ...string) context.Context {
	return WithSession(ctx, NewSession(names...))
}
