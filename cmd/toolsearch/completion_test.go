package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCompletion(t *testing.T) {
	hostile := filepath.Join(t.TempDir(), "tools.jsonl")
	require.NoError(t, os.WriteFile(hostile, []byte(`{"name": "a_b"} {"name": "a\tb"} {"name": "a;b"} {"name": "a\nb"}`), 0o666))
	servers := filepath.Join(t.TempDir(), "mcp.json")
	require.NoError(t, os.WriteFile(servers, []byte(`{"mcpServers": {"a": {"command": "touch", "args": ["`+servers+`.ran"]}}}`), 0o666))
	for _, test := range []struct {
		name  string
		words []string
		want  string // words that are offered, without what they mean
	}{
		{"commands", []string{"e"}, "explain eval"},
		{"of help", []string{"help", "li"}, "list"},
		{"shells", []string{"completion", ""}, "bash zsh fish"},
		{"flags", []string{"eval", "-m"}, "-model -min"},
		{"flags of one command", []string{"list", "-"}, "-header -timeout -h --"},
		{"flags after operands", []string{"search", "tools.jsonl", "-j"}, "-json"},
		{"searchers", []string{"search", "-searcher", "b"}, "bm25 bm25+lsa"},
		{"searchers after two dashes", []string{"search", "--searcher", "reg"}, "regexp"},
		{"the second searcher", []string{"eval", "-searcher", "bm25,hy"}, "bm25,hybrid"},
		{"searchers behind =", []string{"search", "-searcher=sim"}, "-searcher=similarity"},
		{"searchers behind = in bash", []string{"search", "-searcher", "=", "sim"}, "similarity"},
		{"searchers behind = alone in bash", []string{"search", "-searcher", "="}, strings.Join(searcherNames(), " ")},
		{"a number", []string{"search", "-n", ""}, ""},
		{"a file of a flag", []string{"eval", "-baseline", ""}, ":files"},
		{"a catalog", []string{"search", ""}, ":files"},
		{"a server's command", []string{"search", "x", "--", "n"}, ":files"},
		{"tools of a file", []string{"explain", tools, "a query", "train__"}, ":files train__timetable train__buy_ticket train__refund_ticket train__delays"},
		{"tools behind flags", []string{"explain", "-searcher", "bm25", "-json", tools, "a query", "doorL"}, ":files doorLock"},
		{"tools to approve", []string{"approve", "-all", hostile, ""}, ":files a_b"},
		{"tools of servers", []string{"approve", servers, ""}, ":files"},
		{"tools of no file", []string{"approve", hostile + "x", ""}, ":files"},
		{"an unknown command", []string{"sing", ""}, ""},
	} {
		code, stdout, stderr := runWith(t, "", append([]string{"__complete"}, test.words...)...)
		require.Equal(t, found, code, "%s: %s", test.name, stderr)
		var got []string
		for line := range strings.Lines(stdout) {
			word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			got = append(got, word)
		}
		assert.Equal(t, test.want, strings.Join(got, " "), test.name)
	}
	assert.NoFileExists(t, servers+".ran", "a key press started a server")
	code, stdout, _ := runWith(t, "", "__complete", "ins")
	assert.Equal(t, found, code)
	assert.Equal(t, "inspect\tsee what to fix in a catalog\n", stdout)
	code, _, _ = runWith(t, "", "__complete")
	assert.Equal(t, failed, code)
}

// Every flag that a help text has exists, and every command is explained.
func TestHelpNamesFlags(t *testing.T) {
	for name := range helps {
		assert.Contains(t, commands, name)
		assert.NotEmpty(t, usageOf(name), "what the program's help says of %s", name)
		for _, f := range flagsOf(name) {
			if f.value == "" {
				continue // only a flag with a value can be tried without running the command
			}
			_, _, stderr := runWith(t, "", name, f.name)
			assert.Contains(t, stderr, "flag needs an argument: "+f.name, name)
		}
	}
	assert.GreaterOrEqual(t, len(flagsOf("eval")), 12, "flags of eval")
}

// bash completes with the script that the program prints.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash to complete in")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	t.Setenv(asProgram, "1")
	folder := t.TempDir()
	for _, name := range []string{"tools one.jsonl", "tools two.jsonl", "queries.jsonl"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o666))
	}
	complete := func(words ...string) string {
		const script = `source <("$1" completion bash); shift
			complete -p toolsearch >&2
			COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
			_toolsearch
			printf '%s\n' "${COMPREPLY[@]}"`
		command := exec.Command(bash, append([]string{"--norc", "-c", script, "bash", self, self}, words...)...)
		command.Dir = folder
		var said strings.Builder
		command.Stderr = &said
		out, err := command.Output()
		require.NoError(t, err, said.String())
		assert.Contains(t, said.String(), "complete -F _toolsearch toolsearch")
		assert.NotContains(t, said.String(), "rror", "what bash complains of")
		return strings.TrimSuffix(string(out), "\n")
	}
	assert.Equal(t, "search", complete("sea"))
	assert.Equal(t, "explain\neval", complete("e"))
	assert.Equal(t, "-searcher", complete("eval", "-s"))
	assert.Equal(t, "hybrid", complete("eval", "-searcher", "hy"))
	assert.Equal(t, "hybrid", complete("eval", "-searcher", "=", "hy"), "bash splits at =")
	assert.ElementsMatch(t, []string{"tools one.jsonl", "tools two.jsonl"}, strings.Split(complete("inspect", "tools"), "\n"))
	assert.Equal(t, "queries.jsonl", complete("eval", "-baseline", "q"))
	assert.Empty(t, complete("search", "-n", ""))
}
