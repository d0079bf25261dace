package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// A manifest is the file of the servers' last lists. It is safe for concurrent use. A file that cannot be read is as if it
// were not there: it only saves time.
type manifest struct {
	path    string            // "": there is no file
	entries map[string]string // hashes of the servers' entries, filled in

	mu    sync.Mutex
	lists map[string]storedList
}

type storedList struct {
	Entry        string            `json:"entry"`
	Instructions string            `json:"instructions,omitempty"`
	Tools        []json.RawMessage `json:"tools"`
}

// read reads the lists of servers whose entry is the same as when they were stored.
func (m *manifest) read(filled map[string]Server) {
	m.entries, m.lists = make(map[string]string, len(filled)), make(map[string]storedList)
	for name, s := range filled {
		data, _ := json.Marshal(s) // a struct of texts
		sum := sha256.Sum256(data)
		m.entries[name] = hex.EncodeToString(sum[:])
	}
	f, err := os.Open(m.path)
	if err != nil {
		return
	}
	defer f.Close()
	data, err := toolfile.Read(f)
	if err != nil || toolfile.TooDeep(data) {
		return
	}
	var read map[string]storedList
	if json.Unmarshal(data, &read) != nil {
		return
	}
	for name, l := range read {
		isList := !slices.ContainsFunc(l.Tools, func(definition json.RawMessage) bool { return !isObject(definition) })
		if isList && l.Entry == m.entries[name] {
			m.lists[name] = l
		}
	}
}

// of returns what is stored of a server.
func (m *manifest) of(name string) storedList {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lists[name]
}

// keep replaces a server's list, and the file as a whole.
func (m *manifest) keep(name, instructions string, tools []json.RawMessage) error {
	if m.path == "" {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lists[name] = storedList{m.entries[name], instructions, tools}
	data, err := json.Marshal(m.lists)
	if err != nil {
		return err
	}
	return toolfile.Replace(m.path, data, 0o600)
}
