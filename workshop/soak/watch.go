package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/schema"
)

// Two middlewares, one directly before and one directly after the middleware under test.
// They see what each of its hooks is given and returns.

// watch is what the two share. The hooks of an agent run one after the other.
type watch[M adk.MessageType] struct {
	rec    *recorder
	ours   adk.TypedChatModelAgentMiddleware[M]
	talker *talker[M]
	given  *adk.TypedChatModelAgentState[M]
	was    *snapshot[M]
}

// watcher is one of the two.
type watcher[M adk.MessageType] struct {
	*adk.TypedBaseChatModelAgentMiddleware[M]
	watch   *watch[M]
	isFirst bool
}

// snapshot is the state at a moment, to the byte.
type snapshot[M adk.MessageType] struct {
	messages []M
	text     []string // of each message
	tools    []*schema.ToolInfo
	values   []schema.ToolInfo // of each tool
}

func snapshotOf[M adk.MessageType](state *adk.TypedChatModelAgentState[M]) *snapshot[M] {
	s := &snapshot[M]{messages: slices.Clone(state.Messages), tools: slices.Concat(state.ToolInfos, state.DeferredToolInfos)}
	for _, msg := range s.messages {
		s.text = append(s.text, written(msg))
	}
	for _, t := range s.tools {
		s.values = append(s.values, copied(t))
	}
	return s
}

// written returns a message as JSON.
func written(msg any) string {
	text, err := json.Marshal(msg)
	if err != nil {
		return "not written: " + err.Error()
	}
	return string(text)
}

// changes names the part of the state that was written to since; "" means none.
func (s *snapshot[M]) changes(state *adk.TypedChatModelAgentState[M]) string {
	if !slices.Equal(s.messages, state.Messages) {
		return "the list of messages"
	}
	if !slices.Equal(s.tools, slices.Concat(state.ToolInfos, state.DeferredToolInfos)) {
		return "the lists of tools"
	}
	for i, msg := range s.messages {
		if text := written(msg); text != s.text[i] {
			return fmt.Sprintf("message %d: %s", i, difference(s.text[i], text))
		}
	}
	for i, t := range s.tools {
		v := s.values[i]
		if t.Name != v.Name || t.Desc != v.Desc || t.ParamsOneOf != v.ParamsOneOf || fmt.Sprint(t.Extra) != fmt.Sprint(v.Extra) {
			return fmt.Sprintf("tool %.100q", v.Name)
		}
	}
	return ""
}

// BeforeModelRewriteState implements adk.TypedChatModelAgentMiddleware.
func (w *watcher[M]) BeforeModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if w.isFirst {
		w.watch.given, w.watch.was = state, snapshotOf(state)
		return ctx, state, nil
	}
	w.watch.compare("BeforeModelRewriteState", state)
	w.watch.seen(state)
	if w.watch.talker.speaker.plan.twice {
		w.watch.again(ctx, state, mc)
	}
	return ctx, state, nil
}

// AfterModelRewriteState implements adk.TypedChatModelAgentMiddleware.
func (w *watcher[M]) AfterModelRewriteState(ctx context.Context, state *adk.TypedChatModelAgentState[M], _ *adk.TypedModelContext[M]) (context.Context, *adk.TypedChatModelAgentState[M], error) {
	if w.isFirst {
		w.watch.given, w.watch.was = state, snapshotOf(state)
	} else {
		w.watch.compare("AfterModelRewriteState", state)
	}
	return ctx, state, nil
}

// WrapModel implements adk.TypedChatModelAgentMiddleware.
func (w *watcher[M]) WrapModel(_ context.Context, inner model.BaseModel[M], _ *adk.TypedModelContext[M]) (model.BaseModel[M], error) {
	return &watchedModel[M]{inner: inner, rec: w.watch.rec}, nil
}

// watchedModel checks that nothing behind it writes to the input of a model.
type watchedModel[M adk.MessageType] struct {
	inner model.BaseModel[M]
	rec   *recorder
}

func (m *watchedModel[M]) Generate(ctx context.Context, input []M, opts ...model.Option) (M, error) {
	defer m.compare(input, opts)()
	return m.inner.Generate(ctx, input, opts...)
}

func (m *watchedModel[M]) Stream(ctx context.Context, input []M, opts ...model.Option) (*schema.StreamReader[M], error) {
	defer m.compare(input, opts)()
	return m.inner.Stream(ctx, input, opts...)
}

func (m *watchedModel[M]) compare(input []M, opts []model.Option) func() {
	options := model.GetCommonOptions(nil, opts...)
	state := &adk.TypedChatModelAgentState[M]{Messages: input, ToolInfos: options.Tools, DeferredToolInfos: options.DeferredTools}
	was := snapshotOf(state)
	return func() {
		if changed := was.changes(state); changed != "" {
			m.rec.fault("the model's input was written to", "%s", changed)
		}
	}
}

// compare checks that a hook did not write to the state it was given.
func (w *watch[M]) compare(hook string, _ *adk.TypedChatModelAgentState[M]) {
	if w.given == nil {
		return
	}
	if changed := w.was.changes(w.given); changed != "" {
		w.rec.fault("a hook wrote to its input", "%s wrote to %s", hook, changed)
	}
}

// seen checks what the hook before a model call returns.
func (w *watch[M]) seen(state *adk.TypedChatModelAgentState[M]) {
	if state.ToolInfos == nil {
		w.rec.fault("a nil tool list", "BeforeModelRewriteState returned no tool list, which Eino takes for a list that was never set")
	}
	before, after := partsOf(w.was.messages), partsOf(state.Messages)
	if !slices.EqualFunc(before, after, func(a, b part) bool { return a.isCall == b.isCall && a.id == b.id }) {
		w.rec.fault("calls or results changed", "BeforeModelRewriteState was given %.1000v and returned %.1000v", idsOf(before), idsOf(after))
	}
	if w.rec.tidy && !w.talker.speaker.plan.odd {
		w.rec.checkCallsAsMade(after)
	}
}

// again runs the hook a second time and checks that nothing changes.
func (w *watch[M]) again(ctx context.Context, state *adk.TypedChatModelAgentState[M], mc *adk.TypedModelContext[M]) {
	was := snapshotOf(state)
	_, second, err := w.ours.BeforeModelRewriteState(ctx, state, mc)
	if err != nil {
		if ctx.Err() == nil {
			w.rec.fault("a run ended", "BeforeModelRewriteState for the second time: %v", err)
		}
		return
	}
	if changed := was.changes(state); changed != "" {
		w.rec.fault("a hook wrote to its input", "BeforeModelRewriteState for the second time wrote to %s", changed)
	}
	first, then := rendered(state), rendered(second)
	if first != then {
		w.rec.fault(changesState, "%s", difference(first, then))
	}
}

// rendered returns a state as text.
func rendered[M adk.MessageType](state *adk.TypedChatModelAgentState[M]) string {
	var b strings.Builder
	for _, list := range [][]*schema.ToolInfo{state.ToolInfos, state.DeferredToolInfos} {
		for _, t := range list {
			fmt.Fprintf(&b, "%q %v\n", t.Name, t.Extra)
		}
		b.WriteString("--\n")
	}
	for _, msg := range state.Messages {
		b.WriteString(plainID(written(msg)) + "\n")
	}
	return b.String()
}

var randomID = regexp.MustCompile(`"_eino_msg_id":"[^"]*"`)

// plainID returns a text without the ids that Eino makes up.
func plainID(text string) string { return randomID.ReplaceAllString(text, `"_eino_msg_id":""`) }

// idsOf returns short descriptions of calls and results.
func idsOf(parts []part) (ids []string) {
	for _, p := range parts {
		kind := "answers "
		if p.isCall {
			kind = "calls "
		}
		ids = append(ids, kind+p.id)
	}
	return ids
}
