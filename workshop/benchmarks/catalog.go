package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cloudwego/eino/schema"
)

// The catalog resembles many MCP servers of some 25 tools each:
//
//	mcp__<maker>_<product>__<verb>_<noun>[_<detail>]
//
// As in real catalogs, a few words are in nearly every tool, some are in most servers, and the
// makers' names are in only one server. Recurring words follow a power law. A description has
// one to three sentences. A tool has up to eight parameters.

const toolsPerServer = 25

var (
	verbs = strings.Fields(`get list create update delete search send read move export import archive restore
		approve assign attach cancel close comment compare copy download enable disable duplicate invite lock merge
		publish rename resolve run schedule share start stop subscribe sync transfer upload validate watch`)
	nouns = strings.Fields(`issue message file user project channel event invoice page table branch comment task
		document folder record order customer payment report contact ticket team member role permission label
		milestone release commit repository pipeline build deployment cluster node container image volume secret
		certificate domain alert incident dashboard metric log trace query dataset model job queue topic webhook
		token session device sensor location address shipment parcel booking room flight hotel ticket seat menu
		recipe product price discount coupon subscription plan refund dispute payout account balance transaction
		budget expense contract signature form survey answer lead campaign audience segment template newsletter
		article post thread reaction playlist track video caption meeting recording transcript note reminder`)
	products = strings.Fields(`tracker chat drive calendar mail crm billing wiki monitoring storage warehouse
		registry scheduler gateway analytics helpdesk payroll inventory travel media forms maps vault ledger`)
	details = strings.Fields(`by_id by_name history details settings members status links summary attachments
		draft batch preview template access activity`)
	fillers = strings.Fields(`the a of and in for with by to from that is are given optional filter owner returns
		identifier when was last changed requires permission results sorted newest first workspace page size
		limit existing specified matching current only including nested fields metadata format default empty
		supports pagination cursor errors if not found organization visible everyone caller timezone`)
	parameterNames = strings.Fields(`id name query limit cursor owner project_id user_id start_date end_date
		status title description labels assignee sort order format timezone email amount currency folder_id
		include_archived dry_run page_size parent_id priority visibility callback_url`)
	states = []string{"open", "closed", "draft", "archived", "pending"}
)

// A Question is a question to the contestants, and the tool it is about.
type Question struct {
	Text    string // as keywords
	Pattern string // as a regular expression
	Tool    string // the tool whose words are in the question
	Named   bool   // the question has all words of the tool's name, so the tool should be first
}

// Tools returns a catalog of size tools and questions about it. The result is always the same.
func Tools(size int) ([]*schema.ToolInfo, []Question) {
	g := generator{random: rand.New(rand.NewPCG(7, uint64(size)))}
	infos := make([]*schema.ToolInfo, 0, size)
	made := make([]madeTool, 0, size)
	taken := make(map[string]bool, size)
	for len(infos) < size {
		maker, product := g.maker(), g.word(products)
		for range min(toolsPerServer, size-len(infos)) {
			t := madeTool{maker: maker, product: product}
			for t.verb == "" || taken[t.name()] {
				t.verb, t.noun, t.detail = g.word(verbs), g.word(nouns), ""
				if g.random.IntN(4) == 0 {
					t.detail = g.word(details)
				}
			}
			taken[t.name()] = true
			infos = append(infos, g.info(t))
			made = append(made, t)
		}
	}
	return infos, questions(made)
}

// madeTool holds the words that a tool is made of.
type madeTool struct{ maker, product, verb, noun, detail string }

func (t madeTool) name() string {
	name := fmt.Sprintf("mcp__%s_%s__%s_%s", t.maker, t.product, t.verb, t.noun)
	if t.detail != "" {
		name += "_" + t.detail
	}
	return name
}

// questions asks in five ways about each of five tools spread evenly over the catalog: by
// keywords, with the server's name, with the server's name required, in a sentence, and in a
// longer sentence.
func questions(made []madeTool) []Question {
	const tools = 5
	var list []Question
	for i := range tools {
		t := made[(2*i+1)*len(made)/(2*tools)]
		tail := strings.TrimSpace(t.noun + " " + strings.ReplaceAll(t.detail, "_", " "))
		pattern := t.verb + "_" + t.noun
		add := func(named bool, pattern, format string, words ...any) {
			list = append(list, Question{Text: fmt.Sprintf(format, words...), Pattern: pattern, Tool: t.name(), Named: named})
		}
		add(false, pattern, "%s %s", t.verb, t.noun)
		add(true, t.maker+".*"+pattern, "%s %s %s %s", t.maker, t.product, t.verb, tail)
		add(false, "^mcp__"+t.maker+".*"+t.noun, "+%s %s", t.maker, t.noun)
		add(false, t.product+"__("+t.verb+"|get)_", "%s the %s in the %s", t.verb, t.noun, t.product)
		add(false, t.verb+".*"+t.noun, "please %s the %s of the project that was last changed by the given user, newest first", t.verb, t.noun)
	}
	return list
}

type generator struct{ random *rand.Rand }

// word picks a word by the cube of a uniform random number, so the first words of the list are
// the most frequent.
func (g generator) word(list []string) string {
	x := g.random.Float64()
	return list[int(x*x*x*float64(len(list)))]
}

// maker makes up a company's name of three or four syllables, out of some ten million.
func (g generator) maker() string {
	var b strings.Builder
	for range 3 + g.random.IntN(2) {
		b.WriteByte("bcdfghjklmnprstvwz"[g.random.IntN(18)])
		b.WriteByte("aeiou"[g.random.IntN(5)])
	}
	return b.String()
}

func (g generator) info(t madeTool) *schema.ToolInfo {
	var text strings.Builder
	fmt.Fprintf(&text, "%s%s a %s in %s %s", strings.ToUpper(t.verb[:1]), t.verb[1:], t.noun, t.maker, t.product)
	for range 1 + g.random.IntN(3) {
		for range 3 + g.random.IntN(12) {
			text.WriteByte(' ')
			if g.random.IntN(6) == 0 {
				text.WriteString(g.word(nouns))
			} else {
				text.WriteString(g.word(fillers))
			}
		}
		text.WriteByte('.')
	}
	parameters := make(map[string]*schema.ParameterInfo)
	for range g.random.IntN(9) {
		name := g.word(parameterNames)
		if g.random.IntN(4) == 0 {
			name = t.noun + "_" + name
		}
		parameters[name] = g.parameter(t, name)
	}
	info := &schema.ToolInfo{Name: t.name(), Desc: text.String()}
	if len(parameters) > 0 {
		info.ParamsOneOf = schema.NewParamsOneOfByParams(parameters)
	}
	return info
}

func (g generator) parameter(t madeTool, name string) *schema.ParameterInfo {
	p := &schema.ParameterInfo{Type: schema.String, Required: g.random.IntN(3) == 0}
	p.Desc = fmt.Sprintf("The %s of the %s", strings.ReplaceAll(name, "_", " "), t.noun)
	for range g.random.IntN(6) {
		p.Desc += " " + g.word(fillers)
	}
	if strings.HasSuffix(name, "status") {
		p.Enum = states
	}
	return p
}
