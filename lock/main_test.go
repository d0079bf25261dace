package lock_test

import (
	"testing"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

func TestMain(m *testing.M) { testtools.RunPatiently(m) }
