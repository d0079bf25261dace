package recent

import "sync"

// maxTexts bounds what a Set remembers. A full Set forgets everything.
const maxTexts = 1000

// A Set remembers texts. It is safe for concurrent use. The zero value is ready.
type Set struct {
	mu  sync.Mutex
	has map[string]bool
}

// IsNew remembers a text, and reports whether the set did not have it before.
func (s *Set) IsNew(text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.has[text] {
		return false
	}
	if s.has == nil || len(s.has) == maxTexts {
		s.has = make(map[string]bool)
	}
	s.has[text] = true
	return true
}
