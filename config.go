package toolsearch

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"
)

// DefaultToolName is the default of Config.ToolName.
const DefaultToolName = "tool_search"

// Config configures the middleware. The zero value of every field but DynamicTools is a
// good default. New copies what it needs; the functions may be called concurrently.
type Config struct {
	// DynamicTools is the hidden catalog: tools the model finds by searching. Required.
	// The middleware gives them to the agent; do not list them in ToolsConfig as well.
	DynamicTools []tool.BaseTool

	// UseModelToolSearch hands the catalog to a model that searches tools natively: the
	// tools go to it as deferred tools and tool_search as its search tool. Only some
	// model adapters read these options; with any other one the model is left without
	// the catalog. False: the middleware itself decides what the model sees.
	UseModelToolSearch bool

	// Index builds the searcher. Nil: Keyword.
	Index Indexer

	// Fallback builds a searcher that is asked when Index's finds nothing or fails. Nil:
	// none. When every searcher fails, keyword search answers.
	Fallback Indexer

	// Annotate tells what is known of a tool beyond its definition: namespace, words to
	// find it by. Nil: the function Annotate.
	Annotate func(*schema.ToolInfo) Annotation

	// MaxResults is how many tools a search returns when the model does not say. Zero:
	// DefaultMaxResults.
	MaxResults int

	// MaxResultsCap is the most the model may ask for. Zero: DefaultMaxResultsCap, or
	// MaxResults where that is more. It does not limit selection by name.
	MaxResultsCap int

	// Unloaded says what happens to a call to a tool that was not loaded yet.
	Unloaded UnloadedPolicy

	// Unknown says what happens to a call to a name no tool has.
	Unknown UnknownPolicy

	// OnLoaded is called at the end of a successful run with the dynamic tools loaded by
	// then, in the order in which they were first loaded. WithLoaded carries them into
	// the next run when the caller does not keep the messages that show them. Nil: none.
	OnLoaded func(ctx context.Context, names []string)

	// Reminder configures the message that lists the hidden tools.
	Reminder ReminderConfig

	// ToolName is the name of the search tool. Two middlewares in one agent need
	// different ones. Letters, digits, "_" and "-", at most 64. "": DefaultToolName.
	ToolName string

	// Language is the language of what the middleware tells the model. Zero: English.
	Language Language

	// OnSearch is told about every search, after it and on the goroutine that made it.
	// Nil: none.
	OnSearch func(ctx context.Context, e SearchEvent)
}

// ReminderConfig configures the <available-deferred-tools> message.
type ReminderConfig struct {
	// Disabled leaves the message out: the model searches without knowing any name.
	Disabled bool
}

// UnloadedPolicy says what happens to a call to a dynamic tool that the model has not
// loaded yet.
type UnloadedPolicy int

const (
	// UnloadedLoadAndRun runs the tool and keeps it loaded.
	UnloadedLoadAndRun UnloadedPolicy = iota
	// UnloadedRefuse answers with the search that would load the tool.
	UnloadedRefuse
)

// UnknownPolicy says what happens to a call to a name no tool has.
type UnknownPolicy int

const (
	// UnknownExplain answers the call with near names; the run goes on. It answers
	// before an UnknownToolsHandler of the agent would.
	UnknownExplain UnknownPolicy = iota
	// UnknownFail leaves the call to Eino: the agent's UnknownToolsHandler answers, or
	// the run ends. It is also the policy for an agent with ToolAliases, whose aliases
	// the middleware cannot see and would take for unknown names.
	UnknownFail
)

var validToolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// withDefaults returns a copy of the configuration with every default filled in.
func (config *Config) withDefaults() (*Config, error) {
	if config == nil {
		return nil, errors.New("toolsearch: no config")
	}
	filled := *config
	if filled.ToolName == "" {
		filled.ToolName = DefaultToolName
	}
	if filled.Annotate == nil {
		filled.Annotate = Annotate
	}
	if filled.MaxResults == 0 {
		filled.MaxResults = DefaultMaxResults
		if filled.MaxResultsCap > 0 {
			filled.MaxResults = min(filled.MaxResults, filled.MaxResultsCap)
		}
	}
	if filled.MaxResultsCap == 0 {
		filled.MaxResultsCap = max(DefaultMaxResultsCap, filled.MaxResults)
	}
	switch {
	case !validToolName.MatchString(filled.ToolName):
		return nil, fmt.Errorf("toolsearch: ToolName %q: want 1 to 64 letters, digits, underscores and hyphens", filled.ToolName)
	case filled.MaxResults < 0 || filled.MaxResultsCap < 0:
		return nil, fmt.Errorf("toolsearch: MaxResults %d and MaxResultsCap %d must not be negative", filled.MaxResults, filled.MaxResultsCap)
	case filled.MaxResults > filled.MaxResultsCap:
		return nil, fmt.Errorf("toolsearch: MaxResults %d exceeds MaxResultsCap %d", filled.MaxResults, filled.MaxResultsCap)
	case filled.Unloaded < UnloadedLoadAndRun || filled.Unloaded > UnloadedRefuse:
		return nil, fmt.Errorf("toolsearch: no UnloadedPolicy %d", filled.Unloaded)
	case filled.Unknown < UnknownExplain || filled.Unknown > UnknownFail:
		return nil, fmt.Errorf("toolsearch: no UnknownPolicy %d", filled.Unknown)
	case filled.Language < English || filled.Language > Chinese:
		return nil, fmt.Errorf("toolsearch: no Language %d", filled.Language)
	}
	return &filled, nil
}
