package lock

// VerdictsOf returns how many verdicts a Lock keeps.
func VerdictsOf(l *Lock) int {
	s := l.current.Load()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.verdicts)
}
