package ui

import (
	"testing"
	"time"
)

// SetPatience changes how long a request waits, until the test ends.
func SetPatience(t *testing.T, d time.Duration) {
	before := patience
	patience = d
	t.Cleanup(func() { patience = before })
}
