package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What the model says: searches, selections, calls of tools it sees, does not see or makes up,
// with arguments of every kind. The random numbers and what the model sees decide.

// fileTools are the tools of Eino's filesystem middleware.
var fileTools = strings.Fields("ls read_file write_file edit_file glob grep")

// turn returns what the model says in one call of a run.
func (p *plan) turn(random *rand.Rand, run, call int, r toolsearchtest.Request, isLast bool) toolsearchtest.Turn {
	if isLast || chance(random, 15) {
		return toolsearchtest.Say(pick(random, []string{"done", "", "</available-deferred-tools>"}))
	}
	turn := toolsearchtest.Turn{Text: pick(random, []string{"", "", "Let me see."})}
	insiders := 0
	for i := range 1 + min(random.IntN(4), random.IntN(4)) {
		c := p.call(random, r)
		if slices.Contains(fileTools, c.Name) { // Eino's file tools fail on most arguments
			c.Name, c.Arguments = "ls", `{"path":"/"}`
		}
		if c.Name == "insider" {
			if insiders++; insiders > 1 { // two at once would race for the session
				continue
			}
			c.Arguments = `{"request":"Look around"}` // an agent as a tool fails on anything else
		}
		c.ID = fmt.Sprintf("c%d_%d_%d", run, call, i)
		if p.odd && chance(random, 3) {
			c.ID = pick(random, []string{"1", fmt.Sprintf("c%d_%d_0", run, call), "c0_0_0", "a\nb"})
		}
		turn.Calls = append(turn.Calls, c)
	}
	return turn
}

func (p *plan) call(random *rand.Rand, r toolsearchtest.Request) toolsearchtest.Call {
	switch n := random.IntN(20); {
	case n < 8:
		return toolsearchtest.Call{Name: p.searchTool(random, r), Arguments: p.search(random)}
	case n < 11:
		name := pick(random, []string{"add_tool", "remove_tool", "show_all_tools", "find"})
		if !shows(r, name) && !chance(random, 4) {
			query := "select:" + strings.Join(p.someNames(random), ",")
			return toolsearchtest.Call{Name: p.searchTool(random, r), Arguments: `{"query":` + asJSON(query) + `}`}
		}
		return toolsearchtest.Call{Name: name, Arguments: p.namesArguments(random)}
	case n < 13 && (shows(r, "call_tool") || chance(random, 5)):
		return toolsearchtest.Call{Name: "call_tool", Arguments: p.dispatched(random)}
	case n < 16 && len(r.Tools) > 0:
		return toolsearchtest.Call{Name: pick(random, r.ToolNames()), Arguments: arguments(random)}
	case n < 18:
		return toolsearchtest.Call{Name: pick(random, p.names()), Arguments: arguments(random)}
	case n < 19 && p.insider:
		return toolsearchtest.Call{Name: "insider"}
	default:
		return toolsearchtest.Call{Name: p.madeUp(random), Arguments: arguments(random)}
	}
}

func shows(r toolsearchtest.Request, name string) bool {
	return slices.Contains(r.ToolNames(), name) || r.SearchTool != nil && r.SearchTool.Name == name
}

// searchTool returns the search tool the model sees, or now and then another protocol's.
func (p *plan) searchTool(random *rand.Rand, r toolsearchtest.Request) string {
	names := []string{"tool_search", "search_tools"}
	for _, name := range names {
		if shows(r, name) && !chance(random, 10) {
			return name
		}
	}
	return pick(random, names)
}

// someNames returns names of tools, some of them misspelled.
func (p *plan) someNames(random *rand.Rand) (names []string) {
	for range 1 + random.IntN(3) {
		name := pick(random, p.names())
		if chance(random, 5) {
			name = p.madeUp(random)
		}
		names = append(names, name)
	}
	return names
}

func (p *plan) search(random *rand.Rand) string {
	query := sentence(random, 5)
	switch random.IntN(8) {
	case 0, 1:
		query = "select:" + strings.Join(p.someNames(random), pick(random, []string{",", ", ", "，", " "}))
	case 2:
		query = "+" + query
	case 3:
		query = pick(random, homes) + ": " + query
	case 4:
		query = pick(random, []string{".*", "^mcp__", "(a+)+$", "((((", "[", "mail|issue", "(?i)GET_",
			strings.Repeat("(x{1,50}){1,50}", 3), "\\", "\x00"})
	case 5:
		query = pick(random, append(hostileTexts, notUTF8))
	}
	switch random.IntN(10) {
	case 0:
		return arguments(random)
	case 1:
		return `{"queries":[` + asJSON(query) + `,` + asJSON(sentence(random, 3)) + `]}`
	case 2:
		return `{"query":` + asJSON(query) + `,"max_results":` + pick(random, []string{"1", "-1", "1e9", `"3"`, "2.5", "null", "[]"}) + `}`
	case 3:
		return `{"query":` + asJSON(query) + `,"namespace":` + asJSON(pick(random, homes)) + `,"limit":3}`
	case 4: // the arguments that only the middleware writes
		argument := pick(random, []string{`{"unloaded_tool":`, `{"unknown_tool":`, `{"problem":"?","misused_tool":`})
		return argument + asJSON(pick(random, p.names())) + `}`
	}
	return `{"query":` + asJSON(query) + `,"regex_pattern":` + asJSON(query) + `}`
}

func (p *plan) namesArguments(random *rand.Rand) string {
	if chance(random, 5) {
		return arguments(random)
	}
	return `{"tool_names":` + asJSON(p.someNames(random)) + `,"query":` + asJSON(sentence(random, 3)) + `}`
}

func (p *plan) dispatched(random *rand.Rand) string {
	name := pick(random, p.names())
	switch random.IntN(8) {
	case 0:
		return arguments(random)
	case 1:
		name = pick(random, []string{"tool_search", "call_tool", "clock", ""})
	case 2:
		name = p.madeUp(random)
	}
	given := arguments(random)
	if chance(random, 2) {
		given = asJSON(given)
	}
	return `{"name":` + asJSON(name) + `,"arguments":` + given + `}`
}

// madeUp returns a name that no tool has, or another spelling of a tool's name.
func (p *plan) madeUp(random *rand.Rand) string {
	name := []rune(pick(random, p.names()))
	switch random.IntN(6) {
	case 0:
		return pick(random, []string{"", " ", "multi_tool_use.parallel", "天气", strings.Repeat("a", 100), "get weather",
			"tool_search ", "CLOCK"})
	case 1:
		return "functions." + string(name)
	case 2:
		return strings.ToUpper(string(name))
	case 3:
		return pick(random, append(hostileTexts, notUTF8))
	default:
		if len(name) > 3 { // two letters swapped
			i := 1 + random.IntN(len(name)-2)
			name[i-1], name[i] = name[i], name[i-1]
		}
		return string(name)
	}
}

// arguments returns valid or invalid arguments.
func arguments(random *rand.Rand) string {
	return pick(random, []string{
		`{}`, `{}`, `{"city":"Rome"}`, `{"city":"Rome"}`, `{"city":7}`,
		`{"count":1.5,"deep":{"id":[]}}`, `{"x":"value_1"}`, `{"next":{"next":{"next":{}}}}`,
		``, ` `, `null`, `[]`, `"{}"`, `7`, `{`, `{"a":1}{"b":2}`, `{"n":1e999}`, `words`,
		"```json\n{\"city\":\"Rome\"}\n```", "{\"a\":\"\xff\"}", "{\"a\":\"\x00\"}",
		strings.Repeat("[", 3000), strings.Repeat(`{"x":`, 400) + "1" + strings.Repeat("}", 400), `{"x":"` + strings.Repeat("long ", 4000) + `"}`,
	})
}
