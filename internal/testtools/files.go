package testtools

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ReadFile returns the text of a file.
func ReadFile(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// Golden compares a text with a file, which update rewrites.
func Golden(t testing.TB, path, got string, update bool) {
	t.Helper()
	if update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o666))
	}
	assert.Equal(t, ReadFile(t, path), got, "%s; -update rewrites it", path)
}
