//go:build !go1.25

package testtools

import "testing"

// InFakeTime runs the test in real time: this release of Go has no fake time.
func InFakeTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	test(t)
}
