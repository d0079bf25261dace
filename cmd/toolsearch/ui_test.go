package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/inspect"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// The command prints the page's address at once, and serves until it is interrupted. The page shows
// what inspect shows, also for a catalog with faults.
func TestUI(t *testing.T) {
	ask, interrupt := serveUI(t, problems)
	var state struct {
		Title     string
		Tools     int
		Chosen    []string
		Searchers []struct{ Name, Label string }
	}
	ask("state", &state)
	assert.Equal(t, "problems.jsonl", state.Title)
	assert.Equal(t, []string{"keyword", "bm25"}, state.Chosen)
	assert.Contains(t, state.Searchers, struct{ Name, Label string }{"bm25", "bm25"})
	assert.Contains(t, state.Searchers, struct{ Name, Label string }{"anthropic-bm25", "anthropic-bm25 (emulated)"})
	var shown struct {
		Kinds []struct {
			Heading string
			Count   int
		}
	}
	ask("findings", &shown)
	counts := make(map[string]int)
	for _, k := range shown.Kinds {
		counts[k.Heading] = k.Count
	}
	stdout, _ := prints(t, cli.Nothing, "", "inspect", "-json", problems)
	wanted := make(map[string]int)
	for _, k := range inspect.Kinds {
		for _, p := range reportOf(t, stdout).Problems {
			if p.Kind == k.Kind {
				wanted[k.Heading]++
			}
		}
	}
	assert.Equal(t, wanted, counts)
	assert.Equal(t, cli.Found, interrupt(), "exit status")
}

// With -embed the menu has the searchers that need vectors.
func TestUIByVectors(t *testing.T) {
	s := newEmbedServer(t)
	ask, interrupt := serveUI(t, "-searcher", "keyword,hybrid", "-embed", s.URL+"/v1", "-model", "small", parcels(t, 3))
	var state struct{ Searchers []struct{ Name string } }
	ask("state", &state)
	assert.Contains(t, state.Searchers, struct{ Name string }{"hybrid"})
	assert.Contains(t, state.Searchers, struct{ Name string }{"embedding"})
	var answer struct {
		Message string
		Hits    []struct{ Name string }
	}
	ask("search?searcher=hybrid&q=my+parcel", &answer)
	require.NotEmpty(t, answer.Hits)
	assert.Equal(t, "track", answer.Hits[0].Name)
	assert.Empty(t, answer.Message, "what failed")
	assert.Equal(t, cli.Found, interrupt(), "exit status")
}

// Whoever may list the machine's processes must not learn the address from the browser's command line.
func TestUIOpensAFile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("the test puts its own xdg-open into the path")
	}
	folder := t.TempDir()
	script := "#!/bin/sh\ncd " + folder + "\ncat \"$1\" >page\necho \"$@\" >args\nmv args opened\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "xdg-open"), []byte(script), 0o700))
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	_, interrupt := serveUI(t, "-open", problems)
	require.Eventually(t, func() bool { _, err := os.Stat(filepath.Join(folder, "opened")); return err == nil }, time.Minute, time.Millisecond)
	page := testtools.ReadFile(t, filepath.Join(folder, "page"))
	token := regexp.MustCompile(`127\.0\.0\.1:\d+/([\w-]{32})/"`).FindStringSubmatch(page)
	require.NotNil(t, token, "%s", page)
	assert.Equal(t, cli.Found, interrupt(), "exit status")
	opened := testtools.ReadFile(t, filepath.Join(folder, "opened"))
	assert.NotContains(t, opened, token[1])
	assert.NoFileExists(t, strings.TrimSpace(opened))
}

// serveUI runs the command until interrupt, which returns its exit status. ask asks the page.
func serveUI(t *testing.T, args ...string) (ask func(path string, into any), interrupt func() int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	printed, stdout := io.Pipe()
	var stderr strings.Builder
	ended := make(chan int, 1)
	go func() {
		code := run(ctx, append([]string{"ui"}, args...), strings.NewReader(""), stdout, &stderr)
		stdout.Close()
		ended <- code
	}()
	address := strings.TrimSpace(testtools.Must(bufio.NewReader(printed).ReadString('\n'))(t))
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/[\w-]{32}/$`, address)
	ask = func(path string, into any) {
		response := testtools.Must(http.Get(address + "api/" + path))(t)
		defer response.Body.Close()
		require.Equal(t, http.StatusOK, response.StatusCode)
		require.NoError(t, json.NewDecoder(response.Body).Decode(into))
	}
	return ask, func() int {
		cancel()
		return <-ended
	}
}
