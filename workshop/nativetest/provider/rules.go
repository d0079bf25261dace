package provider

import (
	"encoding/json"
	"fmt"
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
	search   string            // the provider's own search tool: its name on Messages, its execution on Responses
}

// fault is the rule that a request breaks.
type fault struct {
	message string
	param   string // OpenAI only: the place
	code    string // OpenAI only; may be empty
}

func faultf(format string, args ...any) *fault { return &fault{message: fmt.Sprintf(format, args...)} }

func (f *fault) at(param string, args ...any) *fault {
	f.param = fmt.Sprintf(param, args...)
	return f
}

// refuse answers as the provider does.
func refuse(w http.ResponseWriter, api API, f *fault) {
	var body object
	if api == Messages {
		body = object{"type": "error", "error": object{"type": "invalid_request_error", "message": f.message}, "request_id": "req_1"}
	} else {
		orNull := func(s string) any {
			if s == "" {
				return nil
			}
			return s
		}
		body = object{"error": object{"message": f.message, "type": "invalid_request_error", "param": orNull(f.param), "code": orNull(f.code)}}
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusBadRequest)
	_ = json.NewEncoder(w).Encode(body)
}

func (r *request) read(api API, body []byte) *fault {
	if err := json.Unmarshal(body, &r.body); err != nil {
		return faultf("We could not parse the JSON body of your request: %v", err)
	}
	r.stream, _ = r.body["stream"].(bool)
	r.model, _ = r.body["model"].(string)
	r.tools = map[string]object{}
	switch api {
	case Messages:
		return r.readMessages()
	case Chat:
		return r.readChat()
	default:
		return r.readResponses()
	}
}

// list returns a list of objects. ok is false if the value is something else. A missing list is
// empty.
func list(in object, key string) (items []object, ok bool) {
	value, there := in[key]
	if !there || value == nil {
		return nil, true
	}
	elements, ok := value.([]any)
	for _, e := range elements {
		item, isObject := e.(object)
		ok = ok && isObject
		items = append(items, item)
	}
	return items, ok
}

func text(in object, key string) string {
	s, _ := in[key].(string)
	return s
}

func flag(in object, key string) bool {
	b, _ := in[key].(bool)
	return b
}

// unknown returns the first key, in order of name, that is not allowed.
func unknown(in object, allowed ...string) string {
	var strange []string
	for key := range in {
		if !slices.Contains(allowed, key) {
			strange = append(strange, key)
		}
	}
	if len(strange) == 0 {
		return ""
	}
	return slices.Min(strange)
}

var (
	namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	idPattern   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// schemaFault returns what is wrong with a JSON schema: the place and the reason. It looks for
// what providers refuse: a value that is not a schema, a list without items, a required property
// that does not exist.
func schemaFault(schema object, place string) (where, why string) {
	if kind, given := schema["type"]; given {
		switch kind := kind.(type) {
		case string:
			if !slices.Contains([]string{"object", "array", "string", "number", "integer", "boolean", "null"}, kind) {
				return place, fmt.Sprintf("%q is not a type", kind)
			}
		case []any:
		default:
			return place, "type is neither a name nor a list"
		}
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
	properties, given := schema["properties"]
	if !given || properties == nil {
		return "", ""
	}
	named, ok := properties.(object)
	if !ok {
		return place, "properties is not an object"
	}
	names := make([]string, 0, len(named))
	for name := range named {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		property, ok := named[name].(object)
		if !ok {
			if _, isBool := named[name].(bool); isBool {
				continue
			}
			return place + "." + name, "is not a schema"
		}
		if where, why = schemaFault(property, place+"."+name); why != "" {
			return where, why
		}
	}
	return "", ""
}
