package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestREADME keeps the program in the README the one that is compiled.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(program), "package main\n")
	assert.Contains(t, string(readme), "```go\npackage main\n"+code+"```\n", "the README's program differs from main.go")
}

func TestProgramRuns(*testing.T) { main() }
