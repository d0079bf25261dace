package testtools

import (
	"os"
	"testing"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/sources"
)

// RunPatiently is the TestMain of a package whose tests wait for Sources as long as it takes. On a
// busy machine, even a Source that answers at once may be late, and only the tests of late Sources are
// about that.
func RunPatiently(m *testing.M) {
	sources.Grace = time.Minute
	os.Exit(m.Run())
}
