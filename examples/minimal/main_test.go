package main

import (
	"os"
	"strings"
	"testing"
)

// TestREADME keeps the program in the README the one that is compiled.
func TestREADME(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(program), "package main\n")
	if !strings.Contains(string(readme), "```go\npackage main\n"+code+"```\n") {
		t.Error("the README's program differs from main.go")
	}
}

func TestProgramRuns(*testing.T) { main() }
