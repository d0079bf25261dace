package main

import (
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// A Question is a question to the contestants, and the tool it is about.
type Question struct {
	Text  string
	Tool  string // the tool whose words are in the question
	Named bool   // the question has all words of the tool's name, so the tool should be first
}

// Tools returns a catalog of size tools and questions about it: the quickstart's MCP servers again and again,
//
//	mcp__<maker>_<server>__<tool>
//
// each time under the name of another maker, which is in no other server, and with a sentence more about something
// else. As in real catalogs, a few words are in nearly every tool, and some are in most servers. The result is always
// the same.
func Tools(size int) (infos []*schema.ToolInfo, questions []Question) {
	const asked = 5
	random := rand.New(rand.NewPCG(7, uint64(size)))
	originals, makers := services.Infos(), make(map[string]string)
	for i := range size {
		of, more := originals[i%len(originals)], originals[random.IntN(len(originals))]
		if i%len(originals) == 0 {
			clear(makers)
		}
		server, name, _ := strings.Cut(strings.TrimPrefix(of.Name, "mcp__"), "__")
		if makers[server] == "" {
			makers[server] = maker(random)
		}
		info := &schema.ToolInfo{
			Name: fmt.Sprintf("mcp__%s_%s__%s", makers[server], server, name), ParamsOneOf: of.ParamsOneOf,
			Desc: fmt.Sprintf("%s Part of %s %s. %s", of.Desc, makers[server], server, more.Desc),
		}
		infos = append(infos, info)
		for n := range asked { // spread evenly
			if i == (2*n+1)*size/(2*asked) {
				questions = append(questions, about(info.Name, makers[server], server, name)...)
			}
		}
	}
	return infos, questions
}

// about asks in five ways about a tool: by keywords, with the server's name, with the maker's name required, in a
// sentence, and in a longer sentence.
func about(tool, maker, server, name string) (list []Question) {
	verb, noun, _ := strings.Cut(name, "_")
	words := strings.ReplaceAll(noun, "_", " ")
	add := func(named bool, format string, words ...any) {
		list = append(list, Question{Text: fmt.Sprintf(format, words...), Tool: tool, Named: named})
	}
	add(false, "%s %s", verb, words)
	add(true, "%s %s %s %s", maker, server, verb, words)
	add(false, "+%s %s", maker, words)
	add(false, "%s the %s in the %s", verb, words, server)
	add(false, "please %s the %s of the project that was last changed by the given user, newest first", verb, words)
	return list
}

// maker makes up a company's name of three or four syllables, out of some ten million.
func maker(random *rand.Rand) string {
	var b strings.Builder
	for range 3 + random.IntN(2) {
		b.WriteByte("bcdfghjklmnprstvwz"[random.IntN(18)])
		b.WriteByte("aeiou"[random.IntN(5)])
	}
	return b.String()
}
