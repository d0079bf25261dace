package toolsearch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// A conversation's loaded tools. A Session serves callers that do not store the messages of tools,
// and agents that work on one conversation without sharing its messages.

// A Session is the loaded tools of one conversation. WithSession shares it with every agent that
// runs within the context: sub-agents, agents called as tools, the steps of plan-execute, the
// tasks of the deep agent, the next request of the same user. A tool that one agent loads is
// visible to the others from their next model call on, if their catalog has the tool. A tool
// that one agent unloads is hidden from the others, unless their own history shows it.
//
// The middleware updates a Session before every model call and at the end of a successful run. If
// somebody listens to events, a Session also has a hash of each agent's last list of tools, with
// which LoadEvent.ToolsChanged compares the first list of a run with the last list of the run
// before.
//
// A Session marshals as a JSON list of names, or as {"loaded": names, "lists": hashes} once it has
// hashes. It reads both. It is safe for concurrent use. Its zero value is an empty session.
type Session struct {
	mu     sync.Mutex
	names  []string // in the order of their first loading
	loaded map[string]bool
	lists  []listHash // the last list of each agent, the latest last
}

// A listHash is a hash of an agent, which its own tools identify, and a hash of its list of tools.
type listHash struct{ agent, list uint32 }

// Bounds of a session. The oldest is forgotten first.
const (
	maxSessionNames = 10_000
	maxListHashes   = 16
)

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

// storedSession is a session with hashes, as JSON.
type storedSession struct {
	Loaded *[]string `json:"loaded"`
	Lists  []string  `json:"lists"` // the hashes of an agent and its list, in hex
}

// MarshalJSON implements json.Marshaler. It writes a list of names, or an object with the list.
func (s *Session) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	names, lists := append([]string{}, s.names...), slices.Clone(s.lists)
	s.mu.Unlock()
	if len(lists) == 0 {
		return json.Marshal(names)
	}
	stored := storedSession{Loaded: &names}
	for _, l := range lists {
		stored.Lists = append(stored.Lists, fmt.Sprintf("%08x%08x", l.agent, l.list))
	}
	return json.Marshal(stored)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces everything in the session.
func (s *Session) UnmarshalJSON(text []byte) error {
	var names []string
	var lists []listHash
	if err := json.Unmarshal(text, &names); err != nil {
		var stored storedSession
		if json.Unmarshal(text, &stored) != nil || stored.Loaded == nil {
			return fmt.Errorf("toolsearch: a session is a list of names: %w", err)
		}
		names = *stored.Loaded
		for _, hashes := range stored.Lists {
			hash, err := strconv.ParseUint(hashes, 16, 64)
			if err != nil {
				return fmt.Errorf("toolsearch: a session is a list of names, and of hashes of 16 hexadecimal digits: %w", err)
			}
			lists = append(lists, listHash{uint32(hash >> 32), uint32(hash)})
		}
	}
	read := NewSession(names...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names, s.loaded = read.names, read.loaded
	s.lists = lists[max(0, len(lists)-maxListHashes):]
	return nil
}

// noteList notes the tool list of an agent, and reports whether the agent's last list is known and
// differs.
func (s *Session) noteList(now listHash) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lists = slices.DeleteFunc(s.lists, func(before listHash) bool {
		changed = changed || before.agent == now.agent && before.list != now.list
		return before.agent == now.agent
	})
	s.lists = append(s.lists, now)
	s.lists = s.lists[max(0, len(s.lists)-maxListHashes):]
	return changed
}

// update adds the names that the session does not have, at the end, and removes others.
func (s *Session) update(add, remove []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	if len(remove) > 0 {
		for _, name := range remove {
			delete(s.loaded, name)
		}
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

// WithSession shares a session with every run of an agent within the returned context. A nil
// session ends the sharing by an outer context: each agent then loads tools for itself alone.
func WithSession(ctx context.Context, s *Session) context.Context {
	return context.WithValue(ctx, sessionKey{}, s)
}

// sessionIn returns the session that the context carries, or nil.
func sessionIn(ctx context.Context) *Session {
	s, _ := ctx.Value(sessionKey{}).(*Session)
	return s
}

// WithLoaded is WithSession(ctx, NewSession(names...)). The named dynamic tools are visible from
// the first model call on.
func WithLoaded(ctx context.Context, names ...string) context.Context {
	return WithSession(ctx, NewSession(names...))
}
