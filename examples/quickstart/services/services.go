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
// derived from the tool's name and arguments, for things that the call pretends to create. A tool
// without returns answers with its arguments.
package services

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"regexp"
	"strings"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

var catalog = [][]*demoTool{
	github, slack, gmail, calendar, jira, notion, drive, stripe,
	postgres, kubernetes, s3, sentry, zendesk, salesforce, weather,
}

// Tools returns every tool of the catalog, service by service. The order is the
// same on each call, and each tool is a [tool.InvokableTool].
func Tools() []tool.BaseTool {
	var all []tool.BaseTool
	for _, tools := range catalog {
		for _, t := range tools {
			all = append(all, t)
		}
	}
	return all
}

type demoTool struct {
	name, desc string
	params     []param
	reply      reply
}

// part is what fn accepts after the description: a param or a reply.
type part interface{ addTo(*demoTool) }

type param struct {
	name, desc string
	required   bool
	typ        schema.DataType
	enum       []string
	elem       *param
	fields     []param
	fallback   json.RawMessage
}

// reply works out the result of a call whose arguments are complete.
type reply func(call) string

func (p param) addTo(t *demoTool) { t.params = append(t.params, p) }
func (r reply) addTo(t *demoTool) { t.reply = r }

func service(name string, tools ...*demoTool) []*demoTool {
	for _, t := range tools {
		t.name = "mcp__" + name + "__" + t.name
	}
	return tools
}

func fn(name, desc string, parts ...part) *demoTool {
	t := &demoTool{name: name, desc: desc}
	for _, p := range parts {
		p.addTo(t)
	}
	if t.reply == nil {
		t.reply = t.echo
	}
	return t
}

// trait changes a parameter, which is a string by default.
type trait func(*param)

func req(name, desc string, traits ...trait) param {
	p := opt(name, desc, traits...)
	p.required = true
	return p
}

func opt(name, desc string, traits ...trait) param {
	p := param{name: name, desc: desc, typ: schema.String}
	for _, t := range traits {
		t(&p)
	}
	return p
}

func integer(p *param) { p.typ = schema.Integer }
func number(p *param)  { p.typ = schema.Number }
func boolean(p *param) { p.typ = schema.Boolean }

func oneOf(values ...string) trait {
	return func(p *param) { p.enum = values }
}

// list is an array of strings, or of another type if the traits say so.
func list(traits ...trait) trait {
	return func(p *param) {
		elem := opt("", "", traits...)
		p.typ, p.elem = schema.Array, &elem
	}
}

// object is an object with these fields. Without fields it takes any keys, for records whose
// columns the user defines.
func object(fields ...param) trait {
	return func(p *param) { p.typ, p.fields = schema.Object, fields }
}

// or sets the default of an optional argument. Eino's ParameterInfo has no field for a
// default, so the description mentions it.
func or(value any) trait {
	return func(p *param) {
		p.fallback, _ = json.Marshal(value)
		p.desc = fmt.Sprintf("%s (default: %v)", p.desc, value)
	}
}

// Info describes the tool to a model. Every call returns a new ToolInfo, which the caller may
// change.
func (t *demoTool) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{
		Name:        t.name,
		Desc:        t.desc,
		ParamsOneOf: schema.NewParamsOneOfByParams(paramInfos(t.params)),
	}, nil
}

func paramInfos(params []param) map[string]*schema.ParameterInfo {
	infos := make(map[string]*schema.ParameterInfo, len(params))
	for _, p := range params {
		infos[p.name] = p.info()
	}
	return infos
}

func (p param) info() *schema.ParameterInfo {
	info := &schema.ParameterInfo{
		Type:      p.typ,
		Desc:      p.desc,
		Enum:      append([]string(nil), p.enum...),
		Required:  p.required,
		SubParams: paramInfos(p.fields),
	}
	if p.elem != nil {
		info.ElemInfo = p.elem.info()
	}
	return info
}

// InvokableRun returns the tool's canned result. It reports bad arguments in the result and
// not as an error: an error would end the agent's run, but a result lets the model try again.
func (t *demoTool) InvokableRun(_ context.Context, arguments string, _ ...tool.Option) (string, error) {
	c := call{tool: t.name}
	// Some models send nothing at all to a tool that needs no arguments.
	if strings.TrimSpace(arguments) == "" {
		arguments = "{}"
	}
	if err := json.Unmarshal([]byte(arguments), &c.args); err != nil || c.args == nil {
		problems := append([]string{"the arguments must be a JSON object"}, t.missing(nil)...)
		return t.name + ": " + strings.Join(problems, "; "), nil
	}
	if problems := t.missing(c.args); len(problems) > 0 {
		return t.name + ": " + strings.Join(problems, "; "), nil
	}
	for _, p := range t.params {
		if p.fallback != nil && absent(c.args[p.name]) {
			c.args[p.name] = p.fallback
		}
	}
	return t.reply(c), nil
}

// echo is the result of a tool without one: its arguments, and the id of what was done.
func (t *demoTool) echo(c call) string {
	text := fmt.Sprintf(`{"ok":true,"id":%s`, c.value("$id"))
	for _, p := range t.params {
		text += fmt.Sprintf(`,%q:%s`, p.name, c.value(p.name))
	}
	return text + "}"
}

func (t *demoTool) missing(args map[string]json.RawMessage) []string {
	var problems []string
	for _, p := range t.params {
		if p.required && absent(args[p.name]) {
			problems = append(problems, fmt.Sprintf("missing required parameter %q", p.name))
		}
	}
	return problems
}

// absent treats null as absent, since some models fill in every parameter.
func absent(value json.RawMessage) bool {
	return len(value) == 0 || string(value) == "null"
}

// call keeps the arguments as JSON text. So echoing an argument cannot round a long id or
// change a type.
type call struct {
	tool string
	args map[string]json.RawMessage
}

// hash stands in for the sequence numbers and random ids of a real service.
func (c call) hash() uint32 {
	h := fnv.New32a()
	h.Write([]byte(c.tool))
	// Marshal sorts the keys, so their order does not matter.
	args, _ := json.Marshal(c.args)
	h.Write(args)
	return h.Sum32()
}

// value returns the JSON that a placeholder stands for.
func (c call) value(name string) json.RawMessage {
	switch name {
	case "$number":
		return fmt.Appendf(nil, "%d", 100+c.hash()%900)
	case "$id":
		return fmt.Appendf(nil, `"%08x"`, c.hash())
	}
	if absent(c.args[name]) {
		return json.RawMessage("null")
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, c.args[name])
	return compact.Bytes()
}

// text returns the value of a placeholder for use inside a JSON string.
func (c call) text(name string) []byte {
	value := c.value(name)
	if value[0] != '"' {
		value, _ = json.Marshal(string(value))
	}
	return value[1 : len(value)-1]
}

var placeholder = regexp.MustCompile(`"\{(\$?[a-z0-9_]+)\}"|\{(\$?[a-z0-9_]+)\}`)

// returns makes a reply that fills in a JSON template. It panics if the template is not JSON,
// since that is a mistake in the table.
func returns(template string) reply {
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(template)); err != nil {
		panic(fmt.Sprintf("services: %v in %s", err, template))
	}
	return func(c call) string {
		filled := placeholder.ReplaceAllFunc(compact.Bytes(), func(match []byte) []byte {
			if match[0] == '"' {
				return c.value(string(match[2 : len(match)-2]))
			}
			return c.text(string(match[1 : len(match)-1]))
		})
		return string(filled)
	}
}
