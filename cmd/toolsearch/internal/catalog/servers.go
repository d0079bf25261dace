package catalog

import (
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/mcp"
)

// topLevel returns the keys of a file that is one object, or nil.
func topLevel(data []byte) (keys map[string]json.RawMessage) {
	if toolfile.TooDeep(data) || json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &keys) != nil {
		return nil
	}
	return keys
}

// listsServers reports whether a file is one of MCP servers. A file that looks like a server's answer is not: a
// server must not be able to name a command to run.
func listsServers(file map[string]json.RawMessage) bool {
	for _, key := range []string{"jsonrpc", "id", "result", "tools", "name", "nextCursor", "_meta"} {
		if file[key] != nil {
			return false
		}
	}
	var servers map[string]json.RawMessage
	return file["mcpServers"] != nil && json.Unmarshal(file["mcpServers"], &servers) == nil
}

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// withEnvironment gives a server the whole environment: who types a command means it to run as in the shell.
func withEnvironment(s mcp.Server) mcp.Server {
	env := make(map[string]string)
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); variableName.MatchString(name) {
			env[name] = "${" + name + "}"
		}
	}
	for name, value := range s.Env {
		env[name] = value
	}
	s.Env = env
	return s
}
