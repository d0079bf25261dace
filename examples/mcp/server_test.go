package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cloudwego/eino/components/tool"
)

// silentServer makes the test program a server that never answers.
const silentServer = "MCP_TEST_SILENT_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(silentServer) != "" {
		_, _ = os.Stderr.WriteString("I say nothing\n")
		time.Sleep(time.Minute)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// serverTools returns the tools of a server that runs until the test ends.
func serverTools(t *testing.T) []tool.BaseTool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute) // downloads and a cold build included
	defer cancel()                                                 // the server must outlive this context
	server, stop, err := connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	tools, err := server.Tools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return tools
}

func TestServerTools(t *testing.T) {
	// The user's own settings must not change what the server offers.
	t.Setenv("GITHUB_READ_ONLY", "true")

	tools := serverTools(t)
	if len(tools) != 82 {
		t.Errorf("got %d tools, want 82", len(tools))
	}
	byName := map[string]tool.BaseTool{}
	for _, tl := range tools {
		info, err := tl.Info(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		byName[info.Name] = tl
		if info.Name == "" || info.Desc == "" {
			t.Errorf("tool %q is described as %q, want both", info.Name, info.Desc)
		}
		schema, err := info.ParamsOneOf.ToJSONSchema()
		if err != nil || schema == nil {
			t.Errorf("%s: schema %v, error %v", info.Name, schema, err)
			continue
		}
		if schema.Type != "object" {
			t.Errorf("%s: the schema's type is %q, want object", info.Name, schema.Type)
		}
		if _, err := json.Marshal(schema); err != nil {
			t.Errorf("%s: schema: %v", info.Name, err)
		}
	}
	if len(byName) != len(tools) {
		t.Errorf("%d tools have %d names", len(tools), len(byName))
	}
	for _, name := range []string{"create_pull_request", "get_me"} {
		if byName[name] == nil {
			t.Errorf("no tool %s", name)
		}
	}

	// A call reaches the server, which finds nobody at the other end.
	me, ok := byName["get_me"].(tool.InvokableTool)
	if !ok {
		t.Fatalf("get_me is a %T, want an InvokableTool", byName["get_me"])
	}
	if out, err := me.InvokableRun(t.Context(), `{}`); err == nil || !strings.Contains(err.Error(), "127.0.0.1") {
		t.Errorf("get_me: result %q, error %v, want an error about 127.0.0.1", out, err)
	}
}

func TestConnectHonoursDeadline(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, _, err := connect(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the deadline exceeded", err)
	}
}

func TestStartEndsSilentServer(t *testing.T) {
	bin, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, _, err = start(ctx, append(os.Environ(), silentServer+"=1"), "silent", bin)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "I say nothing") {
		t.Errorf("got %v, want the deadline exceeded and what the server said", err)
	}
}

func TestStartShowsWhyServerEnded(t *testing.T) {
	bin, remove, err := buildServer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer remove()
	_, _, err = start(t.Context(), []string{}, "github", bin, "stdio")
	if err == nil || !strings.Contains(err.Error(), "GITHUB_PERSONAL_ACCESS_TOKEN not set") {
		t.Errorf("got %v, want what the server said", err)
	}
}
