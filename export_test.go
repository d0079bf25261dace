package toolsearch

import "time"

// What the tests change, since no setting does.

// SetSourceGrace sets how long a run waits for a Source that has a good answer already, and returns
// what it was.
func SetSourceGrace(grace time.Duration) time.Duration {
	before := sourceGrace
	sourceGrace = grace
	return before
}
