package toolsearch

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/wording"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The configuration: its fields, groups of tools, their defaults, and what New refuses.

// Defaults of a Config.
const (
	DefaultToolName   = toolSearchName // of Config.ToolName
	DefaultMaxResults = 5              // of Config.MaxResults

	DefaultMaxResultsCap   = 50               // of Limits.MaxResultsCap
	DefaultSearchTimeout   = 5 * time.Second  // of Limits.SearchTimeout
	DefaultMaxAnswerTokens = 8_000            // of Limits.MaxAnswerTokens
	DefaultSourceTimeout   = 30 * time.Second // of Limits.SourceTimeout

	// PreselectAuto, as Config.Preselect, means DefaultPreselect tools, or Limits.MaxLoaded if that is less.
	PreselectAuto = -1
	// DefaultPreselect is the number of tools of PreselectAuto. Of the tools needed, BM25 has 37, 62, 67 and 73% among its
	// first 5, 15, 20 and 30 for whole tasks over 28 MCP servers (mcpbench), and 76, 93, 95 and 96% for those of ultratool.
	DefaultPreselect = 20

	defaultRankedCap = 10 // of ProtocolRanked
)

// Config configures the middleware. Begin with three fields: DynamicTools (or Groups, for the tools
// of servers), Index (BM25 finds the right tool far more often than the default), and Protocol (whose zero
// is Eino's, and dear under a prompt cache). The zero of every other field is a good default.
// New copies what it needs. Functions may be called concurrently.
type Config struct {
	// WHAT THERE IS

	// DynamicTools is what the model finds by searching. It is required unless there are Groups. The agent gets them as
	// they are. A FailureEvent names those that providers refuse or that an agent's tool replaces.
	DynamicTools []tool.BaseTool

	// Groups are dynamic tools by origin, such as an MCP server. New fails if two of DynamicTools and the groups' Tools
	// have one name. A Source's tool yields to these, and to that of an earlier group's Source. Nil means no groups.
	Groups []Group

	// Annotate adds a namespace and words to find a tool by. Nil means the function Annotate.
	Annotate func(*schema.ToolInfo) Annotation

	// WHO MAY SEE IT

	// Filter reports whether a request may have a tool. It is asked about every dynamic tool when a run starts or is
	// resumed. A tool that does not pass, even if loaded before, is not announced, found, suggested or callable in that
	// run. A panic means no. The Document's Parameters may be missing; its Info must not be changed. ProtocolAnchored also
	// asks about tools that are gone. See FilterTools and package lock. Nil means that all pass.
	Filter func(ctx context.Context, doc Document) bool

	// HOW IT IS SEARCHED

	// Protocol says how the model searches. See ProtocolFor. Zero means ProtocolToolSearch.
	Protocol Protocol

	// UseModelToolSearch is Eino's name for ProtocolNativeDeferred; Protocol must be that or zero. An adapter that ignores
	// deferred tools gives the model no catalog. False means that Protocol decides.
	UseModelToolSearch bool

	// Index builds the searcher. Nil means the protocol's: Keyword for ProtocolToolSearch and the native protocols,
	// Regexp for ProtocolRegexp and ProtocolSearchAdd, Similarity for ProtocolRanked, and BM25 for ProtocolDispatch. With
	// BM25 or a Hybrid, what is relevant to the user's request comes earlier: docs/settings.md.
	Index Indexer

	// Fallback builds a second searcher, for when that of Index fails or finds nothing, or finds a word only in tools of
	// one namespace. If both fail, keyword search answers. Nil means none, or Fuzzy for ProtocolSearchAdd without an Index.
	Fallback Indexer

	// Usage says which tools other conversations call together with those that this one has called. They come first among
	// the matches of a search and of Preselect, by at most half the score of the best, and answers name them. It is asked
	// when a run starts; what it returns is for that run. An unset Index under ProtocolToolSearch, ProtocolAnchored and the
	// native protocols leaves Eino's order, and patterns stay as they are. See package usage. A panic is told by a
	// FailureEvent. Nil means none.
	Usage func(ctx context.Context) CoUse

	// MaxResults is how many tools a search returns if the model asks for no number. A pattern returns up to
	// Limits.MaxResultsCap. Zero means DefaultMaxResults.
	MaxResults int

	// WHAT IS SHOWN WHEN

	// AlwaysLoaded are patterns of dynamic tools that are never hidden: "get_weather", "get_*", "github:*" for a
	// namespace, "*:list_*" for any namespace, "tag:human" for a tag. An asterisk matches any text. They do not count
	// towards Limits.MaxLoaded. A FailureEvent reports a pattern without a match. Nil means none.
	AlwaysLoaded []string

	// DeferFrom is the smallest number of dynamic tools that are hidden. Fewer, if no more than Limits.MaxLoaded, are all
	// visible, without meta-tools and reminder. Tools that Filter drops do not count. Zero means always hidden.
	DeferFrom int

	// Preselect is how many tools are loaded before the model answers: the best for the user's last message by Index, or
	// by BM25 if Index is nil or reads patterns. ProtocolDispatch shows none of them. PreselectAuto means a good number.
	// Zero means none.
	Preselect int

	// Unloaded is for calls of tools that are not loaded. Zero means UnloadedLoadAndRun.
	Unloaded UnloadedPolicy

	// Unknown is for calls of names that no tool has. Zero means UnknownExplain.
	Unknown UnknownPolicy

	// ToolErrors is for errors of dynamic tools. Zero means ToolErrorsFail.
	ToolErrors ToolErrorsPolicy

	// HOW IT IS SAID

	// ToolName is the name of the search tool: at most 64 letters, digits, "_" and "-". Two middlewares in one agent need
	// different names. Any but the default is also the prefix of the protocol's other tools, whose names have the same
	// limit. "" means DefaultToolName, or search_tools for ProtocolSearchAdd.
	ToolName string

	// Reminder configures the message that lists the hidden tools. Zero means that it lists all names, before the first
	// message that is not a system message; under ProtocolRegexp there is none.
	Reminder ReminderConfig

	// Language is that of the texts for the model. Zero means English.
	Language Language

	// Texts replaces texts that the model reads. The keys are the headings of prompt/en.md; New fails on others. One that
	// begins with the protocol goes before the same without. Placeholders in braces are filled in. A text also replaces its
	// variants -groups and -unlisted, unless they are replaced too. Nil means none.
	Texts map[string]string

	// WHAT IS BOUNDED, AND WHAT YOU ARE TOLD

	// Limits bounds sizes and times. Zero means the default of each.
	Limits Limits

	// OnEvent is called with every Event, on the goroutine of the event: calls of tools in parallel tell it in parallel.
	// Nil means no calls.
	OnEvent func(ctx context.Context, e Event)

	// SendEvents sends the same events to whoever runs the agent: as the Output.CustomizedOutput of agent events
	// without a MessageOutput. False means no sending.
	SendEvents bool
}

// CoUse returns how strongly conversations call other tools together with the called ones, of which the newest is the
// first: by name, more than 0 and at most 1. visible reports whether the run may see a tool; what it may not see must not
// make a difference. Models, searches and runs may ask at the same time.
type CoUse func(called []string, visible func(name string) bool) map[string]float64

// Limits are bounds that few programs change.
type Limits struct {
	// MaxResultsCap is the largest number of tools that the model may ask for. It does not limit a selection by
	// name. Zero means DefaultMaxResultsCap, or 10 for ProtocolRanked, or Config.MaxResults if that is more.
	MaxResultsCap int

	// MaxPerNamespace is the largest number of places in a result, or of Preselect, for one namespace while tools of
	// others match: a server whose tools repeat every word cannot hide the others. Tools without a namespace have no
	// limit. Zero means one place fewer than the result has, but no limit if the searcher is the protocol's own Keyword,
	// whose order is Eino's. Negative means no limit.
	MaxPerNamespace int

	// MaxAnswerTokens is the largest size of the answers of meta-tools to one message of the model, in tokens of 4 bytes.
	// The calls of a message share it evenly. An answer says how many tools did not fit; they are not loaded. It shortens
	// definitions to fit. A native protocol sends them whole, so the best match alone may be larger, and does not say what
	// is left out. Zero means DefaultMaxAnswerTokens.
	MaxAnswerTokens int

	// MaxLoaded is the largest number of loaded tools that are visible at once, so a search by an Index returns no more.
	// Those least recently found or called are hidden again until a search finds them, but none whose call is under way,
	// that a native search found, or that ProtocolAnchored defined in the conversation. Zero means no limit.
	MaxLoaded int

	// SearchTimeout bounds the time that the searches of one message of the model take together, and that Preselect takes.
	// After that the model gets what was found by then, and is told to ask for less. Keyword alone has no bound, since it
	// is quick. Zero means DefaultSearchTimeout.
	SearchTimeout time.Duration

	// SourceTimeout bounds how long a run waits for the first answers of Sources, and then for their index. For a Source
	// that has a good answer it waits at most 200 ms, and again for the index; what takes longer is for a later run. The
	// last good answers stay, and a FailureEvent says so. The Source's context ends after SourceTimeout, not with the run,
	// and a Source that took longer is not asked again until SourceTimeout has passed or its answer has arrived. After 5 s
	// of indexing, indexes get at most a tenth of the time. Zero means DefaultSourceTimeout.
	SourceTimeout time.Duration
}

// A Group is the tools of one server, team or skill.
type Group struct {
	// Name is the namespace of all tools of the group, whatever Annotate says: at most 128 bytes without a colon, an angle
	// bracket, an invisible character, or a space at either end. No other group has the same name; case, and "-" for "_",
	// make no difference. "" means that Annotate says the namespace of each tool; several groups may have "".
	Name string

	// Description says what the group is for, such as the instructions of an MCP server, in at most 2 KiB. The reminder
	// shows it, unless ReminderConfig.Namespaces replaces it, and BM25 finds the group's tools by it. "" means none; a
	// group without a Name has none.
	Description string

	// Tools do not change. A tool that providers refuse is mended, or left out for a schema of more than 512 KiB, or kept
	// with the name of a parameter that Anthropic refuses; a FailureEvent says so. Nil means none.
	Tools []tool.BaseTool

	// Source adds tools that may change. All Sources are asked at the same time when a run starts or is resumed; runs that
	// start meanwhile wait for the same call. A run keeps the answers to its end. If Source fails or is late (see
	// Limits.SourceTimeout), or its answer is empty or cannot be used, the last good answer stays, and a FailureEvent says
	// so. Before its first good answer, a Source adds no tools. Those that providers refuse are treated like Tools. The
	// order of tools, and of keys in a schema, is no change and costs no prompt cache: the model sees properties by name.
	// If the tools depend on who asks, set PerCaller. Nil means no Source.
	Source func(ctx context.Context) ([]tool.BaseTool, error)

	// PerCaller says whose tools Source answers with: a key, such as the user's ID. A run, also a resumed one, sees only
	// its key's tools. Each key, "" too, keeps its own last good answer. If PerCaller panics, the run gets no tools of
	// Source, and a FailureEvent says so. Of all keys and groups, 20,000 tools are kept, and a key counts as one; the
	// least recently used keys start anew. Nil means that all runs get the same tools.
	PerCaller func(ctx context.Context) string

	// Prefix is for servers whose tools' names clash, and needs a Name: the model sees name__tool, and so do Annotate,
	// Filter, AlwaysLoaded, events and stored histories. A server still gets its own name. False means no prefix.
	//
	// With or without it, a name that providers refuse, such as files.read or one of more than 64 letters, is altered: "_"
	// replaces what they refuse, and a hash of the whole name ends it. Searches, AlwaysLoaded, FilterTools and a lock take
	// the tool's own name too. A FailureEvent lists altered names.
	Prefix bool
}

// ReminderConfig configures the <available-deferred-tools> message.
type ReminderConfig struct {
	// Disabled leaves the message out: the model searches without knowing any name. False means that it is there.
	Disabled bool

	// MaxTokens is the largest size of the message in tokens of 4 bytes. A list that is too long becomes names by
	// namespace, then namespaces with what they are for, of many those that the first request is about, then one line,
	// which always fits. ProtocolSearchAdd lists no names. Zero means that every name is listed.
	MaxTokens int

	// Position is the place of the message. Zero means ReminderDefault.
	Position ReminderPosition

	// Describe adds a short description to each name if MaxTokens allows it, but not to names listed by namespace, nor
	// under ProtocolSearchAdd. False means no descriptions.
	Describe bool

	// Namespaces describes namespaces, by which names are then listed, in a line each. Nil means no descriptions.
	Namespaces map[string]string
}

// ReminderPosition is the place of the reminder among the messages.
type ReminderPosition int

const (
	// ReminderDefault is ReminderFirst, or no reminder under ProtocolRegexp, since Eino v0.8 had none.
	ReminderDefault ReminderPosition = iota
	// ReminderFirst is before the first message that is not a system message. It never moves.
	ReminderFirst
	// ReminderLast is directly before the user's newest message, and moves with it.
	ReminderLast
	// ReminderInstruction is at the end of the system message, which keeps what it quotes.
	ReminderInstruction
)

// Language is the language of what the middleware tells the model.
type Language int

const (
	English Language = iota // the default
	Chinese                 // simplified
)

// UnloadedPolicy says what happens to a call of a dynamic tool that is not loaded.
type UnloadedPolicy int

const (
	// UnloadedLoadAndRun runs the tool and keeps it loaded.
	UnloadedLoadAndRun UnloadedPolicy = iota
	// UnloadedRefuse answers with the search that would load the tool.
	UnloadedRefuse
)

// UnknownPolicy says what happens to a call of a name that no tool has.
type UnknownPolicy int

const (
	// UnknownExplain answers the call with near names, before an UnknownToolsHandler of the agent. The run goes on.
	UnknownExplain UnknownPolicy = iota
	// UnknownFail leaves the call to Eino: the agent's UnknownToolsHandler answers, or the run ends. Agents with
	// ToolAliases need it, since the middleware would take an alias for an unknown name.
	UnknownFail
)

// ToolErrorsPolicy says what happens to an error of a dynamic tool.
type ToolErrorsPolicy int

const (
	// ToolErrorsFail leaves the error to Eino, which ends the run.
	ToolErrorsFail ToolErrorsPolicy = iota
	// ToolErrorsExplain makes up to 2 KiB of the error's text the result of the call, or the end of its stream. A panic
	// counts as an error. A FailureEvent reports it. Interrupts, the end of a cancelled run, context.Canceled and errors
	// of the agent's other tools stay errors. The agent's handlers after this middleware see the error, and those before
	// it the result.
	ToolErrorsExplain
)

// withDefaults returns a copy of the configuration with every default filled in.
func (config *Config) withDefaults() (*Config, error) {
	if config == nil {
		return nil, errors.New("toolsearch: no config")
	}
	filled := *config
	switch {
	case filled.Protocol < ProtocolToolSearch || filled.Protocol > ProtocolAnchored:
		return nil, fmt.Errorf("toolsearch: unknown Protocol %d", filled.Protocol)
	case filled.UseModelToolSearch && filled.Protocol != ProtocolToolSearch && filled.Protocol != ProtocolNativeDeferred:
		return nil, fmt.Errorf("toolsearch: UseModelToolSearch means %v, but Protocol is %v; set Protocol alone",
			ProtocolNativeDeferred, filled.Protocol)
	case filled.UseModelToolSearch:
		filled.Protocol = ProtocolNativeDeferred
	}
	filled.ToolName = cmp.Or(filled.ToolName, filled.Protocol.defaultToolName())
	filled.AlwaysLoaded = slices.Clone(filled.AlwaysLoaded)
	filled.DynamicTools = slices.Clone(filled.DynamicTools)
	var err error
	if filled.Groups, err = checkedGroups(filled.Groups); err != nil {
		return nil, err
	}
	filled.Reminder.Namespaces = maps.Clone(filled.Reminder.Namespaces)
	filled.Texts = maps.Clone(filled.Texts)
	if filled.Annotate == nil {
		filled.Annotate = search.Annotate
	}
	if filled.Fallback == nil && filled.Index == nil && filled.Protocol == ProtocolSearchAdd {
		filled.Fallback = search.Fuzzy
	}
	limits := &filled.Limits
	if limits.MaxPerNamespace == 0 && filled.indexer() == nil { // Keyword keeps Eino's order
		limits.MaxPerNamespace = -1
	}
	limits.SearchTimeout = cmp.Or(limits.SearchTimeout, DefaultSearchTimeout)
	limits.MaxAnswerTokens = cmp.Or(limits.MaxAnswerTokens, DefaultMaxAnswerTokens)
	limits.SourceTimeout = cmp.Or(limits.SourceTimeout, DefaultSourceTimeout)
	mostResults := DefaultMaxResultsCap
	if filled.Protocol == ProtocolRanked {
		mostResults = defaultRankedCap
	}
	limits.MaxResultsCap = cmp.Or(limits.MaxResultsCap, max(mostResults, filled.MaxResults))
	filled.MaxResults = cmp.Or(filled.MaxResults, min(DefaultMaxResults, max(limits.MaxResultsCap, 0)))
	if filled.Protocol == ProtocolRegexp && filled.Reminder.Position == ReminderDefault {
		filled.Reminder.Disabled = true
	}
	if filled.Preselect == PreselectAuto {
		filled.Preselect = min(DefaultPreselect, cmp.Or(limits.MaxLoaded, DefaultPreselect))
	}
	for _, field := range [...]struct {
		of       string
		is, last int
	}{
		{"MaxResults", filled.MaxResults, math.MaxInt}, {"Limits.MaxResultsCap", limits.MaxResultsCap, math.MaxInt},
		{"DeferFrom", filled.DeferFrom, math.MaxInt}, {"Limits.MaxLoaded", limits.MaxLoaded, math.MaxInt},
		{"Preselect", filled.Preselect, math.MaxInt}, {"Reminder.MaxTokens", filled.Reminder.MaxTokens, math.MaxInt},
		{"Limits.SourceTimeout", cmp.Compare(limits.SourceTimeout, 0), 1}, {"Limits.SearchTimeout", cmp.Compare(limits.SearchTimeout, 0), 1},
		{"Limits.MaxAnswerTokens", limits.MaxAnswerTokens, math.MaxInt},
		{"ReminderPosition", int(filled.Reminder.Position), int(ReminderInstruction)},
		{"UnloadedPolicy", int(filled.Unloaded), int(UnloadedRefuse)}, {"UnknownPolicy", int(filled.Unknown), int(UnknownFail)},
		{"ToolErrorsPolicy", int(filled.ToolErrors), int(ToolErrorsExplain)}, {"Language", int(filled.Language), int(Chinese)},
	} {
		if field.is < 0 || field.is > field.last {
			return nil, fmt.Errorf("toolsearch: %s %d is out of range", field.of, field.is)
		}
	}
	names := filled.Protocol.names(filled.ToolName)
	switch {
	case !naming.IsValid(filled.ToolName):
		return nil, fmt.Errorf("toolsearch: ToolName %q: want 1 to 64 letters, digits, underscores and hyphens", filled.ToolName)
	case slices.ContainsFunc(names.all, func(name string) bool { return !naming.IsValid(name) }):
		return nil, fmt.Errorf("toolsearch: ToolName %q: too long, since a tool of Protocol %v would have a name of more than 64 characters",
			filled.ToolName, filled.Protocol)
	case filled.MaxResults > limits.MaxResultsCap:
		return nil, fmt.Errorf("toolsearch: MaxResults %d exceeds MaxResultsCap %d", filled.MaxResults, limits.MaxResultsCap)
	}
	return &filled, nil
}

const maxPrefixLetters = 32 // at least half of the 64 letters of a name are the tool's

// checkedGroups returns a copy of groups, with their descriptions ready to be shown.
func checkedGroups(groups []Group) ([]Group, error) {
	groups = slices.Clone(groups)
	names, prefixes := make(map[string]int), make(map[string]int)
	for i := range groups {
		g := &groups[i]
		fail := func(what string, args ...any) ([]Group, error) {
			return nil, fmt.Errorf("toolsearch: Groups[%d], %q: %s", i, naming.Cut(g.Name, naming.MaxBytes), fmt.Sprintf(what, args...))
		}
		switch {
		case g.Name == "" && (g.Prefix || g.Description != ""):
			return fail("Prefix and Description need a Name; set the name of the server, team or skill")
		case g.PerCaller != nil && g.Source == nil:
			return fail("PerCaller needs a Source")
		case len(g.Name) > naming.MaxBytes:
			return fail("its Name has %d bytes; shorten it to %d", len(g.Name), naming.MaxBytes)
		case naming.Safe(g.Name) != g.Name || !utf8.ValidString(g.Name) || strings.Contains(g.Name, ":"):
			return fail("its Name has a colon, an angle bracket, a character that is not visible, or a space at either end; remove it")
		}
		folded := naming.Fold(g.Name)
		if first, taken := names[folded]; taken && g.Name != "" {
			return fail("Groups[%d], %q, has the same Name; rename one of them, or merge the two", first, groups[first].Name)
		}
		names[folded] = i
		if g.Prefix {
			prefix := naming.PrefixOf(g.Name)
			if len(prefix) == 0 || len(prefix) > maxPrefixLetters {
				return fail("for Prefix, a Name needs 1 to %d letters and digits from a to z, _ and -; this one has %d; rename it",
					maxPrefixLetters, len(prefix))
			}
			if first, taken := prefixes[prefix]; taken {
				return fail("Groups[%d], %q, has the same prefix, %s__; rename one of them", first, groups[first].Name, prefix)
			}
			prefixes[prefix] = i
		}
		g.Tools = slices.Clone(g.Tools)
		words := strings.Fields(naming.OneLine(g.Description, wording.MaxDescriptionBytes))
		g.Description = naming.Cut(strings.Join(words, " "), wording.MaxDescriptionBytes)
	}
	return groups, nil
}

// shown returns a tool's definition with the name that the model sees.
func (g *Group) shown(info *schema.ToolInfo) *schema.ToolInfo {
	renamed, prefix := *info, ""
	if g.Prefix {
		prefix = naming.PrefixOf(g.Name)
	}
	if renamed.Name = naming.Shown(prefix, info.Name); renamed.Name == info.Name {
		return info
	}
	return &renamed
}

// indexer builds the searcher; nil means Keyword.
func (config *Config) indexer() search.Indexer {
	if config.Index != nil {
		return config.Index
	}
	return indexers[config.Protocol]
}

//go:embed prompt/en.md
var englishTexts string

//go:embed prompt/zh.md
var chineseTexts string

func (config *Config) prompt() (*wording.Texts, error) {
	names := config.Protocol.names(config.ToolName)
	markdown := [...]string{English: englishTexts, Chinese: chineseTexts}[config.Language]
	texts, err := wording.Read(markdown, config.Protocol.String(), config.Texts,
		"{tool}", names.search, "{add}", names.add, "{remove}", names.remove, "{show-all}", names.showAll, "{call}", names.call,
		"{default}", strconv.Itoa(config.MaxResults), "{cap}", strconv.Itoa(config.Limits.MaxResultsCap))
	if err != nil {
		return nil, fmt.Errorf("toolsearch: Texts: %w", err)
	}
	return texts.For(wording.Nothing), nil // a run's texts are for the form of its reminder
}
