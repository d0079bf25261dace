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

// DefaultToolName is the default of Config.ToolName.
const DefaultToolName = "tool_search"

// Config configures the middleware. The zero value of every field but DynamicTools is a
// good default. New copies what it needs; the functions may be called concurrently.
type Config struct {
	// DynamicTools is the hidden catalog: tools the model finds by searching. Required,
	// unless there is a Source. The middleware gives them to the agent; do not list them in
	// ToolsConfig as well.
	DynamicTools []tool.BaseTool

	// Source adds tools that may change. It is asked at the start of every run and when one
	// is resumed; a run keeps the answer to its end. An answer with the same definitions
	// costs no new index, in whichever order they come. When it fails, returns nothing, or
	// what it returns cannot be used, the last good catalog stays and OnError is told; until
	// there was a good one, that is DynamicTools alone. A tool of it that is named like one
	// of the agent's own is left out, and OnError is told. It should not depend on who asks:
	// that is for Filter. Nil: none.
	Source func(ctx context.Context) ([]tool.BaseTool, error)

	// Filter tells whether the user of a request may have a tool. It is asked about every
	// dynamic tool at the start of each run and when one is resumed. What does not pass is,
	// for that run, as if it were not in the catalog: not announced, found, suggested or
	// callable, even if it was loaded before. One that panics does not let the tool pass.
	// FilterTools makes one of lists. Nil: every tool passes.
	Filter func(ctx context.Context, info *schema.ToolInfo) bool

	// UseModelToolSearch hands the catalog to a model that searches tools natively: the
	// tools go to it as deferred tools and tool_search as its search tool. Only some
	// model adapters read these options; with any other one the model is left without
	// the catalog. False: the middleware itself decides what the model sees.
	UseModelToolSearch bool

	// Native says how the model's adapter takes tools that are searched natively; it counts
	// with UseModelToolSearch alone. NativeSupport tells it of an adapter it knows. Zero:
	// NativeDeferred.
	Native NativeDialect

	// Protocol is the meta-tools the model sees and how they answer. Zero:
	// ProtocolToolSearch. UseModelToolSearch takes no other.
	Protocol Protocol

	// Index builds the searcher. Nil: that of the protocol, which is Keyword for
	// ProtocolToolSearch, Regexp for ProtocolRegexp and ProtocolSearchAdd, Similarity for
	// ProtocolRanked and BM25 for ProtocolDispatch.
	Index search.Indexer

	// Fallback builds a searcher that is asked when Index's finds nothing or fails. Nil:
	// none, but Fuzzy for ProtocolSearchAdd without an Index. When every searcher fails,
	// keyword search answers.
	Fallback search.Indexer

	// Annotate tells what is known of a tool beyond its definition: namespace, words to
	// find it by. Nil: the function Annotate.
	Annotate func(*schema.ToolInfo) search.Annotation

	// AlwaysLoaded names dynamic tools that the model sees from the first call on and that
	// are never hidden: "get_weather", "get_*", "github:*" for a namespace,
	// "*:list_*" for names within any, "tag:human" for a tag. An asterisk stands for any
	// text. They can still be found, and do not count towards MaxLoaded. What no tool
	// matches is ignored, since a server may lack it today. Nil: none.
	AlwaysLoaded []string

	// DeferFrom is the number of dynamic tools from which on any are hidden. With fewer, the
	// model sees them all, and no meta-tool and no reminder, as long as they are no more than
	// MaxLoaded. Those a Filter drops do not count. Zero: always hide.
	DeferFrom int

	// MaxLoaded is the most loaded tools to be visible at once: the least recently found or
	// called are hidden again, but for those whose call is under way. Found again, they come
	// back. A model that searches natively keeps what it found. Zero: no limit.
	MaxLoaded int

	// Preselect is how many tools, the best for what the user said last, are loaded before
	// the model answers it: for models that do not search by themselves. They are ranked by
	// Index or, if that is nil or Regexp, by BM25; when that fails, none is loaded and OnError
	// is told. ProtocolDispatch shows no loaded tool, and so none of these. Zero: none.
	Preselect int

	// MaxResults is how many tools a search returns when the model does not say. A search by
	// the patterns of ProtocolRegexp and ProtocolSearchAdd, which say what is wanted, returns
	// up to MaxResultsCap. Zero: DefaultMaxResults.
	MaxResults int

	// MaxResultsCap is the most the model may ask for. Zero: DefaultMaxResultsCap, 10 for
	// ProtocolRanked, or MaxResults where that is more. It does not limit selection by name.
	MaxResultsCap int

	// Unloaded says what happens to a call to a tool that was not loaded yet. Zero:
	// UnloadedLoadAndRun.
	Unloaded UnloadedPolicy

	// Unknown says what happens to a call to a name no tool has. Zero: UnknownExplain.
	Unknown UnknownPolicy

	// OnLoaded is called at the end of a successful run with the dynamic tools loaded by
	// then, in the order in which they were first loaded. WithLoaded carries them into
	// the next run when the caller does not keep the messages that show them. Nil: none.
	OnLoaded func(ctx context.Context, names []string)

	// Reminder configures the message that lists the hidden tools. Zero: all their names,
	// before the first message that is not a system one.
	Reminder ReminderConfig

	// ToolName is the name of the search tool. Two middlewares in one agent need
	// different ones. Letters, digits, "_" and "-", at most 64; the other tools of a
	// protocol get it as a prefix, and may be no longer. "": DefaultToolName, or search_tools
	// for ProtocolSearchAdd.
	ToolName string

	// Language is the language of what the middleware tells the model. Zero: English.
	Language Language

	// OnSearch is told about every search of the model's, after it and on the goroutine that
	// made it; of Preselect it is not. Nil: nobody is.
	OnSearch func(ctx context.Context, e SearchEvent)

	// OnError is told of failures that a run goes on after, and that no SearchEvent tells:
	// those of Source and of Preselect. Nil: nobody is.
	OnError func(ctx context.Context, err error)

	// SendEvents sends the agent's caller an event whenever tools were loaded, hidden again
	// or refused since the run's first model call: its Output.CustomizedOutput is a
	// LoadEvent. False: none.
	SendEvents bool
}

// LoadEvent tells the caller of an agent what became of tools; see Config.SendEvents.
type LoadEvent struct {
	Loaded   []string // visible to the model from its next call on
	Unloaded []string // not any more
	Refused  []string // called, but not run: unknown, not loaded, or with wrong arguments
}

// ReminderConfig configures the <available-deferred-tools> message.
type ReminderConfig struct {
	// Disabled leaves the message out: the model searches without knowing any name. False:
	// it is there.
	Disabled bool

	// MaxTokens is the most the message may take, counted as 4 bytes each. What does not fit
	// is said in less: names by namespace, then namespaces with counts, then one line, which
	// is there in any case. Zero: every name is listed. For ProtocolSearchAdd the list begins
	// with the namespaces, whatever the bound.
	MaxTokens int

	// Position is where the message stands. Zero: ReminderFirst.
	Position ReminderPosition

	// Describe puts a short description behind each name while MaxTokens allows it. There is
	// no place for any where names are listed by namespace, as with Namespaces, or not at
	// all, as for ProtocolSearchAdd. False: none.
	Describe bool

	// Namespaces says in a line what the tools of a namespace are for. With it, names are
	// listed by namespace. Nil: nothing is said.
	Namespaces map[string]string
}

// ReminderPosition is where the reminder stands among the messages.
type ReminderPosition int

const (
	// ReminderFirst is before the first message that is not a system one; it never moves.
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
	if filled.Protocol < ProtocolToolSearch || filled.Protocol > ProtocolDispatch {
		return nil, fmt.Errorf("toolsearch: no Protocol %d", filled.Protocol)
	}
	filled.ToolName = cmp.Or(filled.ToolName, filled.Protocol.defaultToolName())
	filled.AlwaysLoaded = slices.Clone(filled.AlwaysLoaded)
	filled.DynamicTools = slices.Clone(filled.DynamicTools)
	filled.Reminder.Namespaces = maps.Clone(filled.Reminder.Namespaces)
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
		filled.MaxResultsCap = max(filled.Protocol.resultsCap(), filled.MaxResults)
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
	case filled.UseModelToolSearch && filled.Protocol != ProtocolToolSearch:
		return nil, fmt.Errorf("toolsearch: UseModelToolSearch has a protocol of its own, and takes no Protocol %v", filled.Protocol)
	case filled.Native < NativeDeferred || filled.Native > NativeServer:
		return nil, fmt.Errorf("toolsearch: no NativeDialect %d", filled.Native)
	case filled.Native != NativeDeferred && !filled.UseModelToolSearch:
		return nil, fmt.Errorf("toolsearch: Native is %v, but UseModelToolSearch is false", filled.Native)
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

func (config *Config) nativeForm() nativeForm {
	if !config.UseModelToolSearch {
		return textForm
	}
	return deferredForm + nativeForm(config.Native)
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

// fair reports whether no namespace may take every place of a result. Keyword search over
// DynamicTools is exactly Eino's, and so is its order.
func (config *Config) fair() bool {
	return config.Source != nil || config.index() != nil
}

// prompt returns the texts the model reads.
func (config *Config) prompt() *prompt {
	names := config.Protocol.names(config.ToolName)
	return promptIn(config.Language, config.Protocol, !config.Reminder.Disabled,
		"{tool}", names.search, "{add}", names.add, "{remove}", names.remove, "{show-all}", names.showAll, "{call}", names.call,
		"{default}", strconv.Itoa(config.MaxResults), "{cap}", strconv.Itoa(config.MaxResultsCap))
}
