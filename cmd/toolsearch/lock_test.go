package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// hostileTools tries what package lock warns of.
const hostileTools = "testdata/hostile.jsonl"

// checkGolden compares what a command printed with a file.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name+".golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test ./cmd/toolsearch -update rewrites it")
}

func TestInspectHostileTools(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"inspect", hostileTools}, strings.NewReader(""), &stdout, &stderr)
	assert.Equal(t, toFix, code, "exit status")
	assert.Empty(t, stderr.String())
	checkGolden(t, "inspect-hostile", stdout.String())
}
