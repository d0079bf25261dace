package lock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/lock"
)

// Any file is either refused, or written again as it was read.
func FuzzRead(f *testing.F) {
	f.Add(bytesOf(f, lockOf(f, approved(f)...)))
	f.Add(`{"lock_version":1,"namespaces":{"":{}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		file, err := lock.Read(strings.NewReader(text))
		if err != nil {
			return
		}
		first := bytesOf(t, file)
		require.Equal(t, first, bytesOf(t, testtools.Must(lock.Read(strings.NewReader(first)))(t)))
	})
}
