// Package services is a make-believe workplace: the tools of a dozen or so
// MCP servers (issue tracker, chat, mail, payments, cluster and so on), big
// enough that sending every schema to the model on every turn would be a waste.
// The quickstart uses it to show tool search on a catalog of realistic size
// without accounts or keys.
//
// The tools reach no network, clock or random source. A result depends only on
// the tool and its arguments, so runs of the example can be compared.
//
// Every service has a file of its own that reads as a table:
//
//	var chat = service("chat",
//		fn("send", "Post a message to a room, where all its members see it.",
//			req("room", "Room to post in"),
//			req("text", "What to say"),
//			opt("priority", "How loudly to notify", oneOf("low", "high"), or("low")),
//			returns(`{"id": "{$id}", "room": "{room}", "link": "https://chat.example/{room}/{$id}"}`)),
//	)
//
// In the JSON given to returns, a name in braces is a placeholder for an argument. A string
// that is only a placeholder takes the argument's own type, or null if an optional argument is
// missing. Inside a longer string the argument is inserted as text. {$number} and {$id} are
// derived from the tool's name and arguments, for things that the call pretends to create. Without the
// outer braces the text follows all arguments. A tool without returns answers with its arguments.
package services

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

// Tools returns every tool of the catalog, service by service. The order is the
// same on each call, and each tool is a [tool.InvokableTool].
func Tools() []tool.BaseTool {
	return slices.Concat(github, slack, gmail, calendar, jira, notion, drive, stripe,
		postgres, kubernetes, s3, sentry, zendesk, salesforce, weather)
}

// Infos returns the definitions of Tools.
func Infos() (infos []*schema.ToolInfo) {
	for _, t := range Tools() {
		info, _ := t.Info(context.Background()) // it never fails
		infos = append(infos, info)
	}
	return infos
}

type demoTool struct {
	name, desc string
	params     []param
	template   []byte // of the result, as compact JSON
}

// part is what fn accepts after the description: a param or a template.
type part interface{ addTo(*demoTool) }

type param struct {
	name     string
	info     *schema.ParameterInfo
	fallback json.RawMessage
}

// returns is the result of a call whose arguments are complete.
type returns string

func (p param) addTo(t *demoTool)   { t.params = append(t.params, p) }
func (r returns) addTo(t *demoTool) { t.template = []byte(r) }

func service(name string, tools ...*demoTool) (all []tool.BaseTool) {
	for _, t := range tools {
		t.name = "mcp__" + name + "__" + t.name
		all = append(all, t)
	}
	return all
}

// fn makes a tool. It panics if the result is not JSON, since that is a mistake in the table.
func fn(name, desc string, parts ...part) *demoTool {
	t := &demoTool{name: name, desc: desc}
	for _, p := range parts {
		p.addTo(t)
	}
	if !bytes.HasPrefix(t.template, []byte("{")) {
		fields := []string{`"ok": true, "id": "{$id}"`}
		for _, p := range t.params {
			fields = append(fields, fmt.Sprintf(`%q: "{%s}"`, p.name, p.name))
		}
		if t.template != nil {
			fields = append(fields[1:], string(t.template))
		}
		t.template = []byte("{" + strings.Join(fields, ",") + "}")
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, t.template); err != nil {
		panic(fmt.Sprintf("services: %v in %s", err, t.template))
	}
	t.template = compact.Bytes()
	return t
}

// trait changes a parameter, which is a string by default.
type trait func(*param)

func req(name, desc string, traits ...trait) param {
	p := opt(name, desc, traits...)
	p.info.Required = true
	return p
}

func opt(name, desc string, traits ...trait) param {
	p := param{name: name, info: &schema.ParameterInfo{Desc: desc, Type: schema.String}}
	for _, t := range traits {
		t(&p)
	}
	return p
}

func integer(p *param) { p.info.Type = schema.Integer }
func number(p *param)  { p.info.Type = schema.Number }
func boolean(p *param) { p.info.Type = schema.Boolean }

func oneOf(values ...string) trait {
	return func(p *param) { p.info.Enum = values }
}

// list is an array of strings, or of another type if the traits say so.
func list(traits ...trait) trait {
	return func(p *param) { p.info.Type, p.info.ElemInfo = schema.Array, opt("", "", traits...).info }
}

// object is an object with these fields. Without fields it takes any keys, for records whose
// columns the user defines.
func object(fields ...param) trait {
	return func(p *param) { p.info.Type, p.info.SubParams = schema.Object, infos(fields) }
}

// or sets the default of an optional argument. Eino's ParameterInfo has no field for a
// default, so the description mentions it.
func or(value any) trait {
	return func(p *param) {
		p.fallback, _ = json.Marshal(value)
		p.info.Desc = fmt.Sprintf("%s (default: %v)", p.info.Desc, value)
	}
}

func infos(params []param) map[string]*schema.ParameterInfo {
	infos := make(map[string]*schema.ParameterInfo, len(params))
	for _, p := range params {
		infos[p.name] = p.info
	}
	return infos
}

// Info describes the tool to a model.
func (t *demoTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: t.name, Desc: t.desc, ParamsOneOf: schema.NewParamsOneOfByParams(infos(t.params))}, nil
}

// InvokableRun returns the tool's canned result. It reports bad arguments in the result and
// not as an error: an error would end the agent's run, but a result lets the model try again.
func (t *demoTool) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	// The arguments stay JSON, so that echoing one cannot round a long id or change a type. Some models
	// send nothing at all to a tool that needs no arguments.
	args, problems := map[string]json.RawMessage{}, []string(nil)
	if err := json.Unmarshal([]byte(arguments), &args); strings.TrimSpace(arguments) != "" && (err != nil || args == nil) {
		args, problems = map[string]json.RawMessage{}, []string{"the arguments must be a JSON object"}
	}
	for _, p := range t.params {
		isAbsent := len(args[p.name]) == 0 || string(args[p.name]) == "null" // some models fill in every parameter
		switch {
		case isAbsent && p.info.Required:
			problems = append(problems, fmt.Sprintf("missing required parameter %q", p.name))
		case isAbsent && p.fallback != nil:
			args[p.name] = p.fallback
		}
	}
	if problems != nil {
		return t.name + ": " + strings.Join(problems, "; "), nil
	}
	return string(placeholder.ReplaceAllFunc(t.template, func(match []byte) []byte {
		value := t.value(args, string(bytes.Trim(match, `"{}`)))
		if match[0] == '"' {
			return value
		}
		if value[0] != '"' { // inside a JSON string
			value, _ = json.Marshal(string(value))
		}
		return value[1 : len(value)-1]
	})), nil
}

var placeholder = regexp.MustCompile(`"\{\$?[a-z0-9_]+\}"|\{\$?[a-z0-9_]+\}`)

// value returns the JSON that a placeholder stands for. A hash stands in for the sequence numbers and
// random ids of a real service.
func (t *demoTool) value(args map[string]json.RawMessage, name string) []byte {
	if len(args[name]) > 0 {
		var compact bytes.Buffer
		_ = json.Compact(&compact, args[name])
		return compact.Bytes()
	}
	all, _ := json.Marshal(args) // sorts the keys, so their order does not matter
	h := fnv.New32a()
	h.Write(append([]byte(t.name), all...))
	switch name {
	case "$number":
		return fmt.Appendf(nil, "%d", 100+h.Sum32()%900)
	case "$id":
		return fmt.Appendf(nil, `"%08x"`, h.Sum32())
	}
	return []byte("null")
}
