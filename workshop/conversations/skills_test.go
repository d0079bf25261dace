package conversations_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/skill"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// These tests put the middleware beside Eino's skill middleware, in either order.

// skills is a backend of one skill. Its text tells the model which tool to look for.
type skills struct{ skill.FrontMatter }

func (s skills) List(context.Context) ([]skill.FrontMatter, error) {
	return []skill.FrontMatter{s.FrontMatter}, nil
}

func (s skills) Get(context.Context, string) (skill.Skill, error) {
	return skill.Skill{FrontMatter: s.FrontMatter, Content: "Find get_weather with tool_search and call it.", BaseDirectory: "/skills/weather"}, nil
}

// hub has one model and one agent.
type hub[M adk.MessageType] struct {
	model model.BaseModel[M]
	agent adk.TypedAgent[M]
}

type modelHub[M adk.MessageType] struct{ hub[M] }

func (h modelHub[M]) Get(context.Context, string) (model.BaseModel[M], error) { return h.model, nil }

type agentHub[M adk.MessageType] struct{ hub[M] }

func (h agentHub[M]) Get(context.Context, string, *skill.TypedAgentHubOptions[M]) (adk.TypedAgent[M], error) {
	return h.agent, nil
}

func newSkills[M adk.MessageType](t *testing.T, of skill.FrontMatter, h hub[M]) adk.TypedChatModelAgentMiddleware[M] {
	t.Helper()
	of.Name, of.Description = "weather", "How to look up the weather"
	config := &skill.TypedConfig[M]{Backend: skills{of}, AgentHub: agentHub[M]{h}}
	if h.model != nil {
		config.ModelHub = modelHub[M]{h}
	}
	middleware, err := skill.NewTyped(context.Background(), config)
	require.NoError(t, err)
	return middleware
}

// eachOrder runs a test with the middleware before and after the skills. first joins the names of
// the tools in the agent's order.
func eachOrder[M adk.MessageType](t *testing.T, ours, theirs adk.TypedChatModelAgentMiddleware[M], test func(t *testing.T, config *adk.TypedChatModelAgentConfig[M], start string)) {
	t.Helper()
	t.Run("before skills", func(t *testing.T) { test(t, with(ours, theirs), "tool_search skill") })
	t.Run("after skills", func(t *testing.T) { test(t, with(theirs, ours), "skill tool_search") })
}

var useSkill = callTool("skill", `{"skill":"weather"}`)

// A skill of a model of its own changes the model in the middle of a run. The new model sees what
// the old model saw. Eino does this for *schema.Message only.
func TestSkillsWithAModelOfTheirOwn(t *testing.T) {
	inMessageWays(t, func(t *testing.T, w way) {
		other := toolsearchtest.NewModel[chat]()
		theirs := newSkills(t, skill.FrontMatter{Model: "other"}, hub[chat]{model: other})
		eachOrder(t, news[chat](t), theirs, func(t *testing.T, config *adk.TypedChatModelAgentConfig[chat], start string) {
			before := len(other.Requests())
			other.Play(selecting("send_mail"), calling("get_weather"), say("Sunny."))
			scripted := toolsearchtest.NewModel[chat](selecting("get_weather"), useSkill)
			config.Model = scripted
			_, err := runAgent(context.Background(), newAgent(t, config), w, question)
			first, second := outcome{scripted.Requests(), nil, err}, outcome{other.Requests()[before:], nil, err}
			checkSaw(t, "the first model", first, start, start+" get_weather")
			checkSaw(t, "the skill's model", second, start+" get_weather", start+" get_weather send_mail", start+" get_weather send_mail")
		})
	})
}

// A skill that forks an agent shares the session with it.
func TestSkillsThatFork(t *testing.T) {
	inAllWays(t, testSkillsThatFork[chat], testSkillsThatFork[agentic])
}

func testSkillsThatFork[M adk.MessageType](t *testing.T, w way) {
	for _, mode := range []skill.ContextMode{skill.ContextModeFork, skill.ContextModeForkWithContext} {
		if w.agentic && mode == skill.ContextModeForkWithContext {
			continue // Eino has this mode for *schema.Message only
		}
		t.Run(string(mode), func(t *testing.T) {
			eachShared(t, func(t *testing.T, ctx context.Context, what func(string) string) {
				insider := toolsearchtest.NewModel[M](selecting("get_weather"), say("Sunny."))
				inner := with(news[M](t))
				inner.Name, inner.Description, inner.Model = "forked", "Works", insider
				theirs := newSkills(t, skill.FrontMatter{Context: mode}, hub[M]{agent: newAgent(t, inner)})
				o := converseIn(ctx, t, w, with(news[M](t), theirs), selecting("send_mail"), useSkill)
				const start = "tool_search skill"
				checkSaw(t, "the agent", o, start, start+" send_mail", start+" send_mail"+what(" get_weather"))
				begins := "tool_search" + what(" send_mail")
				if mode == skill.ContextModeForkWithContext {
					begins = "tool_search send_mail" // its history shows the search
				}
				checkSaw(t, "the forked agent", outcome{requests: insider.Requests()}, begins, begins+" get_weather")
				assert.Contains(t, o.result(t, "call_2"), "Sunny.", "the skill's result")
			}, "send_mail", "get_weather")
		})
	}
}

// Under a native protocol the results of searches stay native for the skill's model, if the
// middleware comes before the skills. After them it does not have the last word on what that model
// gets: the skills put their model in the place of everything within.
func TestSkillsWithANativeModelOfTheirOwn(t *testing.T) {
	inMessageWays(t, func(t *testing.T, w way) {
		for _, protocol := range []toolsearch.Protocol{toolsearch.ProtocolNativeDeferred, toolsearch.ProtocolNativeReferences} {
			other := toolsearchtest.NewModel[chat](calling("get_weather"), say("Sunny."))
			config := with(newMiddleware[chat](t, toolsearch.Config{Protocol: protocol}),
				newSkills(t, skill.FrontMatter{Model: "other"}, hub[chat]{model: other}))
			config.Model = toolsearchtest.NewModel[chat](selecting("get_weather"), useSkill)
			_, err := runAgent(context.Background(), newAgent(t, config), w, question)
			require.NoError(t, err, protocol)
			require.Len(t, other.Requests(), 2, protocol)
			for i, r := range other.Requests() {
				var native []string
				for _, m := range r.Messages {
					if m.Native {
						native = append(native, m.ToolName)
					}
				}
				assert.Equal(t, []string{"tool_search"}, native, "%s, call %d of the skill's model: native results", protocol, i)
			}
		}
	})
}
