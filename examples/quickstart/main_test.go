package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
)

// TestREADME keeps the numbers in the README true: they are the end of what the program
// prints.
func TestREADME(t *testing.T) {
	var out bytes.Buffer
	if err := run(context.Background(), &out); err != nil {
		t.Fatal(err)
	}
	_, summary, found := strings.Cut(out.String(), "\nSpent on tools")
	if !found {
		t.Fatalf("no summary in\n%s", out.String())
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := "Spent on tools" + summary; !strings.Contains(string(readme), want) {
		t.Errorf("the README does not have what the program prints:\n%s", want)
	}
}
