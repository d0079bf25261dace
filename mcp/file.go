package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// A File is the servers of an mcp.json, {"mcpServers": {...}}, and how this program uses them. It may also
// be written as a literal. Connect reads it once.
type File struct {
	// Servers are the servers by name. A name becomes that of a toolsearch.Group, so it must be valid
	// as one. At most 100.
	Servers map[string]Server `json:"mcpServers"`

	// Headers returns headers for a request over HTTP to a server, such as the token of the user. They
	// replace the server's own of the same names. ctx has the values of the context of the call or run that
	// the request is for, or of the one that connected. Headers are sent to the server's own origin alone.
	// Headers must be safe for concurrent use. Nil means none.
	Headers func(ctx context.Context, server string) http.Header `json:"-"`

	// PerCaller says who asks, such as the user's name, for servers over HTTP that list other tools or
	// keep another session for each of them. Each caller has a connection of their own; 64 callers
	// a server are connected at a time, and the one that was idle longest makes room. The key goes nowhere.
	// PerCaller must be safe for concurrent use. Nil means that all callers are alike.
	PerCaller func(ctx context.Context) string `json:"-"`

	// Manifest is the path of a file that Connect keeps: the last list of each server. The next program
	// takes its first answers from there, so that a slow server costs its first run nothing, and asks the
	// servers meanwhile. Lists of a server are kept as long as its entry in Servers is the same, with the
	// variables filled in. Lists per caller are not kept. "" means no file.
	Manifest string `json:"-"`

	// OnEvent is told when a connection is lost that was not closed: a FailureEvent with the last lines that the
	// server wrote to its standard error. It is also told when the Manifest cannot be written. It must be safe for
	// concurrent use. Nil means that nobody is told.
	OnEvent func(ctx context.Context, event toolsearch.Event) `json:"-"`
}

// A Server is how to reach one server: a command to start, which speaks over its standard input and
// output, or a URL. In all texts, ${NAME} and ${env:NAME} stand for a variable of this program's
// environment, and ${NAME:-text} for one that may be missing or empty.
type Server struct {
	Command string   `json:"command,omitempty"` // a program, by its path or found in PATH; "" where there is a URL
	Args    []string `json:"args,omitempty"`    // of Command
	Cwd     string   `json:"cwd,omitempty"`     // the folder it runs in; "" means this program's own

	// Env is added to the environment of the command, which otherwise has only what programs need to run,
	// such as PATH and HOME: a server has no use for the secrets in this program's environment.
	Env map[string]string `json:"env,omitempty"`

	URL     string            `json:"url,omitempty"`     // http:// or https://; "" where there is a Command
	Headers map[string]string `json:"headers,omitempty"` // of each request to URL's own origin

	// Type is "stdio", "http" (streamable HTTP) or "sse" (revision 2024-11-05 of the protocol). "" means what
	// the other fields say: with a URL, "http", and "sse" if the server refuses that.
	Type string `json:"type,omitempty"`

	Disabled bool `json:"disabled,omitempty"` // as if it were not there
}

// ReadFile reads an mcp.json. Errors do not quote its values, which may be secrets.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := toolfile.Read(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	file := new(File)
	if err := json.Unmarshal(data, file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *File) UnmarshalJSON(data []byte) error {
	var read struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if json.Unmarshal(data, &read) != nil {
		return errors.New(`want {"mcpServers": {...}}`)
	}
	f.Servers = make(map[string]Server, len(read.Servers))
	for _, name := range slices.Sorted(maps.Keys(read.Servers)) {
		var s Server
		if json.Unmarshal(read.Servers[name], &s) != nil {
			return fmt.Errorf("server %s: a value is of the wrong kind; want command, args and env, or url and headers", naming.OneLine(name, 100))
		}
		f.Servers[name] = s
	}
	return nil
}

// The kinds of connections, as a Server's Type names them.
const (
	stdio      = "stdio"
	streamable = "http"
	sse        = "sse"
)

// maxServers bounds the servers of one file.
const maxServers = 100

// servers returns the servers that are not disabled, by name, with variables filled in.
func (f *File) servers() (names []string, filled map[string]Server, err error) {
	filled = make(map[string]Server, len(f.Servers))
	for _, name := range slices.Sorted(maps.Keys(f.Servers)) {
		if s := f.Servers[name]; !s.Disabled {
			if filled[name], err = s.filled(); err != nil {
				return nil, nil, fmt.Errorf("server %s: %w", naming.OneLine(cmp.Or(name, s.String()), 100), err)
			}
			names = append(names, name)
		}
	}
	switch {
	case len(names) == 0:
		return nil, nil, errors.New(`no servers in "mcpServers"`)
	case len(names) > maxServers:
		return nil, nil, fmt.Errorf("more than %d servers", maxServers)
	}
	return names, filled, nil
}

// filled returns the server with its variables filled in, and its Type as one of the constants or "".
func (s Server) filled() (Server, error) {
	var missing []string
	expand := func(text string) string {
		return variable.ReplaceAllStringFunc(text, func(match string) string {
			parts := variable.FindStringSubmatch(match)
			value, ok := os.LookupEnv(parts[1])
			switch {
			case ok && (value != "" || parts[2] == ""):
				return value
			case parts[2] == "":
				missing = append(missing, parts[1])
			}
			return strings.TrimPrefix(parts[2], ":-")
		})
	}
	expandAll := func(texts map[string]string) map[string]string {
		filled := make(map[string]string, len(texts))
		for _, key := range slices.Sorted(maps.Keys(texts)) {
			filled[key] = expand(texts[key])
		}
		return filled
	}
	s.Command, s.Cwd, s.URL = expand(s.Command), expand(s.Cwd), expand(s.URL)
	s.Args = slices.Clone(s.Args)
	for i := range s.Args {
		s.Args[i] = expand(s.Args[i])
	}
	s.Env, s.Headers = expandAll(s.Env), expandAll(s.Headers)
	kind := strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(s.Type))
	switch kind {
	case "streamablehttp":
		kind = streamable
	case "", stdio, streamable, sse:
	default:
		return s, fmt.Errorf("type %q: want stdio, http or sse", naming.OneLine(s.Type, 40))
	}
	s.Type = kind
	switch address, err := url.Parse(s.URL); {
	case len(missing) > 0:
		return s, fmt.Errorf("not set in the environment: %s", strings.Join(missing, ", "))
	case (s.URL == "") == (s.Command == ""):
		return s, errors.New("want either a command or a url")
	case s.URL != "" && (err != nil || address.Host == "" || address.Scheme != "http" && address.Scheme != "https"):
		return s, errors.New("want a URL that begins with http:// or https://")
	}
	return s, nil
}

var variable = regexp.MustCompile(`\$\{(?:env:)?([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

// String returns the command, or the URL without the parts that may be secret.
func (s Server) String() string {
	if s.URL == "" {
		return s.Command
	}
	address, err := url.Parse(s.URL)
	if err != nil || address.Host == "" { // nobody knows where its secrets end
		return "(unreadable URL)"
	}
	return (&url.URL{Scheme: address.Scheme, Host: address.Host, Path: address.Path}).String()
}
