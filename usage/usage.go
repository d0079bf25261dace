// Package usage learns from conversations which tools are called together. A tool whose words a request does not have is
// found by the company it keeps: with half of a task's tools called, what other tasks called with them raises the share of
// the rest among the first five matches of the task's text from 42 to 53% (mcpbench) and from 76 to 87% (ultratool).
//
//	store := new(usage.Store) // one a tenant
//	config := &toolsearch.Config{
//		Usage: store.Snapshot,
//		OnEvent: func(ctx context.Context, e toolsearch.Event) {
//			store.Observe(ctx, conversationOf(ctx), e)
//		},
//	}
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

// Bounds of a Store, and the numbers of its formula.
const (
	MaxConversations = 2_000 // those whose tools changed last are kept
	MaxTools         = 32    // different tools of a conversation; later ones do not count
	HalfLife         = 500   // conversations after which one counts half

	maxName = 512 // bytes of a tool's name
	fair    = 8   // tools beside one in a conversation that count in full; of more, each counts less
	prior   = 1   // conversations without the other tool that are assumed of each tool
)

// A Store is the tools that conversations have called with success. Its zero value is empty. It is safe for concurrent use.
// Tools of users who must not learn from each other belong in different Stores.
type Store struct {
	mu            sync.Mutex
	conversations []conversation // the newest last; a conversation does not change
	snapshot      toolsearch.CoUse
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
	next := conversation{ID: idOf(name)}
	at := s.index(next.ID)
	if at >= 0 {
		next.Tools = s.conversations[at].Tools
	}
	if slices.Contains(next.Tools, call.Tool) || len(next.Tools) >= MaxTools {
		return
	}
	next.Tools = append(slices.Clip(next.Tools), call.Tool)
	if at >= 0 {
		s.conversations = slices.Delete(s.conversations, at, at+1)
	}
	s.set(append(s.conversations, next))
}

// ForgetConversation removes what a conversation has called.
func (s *Store) ForgetConversation(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.index(idOf(name)); at >= 0 {
		s.set(slices.Delete(s.conversations, at, at+1))
	}
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

// idOf returns the hash of a conversation's name.
func idOf(name string) string {
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:12])
}

func (s *Store) index(id string) int {
	return slices.IndexFunc(s.conversations, func(c conversation) bool { return c.ID == id })
}

// set keeps the newest of the conversations.
func (s *Store) set(all []conversation) {
	s.conversations, s.snapshot = all[max(0, len(all)-MaxConversations):], nil
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
		if known[c.ID] || len(c.ID) != len(idOf("")) || len(c.Tools) == 0 || len(c.Tools) > MaxTools {
			return fmt.Errorf("usage: conversation %d of a store: want an id of its own and 1 to %d tools", i, MaxTools)
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
// less to a tool that others have called: 1/12 to one with ten conversations. A conversation counts half as much as one
// that is 500 newer. In one of more than nine tools that the run may see, a pair counts 8/(n-1). Of several called tools
// the mean counts.
func (s *Store) Snapshot(context.Context) toolsearch.CoUse {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.snapshot == nil {
		all := slices.Clone(s.conversations)
		s.snapshot = func(called []string, visible func(name string) bool) map[string]float64 {
			return coUse(all, called, visible)
		}
	}
	return s.snapshot
}

// coUse is the formula of Snapshot.
func coUse(all []conversation, called []string, visible func(name string) bool) map[string]float64 {
	sees := make(map[string]bool)
	calls, total := make(map[string]float64), 0.0 // the weights of conversations that call a tool, and of all
	both := make(map[string]map[string]float64)   // by called tool
	newer := 0.0                                  // conversations, of those that the run may know
	for _, c := range slices.Backward(all) {
		var tools []string
		for _, tool := range c.Tools {
			if _, asked := sees[tool]; !asked {
				sees[tool] = visible(tool)
			}
			if sees[tool] {
				tools = append(tools, tool)
			}
		}
		if len(tools) == 0 {
			continue
		}
		weight := math.Exp2(-newer / HalfLife)
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
