package mcpclient

import (
	"strings"
	"sync"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
)

// What a process last said on its standard error.

// A tail keeps the last maxErrorBytes written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p[max(0, len(p)-maxErrorBytes):]...)
	t.text = append([]byte(nil), t.text[max(0, len(t.text)-maxErrorBytes):]...)
	return len(p), nil
}

// said returns the last lines for an error message, or "" if there are none.
func (t *tail) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b strings.Builder
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(t.text), "")), "\n")
	for _, line := range lines[max(0, len(lines)-5):] {
		if line = cli.OneLine(line, 200); line != "" {
			b.WriteString("\n\t" + line)
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "; its last output:" + b.String()
}
