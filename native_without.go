package toolsearch

import (
	"context"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// Failover to a model whose adapter does not search natively.

// WithoutNative returns a chat model that takes native requests although chatModel's adapter
// does not. It is for failover, in the middle of a run, from a model that searches by itself
// to a model that cannot. The search tool and the tools found so far become ordinary tools.
// Deferred tools that were not found stay hidden. Native results become texts. Requests of
// other protocols pass unchanged.
//
//	GetFailoverModel: func(...) (model.BaseModel[M], []M, error) {
//		return toolsearch.WithoutNative(backup), nil, nil
//	}
//
// The search tool works as under the native protocol. Under [ProtocolNativeServer] there is
// none, and the model has only the tools found before.
func WithoutNative[M adk.MessageType](chatModel model.BaseModel[M]) model.BaseModel[M] {
	return &modelWithoutNative[M]{inner: chatModel, codec: codecOf[M]()}
}

type modelWithoutNative[M adk.MessageType] struct {
	inner model.BaseModel[M]
	codec codec[M]
}

// Generate implements model.BaseModel.
func (p *modelWithoutNative[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	input, opts = p.convert(input, opts)
	return p.inner.Generate(ctx, input, opts...)
}

// Stream implements model.BaseModel.
func (p *modelWithoutNative[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	input, opts = p.convert(input, opts)
	return p.inner.Stream(ctx, input, opts...)
}

// GetType implements components.Typer with the inner model's answer.
func (p *modelWithoutNative[M]) GetType() string {
	name, _ := components.GetType(p.inner)
	return name
}

// IsCallbacksEnabled implements components.Checker with the inner model's answer.
func (p *modelWithoutNative[M]) IsCallbacksEnabled() bool {
	return components.IsCallbacksEnabled(p.inner)
}

func (p *modelWithoutNative[M]) convert(messages []M, opts []model.Option) ([]M, []model.Option) {
	given := model.GetCommonOptions(nil, opts...)
	var found []*schema.ToolInfo
	t := readTranscript(p.codec, messages)
	defer t.release()
	t.pair(&metaNames{})
	t.rewriteResults(func(string) bool { return true }, func(r resultView, _ *callView) (resultView, bool) {
		if !r.native {
			return r, false
		}
		found = append(found, r.found...)
		return r.asText(r.found), true
	})
	messages = apply(p.codec, messages, t)
	if given.ToolSearchTool == nil && len(given.DeferredTools) == 0 && len(found) == 0 {
		return messages, opts
	}
	var tools []*schema.ToolInfo
	has := make(map[string]bool)
	add := func(list ...*schema.ToolInfo) {
		for _, t := range list {
			if t != nil && !has[t.Name] {
				has[t.Name] = true
				tools = append(tools, t)
			}
		}
	}
	add(given.Tools...)
	add(given.ToolSearchTool)
	add(found...)
	for _, t := range given.DeferredTools {
		if t != nil && t.Extra[loadedMark] != nil { // loaded by any middleware
			add(t)
		}
	}
	return messages, append(opts[:len(opts):len(opts)],
		model.WithTools(tools), model.WithDeferredTools(nil), model.WithToolSearchTool(nil))
}
