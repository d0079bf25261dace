package anchor

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// The three forms of a request that take definitions in the conversation, as documented in November 2026:
//
//   - Chat Completions of Kimi K3: a system message with "tools" and without "content".
//     https://docs.morphllm.com/sdk/components/dynamic-tool-loading (July 2026, also of vLLM and SGLang)
//   - Anthropic's Messages: blocks "tool_addition" and "tool_removal" of a system message, which follows a user's
//     turn or tool results, and precedes an answer of the model or ends the conversation. A second definition of
//     a name replaces the first.
//     https://platform.claude.com/docs/en/build-with-claude/mid-conversation-system-messages (September 2026)
//   - OpenAI's Responses: an item "additional_tools" of the developer.
//     https://platform.openai.com/docs/api-reference/responses/create (AdditionalToolsItemParam)

// wire is one of the forms.
type wire struct {
	name     string
	path     string // the end of the address
	elements string // the field of the conversation
	beta     string // a value of the header anthropic-beta; "" means none
	changes  bool   // a tool may be defined again and taken back
	atEnd    bool   // definitions go behind the user's messages that follow the results
	message  string // what is added to a conversation, up to the list of the definitions

	models  []string       // that take definitions in the conversation
	refusal *regexp.Regexp // matches an error that names the added field, or the message that has it
}

var wires = []*wire{
	{
		name: "chat", path: "/chat/completions", elements: "messages", message: `{"role":"system","tools":`,
		models: []string{"kimi-k3*"}, refusal: regexp.MustCompile(`(?i)\b(tools|content|roles?|system messages?)\b`), // not content_filter
	}, {
		name: "messages", path: "/messages", elements: "messages", beta: "inline-tools-2026-09-15", changes: true, atEnd: true,
		message: `{"role":"system","content":`,
		// "Claude Fable 5.1, Claude Mythos 5.1, Claude Fable 5, Claude Mythos 5, Claude Opus 5.5, Claude Opus 4.8, and
		// Claude Opus 5", by later versions Claude Sonnet 5.5 and Claude Haiku 5.5, but not Claude Sonnet 5.
		models:  []string{"claude-fable-5*", "claude-mythos-5*", "claude-opus-5*", "claude-opus-4-8*", "claude-sonnet-5-5*", "claude-haiku-5-5*"},
		refusal: regexp.MustCompile(`\b(tool_(addition|removal|definition)|inline-tools|roles?)\b`),
	}, {
		name: "responses", path: "/responses", elements: "input",
		message: `{"type":"additional_tools","role":"developer","tools":`,
		models:  []string{"gpt-4*", "gpt-5*", "gpt-6*", "o1*", "o3*", "o4*"}, refusal: regexp.MustCompile("additional_tools"), // no model is named
	},
}

// takes reports whether a model takes definitions in the conversation, by the documents or by the user's own patterns.
func (w *wire) takes(model string, accepts []string) bool {
	return slices.ContainsFunc(slices.Concat(w.models, accepts), func(pattern string) bool {
		prefix, isPrefix := strings.CutSuffix(pattern, "*")
		return model == pattern || isPrefix && strings.HasPrefix(model, prefix)
	})
}

// definitions returns how many of the steps define the tool on the wire.
func (w *wire) definitions(steps []Step) (n int) {
	for _, step := range steps {
		if step.Wire == w.name && step.JSON != "" {
			n++
		}
	}
	return n
}

// field is a field of an object, as it was written.
type field struct {
	key string
	raw json.RawMessage
}

func fieldsOf(object []byte) (fields []field, ok bool) {
	in := json.NewDecoder(bytes.NewReader(object))
	if start, _ := in.Token(); start != json.Delim('{') || !json.Valid(object) {
		return nil, false
	}
	for in.More() {
		key, _ := in.Token()
		f := field{key: key.(string)}
		_ = in.Decode(&f.raw)
		fields = append(fields, f)
	}
	return fields, true
}

func join(fields []field) []byte {
	parts := make([][]byte, len(fields))
	for i, f := range fields {
		key, _ := json.Marshal(f.key)
		parts[i] = slices.Concat(key, []byte(":"), f.raw)
	}
	return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}"))
}

func list(elements [][]byte) []byte {
	return slices.Concat([]byte("["), bytes.Join(elements, []byte(",")), []byte("]"))
}

// body is a request, in parts that keep their bytes.
type body struct {
	fields   []field
	model    string
	elements []json.RawMessage // of the conversation
	listed   []json.RawMessage // of the tool list
	tools    map[string]json.RawMessage
	choice   []byte // which tools the model has to call
}

// read reads a request. It reports false if the request has another form, is too long, or continues what the provider
// keeps of a conversation.
func (w *wire) read(text []byte) (*body, bool) {
	b := &body{tools: make(map[string]json.RawMessage)}
	ok := len(text) <= maxBody
	if ok {
		b.fields, ok = fieldsOf(text)
	}
	seen := make(map[string]bool)
	for _, f := range b.fields {
		var err error
		switch f.key {
		case "model":
			err = json.Unmarshal(f.raw, &b.model)
		case "tools":
			err = json.Unmarshal(f.raw, &b.listed)
		case w.elements:
			err = json.Unmarshal(f.raw, &b.elements)
		case "tool_choice":
			b.choice = f.raw
		case "previous_response_id", "conversation":
			ok = ok && string(f.raw) == "null"
		}
		ok = ok && err == nil && !seen[f.key]
		seen[f.key] = true
	}
	for _, raw := range b.listed {
		if name := w.nameOf(raw); name != "" {
			b.tools[name] = raw
		}
	}
	return b, ok
}

// nameOf returns the name of a definition that calls go to, or "". Keys are compared as providers do, with their case.
func (w *wire) nameOf(definition []byte) (name string) {
	if w.name == "chat" {
		definition = only(definition, "function")
	}
	_ = json.Unmarshal(only(definition, "name"), &name)
	return name
}

// only returns the value of an object's key, or nil if it is not there once.
func only(object []byte, key string) json.RawMessage {
	fields, _ := fieldsOf(object)
	fields = slices.DeleteFunc(fields, func(f field) bool { return f.key != key })
	if len(fields) != 1 {
		return nil
	}
	return fields[0].raw
}

func (b *body) demands(name string) bool {
	var choice bytes.Buffer
	quoted, _ := json.Marshal(name)
	return json.Compact(&choice, b.choice) == nil && bytes.Contains(choice.Bytes(), slices.Concat([]byte(`"name":`), quoted))
}

// cacheMark is the field of Anthropic's cache marks.
const cacheMark = "cache_control"

// shortMark matches a cache mark whose ttl is not "1h". Anthropic refuses one of an hour behind it.
var shortMark = regexp.MustCompile(`"cache_control"\s*:\s*\{[^1}]*\}`)

// unmarked returns a definition of the list without its cache mark, and the mark.
func (w *wire) unmarked(definition []byte) (text string, mark []byte) {
	fields, ok := fieldsOf(definition)
	at := slices.IndexFunc(fields, func(f field) bool { return f.key == cacheMark })
	if !ok || at < 0 {
		return string(definition), nil
	}
	if string(fields[at].raw) != "null" {
		mark = fields[at].raw
	}
	return string(join(slices.Delete(fields, at, at+1))), mark
}

// messageOf returns what a conversation gets at one place. The last definition gets the cache mark; nil means none.
func (w *wire) messageOf(added []insertion, mark []byte) []byte {
	var parts [][]byte
	for i, in := range added {
		if w.name != "messages" {
			parts = append(parts, []byte(in.JSON))
			continue
		}
		tool, kind := []byte(`{"type":"tool_definition","definition":`+in.JSON+`}`), "tool_addition"
		if in.JSON == "" {
			name, _ := json.Marshal(in.name)
			tool, kind = []byte(`{"type":"tool_reference","name":`+string(name)+`}`), "tool_removal"
		}
		block := []field{{"type", json.RawMessage(`"` + kind + `"`)}, {"tool", tool}}
		isDefinition := func(in insertion) bool { return in.JSON != "" }
		if mark != nil && isDefinition(in) && !slices.ContainsFunc(added[i+1:], isDefinition) {
			block = append(block, field{cacheMark, mark})
		}
		parts = append(parts, join(block))
	}
	return slices.Concat([]byte(w.message), list(parts), []byte("}"))
}

// write returns the body without some tools in its list, and with what is added to its conversation.
func (b *body) write(w *wire, leaves func(tool string) bool, added map[int][]insertion, marks map[int][]byte) []byte {
	var conversation, tools [][]byte
	isShort := slices.ContainsFunc(b.fields, func(f field) bool { return f.key == "system" && shortMark.Match(f.raw) })
	for i := 0; i <= len(b.elements); i++ {
		if len(added[i]) > 0 {
			mark := marks[i]
			if mark != nil && (isShort || slices.ContainsFunc(conversation, shortMark.Match)) {
				mark = []byte(`{"type":"ephemeral"}`)
			}
			conversation = append(conversation, w.messageOf(added[i], mark))
		}
		if i < len(b.elements) {
			conversation = append(conversation, b.elements[i])
		}
	}
	for _, raw := range b.listed {
		if !leaves(w.nameOf(raw)) {
			tools = append(tools, raw)
		}
	}
	fields := slices.Clone(b.fields)
	for i := range fields {
		switch fields[i].key {
		case w.elements:
			fields[i].raw = list(conversation)
		case "tools":
			fields[i].raw = list(tools)
		}
	}
	return join(fields)
}

// places are the places of a conversation: the elements that come behind them.
type places struct {
	results map[At]int
	users   []int
	byItem  bool // the user's messages are items, one for each text or picture
}

func (p *places) index(at At) (int, bool) {
	if at.Call != "" {
		i, ok := p.results[At{Call: at.Call, Nth: at.Nth}]
		return i, ok
	}
	if p.byItem {
		at.User = at.Item
	}
	if at.User < 1 || at.User > len(p.users) {
		return 0, false
	}
	return p.users[at.User-1], true
}

// element is what is read of a message or item.
type element struct {
	Type    string          `json:"type"`
	Role    string          `json:"role"`
	Answers string          `json:"tool_call_id"` // of Chat Completions
	CallID  string          `json:"call_id"`      // of Responses
	Content json.RawMessage `json:"content"`
}

// results returns the IDs of the calls whose results an element has.
func (e *element) results() (ids []string) {
	switch {
	case e.Role == "tool":
		return []string{e.Answers}
	case strings.HasSuffix(e.Type, "_output"):
		return []string{e.CallID}
	case e.Role != "user":
		return nil
	}
	var blocks []struct {
		Type string `json:"type"`
		ID   string `json:"tool_use_id"`
	}
	_ = json.Unmarshal(e.Content, &blocks) // a text has no blocks
	for _, block := range blocks {
		if block.Type == "tool_result" {
			ids = append(ids, block.ID)
		}
	}
	return ids
}

// placesOf finds the places of a conversation.
func (w *wire) placesOf(elements []json.RawMessage) *places {
	p := &places{results: make(map[At]int), byItem: w.elements == "input"}
	nth := make(map[string]int)
	var round []At // the results of the round that is being read
	isTurn, users := false, 0
	end := func(i int) { // ends the round, or the user's turn and the messages whose place is its end, before an element
		for _, at := range round {
			p.results[at] = i
		}
		p.users = append(p.users, slices.Repeat([]int{i}, users)...)
		round, isTurn, users = nil, false, 0
	}
	for i, raw := range elements {
		var e element
		_ = json.Unmarshal(raw, &e) // what is no object is nothing that is looked for
		ids := e.results()
		isText := len(ids) == 0 && (e.Role == "user" || e.Role == "system" || e.Role == "developer")
		if len(ids) > 0 && isTurn || len(ids) == 0 && !isText || isText && len(round) > 0 && !w.atEnd {
			end(i)
		}
		for _, id := range ids {
			round = append(round, At{Call: id, Nth: nth[id]})
			nth[id]++
		}
		isTurn = isTurn || isText
		switch isUser := isText && e.Role == "user"; {
		case isUser && w.atEnd:
			users++
		case isUser:
			p.users = append(p.users, i+1)
		}
	}
	end(len(elements))
	return p
}
