package lock_test

import (
	"os"
	"testing"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/toolsource"
)

// A Source that answers at once may be late all the same on a busy machine, which no test here is
// about.
func TestMain(m *testing.M) {
	toolsource.Grace = time.Minute
	os.Exit(m.Run())
}
