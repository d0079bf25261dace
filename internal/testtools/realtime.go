//go:build !go1.25

package testtools

import "testing"

// InFakeTime skips the test.
func InFakeTime(t *testing.T, _ func(t *testing.T)) { t.Skip("this release of Go has no fake time") }
