package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cloudwego/eino/adk"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// silentServer is the variable that turns the test binary into a server that never answers.
const silentServer = "MCP_TEST_SILENT_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(silentServer) != "" {
		_, _ = os.Stderr.WriteString("I say nothing\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	if file := os.Getenv(dyingServer); file != "" {
		serveDying(file)
		return
	}
	testtools.RunPatiently(m)
}

// speechTime is how long the silent server has to start and to write its line to standard error, on a
// busy machine too. Tests wait for all of it.
const speechTime = 6 * time.Second

// converse runs an agent whose model plays turns, and returns what the model was shown.
func converse[M adk.MessageType](t *testing.T, handlers []adk.TypedChatModelAgentMiddleware[M], turns ...toolsearchtest.Turn) []toolsearchtest.Request {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	model := toolsearchtest.NewModel[M](turns...)
	agent, err := adk.NewTypedChatModelAgent(ctx, &adk.TypedChatModelAgentConfig[M]{
		Name: "assistant", Description: "Helps", Model: model, Handlers: handlers,
	})
	require.NoError(t, err)
	events := adk.NewTypedRunner(adk.TypedRunnerConfig[M]{Agent: agent}).Query(ctx, "Please.")
	for event, ok := events.Next(); ok; event, ok = events.Next() {
		require.NoError(t, event.Err)
	}
	require.Len(t, model.Requests(), len(turns), "calls of the model")
	return model.Requests()
}

// answer returns the newest result that the model was shown.
func answer(requests []toolsearchtest.Request) string {
	messages := requests[len(requests)-1].Messages
	return messages[len(messages)-1].Text
}

func quoted(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	return string(text)
}

// npmServers installs the servers of servers/package-lock.json once, beside this file, and returns
// their folder.
var npmServers = sync.OnceValues(func() (string, error) {
	folder, err := filepath.Abs("servers")
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(filepath.Join(folder, "node_modules")); err == nil {
		return folder, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = folder
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return folder, nil
})
