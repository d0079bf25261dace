//go:build unix

package mcp

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a server started ends with it, also if it holds none of the server's pipes.
func TestChildOfServer(t *testing.T) {
	const leave = `exec 3>"$PIPE"; sleep 1000 </dev/null >/dev/null 2>&1 &`
	pipe := filepath.Join(t.TempDir(), "pipe")
	require.NoError(t, syscall.Mkfifo(pipe, 0o600))
	ended := make(chan error, 1)
	go func() {
		f, err := os.Open(pipe)
		if err == nil {
			_, err = io.ReadAll(f) // until nobody has the other end
			_ = f.Close()
		}
		ended <- err
	}()
	connect(t, one(Server{Command: "/bin/sh", Args: []string{"-c", leave}, Env: map[string]string{"PIPE": pipe}}))
	assert.NoError(t, <-ended)
}
