package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

const (
	walkPage   = "../../docs/tuning.md"
	walkFiles  = "testdata/tuning/filesystem"
	walkServer = "@modelcontextprotocol/server-filesystem@2026.8.31"
)

// walkShell returns a function that runs a shell command in a folder, where the test binary is
// toolsearch. "" means a new folder with the files of the walk.
func walkShell(t *testing.T, folder string) (_ string, sh func(line string) string) {
	t.Helper()
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh to walk with")
	}
	programs := t.TempDir()
	require.NoError(t, os.Symlink(self, filepath.Join(programs, "toolsearch")))
	t.Setenv("PATH", programs+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv(asProgram, "1")
	if folder == "" {
		folder = t.TempDir()
		require.NoError(t, os.CopyFS(folder, os.DirFS(walkFiles)))
	}
	return folder, func(line string) string {
		command := exec.Command(shell, "-c", line)
		command.Dir = folder
		var said bytes.Buffer
		command.Stderr = &said
		out := testtools.Must(command.Output())(t, "%s\n%s", line, said.String())
		require.Empty(t, said.String(), line)
		return string(out)
	}
}

// The commands in the last section of docs/tuning.md, and those at the beginning of the README, print
// what the page shows.
func TestWalk(t *testing.T) {
	_, sh := walkShell(t, "")
	walk(t, walkPage, "\n## 9. A real server", "", 10, sh)
	_, sh = walkShell(t, "../..")
	walk(t, "README.md", "\n<!-- walk:", "\n## The catalog", 3, sh)
}

// walk runs the commands in the blocks of a part of a page, and compares what they print.
func walk(t *testing.T, file, from, to string, least int, sh func(line string) string) {
	t.Helper()
	page := testtools.ReadFile(t, file)
	before, part, ok := strings.Cut(page, from)
	require.True(t, ok, "the part of the page")
	after := ""
	if to != "" {
		part, after, ok = strings.Cut(part, to)
		require.True(t, ok, "the end of the part")
		after = to + after
	}
	walked := 0
	block := regexp.MustCompile("(?s)```text\n(\\$ .*?)```")
	printed := block.ReplaceAllStringFunc(part, func(text string) string {
		var b strings.Builder
		b.WriteString("```text\n")
		for _, line := range regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllStringSubmatch(text, -1) {
			if walked++; b.Len() > len("```text\n") {
				b.WriteByte('\n')
			}
			b.WriteString(line[0] + "\n")
			if !strings.Contains(line[1], "npx") { // TestWalkAsksTheServer does
				b.WriteString(sh(line[1]))
			}
		}
		return b.String() + "```"
	})
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(before+from+printed+after), 0o666))
		return
	}
	assert.Equal(t, part, printed, "go test ./cmd/toolsearch -run Walk -update rewrites what the commands print")
	assert.GreaterOrEqual(t, walked, least, "commands")
}

// The files of the walk are what the server says, which the lock file of package mcp's tests has with its
// dependencies: a new release of one of them may change it.
func TestWalkAsksTheServer(t *testing.T) {
	const servers = "../../mcp/testdata/servers"
	scripts := testtools.NPMServers(t, servers)
	page := testtools.ReadFile(t, walkPage)
	const ask = "toolsearch list -- npx -y " + walkServer + " . > tools.jsonl"
	require.Contains(t, page, "$ "+ask+"\n")
	installed := testtools.ReadFile(t, filepath.Join(servers, "package.json"))
	name, version, _ := strings.Cut(strings.TrimPrefix(walkServer, "@"), "@")
	require.Contains(t, installed, fmt.Sprintf(`"@%s": %q`, name, version), "the server of the page is installed")
	folder, sh := walkShell(t, "")
	want := testtools.ReadFile(t, filepath.Join(folder, "tools.jsonl"))
	_, short, _ := strings.Cut(name, "server-")
	assert.Equal(t, want, sh("toolsearch list -- node '"+scripts[short]+"' ."))
}
