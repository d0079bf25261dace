package lock

// Read and Bytes are what ReadFile reads and WriteFile writes.
var (
	Read  = read
	Bytes = (*File).bytes
)

// VerdictsOf returns how many verdicts a Lock keeps.
func VerdictsOf(l *Lock) (n int) {
	l.verdicts.Range(func(any, any) bool { n++; return true })
	return n
}

// UnmatchedPhrases returns the patterns that match none of the texts.
func UnmatchedPhrases(texts []string) (patterns []string) {
	for _, g := range phrases {
		for _, p := range g.patterns {
			matched := false
			for _, text := range texts {
				matched = matched || p.MatchString(fold(text))
			}
			if !matched {
				patterns = append(patterns, p.String())
			}
		}
	}
	return patterns
}
