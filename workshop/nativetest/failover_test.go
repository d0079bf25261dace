package nativetest

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// TestFailover: when a model fails in the middle of a run, a model of another provider takes
// over and sees the same loaded tools.
func TestFailover(t *testing.T) {
	for _, stream := range []bool{false, true} {
		for i := range 2 {
			t.Run("from "+messageAdapters[i].name+"/"+title(false, stream), func(t *testing.T) {
				messageAdapters[0].skipRace(t, stream)
				testFailover(t, messageAdapters[i], messageAdapters[1-i], dialects[0], stream)
			})
			t.Run("from "+agenticAdapters[i].name+"/"+title(false, stream), func(t *testing.T) {
				testFailover(t, agenticAdapters[i], agenticAdapters[1-i], dialects[0], stream)
			})
		}
		// The first model searches natively, the second cannot.
		for _, d := range dialects[1:] {
			t.Run(d.name+"/"+title(false, stream), func(t *testing.T) {
				if d.name == "references" {
					messageAdapters[0].skipRace(t, stream)
					testFailover(t, messageAdapters[0], messageAdapters[1], d, stream)
				} else {
					testFailover(t, agenticAdapters[0], agenticAdapters[1], d, stream)
				}
			})
		}
	}
}

func testFailover[M adk.MessageType](t *testing.T, first, second adapter[M], d dialect, stream bool) {
	// The first model's script ends after two turns: its third request is refused.
	one := provider.New(t, first.api, calls(selecting("get_weather")), calls(calling("get_weather"), selecting("send_mail")))
	two := provider.New(t, second.api, calls(calling("send_mail"), selecting("list_stocks")), calls(calling("list_stocks")), provider.Say("Done."))
	fallback := toolsearch.WithoutNative(second.model(t, two))
	s := setup{config: d.config, stream: stream}
	failover := &adk.ModelFailoverConfig[M]{
		MaxRetries:     1,
		ShouldFailover: func(_ context.Context, _ M, err error) bool { return err != nil },
		GetFailoverModel: func(context.Context, *adk.FailoverContext[M]) (model.BaseModel[M], []M, error) {
			return fallback, nil, nil
		},
	}
	_, err := run(t, first.model(t, one), s, func(c *adk.TypedChatModelAgentConfig[M]) { c.ModelFailoverConfig = failover })
	assert.NoError(t, err)
	assert.Len(t, one.Requests(), 3, "requests to the first model")
	requests := two.Requests()
	before, after := "get_weather send_mail", "get_weather send_mail list_stocks"
	d.hidden = false // the second model searches with an ordinary tool
	checkRequests(t, requests, d, false, []string{before, after, after})
	for _, want := range []string{"get_weather ran with", "send_mail ran with", "list_stocks ran with"} {
		assert.Contains(t, lastBody(requests), want, "the last request")
	}
}
