package toolsearch

import "github.com/eino-toolsearch/toolsearch/internal/conversation"

// The mode of ProtocolNativeServer: the model gets the catalog as deferred tools, and its provider
// searches.

// serverMode is textMode in all that concerns results. We do not see what it finds, so no
// policy for tools that are not loaded applies.
type serverMode struct{ nativeMode }

func (serverMode) defers() bool { return true }

func (serverMode) seesSearches() bool { return false }

func (serverMode) lists(r *run, given lists, loaded *conversation.LoadSet) lists {
	return deferredLists(r, given, loaded)
}

func (serverMode) called(_ *run, given lists, _ []int) lists { return given }
