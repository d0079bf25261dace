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

// TestREADME keeps the numbers in the README true: they are the end of the program's output.
func TestREADME(t *testing.T) {
	var out bytes.Buffer
	require.NoError(t, run(context.Background(), &out))
	_, summary, found := strings.Cut(out.String(), "\nWhat this conversation costs")
	require.True(t, found, "no summary in\n%s", out.String())
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.Contains(t, string(readme), "What this conversation costs"+summary, "the README differs from the program's output")
}
