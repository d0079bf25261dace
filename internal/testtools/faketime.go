//go:build go1.25

package testtools

import (
	"testing"
	"testing/synctest"
)

// InFakeTime runs a test whose clock goes on only while every goroutine of the test waits. A timeout
// then ends what hangs, and nothing else, however slow the machine is. The test must start its
// goroutines itself and end them, and may not use the network or subtests.
func InFakeTime(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, test)
}
