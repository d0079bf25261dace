// Package usage learns from conversations which tools are called together. A tool whose words a request does not have is
// found by the company it keeps. docs/settings.md says how much that finds.
//
// A Store marshals as JSON, to be kept in a file. It keeps names of tools and hashes of the conversations' names, but no
// queries, arguments or results.
package usage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch"
)

const (
	maxConversations = 2_000 // those whose tools changed last are kept
	maxTools         = 32    // different tools of a conversation; later ones do not count
	maxName          = 512   // bytes of a tool's name
	halfLife         = 500   // conversations after which one counts half
	fair             = 8     // tools beside one in a conversation that count in full; of more, each counts less
	prior            = 1     // conversations without the other tool that are assumed of each tool
)

// A Store is the tools that the last 2,000 conversations have called with success, up to 32 of each. Its zero value is
// empty. It is safe for concurrent use. Users who must not learn from each other need different Stores.
type Store struct {
	mu            sync.Mutex
	conversations []conversation // the newest last; a conversation does not change
}

// conversation is what a Store keeps of one.
type conversation struct {
	ID    string   `json:"id"`    // a hash of its name
	Tools []string `json:"tools"` // in the order of their first calls
}

// Observe adds a successful call to what the store knows of a conversation. Other events, a conversation without a name,
// and a tool whose name is longer than 512 bytes change nothing.
func (s *Store) Observe(_ context.Context, name string, event toolsearch.Event) {
	call, ok := event.(*toolsearch.CallEvent)
	if !ok || call == nil || call.Err != nil || name == "" || call.Tool == "" || len(call.Tool) > maxName {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.take(name)
	if !slices.Contains(next.Tools, call.Tool) && len(next.Tools) < maxTools {
		next.Tools = append(slices.Clip(next.Tools), call.Tool)
	}
	s.set(append(s.conversations, next))
}

// ForgetConversation removes what a conversation has called.
func (s *Store) ForgetConversation(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.take(name)
}

// ForgetTool removes a tool from all conversations.
func (s *Store) ForgetTool(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]conversation, 0, len(s.conversations))
	for _, c := range s.conversations {
		c.Tools = slices.DeleteFunc(slices.Clone(c.Tools), func(tool string) bool { return tool == name })
		if len(c.Tools) > 0 {
			kept = append(kept, c)
		}
	}
	s.set(kept)
}

func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

// take removes a conversation, and returns it.
func (s *Store) take(name string) conversation {
	id := idOf(name)
	at := slices.IndexFunc(s.conversations, func(c conversation) bool { return c.ID == id })
	if at < 0 {
		return conversation{ID: id}
	}
	taken := s.conversations[at]
	s.conversations = slices.Delete(s.conversations, at, at+1)
	return taken
}

func (s *Store) set(all []conversation) {
	s.conversations = all[max(0, len(all)-maxConversations):]
}

// MarshalJSON implements json.Marshaler.
func (s *Store) MarshalJSON() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return json.Marshal(append([]conversation{}, s.conversations...))
}

// UnmarshalJSON implements json.Unmarshaler. It replaces everything in the store. It fails on what MarshalJSON does not write.
func (s *Store) UnmarshalJSON(text []byte) error {
	var all []conversation
	if err := json.Unmarshal(text, &all); err != nil {
		return fmt.Errorf("usage: a store is a list of conversations: %w", err)
	}
	known := make(map[string]bool)
	for i, c := range all {
		if known[c.ID] || len(c.ID) != len(idOf("")) || len(c.Tools) == 0 || len(c.Tools) > maxTools {
			return fmt.Errorf("usage: conversation %d of a store: want an id of its own and 1 to %d tools", i, maxTools)
		}
		known[c.ID] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(all)
	return nil
}

// Snapshot returns what the store knows now. Later calls do not change it. It is a Config.Usage.
//
// How strongly a tool goes with a called one is (both - expected) / (called + 1): the conversations that call both, without
// those that would if the two had nothing to do with each other, as a share of the conversations that call the called one
// and of one more. So a tool that is called everywhere goes with none, and a single conversation adds at most a half, and
// less to a tool that others have called: 1/12 to one with ten new conversations. A conversation counts half as much as one
// that is 500 newer. In one of more than nine tools that the run may see, a pair counts 8/(n-1). Of several called tools
// the mean counts.
func (s *Store) Snapshot(context.Context) toolsearch.CoUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := slices.Clone(s.conversations)
	return func(called []string, visible func(name string) bool) map[string]float64 {
		calls, total := make(map[string]float64), 0.0 // the weights of conversations that call a tool, and of all
		both := make(map[string]map[string]float64)   // by called tool
		newer := 0.0                                  // conversations, of those that the run may know
		for _, c := range slices.Backward(all) {
			tools := slices.DeleteFunc(slices.Clone(c.Tools), func(tool string) bool { return !visible(tool) })
			if len(tools) == 0 {
				continue
			}
			weight := math.Exp2(-newer / halfLife)
			newer, total = newer+1, total+weight
			share := weight * min(1, fair/float64(max(1, len(tools)-1)))
			for _, tool := range tools {
				calls[tool] += weight
				if !slices.Contains(called, tool) {
					continue
				}
				if both[tool] == nil {
					both[tool] = make(map[string]float64)
				}
				for _, other := range tools {
					both[tool][other] += share
				}
			}
		}
		strengths := make(map[string]float64)
		for _, tool := range called {
			for other, weight := range both[tool] {
				lift := (weight - calls[tool]*calls[other]/total) / (calls[tool] + prior)
				if lift > 0 && !slices.Contains(called, other) {
					strengths[other] += lift / float64(len(called))
				}
			}
		}
		return strengths
	}
}
