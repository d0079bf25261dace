package toolsearch

import "github.com/cloudwego/eino/schema"

// The mode in which the middleware searches. It works with every model that calls tools.

type textMode struct{}

func (textMode) facts() modeFacts { return modeFacts{} }

func (textMode) lists(r *run, given lists, loaded *loadedSet) lists {
	return lists{visible(r, given.tools, loaded), othersDeferred(r, given.deferred)}
}

// called adds the tools to the list, since the call may be gone from the history before the
// next model call. ProtocolDispatch never changes the list.
func (textMode) called(r *run, given lists, docs []int) lists {
	if r.config.Protocol != ProtocolDispatch {
		given.tools = withLoaded(r, given.tools, docs)
	}
	return given
}

func (textMode) keeps(*run, *resultView, *callView) bool { return false }

// fit turns native results, which a run in another mode left, into texts.
func (textMode) fit(f *fitter, result resultView, _ *callView) (resultView, bool) {
	if !result.native {
		return result, false
	}
	return result.asText(f.permitted(result.found)), true
}

// othersDeferred returns the deferred tools of other middlewares. A resumed run may have
// deferred tools of ours, from a native protocol.
func othersDeferred(r *run, tools []*schema.ToolInfo) (kept []*schema.ToolInfo) {
	for _, t := range tools {
		if t == nil {
			continue
		}
		if _, own := r.owns(t.Name); !own && !isOurs(t, r.names.search) {
			kept = append(kept, t)
		}
	}
	return kept
}
