package toolsearch_test

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/embedding"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// Pairs of runs of random conversations: over a catalog of which Filter drops a random part, and over
// a catalog that never had that part. The model gets the same bytes. The words, the namespaces and the
// misspellings of the hidden tools are among those that the model asks for. To play 6,000 pairs:
//
//	go test -run '^TestPairs$' -pairs 550 .

var pairs = flag.Int("pairs", 40, "pairs of runs for each setting of TestPairs; 10 at most with -short")

// byLetters is an embedder whose vectors count the pieces of a text.
type byLetters struct{}

func (byLetters) EmbedStrings(_ context.Context, texts []string, _ ...embedding.Option) ([][]float64, error) {
	vectors := make([][]float64, len(texts))
	for i, text := range texts {
		vectors[i] = make([]float64, 32)
		for at := 0; at+3 <= len(text); at++ {
			h := fnv.New32()
			h.Write([]byte(text[at : at+3]))
			vectors[i][h.Sum32()%32]++
		}
		vectors[i][0]++
	}
	return vectors, nil
}

var pairSettings = []struct {
	name   string
	config toolsearch.Config
}{
	{"BM25", toolsearch.Config{Index: toolsearch.BM25}},
	{"BM25 with a fallback", toolsearch.Config{Index: toolsearch.BM25, Fallback: toolsearch.Fuzzy, Protocol: toolsearch.ProtocolRanked}},
	{"Hybrid", toolsearch.Config{Index: toolsearch.Hybrid(toolsearch.BM25, toolsearch.Embedding(byLetters{})), Protocol: toolsearch.ProtocolRanked}},
	{"Hybrid of others", toolsearch.Config{Index: toolsearch.Hybrid(toolsearch.Fuzzy, toolsearch.Similarity, toolsearch.Keyword), Preselect: 2}},
	{"ProtocolDispatch", toolsearch.Config{Protocol: toolsearch.ProtocolDispatch, Index: toolsearch.BM25, Fallback: toolsearch.Fuzzy}},
	{"ProtocolDispatch with the default", toolsearch.Config{Protocol: toolsearch.ProtocolDispatch}},
	{"ProtocolSearchAdd", toolsearch.Config{Protocol: toolsearch.ProtocolSearchAdd}},
	{"ProtocolRegexp", toolsearch.Config{Protocol: toolsearch.ProtocolRegexp, Preselect: 3}},
	{"ProtocolRanked", toolsearch.Config{Protocol: toolsearch.ProtocolRanked}},
	{"Keyword", toolsearch.Config{Preselect: 3}},
	{"native", toolsearch.Config{UseModelToolSearch: true, Index: toolsearch.BM25}},
}

func TestPairs(t *testing.T) {
	for i, setting := range pairSettings {
		t.Run(setting.name, func(t *testing.T) {
			t.Parallel()
			for seed := range testtools.Rounds(*pairs, min(*pairs, 10)) {
				p := randomPair(rand.New(rand.NewPCG(uint64(i), uint64(seed))))
				config := p.configure(setting.config)
				config.DynamicTools = p.seen()
				want := p.play(t, config)
				config.DynamicTools, config.Filter = p.tools, func(_ context.Context, doc toolsearch.Document) bool { return !p.hidden[doc.Name] }
				got := p.play(t, config)
				if !assert.Equal(t, want, got, "pair %d: without the hidden tools, and with a filter", seed) {
					return
				}
			}
		})
	}
}

// pair is a catalog, the part of it that a user may not see, and a conversation.
type pair struct {
	random   *rand.Rand
	tools    []tool.BaseTool
	hidden   map[string]bool
	question message
	turns    []turn
	history  bool
	choices  int // what configure chooses by
}

var (
	pairVerbs  = strings.Fields("get list create delete send search read update")
	pairNouns  = strings.Fields("weather wether forecast mail mails message issue issues isue ticket file fiel record webpage web page calendar stock stocks")
	pairSpaces = strings.Fields("github slack vault vaults jira git_hub")
)

func randomPair(random *rand.Rand) *pair {
	p := &pair{random: random, hidden: make(map[string]bool), history: random.IntN(3) == 0, choices: random.IntN(1 << 16)}
	pick := func(list []string) string { return testtools.Pick(random, list) }
	words := func(most int) string {
		var words []string
		for range 1 + random.IntN(most) {
			words = append(words, pick(testtools.Pick(random, [][]string{pairVerbs, pairNouns, pairNouns})))
		}
		return strings.Join(words, " ")
	}
	secret := pick(pairSpaces)
	var names []string
	for range 4 + random.IntN(30) {
		name := pick(pairVerbs) + "_" + pick(pairNouns)
		namespace := pick(append(pairSpaces, "", ""))
		if namespace != "" {
			name = pick([]string{"mcp__", ""}) + namespace + "__" + name
		}
		if slices.Contains(names, name) {
			continue
		}
		names = append(names, name)
		p.tools = append(p.tools, &testtools.EchoTool{PlainTool: testtools.PlainTool{Of: &schema.ToolInfo{
			Name: name, Desc: words(8),
			ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
				pick(pairNouns): {Type: schema.String, Desc: words(4), Enum: []string{pick(pairNouns), pick(pairVerbs)}},
			}),
		}}})
		p.hidden[name] = namespace == secret || random.IntN(3) == 0
	}
	p.hidden[names[0]] = false // a run without tools has no search
	text := func() string {
		switch text := words(4); random.IntN(9) {
		case 0:
			return pick(pairSpaces) + ": " + text
		case 1:
			return "+" + text
		case 2:
			return "select:" + pick(names) + "," + pick(names) + "x"
		case 3:
			return pick(names)
		case 4:
			at := random.IntN(len(text))
			return text[:at] + text[at+1:] // a letter is missing
		case 5:
			return text + ". " + words(4)
		default:
			return text
		}
	}
	p.question = message{Role: toolsearchtest.User, Text: text()} // for Preselect
	for range 4 {
		name := pick(names)
		switch random.IntN(8) {
		case 0:
			p.turns = append(p.turns, toolsearchtest.CallTool("call_tool", fmt.Sprintf(`{"name":%q,"arguments":{%q:7}}`, name, pick(pairNouns))))
		case 1:
			p.turns = append(p.turns, toolsearchtest.CallTool(name, "{}"))
		case 2:
			p.turns = append(p.turns, toolsearchtest.CallTool("add_tool", fmt.Sprintf(`{"tool_names":[%q,%q]}`, name, pick(names)+"e")))
		case 3:
			p.turns = append(p.turns, searching(fmt.Sprintf(`{"queries":[%q,%q],"namespace":%q}`, text(), text(), pick(append(pairSpaces, "", "")))))
		default:
			query := text()
			p.turns = append(p.turns, searching(fmt.Sprintf(`{"query":%q,"regex_pattern":%q,"max_results":%d}`, query, query, random.IntN(8))))
		}
	}
	return p
}

func (p *pair) seen() (tools []tool.BaseTool) {
	for _, t := range p.tools {
		if !p.hidden[t.(*testtools.EchoTool).Of.Name] {
			tools = append(tools, t)
		}
	}
	return tools
}

// configure adds random settings.
func (p *pair) configure(config toolsearch.Config) toolsearch.Config {
	choose := func(most int) int { n := p.choices % most; p.choices /= most; return n }
	config.Unloaded = toolsearch.UnloadedPolicy(choose(2))
	config.Unknown = toolsearch.UnknownPolicy(choose(2))
	config.ToolErrors = toolsearch.ToolErrorsPolicy(choose(2))
	config.Limits.MaxPerNamespace = []int{0, 1, 2, -1}[choose(4)]
	config.Reminder.MaxTokens = []int{0, 30}[choose(2)]
	config.Reminder.Describe = choose(2) == 0
	config.Limits.MaxLoaded = []int{0, 3}[choose(2)]
	config.AlwaysLoaded = [][]string{nil, {"*:get_*"}}[choose(2)]
	config.DeferFrom = []int{0, 6}[choose(2)]
	return config
}

// play returns every byte that the model got, the tools that were loaded at the end, and what
// failed.
func (p *pair) play(t *testing.T, config toolsearch.Config) string {
	t.Helper()
	var errs []string
	config.OnEvent = onFailure(func(err error) {
		// What is told of the settings is told to the program, not to the user.
		if text := err.Error(); !strings.Contains(text, ": no tool matches") && !strings.Contains(text, "Filter lets none") {
			errs = append(errs, text)
		}
	})
	// The name of the search tool differs between the protocols.
	var turns []turn
	for _, next := range p.turns {
		calls := slices.Clone(next.Calls)
		for i := range calls {
			if calls[i].Name == "tool_search" && config.Protocol == toolsearch.ProtocolSearchAdd {
				calls[i].Name = "search_tools"
			}
		}
		turns = append(turns, toolsearchtest.CallTools(calls...))
	}
	scripted := toolsearchtest.NewModel[*schema.Message](append(turns, toolsearchtest.Say("done"))...)
	agent := newAgent(t, &adk.TypedChatModelAgentConfig[*schema.Message]{
		Model: scripted, Handlers: []adk.TypedChatModelAgentMiddleware[*schema.Message]{newMiddleware[*schema.Message](t, config)},
	})
	messages := []message{p.question}
	if p.history {
		messages = []message{
			{Role: toolsearchtest.User, Text: "Before."},
			{Role: toolsearchtest.Assistant, Calls: []call{called("h1", "tool_search", `{"query":"mail"}`)}},
			{Role: toolsearchtest.Tool, CallID: "h1", ToolName: "tool_search", Text: `{"matches":["` + p.tools[len(p.tools)/2].(*testtools.EchoTool).Of.Name + `"]}`},
			{Role: toolsearchtest.Assistant, Text: "Done."},
			p.question,
		}
	}
	session := toolsearch.NewSession()
	_, err := runAgent(toolsearch.WithSession(context.Background(), session), agent, way{}, messages)
	require.NotEmpty(t, scripted.Requests(), "model calls; the run ended with %v", err)
	failure, _, _ := strings.Cut(fmt.Sprint(err), "\nstack")
	return fmt.Sprint(asked(t, scripted), "\nerror ", failure, "\nloaded ", session.Loaded(), "\nerrors ", errs)
}
