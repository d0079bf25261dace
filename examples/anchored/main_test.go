package main

import (
	"bytes"
	"flag"
	"testing"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

var update = flag.Bool("update", false, "write what the program prints into testdata")

// The program prints the same requests whenever a script answers them.
func TestPlay(t *testing.T) {
	var out bytes.Buffer
	for _, a := range apis {
		t.Setenv(a.key, "")
		play(t.Context(), &out, a)
	}
	testtools.Golden(t, "testdata/wire.txt", out.String(), *update)
}
