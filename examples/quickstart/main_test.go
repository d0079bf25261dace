package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCosts keeps the numbers in docs/protocols.md true: they are the end of the program's output.
func TestCosts(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out))
	_, summary, found := strings.Cut(out.String(), "\nWhat this conversation costs")
	require.True(t, found, "no summary in\n%s", out.String())
	page, err := os.ReadFile("../../docs/protocols.md")
	require.NoError(t, err)
	assert.Contains(t, string(page), "What this conversation costs"+summary, "docs/protocols.md differs from the program's output")
}
