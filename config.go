package toolsearch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/search"
)

// What a user sets, what its zero means, and what New refuses.

// Defaults of a Config.
const (
	// DefaultToolName is the default of Config.ToolName.
	DefaultToolName = toolSearchName
	// DefaultMaxResults is the default of Config.MaxResults.
	DefaultMaxResults = 5
	// DefaultMaxResultsCap is the default of Config.MaxResultsCap.
	DefaultMaxResultsCap = 50

	defaultRankedCap = 10 // of ProtocolRanked
)

// Config configures the middleware. The zero value of every field but DynamicTools is a
// good default. New copies what it needs; the functions may be called concurrently.
type Config struct {
	// WHAT THERE IS

	// DynamicTools is the hidden catalog: tools the model finds by searching. It is required,
	// unless there is a Source. The middleware gives the tools to the agent; do not list them
	// in ToolsConfig as well.
	DynamicTools []tool.BaseTool

	// Source adds tools that may change. It is asked at the start of every run and when a run
	// is resumed; a run keeps the answer to its end. An answer with the same definitions, in
	// whichever order, costs no new index. When Source fails, returns nothing, or returns what
	// cannot be used, the last good catalog stays and a FailureEvent says so; until there was a
	// good answer, the catalog is DynamicTools alone. A tool of Source that is named like a tool
	// of the agent's own is left out, and a FailureEvent says so. Source should not depend on
	// who asks: that is for Filter. Nil means that there is none.
	Source func(ctx context.Context) ([]tool.BaseTool, error)

	// Annotate tells what is known of a tool beyond its definition: its namespace and words to
	// find it by. Nil means the function Annotate.
	Annotate func(*schema.ToolInfo) Annotation

	// WHO MAY SEE IT

	// Filter tells whether the user of a request may have a tool. It is asked about every
	// dynamic tool at the start of each run and when a run is resumed. For that run, a tool that
	// does not pass is as if it were not in the catalog: it is not announced, found, suggested
	// or callable, even if it was loaded before. When Filter panics, the tool does not pass.
	// The Document's Parameters may be missing and its Info is shared: it must not be changed.
	// FilterTools makes a Filter of lists. Nil means that every tool passes.
	Filter func(ctx context.Context, doc Document) bool

	// HOW IT IS SEARCHED

	// Protocol is the meta-tools the model sees and how they answer, or the native way in which
	// the model searches by itself: ProtocolFor(model) tells which. Zero means
	// ProtocolToolSearch.
	Protocol Protocol

	// UseModelToolSearch is how Eino's own package spells ProtocolNativeDeferred. Only some
	// model adapters take deferred tools; with any other adapter the model is left without the
	// catalog. It takes no other Protocol. False means that Protocol alone decides.
	UseModelToolSearch bool

	// Index builds the searcher. Nil means that of the protocol: Keyword for
	// ProtocolToolSearch and the native protocols, Regexp for ProtocolRegexp and
	// ProtocolSearchAdd, Similarity for ProtocolRanked and BM25 for ProtocolDispatch.
	Index Indexer

	// Fallback builds a searcher that is asked when Index's finds nothing or fails. Nil means
	// none, but Fuzzy for ProtocolSearchAdd without an Index. When every searcher fails,
	// keyword search answers.
	Fallback Indexer

	// MaxResults is how many tools a search returns when the model does not say. A search by
	// the patterns of ProtocolRegexp and ProtocolSearchAdd, which say what is wanted, returns
	// up to MaxResultsCap. Zero means DefaultMaxResults.
	MaxResults int

	// MaxResultsCap is the most the model may ask for. It does not limit selection by name.
	// Zero means DefaultMaxResultsCap, 10 for ProtocolRanked, or MaxResults where that is more.
	MaxResultsCap int

	// MaxPerNamespace is the most places of a result that the tools of one namespace take
	// while tools of others match: a server whose tools repeat every word a user may say cannot
	// keep all others from being found. Tools without a namespace are not limited. The places of
	// Preselect are shared in the same way. Zero means one less than there are places; but no
	// limit without an Index where the protocol's own searcher is Keyword, whose order is
	// Eino's. Negative means no limit.
	MaxPerNamespace int

	// WHAT IS SHOWN WHEN

	// AlwaysLoaded names dynamic tools that the model sees from the first call on and that
	// are never hidden: "get_weather", "get_*", "github:*" for a namespace,
	// "*:list_*" for names within any namespace, "tag:human" for a tag. An asterisk stands for
	// any text. These tools can still be found, and do not count towards MaxLoaded. A pattern
	// that no tool matches is ignored, since a server may lack the tool today. Nil means none.
	AlwaysLoaded []string

	// DeferFrom is the number of dynamic tools from which on any are hidden. With fewer, the
	// model sees them all, and no meta-tool and no reminder, as long as they are no more than
	// MaxLoaded. Tools that a Filter drops do not count. Zero means that tools are always
	// hidden.
	DeferFrom int

	// MaxLoaded is the most loaded tools to be visible at once. The least recently found or
	// called are hidden again, but for those whose call is under way. Found again, they come
	// back. A model that searches natively keeps what it found. Zero means no limit.
	MaxLoaded int

	// Preselect is how many tools, the best for what the user said last, are loaded before
	// the model answers: for models that do not search by themselves. They are ranked by
	// Index or, if that is nil or reads patterns, by BM25. When the searcher fails, no tool is
	// loaded and a FailureEvent says so. ProtocolDispatch shows no loaded tool, and so none of
	// these. Zero means none.
	Preselect int

	// Unloaded says what happens to a call to a tool that was not loaded yet. Zero means
	// UnloadedLoadAndRun.
	Unloaded UnloadedPolicy

	// Unknown says what happens to a call to a name no tool has. Zero means UnknownExplain.
	Unknown UnknownPolicy

	// HOW IT IS SAID

	// ToolName is the name of the search tool. Two middlewares in one agent need different
	// names. It takes letters, digits, "_" and "-", at most 64; the other tools of a protocol
	// get it as a prefix, and may be no longer. "" means DefaultToolName, or search_tools for
	// ProtocolSearchAdd.
	ToolName string

	// Reminder configures the message that lists the hidden tools. Zero means all their names,
	// before the first message that is not a system message.
	Reminder ReminderConfig

	// Language is the language of what the middleware tells the model. Zero means English.
	Language Language

	// Texts replaces texts the model reads. The keys are the headings of prompt/en.md, such as
	// "description" and "no-match"; placeholders in braces are filled in as they are there. New
	// fails on a key that is no heading. Nil means that the library's own texts stand.
	Texts map[string]string

	// WHAT YOU ARE TOLD

	// OnEvent is told, after the fact and on the goroutine where it happened, of every search of
	// the model's, of tools loaded, hidden again or refused, of a changed catalog, and of
	// failures that a run goes on after. Nil means that nobody is told.
	OnEvent func(ctx context.Context, e Event)

	// SendEvents sends the same events to the agent's caller, in the same order, as the
	// Output.CustomizedOutput of events without a MessageOutput. False means that none are sent.
	SendEvents bool
}

// ReminderConfig configures the <available-deferred-tools> message.
type ReminderConfig struct {
	// Disabled leaves the message out: the model searches without knowing any name. False means
	// that the message is there.
	Disabled bool

	// MaxTokens is the most the message may take, counted as 4 bytes each. What does not fit
	// is said in less: names by namespace, then namespaces with counts, then one line, which
	// is there in any case. For ProtocolSearchAdd the list begins with the namespaces, whatever
	// the bound. Zero means that every name is listed.
	MaxTokens int

	// Position is where the message stands. Zero means ReminderFirst.
	Position ReminderPosition

	// Describe puts a short description behind each name while MaxTokens allows it. Names
	// that are listed by namespace, as with Namespaces, have none, and neither do the
	// namespaces of ProtocolSearchAdd. False means none.
	Describe bool

	// Namespaces says in a line what the tools of a namespace are for. With it, names are
	// listed by namespace. Nil means that nothing is said.
	Namespaces map[string]string
}

// ReminderPosition is where the reminder stands among the messages.
type ReminderPosition int

const (
	// ReminderFirst is before the first message that is not a system message; it never moves.
	ReminderFirst ReminderPosition = iota
	// ReminderLast is directly before the newest user's message, and moves with it.
	ReminderLast
	// ReminderInstruction is at the end of the system message.
	ReminderInstruction
)

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
	switch {
	case filled.Protocol < ProtocolToolSearch || filled.Protocol > ProtocolNativeServer:
		return nil, fmt.Errorf("toolsearch: no Protocol %d", filled.Protocol)
	case filled.UseModelToolSearch && filled.Protocol != ProtocolToolSearch && filled.Protocol != ProtocolNativeDeferred:
		return nil, fmt.Errorf("toolsearch: UseModelToolSearch means %v, but Protocol is %v; set Protocol alone", ProtocolNativeDeferred, filled.Protocol)
	case filled.UseModelToolSearch:
		filled.Protocol = ProtocolNativeDeferred
	}
	filled.ToolName = cmp.Or(filled.ToolName, filled.Protocol.defaultToolName())
	filled.AlwaysLoaded = slices.Clone(filled.AlwaysLoaded)
	filled.DynamicTools = slices.Clone(filled.DynamicTools)
	filled.Reminder.Namespaces = maps.Clone(filled.Reminder.Namespaces)
	filled.Texts = maps.Clone(filled.Texts)
	if filled.Annotate == nil {
		filled.Annotate = search.Annotate
	}
	if filled.MaxResults == 0 {
		filled.MaxResults = DefaultMaxResults
		if filled.MaxResultsCap > 0 {
			filled.MaxResults = min(filled.MaxResults, filled.MaxResultsCap)
		}
	}
	if filled.MaxResultsCap == 0 {
		filled.MaxResultsCap = max(DefaultMaxResultsCap, filled.MaxResults)
		if filled.Protocol == ProtocolRanked {
			filled.MaxResultsCap = max(defaultRankedCap, filled.MaxResults)
		}
	}
	names := filled.Protocol.names(filled.ToolName)
	switch {
	case !validToolName.MatchString(filled.ToolName):
		return nil, fmt.Errorf("toolsearch: ToolName %q: want 1 to 64 letters, digits, underscores and hyphens", filled.ToolName)
	case slices.ContainsFunc(names.all(), func(name string) bool { return !validToolName.MatchString(name) }):
		return nil, fmt.Errorf("toolsearch: ToolName %q: too long for Protocol %v, one of whose tools would have a name of more than 64 letters", filled.ToolName, filled.Protocol)
	case filled.MaxResults < 0 || filled.MaxResultsCap < 0:
		return nil, fmt.Errorf("toolsearch: MaxResults %d and MaxResultsCap %d must not be negative", filled.MaxResults, filled.MaxResultsCap)
	case filled.MaxResults > filled.MaxResultsCap:
		return nil, fmt.Errorf("toolsearch: MaxResults %d exceeds MaxResultsCap %d", filled.MaxResults, filled.MaxResultsCap)
	case filled.DeferFrom < 0 || filled.MaxLoaded < 0 || filled.Preselect < 0 || filled.Reminder.MaxTokens < 0:
		return nil, fmt.Errorf("toolsearch: DeferFrom %d, MaxLoaded %d, Preselect %d and Reminder.MaxTokens %d must not be negative",
			filled.DeferFrom, filled.MaxLoaded, filled.Preselect, filled.Reminder.MaxTokens)
	case filled.Reminder.Position < ReminderFirst || filled.Reminder.Position > ReminderInstruction:
		return nil, fmt.Errorf("toolsearch: no ReminderPosition %d", filled.Reminder.Position)
	case filled.Unloaded < UnloadedLoadAndRun || filled.Unloaded > UnloadedRefuse:
		return nil, fmt.Errorf("toolsearch: no UnloadedPolicy %d", filled.Unloaded)
	case filled.Unknown < UnknownExplain || filled.Unknown > UnknownFail:
		return nil, fmt.Errorf("toolsearch: no UnknownPolicy %d", filled.Unknown)
	case filled.Language < English || filled.Language > Chinese:
		return nil, fmt.Errorf("toolsearch: no Language %d", filled.Language)
	}
	return &filled, nil
}

// index and fallback are the searchers, the protocol's own where none is given.
func (config *Config) index() search.Indexer {
	if config.Index != nil {
		return config.Index
	}
	return config.Protocol.index()
}

func (config *Config) fallback() search.Indexer {
	if config.Fallback != nil {
		return config.Fallback
	}
	if config.Index != nil {
		return nil
	}
	return config.Protocol.fallback()
}

// perNamespace is MaxPerNamespace with its default: keyword search is exactly Eino's, and so is
// its order.
func (config *Config) perNamespace() int {
	if config.MaxPerNamespace == 0 && config.index() == nil {
		return -1
	}
	return config.MaxPerNamespace
}

// prompt returns the texts the model reads.
func (config *Config) prompt() (*prompt, error) {
	names := config.Protocol.names(config.ToolName)
	return newPrompt(config.Language, config.Protocol.String(), !config.Reminder.Disabled, config.Texts,
		"{tool}", names.search, "{add}", names.add, "{remove}", names.remove, "{show-all}", names.showAll, "{call}", names.call,
		"{default}", strconv.Itoa(config.MaxResults), "{cap}", strconv.Itoa(config.MaxResultsCap))
}
