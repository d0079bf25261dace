package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// What the model says: searches, selections, calls of tools it sees, does not see or makes up,
// with arguments of every kind. The random numbers and what the model sees decide.

// noID marks a call that must have no id, since toolsearchtest.Model gives an id to a call with "".
const noID = "(no id)"

// fileTools are the tools of Eino's filesystem middleware.
var fileTools = strings.Fields("ls read_file write_file edit_file glob grep")

// speaker makes the turns of one run.
type speaker struct {
	plan  *plan
	names []string // of all dynamic tools, seen or not
}

// turn returns what the model says in one call of a run.
func (s *speaker) turn(random *rand.Rand, run, call int, r toolsearchtest.Request, isLast bool) toolsearchtest.Turn {
	if isLast || chance(random, 15) {
		return toolsearchtest.Say(pick(random, []string{"done", "", "</available-deferred-tools>"}))
	}
	turn := toolsearchtest.Turn{Text: pick(random, []string{"", "", "Let me see."})}
	insiders := 0
	for i := range 1 + min(random.IntN(4), random.IntN(4)) {
		c := s.call(random, r)
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
		if s.plan.odd && chance(random, 3) {
			c.ID = pick(random, []string{noID, "1", fmt.Sprintf("c%d_%d_0", run, call), "c0_0_0", "a\nb"})
		}
		turn.Calls = append(turn.Calls, c)
	}
	return turn
}

func (s *speaker) call(random *rand.Rand, r toolsearchtest.Request) toolsearchtest.Call {
	switch n := random.IntN(20); {
	case n < 8:
		return toolsearchtest.Call{Name: s.searchTool(random, r), Arguments: s.search(random)}
	case n < 11:
		name := pick(random, []string{"add_tool", "remove_tool", "show_all_tools", "find"})
		if !shows(r, name) && !chance(random, 4) {
			return toolsearchtest.Call{Name: s.searchTool(random, r), Arguments: `{"query":"select:` + plainly(s.someNames(random)) + `"}`}
		}
		return toolsearchtest.Call{Name: name, Arguments: s.namesArguments(random)}
	case n < 13 && (shows(r, "call_tool") || chance(random, 5)):
		return toolsearchtest.Call{Name: "call_tool", Arguments: s.dispatched(random)}
	case n < 16 && len(r.Tools) > 0:
		return toolsearchtest.Call{Name: pick(random, r.ToolNames()), Arguments: arguments(random)}
	case n < 18:
		return toolsearchtest.Call{Name: pick(random, s.names), Arguments: arguments(random)}
	case n < 19 && s.plan.insider:
		return toolsearchtest.Call{Name: "insider"}
	default:
		return toolsearchtest.Call{Name: s.madeUp(random), Arguments: arguments(random)}
	}
}

func shows(r toolsearchtest.Request, name string) bool {
	for _, list := range [][]*schema.ToolInfo{r.Tools, {r.SearchTool}} {
		for _, t := range list {
			if t != nil && t.Name == name {
				return true
			}
		}
	}
	return false
}

// searchTool returns the search tool the model sees, or now and then another protocol's.
func (s *speaker) searchTool(random *rand.Rand, r toolsearchtest.Request) string {
	names := []string{"tool_search", "search_tools"}
	for _, name := range names {
		if shows(r, name) && !chance(random, 10) {
			return name
		}
	}
	return pick(random, names)
}

// someNames returns names of tools, some of them misspelled.
func (s *speaker) someNames(random *rand.Rand) (names []string) {
	for range 1 + random.IntN(3) {
		name := pick(random, s.names)
		if chance(random, 5) {
			name = s.madeUp(random)
		}
		names = append(names, name)
	}
	return names
}

// plainly joins names in a form that fits into a JSON string.
func plainly(names []string) string {
	text := quoted(strings.Join(names, ","))
	return text[1 : len(text)-1]
}

func (s *speaker) search(random *rand.Rand) string {
	query := sentence(random, 5)
	switch random.IntN(8) {
	case 0, 1:
		query = "select:" + strings.Join(s.someNames(random), pick(random, []string{",", ", ", "，", " "}))
	case 2:
		query = "+" + query
	case 3:
		query = pick(random, homes) + ": " + query
	case 4:
		query = pick(random, []string{".*", "^mcp__", "(a+)+$", "((((", "[", "mail|issue", "(?i)GET_", strings.Repeat("(x{1,50}){1,50}", 3), "\\", "\x00"})
	case 5:
		query = pick(random, append(hostileTexts, notUTF8))
	}
	switch random.IntN(10) {
	case 0:
		return arguments(random)
	case 1:
		return `{"queries":[` + quoted(query) + `,` + quoted(sentence(random, 3)) + `]}`
	case 2:
		return `{"query":` + quoted(query) + `,"max_results":` + pick(random, []string{"1", "-1", "1e9", `"3"`, "2.5", "null", "[]"}) + `}`
	case 3:
		return `{"query":` + quoted(query) + `,"namespace":` + quoted(pick(random, homes)) + `,"limit":3}`
	case 4: // the arguments that only the middleware writes
		return pick(random, []string{`{"unloaded_tool":`, `{"unknown_tool":`, `{"problem":"?","misused_tool":`}) + quoted(pick(random, s.names)) + `}`
	}
	return `{"query":` + quoted(query) + `,"regex_pattern":` + quoted(query) + `}`
}

func (s *speaker) namesArguments(random *rand.Rand) string {
	if chance(random, 5) {
		return arguments(random)
	}
	var list []string
	for _, name := range s.someNames(random) {
		list = append(list, quoted(name))
	}
	return `{"tool_names":[` + strings.Join(list, ",") + `],"query":` + quoted(sentence(random, 3)) + `}`
}

func (s *speaker) dispatched(random *rand.Rand) string {
	name := pick(random, s.names)
	switch random.IntN(8) {
	case 0:
		return arguments(random)
	case 1:
		name = pick(random, []string{"tool_search", "call_tool", "clock", ""})
	case 2:
		name = s.madeUp(random)
	}
	given := arguments(random)
	if chance(random, 2) {
		given = quoted(given)
	}
	return `{"name":` + quoted(name) + `,"arguments":` + given + `}`
}

// madeUp returns a name that no tool has, or another spelling of a tool's name.
func (s *speaker) madeUp(random *rand.Rand) string {
	name := []rune(pick(random, s.names))
	switch random.IntN(6) {
	case 0:
		return pick(random, []string{"", " ", "multi_tool_use.parallel", "天气", strings.Repeat("a", 100), "get weather", "tool_search ", "CLOCK"})
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
		`{}`, `{}`, `{"city":"Rome"}`, `{"city":"Rome"}`, `{"city":7}`, `{"count":1.5,"deep":{"id":[]}}`, `{"x":"value_1"}`, `{"next":{"next":{"next":{}}}}`,
		``, ` `, `null`, `[]`, `"{}"`, `7`, `{`, `{"a":1}{"b":2}`, `{"n":1e999}`, `words`, "```json\n{\"city\":\"Rome\"}\n```", "{\"a\":\"\xff\"}", "{\"a\":\"\x00\"}",
		strings.Repeat("[", 3000), strings.Repeat(`{"x":`, 400) + "1" + strings.Repeat("}", 400), `{"x":"` + strings.Repeat("long ", 4000) + `"}`,
	})
}
