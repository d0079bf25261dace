package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

// shops is a catalog of two servers, whose third tool no server has.
const shops = `{"name": "track", "description": "Where a shipment is", "server": "post"}
{"name": "rate", "description": "Price of a shipment", "server": "post", "parameters": {"type": "object", "properties": {"kilos": {"type": "number"}}}}
{"name": "ring", "description": "Rings a bell", "server": "door"}
`

// A file grows with the catalog, and keeps what people wrote.
func TestExpandKeepsWhatIsWritten(t *testing.T) {
	file := filepath.Join(t.TempDir(), "e.jsonl")
	stdout, _ := prints(t, cli.Found, shops, "expand", "-o", file, "-")
	assert.Equal(t, file+": 0 of 3 tools with questions, 0 to fix\n", stdout)
	first := testtools.ReadFile(t, file)
	assert.Contains(t, first, `{"server":"post","name":"track","about":"Where a shipment is","questions":["",""]}`+"\n")
	half := strings.Replace(first, `"questions":["",""]`, `"questions":["has my parcel come yet"]`, 1)
	require.NoError(t, os.WriteFile(file, []byte(half), 0o600))
	stdout, _ = prints(t, cli.Nothing, shops, "expand", "-o", file, "-")
	assert.Regexp(t, `(?m)^post +1 of 2 tools have no questions: write them, or leave the server out \(rate\)$`, stdout)
	assert.Equal(t, strings.Replace(half, `yet"]`, `yet",""]`, 1), testtools.ReadFile(t, file))
	require.NoError(t, os.WriteFile(file, []byte(half+`{"server":"post","skip":true}`), 0o600))
	prints(t, cli.Found, shops, "expand", "-o", file, "-")
	stdout, _ = prints(t, cli.Nothing, `{"name": "ring", "description": "Rings a bell"}`, "expand", "-o", file, "-")
	assert.Regexp(t, `(?m)^post +track +the catalog has no such tool or server$`, stdout)
	assert.Contains(t, testtools.ReadFile(t, file), "has my parcel come yet")
}

func TestExpandFindsWhatToFix(t *testing.T) {
	for question, want := range map[string]string{
		`"?"`:                                    "has 1 characters: want 4 to 200",
		`"` + strings.Repeat("x ", 120):          "has 240 characters",
		`"我的包裹在哪里"`:                              "is in another language than the tool",
		`"где моя посылка"`:                      "is in another language than the tool",
		`"ring rings a bell at the door"`:        "finds ring first",
		`"which bell is it", "Which bell is it"`: "is also a question of track",
	} {
		if !strings.HasSuffix(question, `"`) {
			question += `"`
		}
		file := written(t, "e.jsonl", `{"name": "track", "questions": [`+question+"]}\n"+
			`{"name": "rate", "questions": ["what do two kilos cost"]}`+"\n"+`{"name": "ring", "questions": ["somebody rings"]}`)
		stdout, _ := prints(t, cli.Nothing, shops, "expand", "-o", file, "-")
		assert.Contains(t, stdout, want)
		assert.Equal(t, 1, strings.Count(stdout, "track  "), "findings of track in %s", stdout)
	}
	for text, want := range map[string]string{
		`{"name": "a"}` + "\n\n" + `{"name": "a"}`:     `e.jsonl:3: two lines for the tool "a", the other one on line 1`,
		`{"name": "a", "description": "of a catalog"}`: `e.jsonl:1: json: unknown field "description"`,
		`{"server": "a"}`: `e.jsonl:1: want a "name", or else a "server" and "skip": true`,
		`{"name": 1}`:     "e.jsonl:1: ",
		`{"name": "a"`:    "e.jsonl:1: ",
	} {
		_, stderr := prints(t, cli.Failed, shops, "expand", "-o", written(t, "e.jsonl", text), "-")
		assert.Contains(t, stderr, want)
	}
}

// eval says for which servers questions pay, for which not, and which queries lost by them.
func TestEvalByServer(t *testing.T) {
	hints := written(t, "e.jsonl", `{"name": "track", "questions": ["what about my zeppelin"]}`+"\n"+
		`{"name": "ring", "questions": ["price price price of a shipment"]}`)
	queries := ""
	for i := range 8 {
		queries += fmt.Sprintf(`{"id": "p%d", "query": "zeppelin %d", "gold": ["track"]}`+"\n"+`{"id": "r%d", "query": "price %d", "gold": ["rate"]}`+"\n", i, i, i, i)
	}
	catalog := written(t, "tools.jsonl", strings.ReplaceAll(shops, `Price of a shipment", "server": "post"`, `Price of a shipment", "server": "cost"`))
	stdout, _ := prints(t, cli.Found, queries, "eval", "-searcher", "bm25", "-hints", hints, catalog, "-")
	assert.Contains(t, stdout, "\nServers for which hints pay: post.\nServers that lose, and are better left out by \"skip\": cost.\n")
	assert.Regexp(t, `(?m)^found later  bm25  bm25 with hints  query\nr0 +1 +2  price 0$`, stdout)
	_, stderr := prints(t, cli.Failed, queries, "eval", "-searcher", "bm25,keyword", "-hints", hints, catalog, "-")
	assert.Contains(t, stderr, "-hints want one searcher")
}

// A model writes what is missing, once the user agrees to the price. Whatever it answers, the file stays sound.
func TestExpandByAModel(t *testing.T) {
	t.Setenv("TOOLSEARCH_MODEL_KEY", "s3cret")
	pause := cli.PostPause
	cli.PostPause = time.Millisecond
	defer func() { cli.PostPause = pause }()
	asked, content := []string{}, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var request struct {
			Model    string
			Messages []struct{ Content string }
		}
		if json.NewDecoder(r.Body).Decode(&request) != nil || r.URL.Path != "/v1/chat/completions" || len(request.Messages) != 2 {
			http.Error(w, "what?", http.StatusBadRequest)
			return
		}
		assert.Equal(t, "Bearer s3cret", r.Header.Get("Authorization"))
		asked = append(asked, request.Messages[1].Content)
		text, _ := json.Marshal(content)
		fmt.Fprintf(w, `{"choices": [{"message": {"role": "assistant", "content": %s}}]}`, text)
	}))
	defer server.Close()
	catalog := written(t, "tools.jsonl", shops)
	file := filepath.Join(t.TempDir(), "e.jsonl")
	line := []string{"expand", "-o", file, "-model", "gpt-5.5@" + server.URL + "/v1", "-provider", "openai", catalog}

	_, stderr := prints(t, cli.Found, "n\n", line...)
	assert.Regexp(t, `^gpt-5\.5 writes the questions of 3 tools: some \d+ tokens to read and 240 to write, some 0\.0\d US dollars\.\nGo on\? \[y/N\] $`, stderr)
	assert.Empty(t, asked, "without agreement")

	content = "I cannot do that."
	_, stderr = prints(t, cli.Found, "y\n", line...)
	assert.Contains(t, stderr, `No JSON object for 2 tools: "I cannot do that."`)
	require.Len(t, asked, 2, "a request for each server")
	assert.Equal(t, `{"description":"Where a shipment is","name":"track","parameters":null}`+"\n"+
		`{"description":"Price of a shipment","name":"rate","parameters":["kilos"]}`+"\n", asked[0])

	asked = nil
	recording := written(t, "log.jsonl", `{"event": {"event": "call", "tool": "ring"}}`+"\n")
	prints(t, cli.Found, "y\n", append([]string{"expand", "-log", recording}, line[1:]...)...)
	require.Len(t, asked, 1, "a request for the only server in use")
	assert.Contains(t, asked[0], "Rings a bell")

	content = "Here:\n```json\n" + `{"track": ["has my parcel come yet\u202e\n", "", "when will it arrive", "a third"],
		"ring": [], "evil": ["x"]}` + "\n```"
	stdout, _ := prints(t, cli.Nothing, "", append(line, "-yes")...)
	assert.Contains(t, stdout, "1 of 2 tools have no questions")
	assert.Contains(t, testtools.ReadFile(t, file), `"questions":["has my parcel come yet","when will it arrive"]`)
	assert.NotContains(t, testtools.ReadFile(t, file), "evil")

	asked = nil
	content = `{"rate": ["what does it cost to send two kilos", "postage for a letter"], "ring": ["somebody is at the gate", "make it chime"]}`
	stdout, _ = prints(t, cli.Found, "", append(line, "-yes")...)
	assert.Equal(t, file+": 3 of 3 tools with questions, 0 to fix\n", stdout)
	assert.NotContains(t, asked[0], "track", "what is written is not asked for again")
	stdout, _ = prints(t, cli.Found, "", "search", "-searcher", "bm25", "-hints", file, catalog, "parcel")
	assert.Contains(t, stdout, "track")

	server.Close()
	require.NoError(t, os.Remove(file))
	_, stderr = prints(t, cli.Failed, "", append(line, "-yes")...)
	assert.NotContains(t, stderr, "s3cret")
	_, stderr = prints(t, cli.Failed, shops, append(line[:len(line)-1:len(line)-1], "-")...)
	assert.Contains(t, stderr, "want -yes, since the catalog is standard input")
	_, stderr = prints(t, cli.Failed, "", append(line, "-model", "gpt-5.5")...)
	assert.Contains(t, stderr, "-model NAME@URL: want a URL")
}
