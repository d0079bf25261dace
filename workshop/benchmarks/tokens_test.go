package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/internal/tokens"
)

// The estimate of internal/tokens against the vocabulary of OpenAI's newer models, in percent: for the
// definitions of each catalog together, for each definition on average, and for a page of prose.
const (
	wrongTogether = 10
	wrongOnAvg    = 10
	wrongForProse = 10
)

// table matches a row of a table, which has more numbers than prose.
var table = regexp.MustCompile(`(?m)^\|.*\n`)

func TestTokenEstimate(t *testing.T) {
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	encoding := testtools.Must(tiktoken.GetEncoding("o200k_base"))(t)
	compare := func(text string) (estimated, counted float64) {
		return float64(tokens.Of(text)), float64(len(encoding.EncodeOrdinary(text)))
	}
	paths := []string{"../../eval/testdata/tools.jsonl", "../../testdata/ranking/tools.jsonl"}
	shared := testtools.Must(filepath.Glob("../../../shared/retrieval/*/tools.jsonl"))(t)
	for _, path := range append(paths, shared...) {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		catalog := testtools.Must(eval.LoadCatalog(path))(t)
		tools := catalog.Tools[:min(len(catalog.Tools), 500)]
		var estimated, counted, off float64
		for _, info := range tools {
			parameters := testtools.Must(info.ToJSONSchema())(t)
			text := testtools.Must(json.Marshal(map[string]any{"name": info.Name, "description": info.Desc, "parameters": parameters}))(t)
			e, c := compare(string(text))
			estimated, counted, off = estimated+e, counted+c, off+100*math.Abs(e-c)/c
		}
		together, average := 100*(estimated/counted-1), off/float64(len(tools))
		t.Logf("%s: %d tools, %+.1f %% together, %.1f %% on average", path, len(tools), together, average)
		assert.LessOrEqual(t, math.Abs(together), float64(wrongTogether), path)
		assert.LessOrEqual(t, average, float64(wrongOnAvg), path)
	}
	for _, path := range []string{"../../docs/security.md", "../../docs/searchers.md"} {
		e, c := compare(table.ReplaceAllString(testtools.ReadFile(t, path), ""))
		t.Logf("%s: %+.1f %%", path, 100*(e/c-1))
		assert.LessOrEqual(t, math.Abs(100*(e/c-1)), float64(wrongForProse), path)
	}
}
