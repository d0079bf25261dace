package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/mcpclient"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// The files of MCP servers: {"mcpServers": {...}}, with variables of the environment in their texts.

// A serverEntry is one server of an mcpServers file.
type serverEntry struct {
	Command  string            `json:"command"`
	Args     []string          `json:"args"`
	Env      map[string]string `json:"env"`
	Cwd      string            `json:"cwd"`
	URL      string            `json:"url"`
	Type     string            `json:"type"`
	Headers  map[string]string `json:"headers"`
	Disabled bool              `json:"disabled"`
}

// topLevel returns the keys of a file that is one object, or nil.
func topLevel(data []byte) (keys map[string]json.RawMessage) {
	if toolfile.TooDeep(data) || json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &keys) != nil {
		return nil
	}
	return keys
}

// serversOf returns the servers of an mcpServers file, or nil for any other file. A file that looks
// like a server's answer does not count: a server must not be able to name a command to run.
func serversOf(file map[string]json.RawMessage) map[string]json.RawMessage {
	for _, key := range []string{"jsonrpc", "id", "result", "tools", "name", "nextCursor", "_meta"} {
		if file[key] != nil {
			return nil
		}
	}
	var entries map[string]json.RawMessage
	if file["mcpServers"] == nil || json.Unmarshal(file["mcpServers"], &entries) != nil {
		return nil
	}
	if entries == nil {
		entries = map[string]json.RawMessage{}
	}
	return entries
}

// endpointsOf reads the servers of an mcpServers file, in the order of their names.
func endpointsOf(entries map[string]json.RawMessage) (endpoints []mcpclient.Endpoint, err error) {
	if len(entries) > maxServers {
		return nil, fmt.Errorf("more than %d servers", maxServers)
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		var entry serverEntry
		if err := json.Unmarshal(entries[name], &entry); err != nil {
			return nil, fmt.Errorf("server %s: a value is of the wrong kind; want command, args and env, or url and headers", cli.OneLine(name, 100))
		}
		if entry.Disabled {
			continue
		}
		at, err := entry.endpoint(name)
		if err != nil {
			return nil, fmt.Errorf("server %s: %w", cli.OneLine(name, 100), err)
		}
		endpoints = append(endpoints, at)
	}
	if len(endpoints) == 0 {
		return nil, errors.New("no servers")
	}
	return endpoints, nil
}

func (e *serverEntry) endpoint(name string) (mcpclient.Endpoint, error) {
	var x expansion
	at := mcpclient.Endpoint{Namespace: name, Dir: x.expand(e.Cwd), URL: x.expand(e.URL)}
	for _, key := range slices.Sorted(maps.Keys(e.Headers)) {
		if at.Headers == nil {
			at.Headers = make(http.Header)
		}
		at.Headers.Set(key, x.expand(e.Headers[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(e.Env)) {
		at.Env = append(at.Env, key+"="+x.expand(e.Env[key]))
	}
	if e.Command != "" {
		at.Command = []string{x.expand(e.Command)}
		for _, arg := range e.Args {
			at.Command = append(at.Command, x.expand(arg))
		}
	}
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(e.Type)) {
	case "", "stdio":
	case "http", "streamablehttp":
		at.Kind = mcpclient.Streamable
	case "sse":
		at.Kind = mcpclient.SSE
	default:
		return at, fmt.Errorf("type %q: want stdio, http or sse", cli.OneLine(e.Type, 40))
	}
	if (at.URL == "") == (len(at.Command) == 0) {
		return at, errors.New("want a command or a url")
	}
	return at, x.err()
}

// An expansion puts environment variables into texts: ${NAME}, ${env:NAME}, and ${NAME:-text} for a
// variable that may be missing. It keeps secrets out of files and arguments.
type expansion struct{ missing []string }

var variable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

func (x *expansion) expand(text string) string {
	return variable.ReplaceAllStringFunc(text, func(match string) string {
		parts := variable.FindStringSubmatch(match)
		value, ok := os.LookupEnv(parts[1])
		switch {
		case ok && (value != "" || parts[2] == ""):
			return value
		case parts[2] != "":
			return strings.TrimPrefix(parts[2], ":-")
		}
		x.missing = append(x.missing, parts[1])
		return ""
	})
}

func (x *expansion) err() error {
	if len(x.missing) == 0 {
		return nil
	}
	return fmt.Errorf("not set in the environment: %s", strings.Join(x.missing, ", "))
}
