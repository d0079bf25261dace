//go:build unix

package mcp

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a server started ends with it, also if it holds none of the server's pipes, and also if the server itself says
// nothing until its client gives up, as node does when npx started it.
func TestChildOfServer(t *testing.T) {
	for _, then := range []string{"", "wait"} {
		leave := `exec 3>"$PIPE"; sleep 1000 </dev/null >/dev/null 2>&1 & ` + then
		pipe := filepath.Join(t.TempDir(), "pipe")
		require.NoError(t, syscall.Mkfifo(pipe, 0o600))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			f, err := os.Open(pipe) // when the server has started
			if err == nil {
				if then != "" {
					cancel()
				}
				_, err = io.ReadAll(f) // until nobody has the other end
				_ = f.Close()
			}
			ended <- err
		}()
		servers, err := Connect(ctx, one(Server{Command: "/bin/sh", Args: []string{"-c", leave}, Env: map[string]string{"PIPE": pipe}}))
		assert.NoError(t, <-ended)
		cancel()
		if err == nil {
			assert.NoError(t, servers.Close())
		}
	}
}
