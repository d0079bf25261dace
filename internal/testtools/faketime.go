//go:build go1.25

package testtools

import (
	"testing"
	"testing/synctest"
)

// InFakeTime runs a test whose clock advances only while every goroutine of the test waits. So a
// timeout ends only what hangs, however slow the machine is. The test must start and end its
// goroutines itself, and must not use the network or subtests.
func InFakeTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
