package conversation_test

import (
	"testing"
	"time"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/docset"
)

// Effects come in the order of the model's calls, whichever call ended first. Effects of an
// earlier run's calls come last.
func TestEffectsAreInTheOrderOfTheCalls(t *testing.T) {
	var b conversation.Notebook
	b.Expect([]string{"2", "1"}, 2)
	first, second, earlier := conversation.Effect{Loads: []string{"a"}}, conversation.Effect{Unloads: []string{"b"}}, conversation.Effect{Loads: []string{"c"}}
	b.RecordEffect("0", earlier)
	b.RecordEffect("1", second)
	b.RecordEffect("2", first)
	assert.Equal(t, []conversation.Effect{first, second, earlier}, b.Take())
	assert.Empty(t, b.Take(), "taken already")
	assert.True(t, b.HasCall("1"), "a call of this run")
	assert.False(t, b.HasCall("0"), "a call of an earlier run")
}

// The searches of one message share a deadline, and the searches of the next message share another.
func TestSearchesShareADeadline(t *testing.T) {
	var b conversation.Notebook
	deadline := b.Deadline(time.Minute)
	assert.Equal(t, deadline, b.Deadline(time.Hour))
	b.Take()
	assert.NotEqual(t, deadline, b.Deadline(time.Hour))
}

// Before the first model call it is not known what is loaded.
func TestLoadedTools(t *testing.T) {
	var b conversation.Notebook
	_, known := b.WasLoaded(1)
	assert.False(t, known)
	set := docset.New(3)
	set.Add(1)
	assert.Nil(t, b.SetLoaded(set))
	loaded, known := b.WasLoaded(1)
	assert.True(t, known)
	assert.True(t, loaded)
	loaded, _ = b.WasLoaded(2)
	assert.False(t, loaded)
}

// A name that the session has lost was unloaded by another agent. The run's own changes do not count
// as lost, and names that the session already has are not added again.
func TestNamesSharedWithASession(t *testing.T) {
	var b conversation.Notebook
	assert.Empty(t, b.Sync([]string{"a", "b"}))
	assert.Equal(t, []string{"c"}, b.SyncChanges([]string{"a", "c"}, []string{"b"}))
	assert.ElementsMatch(t, []string{"a", "c"}, b.SessionNames())
	assert.Equal(t, []string{"a"}, b.Sync([]string{"c"}))
}

// A list differs from the list before by a definition or its place.
func TestToolLists(t *testing.T) {
	var b conversation.Notebook
	one, other := &schema.ToolInfo{Name: "one"}, &schema.ToolInfo{Name: "other"}
	assert.False(t, b.RecordList([]*schema.ToolInfo{one}), "the first list")
	assert.False(t, b.RecordList([]*schema.ToolInfo{{Name: "one"}, nil}), "the same definition")
	assert.True(t, b.RecordList([]*schema.ToolInfo{one, other}))
}
