package testtools

import (
	"os"
	"testing"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/toolsource"
)

// RunPatiently is the TestMain of a package whose tests wait for Sources as long as it takes. A Source
// that answers at once may be late all the same on a busy machine, which no test but that of late
// Sources is about.
func RunPatiently(m *testing.M) {
	toolsource.Grace = time.Minute
	os.Exit(m.Run())
}
