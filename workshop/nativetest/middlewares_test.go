package nativetest

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/adk/middlewares/reduction"
	"github.com/cloudwego/eino/adk/middlewares/summarization"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
	"github.com/eino-toolsearch/toolsearch/workshop/nativetest/provider"
)

// TestOtherMiddlewares: Eino's summarization and reduction rewrite the conversation, before or
// after this middleware. The provider refuses no request, and loaded tools can still be called.
func TestOtherMiddlewares(t *testing.T) {
	inDialects(t, messageAdapters, testOtherMiddlewares)
	inDialects(t, agenticAdapters, testOtherMiddlewares)
}

func testOtherMiddlewares[M adk.MessageType](t *testing.T, a adapter[M], d dialect, static, stream bool) {
	for name, make := range map[string]func(*testing.T) adk.TypedChatModelAgentMiddleware[M]{
		"summarization": summarizer[M], "reduction": reducer[M],
	} {
		for _, order := range []string{"ours first", "ours last"} {
			t.Run(name+", "+order, func(t *testing.T) {
				server := provider.New(t, a.api,
					calls(selecting("get_weather")), calls(selecting("send_mail")), calls(calling("get_weather"), calling("send_male")),
					calls(selecting("list_stocks"), calling("send_mail")), provider.Say("Done."))
				_, err := run(t, a.model(t, server), setup{config: d.config, static: static, stream: stream}, func(c *adk.TypedChatModelAgentConfig[M]) {
					c.Handlers = append(c.Handlers, make(t))
					if order == "ours last" {
						slices.Reverse(c.Handlers)
					}
				})
				assert.NoError(t, err)
				requests := server.Requests()
				assert.Len(t, requests, 5)
				for i, loaded := range []string{"", "get_weather", "get_weather send_mail", "get_weather send_mail", "get_weather send_mail list_stocks"}[:len(requests)] {
					r := requests[i]
					assert.Empty(t, r.Refused, "request %d was refused\n%s", i, r.Body)
					for _, name := range strings.Fields(loaded) {
						assert.Contains(t, r.Callable, name, "what the model could call at request %d", i)
					}
				}
			})
		}
	}
}

func summarizer[M adk.MessageType](t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
	model := toolsearchtest.NewModel[M]()
	for range 10 {
		model.Play(toolsearchtest.Say("<summary>\nMuch was said.\n</summary>"))
	}
	return testtools.Must(summarization.NewTyped(context.Background(), &summarization.TypedConfig[M]{
		Model: model, Trigger: &summarization.TriggerCondition{ContextMessages: 4},
	}))(t)
}

func reducer[M adk.MessageType](t *testing.T) adk.TypedChatModelAgentMiddleware[M] {
	return testtools.Must(reduction.NewTyped(context.Background(), &reduction.TypedConfig[M]{
		SkipTruncation: true, MaxTokensForClear: 1, ClearRetentionSuffixLimit: 1,
	}))(t)
}
