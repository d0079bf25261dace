package cost

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// Requests of ProtocolAnchored. What its transport makes of a request is what the provider gets, so the real
// transport makes it here too, of a body with the tools and the messages. The system message stays as it is.

// sink is what the transport sends to.
type sink struct{ body []byte }

func (s *sink) RoundTrip(request *http.Request) (_ *http.Response, err error) {
	s.body, err = io.ReadAll(request.Body)
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
}

// cacheMark is what a definition or message with a breakpoint has at its end.
const cacheMark = `,"cache_control":{"type":"ephemeral"}`

// anchored returns a request as it leaves the transport. Its breakpoints go where the transport leaves them.
func (w *writer) anchored(ctx context.Context, r Request) (Request, error) {
	path := map[string]string{WireChat: "/chat/completions", WireMessages: "/messages"}[w.wire]
	elements := func(lines []byte) []byte {
		if end := []byte("}\n"); len(r.Marks) > 0 && bytes.HasSuffix(lines, end) {
			lines = append(append(bytes.TrimSuffix(lines[:len(lines):len(lines)], end), cacheMark...), end...)
		}
		return bytes.ReplaceAll(bytes.TrimSpace(lines), []byte("\n"), []byte(","))
	}
	body := fmt.Appendf(nil, `{"model":"any","tools":[%s],"messages":[%s]}`, elements(r.Tools), elements(r.Messages))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, path, bytes.NewReader(body))
	if err != nil {
		return r, err
	}
	var provider sink
	if _, err := toolsearch.AnchoredTransport(&provider, "any").RoundTrip(request); err != nil {
		return r, err
	}
	var sent struct{ Tools, Messages []json.RawMessage }
	if err := json.Unmarshal(provider.body, &sent); err != nil {
		return r, err
	}
	anchored := Request{System: r.System}
	length := 0
	add := func(part *[]byte, lines ...json.RawMessage) {
		for _, line := range lines {
			unmarked := bytes.Replace(line, []byte(cacheMark), nil, 1)
			*part = appendLine(*part, unmarked)
			if length += len(unmarked) + 1; len(unmarked) < len(line) {
				anchored.Marks = append(anchored.Marks, length)
			}
		}
	}
	add(&anchored.Tools, sent.Tools...)
	if length += len(r.System); len(r.System) > 0 && len(r.Marks) > 0 {
		anchored.Marks = append(anchored.Marks, length)
	}
	add(&anchored.Messages, sent.Messages...)
	return anchored, nil
}

// Seen returns the tools as a model sees them whose requests pass AnchoredTransport: those of the list, and then those that
// the conversation defines, in its order.
func Seen(ctx context.Context, input []*schema.Message, tools []*schema.ToolInfo) ([]*schema.ToolInfo, error) {
	w := &writer{wire: WireChat}
	r, err := w.anchored(ctx, w.request(input, &model.Options{Tools: tools}))
	prompt := r.Prompt()
	place := func(t *schema.ToolInfo) int {
		return bytes.Index(prompt, fmt.Appendf(nil, `{"type":"function","function":{"name":%s`, text(t.Name)))
	}
	seen := slices.DeleteFunc(slices.Clone(tools), func(t *schema.ToolInfo) bool { return place(t) < 0 })
	slices.SortStableFunc(seen, func(a, b *schema.ToolInfo) int { return cmp.Compare(place(a), place(b)) })
	return seen, err
}
