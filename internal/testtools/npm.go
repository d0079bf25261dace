package testtools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// NPMServers returns the path of the main script of each server in a folder's package.json, by the part of its name behind
// "server-". It installs what the package-lock.json says beside it, once. It skips the test where Node.js or npm is missing.
func NPMServers(t *testing.T, folder string) map[string]string {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: no servers of npm packages")
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the servers need Node.js 18 or later and npm: %v", err)
		}
	}
	folder, err := filepath.Abs(folder)
	require.NoError(t, err)
	installed := filepath.Join(folder, "node_modules")
	if _, err := os.Stat(installed); err != nil {
		fresh := t.TempDir() // tests of several packages may need them at the same time
		require.NoError(t, os.CopyFS(fresh, os.DirFS(folder)))
		npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
		npm.Dir = fresh
		if out, err := npm.CombinedOutput(); err != nil {
			t.Skipf("npm cannot install the servers: %v\n%s", err, out)
		}
		if os.Rename(filepath.Join(fresh, "node_modules"), installed) != nil { // another test was faster, or the folder is of another disk
			installed = filepath.Join(fresh, "node_modules")
		}
	}
	scripts, err := filepath.Glob(filepath.Join(installed, "@modelcontextprotocol", "server-*", "dist", "index.js"))
	require.NoError(t, err)
	byName := make(map[string]string)
	for _, script := range scripts {
		byName[filepath.Base(filepath.Dir(filepath.Dir(script)))[len("server-"):]] = script
	}
	return byName
}
