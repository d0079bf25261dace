package toolsearch_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/eino-toolsearch/toolsearch"
)

// Queries may quote what a user said, and errors may quote queries.
func TestLoggerKeepsTextsToItself(t *testing.T) {
	for _, texts := range []bool{false, true} {
		var out bytes.Buffer
		log := toolsearch.Logger{To: slog.New(slog.NewJSONHandler(&out, nil)), Texts: texts}
		log.Search(context.Background(), toolsearch.SearchEvent{
			Tool: "tool_search", Query: "secret query", Matches: []string{"get_weather"}, Total: 7, Err: errors.New("secret query failed")})
		log.Error(context.Background(), errors.New("secret source"))
		log.Search(context.Background(), toolsearch.SearchEvent{Tool: "tool_search"})
		for _, always := range []string{`"matches":1`, `"total":7`, `"level":"WARN"`, `"level":"INFO"`} {
			if !strings.Contains(out.String(), always) {
				t.Errorf("texts %v: %s is not in %s", texts, always, out.String())
			}
		}
		for _, text := range []string{"secret query", "get_weather", "secret source"} {
			if strings.Contains(out.String(), text) != texts {
				t.Errorf("texts %v: %q is in the log: %v", texts, text, !texts)
			}
		}
	}
}
