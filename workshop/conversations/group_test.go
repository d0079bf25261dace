package conversations_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/search"
)

// These tests give the tools of several servers to an agent.

// fileTools are the tools of a server whose names say nothing of the server.
func fileTools() []tool.BaseTool {
	return testtools.EchoTools("read_file: Reads a file", "search: Searches for files")
}

func twoServers() []toolsearch.Group {
	return []toolsearch.Group{
		{Name: "filesystem", Description: "Files of the project", Tools: fileTools()},
		{Name: "memory", Tools: testtools.EchoTools(
			"open_nodes: Reads what is remembered", "search_nodes: Searches what is remembered")},
	}
}

// grouped returns the first lines of the reminder of groups, with the lines of its list.
func grouped(lines ...string) string {
	return reminderOpen + strings.Join(append([]string{
		`Load these with tool_search before use. They are grouped by prefix: "a__*: b, c" means a__b and a__c.`}, lines...), "\n") + reminderClose
}

// A group's name is the namespace of its tools by every door.
func TestGroupsAreNamespaces(t *testing.T) {
	var hinted []string
	annotate := func(info *schema.ToolInfo) toolsearch.Annotation {
		hinted = append(hinted, info.Name)
		return toolsearch.Annotation{Namespace: "elsewhere", Hint: "zebra"}
	}
	playAll(t, []conversation{
		{
			name: "a search in a namespace", config: toolsearch.Config{Groups: twoServers(), Index: toolsearch.BM25},
			turns: []turn{searching(`{"query":"memory: search"}`), searching(`{"query":"filesystem: search"}`)},
			saw:   []string{"tool_search", "tool_search search_nodes", "tool_search search_nodes search"},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, grouped("filesystem (2): Files of the project", "read_file, search", "memory (2)",
					"open_nodes, search_nodes"), o.requests[0].Messages[0].Text)
			},
		},
		{name: "AlwaysLoaded", config: toolsearch.Config{Groups: twoServers(), AlwaysLoaded: []string{"memory:*"}},
			saw: []string{"tool_search open_nodes search_nodes"}},
		{
			name: "a Filter", config: toolsearch.Config{Groups: twoServers(), Index: toolsearch.BM25,
				Filter: toolsearch.FilterTools([]string{"filesystem"}, nil)},
			turns: []turn{selecting("search,search_nodes"), searching(`{"query":"memory: search"}`)},
			saw:   []string{"tool_search", "tool_search search", "tool_search search"},
			check: func(t *testing.T, o outcome) { assert.NotContains(t, written(o.requests...), "memory") },
		},
		{
			name: "Annotate adds to it", config: toolsearch.Config{Groups: twoServers(), Annotate: annotate, Index: toolsearch.BM25,
				AlwaysLoaded: []string{"filesystem:search"}},
			dynamic: testtools.EchoTools("ring: Rings"),
			turns:   []turn{searching(`{"query":"filesystem: zebra"}`)},
			saw:     []string{"tool_search search", "tool_search search read_file"},
		},
		{name: "no group is left",
			config:  toolsearch.Config{Groups: twoServers(), Filter: toolsearch.FilterTools(nil, []string{"ring"})},
			dynamic: testtools.EchoTools("ring: Rings"), check: func(t *testing.T, o outcome) { checkAnnounced(t, o, "ring") }},
	})
	assert.Contains(t, hinted, "read_file")
}

// kinds are tools of the four kinds.
func kinds() []tool.BaseTool {
	of := func(name string) counted {
		return counted{&schema.ToolInfo{Name: name, Desc: "Does it"}, &atomic.Int32{}}
	}
	return []tool.BaseTool{&invokeTool{of("invoke")}, &streamTool{of("stream")},
		&enhancedInvokeTool{of("enhanced")}, &enhancedStreamTool{of("enhanced_stream")}}
}

// With Prefix the model sees name__tool, whatever it does with the name, and the server gets its own
// name. Two servers may then have the same tools, and so may the agent itself.
func TestPrefix(t *testing.T) {
	groups := []toolsearch.Group{{Name: "My server", Tools: kinds(), Prefix: true}, {Name: "b", Tools: kinds(), Prefix: true}}
	var turns, dispatched []turn
	for _, name := range []string{"invoke", "stream", "enhanced", "enhanced_stream"} {
		turns = append(turns, calling("My_server__"+name)) // loads and runs it
		dispatched = append(dispatched, dispatching("My_server__"+name, "{}"))
	}
	ran := func(t *testing.T, o outcome) {
		for i, want := range []string{"invoked with {}", "streamed with {}", "enhanced, invoked with {}", "enhanced, streamed with {}"} {
			assert.Equal(t, want, strings.ReplaceAll(o.result(t, fmt.Sprintf("call_%d", i+1)), "\n", "")) // a stream has a part a line
		}
	}
	own := testtools.EchoTools("invoke: The agent's own")
	playAll(t, []conversation{
		{name: "calls", config: toolsearch.Config{Groups: groups}, static: own, turns: turns, check: ran},
		{name: "call_tool", config: dispatch(func(c *toolsearch.Config) { c.Groups = groups }), turns: dispatched, check: ran},
		{
			name: "select", config: toolsearch.Config{Groups: groups, AlwaysLoaded: []string{"b__inv*", "b:b__str*"}},
			turns: []turn{selecting("b__enhanced,My_server__invoke,invoke")},
			saw:   []string{"tool_search b__invoke b__stream", "tool_search b__invoke b__stream b__enhanced My_server__invoke"},
			check: func(t *testing.T, o outcome) {
				assert.Equal(t, grouped("My server (4)", "My_server__invoke, My_server__stream, My_server__enhanced, My_server__enhanced_stream",
					"b__*: enhanced, enhanced_stream"), o.requests[0].Messages[0].Text)
			},
		},
		{name: "a stored history", config: toolsearch.Config{Groups: groups},
			history: changed(searchedBefore(`{"matches":["b__stream"]}`), func(m *message) { m.ToolName = "" }),
			saw:     []string{"tool_search b__stream"}},
	})
}

// A name that MCP allows and providers refuse is shown under another, which the name alone decides. The
// tool is found, selected and named in lists by its own name too, and called.
func TestNamesThatProvidersRefuse(t *testing.T) { everyWay(t, testOddNames) }

func testOddNames(t *testing.T, w way) {
	names := []string{strings.Repeat("deep.", 25), "files.read", "files/read"} // Sources are sorted
	var specs []string
	for _, name := range names {
		specs = append(specs, name+": Reads a page")
	}
	for _, prefix := range []bool{false, true} {
		groups := func(specs ...string) []toolsearch.Group {
			return []toolsearch.Group{{Name: "disk", Source: sourceOf(specs...), Prefix: prefix}}
		}
		shown := func(config toolsearch.Config) []string { return running(t, w, config)().requests[0].ToolNames()[1:] }
		var told []*toolsearch.FailureEvent
		all := shown(toolsearch.Config{Groups: groups(specs...), AlwaysLoaded: []string{"*"}, OnEvent: hearing(&told)})
		require.Len(t, sortedSet(all), len(names))
		require.Len(t, told, 1)
		for i, name := range names {
			assert.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, all[i])
			assert.ErrorContains(t, told[0].Err, all[i])
			pattern := name
			if prefix {
				pattern = "disk__" + name
			}
			for _, listed := range []string{pattern, "disk:" + name, all[i]} {
				for _, config := range []toolsearch.Config{{AlwaysLoaded: []string{listed}},
					{AlwaysLoaded: []string{"*"}, Filter: toolsearch.FilterTools(nil, []string{listed})}} {
					config.Groups = groups(specs...)
					assert.Equal(t, all[i:i+1], shown(config), listed)
				}
			}
			assert.Equal(t, all[i:i+1], shown(toolsearch.Config{Groups: groups(specs[i]), AlwaysLoaded: []string{"*"}}), "%s alone", name)
			for _, index := range []toolsearch.Indexer{toolsearch.Keyword, toolsearch.BM25} {
				run := running(t, w, toolsearch.Config{Groups: groups(specs...), Index: index})
				o := run(searching(fmt.Sprintf(`{"query":%q}`, name)), selecting(name), calling(all[i]))
				assert.Contains(t, answerOf(t, o.result(t, "call_1")).Matches, all[i])
				assert.Equal(t, all[i:i+1], answerOf(t, o.result(t, "call_2")).Matches)
				assert.Equal(t, name+" ran with {}", o.result(t, "call_3"))
			}
		}
		if prefix {
			assert.Empty(t, shown(toolsearch.Config{Groups: groups(specs...), AlwaysLoaded: []string{"files.read"}}), "without the prefix")
		}
	}
}

// servers are groups whose Sources can be set, in an agent.
type servers struct {
	config toolsearch.Config
	of     map[string]*server

	mu     sync.Mutex
	told   []string // failures: "part of group/tool: reason"
	groups [][]string
}

func newServers(names ...string) *servers {
	s := &servers{of: make(map[string]*server)}
	for _, name := range names {
		s.of[name] = &server{}
		s.of[name].serve(name + "_tool: Does")
		s.config.Groups = append(s.config.Groups, toolsearch.Group{Name: name, Source: s.of[name].source})
	}
	s.config.OnEvent = func(_ context.Context, e toolsearch.Event) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch e := e.(type) {
		case *toolsearch.FailureEvent:
			s.told = append(s.told, e.Part+" of "+strings.Trim(e.Group+"/"+e.Tool, "/")+": "+e.Err.Error())
		case *toolsearch.CatalogEvent:
			s.groups = append(s.groups, e.Groups)
		}
	}
	return s
}

// reset returns what was told, and forgets it.
func (s *servers) reset() (told []string, groups [][]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	told, groups = s.told, s.groups
	s.told, s.groups = nil, nil
	return told, groups
}

// A group's tool that providers refuse is mended, and the others stay.
func TestGroupsMendTools(t *testing.T) { everyWay(t, testGroupsMendTools) }

func testGroupsMendTools(t *testing.T, w way) {
	var told []*toolsearch.FailureEvent
	tools := append(testtools.EchoTools("bad name: Does", "read: Reads"),
		withSchema("list", &jsonschema.Schema{Type: "array"}), withSchema("odd", schemaOf(t, oddSchema)))
	run := running(t, w, toolsearch.Config{Groups: []toolsearch.Group{{Name: "files", Tools: tools}}, OnEvent: hearing(&told)})
	checkSaw(t, "the model", run(selecting("read,list,odd")), "tool_search", "tool_search read list odd")
	require.Len(t, told, 1)
	assert.Equal(t, "files", told[0].Group)
	assert.Empty(t, told[0].Tool, "the failure concerns several")
	assert.ErrorContains(t, told[0].Err, `Tools of group "files": left out or mended: tool 0, "bad name": mended: shown as "bad_name_`)
	assert.ErrorContains(t, told[0].Err, `tool 2, "list"`)
	assert.ErrorContains(t, told[0].Err, `tool 3, "odd": mended: the schema of its parameters has a type that JSON Schema does not have; `+
		`tool 3, "odd": kept: a parameter has the name "bad name!"`)
}

// A search that misses, and a call of a tool that is not there, say which group does not answer, if the request
// may know of it.
func TestMissesNameGroupsThatAreDown(t *testing.T) { everyWay(t, testGroupsDown) }

func testGroupsDown(t *testing.T, w way) {
	everything := func(context.Context, toolsearch.Document) bool { return true }
	for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolToolSearch, toolsearch.ProtocolRanked, toolsearch.ProtocolDispatch} {
		for name, tt := range map[string]struct {
			answered bool // before it failed
			filter   func(context.Context, toolsearch.Document) bool
			isNamed  bool
		}{
			"never answered":                     {false, nil, true},
			"never answered, with a filter":      {false, everything, false},
			"answered once":                      {true, nil, true},
			"answered once, and may be seen":     {true, everything, true},
			"answered once, and may not be seen": {true, func(_ context.Context, doc toolsearch.Document) bool { return doc.Namespace == "a" }, false},
		} {
			s := newServers("a", "billing")
			s.config.Protocol, s.config.Filter = protocol, tt.filter
			run := running(t, w, s.config)
			if tt.answered {
				run()
			}
			s.of["billing"].err = errors.New("no route to host")
			turns := []turn{searching(`{"query":"日历"}`), selecting("refund"), calling("refund"), selecting("a_tool")}
			o := run(turns...)
			for i, isMiss := range []bool{true, true, true, false} {
				result := o.result(t, fmt.Sprint("call_", i+1))
				assert.Equal(t, isMiss && tt.isNamed, strings.Contains(result, "Not answering at the moment: billing."), "%s, %v: %s", name, protocol, result)
			}
			s.of["billing"].err = nil
			assert.NotContains(t, run(turns[0]).result(t, "call_1"), "Not answering", "%s: it is back", name)
		}
	}
}

// A group that fails keeps its last good answer, and costs the others nothing.
func TestGroupsFailAlone(t *testing.T) { everyWay(t, testGroupsFailAlone) }

func testGroupsFailAlone(t *testing.T, w way) {
	s := newServers("a", "b", "c")
	s.config.DynamicTools = testtools.EchoTools("ring: Rings")
	s.config.Index = func(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
		if slices.ContainsFunc(docs, func(d toolsearch.Document) bool { return d.Name == "unindexable" }) {
			return nil, errors.New("cannot index that")
		}
		return toolsearch.Keyword(ctx, docs)
	}
	s.config.Annotate = func(info *schema.ToolInfo) toolsearch.Annotation {
		if info.Name == "unspeakable" {
			panic("no word for it")
		}
		return toolsearch.Annotate(info)
	}
	s.of["b"].err = errors.New("no route to host")
	agent := running(t, w, s.config)
	run := func(names string) ([]string, [][]string) {
		t.Helper()
		checkSaw(t, "the model", agent(selecting("a_tool,b_tool,c_tool")), "tool_search", strings.TrimSpace("tool_search "+names))
		return s.reset()
	}

	told, groups := run("a_tool c_tool")
	assert.Equal(t, []string{`Source of b: toolsearch: Source of group "b": no route to host; none of its tools is used`}, told, "before b ever answered")
	assert.Equal(t, [][]string{{"a", "c"}}, groups)

	s.of["b"].serve("b_tool: Does")
	told, groups = run("a_tool b_tool c_tool")
	assert.Empty(t, told, "b answers")
	assert.Equal(t, [][]string{{"b"}}, groups)

	for name, fail := range map[string]func(b *server){
		"no route to host":  func(b *server) { b.err = errors.New("no route to host") },
		"connection lost":   func(b *server) { b.panics = true },
		"no tools":          func(b *server) { b.serveTools() },
		"no tool can be":    func(b *server) { b.serve("tool_search: Does") },
		"cannot index that": func(b *server) { b.serve("unindexable: Does") },
		"no word for it":    func(b *server) { b.serve("unspeakable: Does") },
	} {
		fail(s.of["b"])
		for i := range 2 { // the first run also has to take what is new of the others
			more := fmt.Sprintf("more%d_%s: Does", i, strings.ReplaceAll(name, " ", "_"))
			s.of["a"].serve("a_tool: Does", more)
			s.of["c"].serve("c_tool: Does", "c_"+more)
			told, groups = run("a_tool b_tool c_tool")
			require.Len(t, told, 1, name)
			assert.Contains(t, told[0], `Source of b: toolsearch: Source of group "b": `, name)
			assert.Contains(t, told[0], name)
			assert.Equal(t, []string{"a", "c"}, sortedSet(slices.Concat(groups...)), "%s: the groups that changed", name)
		}
		s.of["b"].serve("b_tool: Does")
	}
	assert.Equal(t, s.of["a"].asked.Load(), s.of["b"].asked.Load(), "each Source is asked once a run")
}

// Of two tools of one name the tool of the earlier group stays. An event says what to do.
func TestGroupsClash(t *testing.T) { everyWay(t, testGroupsClash) }

func testGroupsClash(t *testing.T, w way) {
	s := newServers("a", "b")
	s.config.Groups = append(s.config.Groups, toolsearch.Group{Name: "fixed", Tools: testtools.EchoTools("first: Does")})
	s.of["a"].serve("only_a: Does")
	s.of["b"].serve("search: Searches in b", "first: Does in b", "only_b: Does")
	agent := running(t, w, s.config)
	run := func(want string) []string {
		t.Helper()
		o := agent(selecting("search"))
		require.Len(t, o.last().Tools, 2)
		assert.Equal(t, want, o.last().Tools[1].Desc)
		told, _ := s.reset()
		return told
	}
	told := run("Searches in b")
	require.Len(t, told, 1)
	assert.Contains(t, told[0], `Source of b/first: toolsearch: Source of group "b": left out or mended: tool 1, "first": another dynamic`)
	assert.Contains(t, told[0], "Prefix")
	assert.NotContains(t, told[0], `"search"`)
	s.of["a"].serve("only_a: Does", "search: Searches in a")
	told = run("Searches in a")
	require.Len(t, told, 1, "although b did not change")
	assert.Regexp(t, `^Source of b: .*tool 0, "search": another dynamic tool has this name`, told[0])
	assert.Empty(t, run("Searches in a"))
	// New values of the same tools, in another order, of the group that lost a tool.
	s.of["b"].serve("only_b: Does", "first: Does in b", "search: Searches in b")
	assert.Empty(t, run("Searches in a"))
	assert.Equal(t, "only_b ran with {}", agent(calling("only_b")).result(t, "call_1"))
	s.of["a"].serve("only_a: Does")
	run("Searches in b")
}

// The descriptions of groups share the room: what the short ones do not need goes to the long ones.
func TestGroupDescriptions(t *testing.T) {
	describe := func(maxTokens int, namespaces map[string]string, descriptions ...string) string {
		config := toolsearch.Config{Reminder: toolsearch.ReminderConfig{MaxTokens: maxTokens, Namespaces: namespaces}}
		for i, text := range descriptions {
			name := fmt.Sprintf("s%d", i)
			config.Groups = append(config.Groups, toolsearch.Group{Name: name, Description: text, Tools: testtools.EchoTools("t" + name + ": Does")})
		}
		return reminderOf(t, config)
	}
	long := func(word string, n int) string { return strings.TrimSpace(strings.Repeat(word+" ", n)) }
	lengths := func(text string) (lengths []int) {
		for _, line := range strings.Split(text, "\n")[2:] {
			if _, description, ok := strings.Cut(line, ": "); ok {
				lengths = append(lengths, len(description))
			}
		}
		return lengths
	}

	got := lengths(describe(0, nil, long("word", 1000), "Little.", long("other", 1000), long("third", 1000)))
	require.Len(t, got, 4)
	assert.Equal(t, 7, got[1])
	for _, i := range []int{0, 2, 3} {
		assert.InDelta(t, (4000-7)/3, got[i], 12, "description %d", i)
	}
	assert.InDelta(t, 2048, lengths(describe(0, nil, long("word", 1000)))[0], 12, "2 KiB are read")
	got = lengths(describe(0, nil, long("word", 1000), long("short", 10)))
	assert.Equal(t, 59, got[1])

	for tokens := 25; tokens < 600; tokens += 7 {
		text := describe(tokens, nil, long("fourth", 200), "Little.", long("second", 200))
		assert.LessOrEqual(t, len(text), 4*tokens)
		if got := lengths(text); strings.Contains(text, "grouped by prefix") {
			require.Len(t, got, 3)
			assert.InDelta(t, got[0], got[2], 6, "%d tokens", tokens)
			assert.Equal(t, 7, got[1], "%d tokens", tokens)
		}
	}
	assert.Contains(t, describe(0, map[string]string{"s0": "Mine"}, "Theirs", "Second"), "s0 (1): Mine\nts0\ns1 (1): Second\nts1")
	assert.Contains(t, describe(0, map[string]string{"s0": ""}, "Theirs", "Second"),
		"use. They are grouped by prefix: \"a__*: b, c\" means a__b and a__c.\ns0 (1)\nts0\n")
	many := make([]string, 500)
	for i := range many {
		many[i] = long("word", 100)
	}
	assert.Contains(t, describe(0, nil, many...), "\ns499 (1)\nts499\n", "so many groups that each has too little room")

	for _, text := range hostileTexts {
		for _, tokens := range []int{0, 60} {
			lines := checkBlock(t, describe(tokens, nil, text+strings.Repeat("long ", 1000), text))
			assert.LessOrEqual(t, len(lines), 5, "%q", text)
		}
	}
	assert.Equal(t, describe(50, nil, "日本語"+long("word", 100), long("other", 100)),
		describe(50, nil, "日本語"+long("word", 100), long("other", 100)))
}

// A lock knows a tool with a prefix by the name that the model sees, and by its own.
func TestLockOfGroups(t *testing.T) {
	groups := []toolsearch.Group{{Name: "files", Tools: append(fileTools(), testtools.EchoTools("files.stat: Tells")...), Prefix: true}}
	var docs []toolsearch.Document
	record := func(_ context.Context, doc toolsearch.Document) bool { docs = append(docs, doc); return true }
	running(t, way{}, toolsearch.Config{Groups: groups, Filter: record})()
	require.Len(t, docs, 3)
	var shown, own lock.File
	require.NoError(t, shown.Approve(docs...))
	assert.Equal(t, lock.ID{Namespace: "files", Name: "files__read_file"}, shown.IDs()[1])
	for _, tl := range groups[0].Tools {
		doc := search.DocumentOf(testtools.MustInfo(t, tl), nil)
		doc.Namespace = "files"
		require.NoError(t, own.Approve(doc))
	}
	for name, file := range map[string]*lock.File{"the names that the model sees": &shown, "the server's names": &own} {
		path := filepath.Join(t.TempDir(), lock.FileName)
		require.NoError(t, file.WriteFile(path))
		l := testtools.Must(lock.Open(path, nil))(t)
		for _, doc := range docs {
			assert.True(t, l.Filter(context.Background(), doc), "%s: %s", name, doc.Name)
			doc.Info = &schema.ToolInfo{Name: doc.Name, Desc: "Something else"}
			assert.False(t, l.Filter(context.Background(), doc), "%s: %s, changed", name, doc.Name)
		}
	}
}

// Of two equal tools, a long task preselects the tool of the group whose other tools the task speaks
// of as well.
func TestTaskPreselectsByGroup(t *testing.T) {
	config := toolsearch.Config{Index: toolsearch.BM25, Preselect: 1, Groups: []toolsearch.Group{
		{Name: "archive", Tools: testtools.EchoTools("find_red: Find a record", "draw_circle: Draw a circle")},
		{Name: "travel", Tools: testtools.EchoTools("find_green: Find a record", "book_hotel: Book a hotel room",
			"rent_car: Rent a car at an airport")},
	}}
	const task = "Find my record. I need a hotel with breakfast near the airport and the beach, sunscreen, a passport, " +
		"a ferry to the museum, umbrellas, currency, vaccines, luggage, postcards, souvenirs, restaurants, festivals, mountains, guidebooks, taxis and embassies."
	checkSaw(t, "the model", play(t, conversation{config: config, asks: task}, way{}), "tool_search find_green")
}

// Groups whose tools cannot be indexed together are indexed one by one, the smallest first: a server
// whose tools take all the time does not hold the tools of another.
func TestSmallestGroupIsIndexedFirst(t *testing.T) {
	s := newServers("evil", "good")
	s.of["evil"].serve("evil_tool: "+strings.Repeat("Does. ", 1000), "evil_second: Does")
	var indexed [][]string
	s.config.Index = func(ctx context.Context, docs []toolsearch.Document) (search.Searcher, error) {
		var names []string
		for _, doc := range docs {
			names = append(names, doc.Name)
		}
		indexed = append(indexed, names)
		if slices.Contains(names, "evil_tool") {
			return nil, errors.New("too much")
		}
		return toolsearch.Keyword(ctx, docs)
	}
	checkSaw(t, "the model", running(t, way{}, s.config)(selecting("good_tool,evil_tool")), "tool_search", "tool_search good_tool")
	together, alone := []string{"evil_second", "evil_tool", "good_tool"}, []string{"good_tool"}
	assert.Equal(t, [][]string{together, alone, together}, indexed[len(indexed)-3:], "what was indexed")
}

// Of tools that differ in their servers alone, an answer has one, of the earlier group or visible already, and names the
// others.
func TestCopies(t *testing.T) {
	issues := func(assign string) []tool.BaseTool {
		return testtools.EchoTools("create_issue: Creates an issue", "close_issue: Closes an issue", "assign_issue: "+assign)
	}
	servers := []toolsearch.Group{
		{Name: "prod", Prefix: true, Tools: issues("Assigns an issue")},
		{Name: "staging", Prefix: true, Tools: issues("Assigns an issue for a day")},
		{Name: "old", Prefix: true, Tools: append(testtools.EchoTools("create-issue: creates  an Issue."), confirming("close_issue"))},
	}
	by := func(index toolsearch.Indexer) toolsearch.Config {
		return toolsearch.Config{Groups: servers, Index: index, Limits: toolsearch.Limits{MaxPerNamespace: -1}}
	}
	filtered := by(toolsearch.BM25)
	filtered.Filter = toolsearch.FilterTools([]string{"old", "staging"}, nil)
	always := dispatch(func(c *toolsearch.Config) {
		c.Groups, c.Filter, c.AlwaysLoaded = servers, filtered.Filter, []string{"prod:*"}
	})
	const create, others = `{"query":"create issue","max_results":1}`, `,"same_tool_on_other_servers":["staging__create_issue","old__create-issue"`
	playAll(t, []conversation{
		{name: "one place for all", config: by(toolsearch.BM25), turns: []turn{searching(`{"query":"issue","max_results":6}`)},
			check: says(`{"matches":["prod__create_issue","prod__close_issue","prod__assign_issue","staging__assign_issue","old__close_issue"]` +
				others + `,"staging__close_issue"]}`)},
		{name: "a place for another", config: by(toolsearch.BM25), turns: []turn{searching(`{"query":"create issue","max_results":2}`)},
			check: says(`{"matches":["prod__create_issue","prod__close_issue"]` + others + `,"staging__close_issue"]}`)},
		{name: "a visible one", config: by(toolsearch.BM25),
			turns: []turn{selecting("old__create-issue"), searching(create), searching(`{"query":"create issue","max_results":3}`)},
			check: says(`{"matches":["old__create-issue"]}`,
				`{"matches":["prod__close_issue"],"already_loaded":["old__create-issue"],"same_tool_on_other_servers":["staging__close_issue","prod__create_issue","staging__create_issue"]}`,
				`{"matches":["prod__assign_issue","staging__assign_issue","old__close_issue"],"already_loaded":["old__create-issue"],`+
					`"same_tool_on_other_servers":["prod__create_issue","staging__create_issue"]}`)},
		{name: "one that the query names", config: by(toolsearch.BM25),
			turns: []turn{searching(`{"query":"staging__create_issue","max_results":3}`)},
			check: says(`{"matches":["staging__create_issue","staging__close_issue","staging__assign_issue"],` +
				`"same_tool_on_other_servers":["prod__create_issue","old__create-issue","prod__close_issue"]}`)},
		{name: "a server that the query names", config: by(toolsearch.BM25),
			turns: []turn{searching(`{"query":"staging create issue","max_results":3}`)},
			check: says(`{"matches":["staging__create_issue","staging__close_issue","staging__assign_issue"],` +
				`"same_tool_on_other_servers":["prod__create_issue","old__create-issue","prod__close_issue"]}`)},
		{
			name: "a Filter and what is always loaded", config: always, turns: []turn{searching(create)}, check: says(`{"matches":[` + definitionOf("staging__create_issue", "Creates an issue") + `],"same_tool_on_other_servers":["old__create-issue"]}`),
		},
		{name: "one server", config: by(toolsearch.BM25),
			turns: []turn{
				selecting("prod__create_issue"), searching(`{"query":"staging: create issue","max_results":1}`),
				searching(`{"query":"+old create","max_results":1}`),
			},
			check: says(`{"matches":["prod__create_issue"]}`,
				`{"matches":["staging__create_issue"],"same_tool_on_other_servers":["prod__create_issue","old__create-issue"]}`,
				`{"matches":["old__create-issue"],"same_tool_on_other_servers":["prod__create_issue","staging__create_issue"]}`)},
		{name: "what a Filter leaves", config: filtered, turns: []turn{searching(create)},
			check: says(`{"matches":["staging__create_issue"],"same_tool_on_other_servers":["old__create-issue"]}`)},
		{name: "two visible ones", config: by(toolsearch.BM25),
			turns: []turn{selecting("prod__create_issue,staging__create_issue"), searching(`{"query":"create issue","max_results":3}`)},
			check: says(`{"matches":["prod__create_issue","staging__create_issue"]}`,
				`{"matches":["prod__close_issue","prod__assign_issue","staging__assign_issue"],"already_loaded":["prod__create_issue",`+
					`"staging__create_issue"],"same_tool_on_other_servers":["staging__close_issue","old__create-issue"]}`)},
		{name: "several queries", config: by(toolsearch.BM25),
			turns: []turn{searching(`{"query":"create issue","queries":["issue create","staging: create"],"max_results":1}`)},
			check: says(`{"matches":["prod__create_issue","staging__create_issue"],"same_tool_on_other_servers":["old__create-issue"]}`)},
		{name: "without an Index, as Eino's package", config: by(nil), turns: []turn{searching(create)}, check: says(`{"matches":["prod__create_issue"]}`)},
		{
			name: "with definitions", config: dispatch(func(c *toolsearch.Config) { c.Groups = servers }), turns: []turn{searching(create)},
			check: says(`{"matches":[` + definitionOf("prod__create_issue", "Creates an issue") + `]` + others + `]}`),
		},
	})
}
