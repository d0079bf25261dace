package main

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// silentServer is the variable that turns the test binary into a server that never answers.
const silentServer = "MCP_TEST_SILENT_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(silentServer) != "" {
		_, _ = os.Stderr.WriteString("I say nothing\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	if description := os.Getenv(fickleServer); description != "" {
		serveFickle(description)
		return
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

// serverTools returns the tools of a server that runs until the test ends.
func serverTools(t *testing.T) []tool.BaseTool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // downloads and a cold build included
	defer cancel()                                                 // the server must outlive this context
	server, stop, err := connect(ctx)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, stop())
	})
	tools, err := server.Tools(ctx)
	require.NoError(t, err)
	return tools
}

func TestServerTools(t *testing.T) {
	// The user's own settings must not change the server's tools.
	t.Setenv("GITHUB_READ_ONLY", "true")

	tools := serverTools(t)
	assert.Len(t, tools, 82)
	byName := map[string]tool.BaseTool{}
	for _, tl := range tools {
		info, err := tl.Info(t.Context())
		require.NoError(t, err)
		byName[info.Name] = tl
		assert.NotEmpty(t, info.Name, "described as %q", info.Desc)
		assert.NotEmpty(t, info.Desc, info.Name)
		schema, err := info.ParamsOneOf.ToJSONSchema()
		if !assert.NoError(t, err, info.Name) || !assert.NotNil(t, schema, info.Name) {
			continue
		}
		assert.Equal(t, "object", schema.Type, info.Name)
		_, err = json.Marshal(schema)
		assert.NoError(t, err, info.Name)
	}
	assert.Len(t, byName, len(tools))
	for _, name := range []string{"create_pull_request", "get_me"} {
		assert.NotNil(t, byName[name], "no tool %s", name)
	}

	// A call reaches the server, but the server reaches nothing.
	me, ok := byName["get_me"].(tool.InvokableTool)
	require.True(t, ok, "get_me is a %T, want an InvokableTool", byName["get_me"])
	out, err := me.InvokableRun(t.Context(), `{}`)
	require.NoError(t, err)
	assert.Contains(t, out, "127.0.0.1")
	assert.Contains(t, out, `"isError":true`)
}

func TestConnectHonoursDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, _, err := connect(ctx)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestStartEndsSilentServer(t *testing.T) {
	bin, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), speechTime)
	defer cancel()
	_, _, err = start(ctx, append(os.Environ(), silentServer+"=1"), "silent", bin)
	assert.ErrorIs(t, err, context.DeadlineExceeded)
	assert.ErrorContains(t, err, "I say nothing")
}

func TestStartShowsWhyServerEnded(t *testing.T) {
	bin, remove, err := buildServer(t.Context())
	require.NoError(t, err)
	defer remove()
	_, _, err = start(t.Context(), []string{}, "github", bin, "stdio")
	assert.ErrorContains(t, err, "GITHUB_PERSONAL_ACCESS_TOKEN not set")
}
