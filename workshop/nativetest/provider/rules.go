package provider

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
)

// The common part of the three APIs' rules: reading untrusted JSON, and refusing a request that
// breaks a rule.

// object is a JSON object.
type object = map[string]any

// request is the content of a body.
type request struct {
	body     object
	stream   bool
	model    string
	callable []string
	tools    map[string]object // name -> definition, for all tools of the request
	inline   bool              // the request may define tools in its messages
	drops    bool              // thinking that was tied to something else is left out
	search   string            // the provider's own search tool: its name on Messages, its execution on Responses
}

// fault is the rule that a request breaks, in the provider's words.
type fault string

// must panics with a fault, which broken recovers, unless the rule holds.
func must(holds bool, format string, args ...any) {
	if !holds {
		panic(fault(fmt.Sprintf(format, args...)))
	}
}

// broken returns the rule that a request breaks while it is read and answered, or "".
func broken(readAndAnswer func()) (f fault) {
	defer func() {
		recovered := recover()
		if broken, isFault := recovered.(fault); isFault {
			f = broken
		} else if recovered != nil {
			panic(recovered)
		}
	}()
	readAndAnswer()
	return ""
}

// refusal is what the provider answers. OpenAI also sends the parameter and a code, or null.
func refusal(api API, f fault) object {
	reason := object{"type": "invalid_request_error", "message": f}
	if api == Messages {
		return object{"error": reason, "type": "error", "request_id": "req_1"}
	}
	reason["param"], reason["code"] = nil, nil
	return object{"error": reason}
}

// Outdated is a model that accepts no definitions in the conversation.
const Outdated = "outdated"

func (r *request) read(api API, body []byte, header http.Header) {
	err := json.Unmarshal(body, &r.body)
	must(err == nil, "We could not parse the JSON body of your request: %v", err)
	r.stream, r.model, r.tools = flag(r.body, "stream"), text(r.body, "model"), map[string]object{}
	r.inline = r.model != Outdated && (api != Messages || slices.Contains(header.Values("Anthropic-Beta"), "inline-tools-2026-09-15"))
	thinking, _ := r.body["thinking"].(object)
	binding, _ := thinking["block_binding"].(object)
	r.drops = text(binding, "prefix_mismatch_behavior") == "drop_block"
	must(binding == nil || slices.Contains(header.Values("Anthropic-Beta"), "thinking-binding-controls-2026-08-01"),
		"thinking.block_binding: Extra inputs are not permitted")
	switch api {
	case Messages:
		r.readMessages()
	case Chat:
		r.readChat()
	default:
		r.readResponses()
	}
}

// list returns a list of objects. Anything else is a fault. A missing list is empty.
func list(in object, key, fault string, args ...any) (items []object) {
	elements, isList := in[key].([]any)
	must(isList || in[key] == nil, fault, args...)
	for _, e := range elements {
		item, isObject := e.(object)
		must(isObject, fault, args...)
		items = append(items, item)
	}
	return items
}

func text(in object, key string) string {
	s, _ := in[key].(string)
	return s
}

func flag(in object, key string) bool {
	b, _ := in[key].(bool)
	return b
}

func isTextIfGiven(in object, key string) bool {
	value, given := in[key]
	_, isText := value.(string)
	return isText || !given
}

// unknown returns the first key, in order of name, that is not allowed.
func unknown(in object, allowed ...string) string {
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if !slices.Contains(allowed, key) {
			return key
		}
	}
	return ""
}

// wordPattern is that of names and ids.
var wordPattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// schemaFault returns what is wrong with a JSON schema: the place and the reason. It looks for
// what providers refuse: a value that is not a schema, a list without items, a required property
// that does not exist.
func schemaFault(schema object, place string) (where, why string) {
	switch kind := schema["type"].(type) {
	case nil, []any:
	case string:
		if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, kind) {
			return place, fmt.Sprintf("%q is not a type", kind)
		}
	default:
		return place, "type is neither a name nor a list"
	}
	if schema["type"] == "array" {
		items, ok := schema["items"].(object)
		if !ok {
			return place, "array schema missing items"
		}
		if where, why = schemaFault(items, place+".items"); why != "" {
			return where, why
		}
	}
	named, ok := schema["properties"].(object)
	if !ok && schema["properties"] != nil {
		return place, "properties is not an object"
	}
	for _, name := range slices.Sorted(maps.Keys(named)) {
		switch property := named[name].(type) {
		case bool:
		case object:
			if where, why = schemaFault(property, place+"."+name); why != "" {
				return where, why
			}
		default:
			return place + "." + name, "is not a schema"
		}
	}
	return "", ""
}
