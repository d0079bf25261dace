package cost

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

// Recorded conversations, read from the log of a program:
//
//	lines -> records -> runs, each with what was billed and a conversation to play

// A Run is a run of an agent in a log, from a question to its answer.
type Run struct {
	Way Way // in which it was recorded

	calls []record // of the model

	// conversation plays the run again, with made-up arguments. A log does not tell what the first prompt
	// has besides tools, so System, History and Said are 0. A tool's result is the growth of the prompt: a
	// few tokens more than its text.
	conversation Conversation
}

// billed returns what the provider billed for all calls.
func (r *Run) billed(p *Provider) Usage {
	var sum record
	for _, c := range r.calls {
		sum.Prompt += c.Prompt
		sum.Cached += c.Cached
		sum.Written += c.Written
		sum.Output += c.Output
	}
	return p.Usage(sum.Prompt, sum.Cached, sum.Written, sum.Output)
}

// Bounds of a log. Every run is played in each way.
const (
	maxLogBytes   = 64 << 20
	maxLineBytes  = 1 << 20
	maxModelCalls = 2_000
	maxNames      = 20_000      // loaded and unloaded
	maxLogged     = 100_000_000 // tokens of a line
)

// ReadLog reads the runs of one agent's conversation from a log of slog.JSONHandler. It reads the lines
// with a group "event" that are search and load events, eval.ModelCall's or a trial's ends of runs, and skips what other
// programs print. A run ends with an answer that calls no tool. At the end of the log it may end without one, and
// its last calls are then left out. A search counts for whichever of its loaded tools is called next.
func ReadLog(r io.Reader) ([]Run, error) {
	records, err := readRecords(r)
	if err != nil {
		return nil, err
	}
	runs := runsOf(records)
	if len(runs) == 0 {
		return nil, errors.New("cost: the log: no call of a model")
	}
	return runs, nil
}

// A record is a line of the log that ReadLog understands.
type record struct {
	Kind string `json:"event"`
	at   time.Time

	Tool string `json:"tool"` // of a search

	Loaded       []string `json:"loaded"` // of a load, as LoadEvent
	Unloaded     []string `json:"unloaded"`
	ToolsChanged bool     `json:"tools_changed"`
	LoadedTokens int      `json:"loaded_tokens"`

	Way     string   `json:"way"` // of a call of the model, as eval.ModelCall logs it
	Prompt  int      `json:"prompt_tokens"`
	Cached  int      `json:"cached_tokens"`
	Written int      `json:"written_tokens"`
	Output  int      `json:"output_tokens"`
	Calls   []string `json:"calls"`

	way Way
}

func readRecords(r io.Reader) (records []record, err error) {
	size, line, calls, names := 0, 0, 0, 0
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLineBytes)
	for scanner.Scan() {
		line++
		text := scanner.Bytes()
		if size += len(text) + 1; size > maxLogBytes {
			return nil, fmt.Errorf("cost: the log: line %d: more than %d MiB", line, maxLogBytes>>20)
		}
		record, ok, err := readRecord(text)
		if ok && record.Kind == "model" {
			if calls++; calls > maxModelCalls {
				err = fmt.Errorf("more than %d calls of the model", maxModelCalls)
			}
		}
		if names += len(record.Loaded) + len(record.Unloaded); names > maxNames && err == nil {
			err = fmt.Errorf("more than %d names that are loaded and unloaded", maxNames)
		}
		if err != nil {
			return nil, fmt.Errorf("cost: the log: line %d: %w", line, err)
		}
		if ok {
			records = append(records, record)
		}
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("cost: the log: line %d: %w", line+1, err)
	}
	return records, nil
}

// readRecord reads a line. ok is false for any other line.
func readRecord(line []byte) (r record, ok bool, err error) {
	var outer struct{ Time, Event json.RawMessage }
	if json.Unmarshal(line, &outer) != nil {
		return r, false, nil
	}
	err = json.Unmarshal(outer.Event, &r) // even with an error of another field, Kind is set
	if !slices.Contains([]string{"search", "load", "model", "run"}, r.Kind) {
		return record{}, false, nil
	}
	if err == nil && outer.Time != nil {
		if err = json.Unmarshal(outer.Time, &r.at); err != nil {
			err = fmt.Errorf("time: %w", err)
		}
	}
	if err == nil {
		err = r.check()
	}
	return r, true, err
}

// check reports what is wrong with a record.
func (r *record) check() error {
	if r.LoadedTokens < 0 || r.LoadedTokens > maxLogged {
		return fmt.Errorf("loaded_tokens is %d", r.LoadedTokens)
	}
	if r.Kind != "model" {
		return nil
	}
	var known bool
	if r.way, known = WayNamed(r.Way); !known {
		return fmt.Errorf("way is %q; want all, or a protocol other than native_server", r.Way)
	}
	switch {
	case r.Prompt <= 0:
		return errors.New("the call of the model has no prompt_tokens: did the model report its usage?")
	case r.Cached < 0 || r.Written < 0 || r.Output < 0 || r.Cached > r.Prompt || r.Written > r.Prompt-r.Cached:
		return fmt.Errorf("of %d prompt_tokens, cached_tokens are %d and written_tokens %d, and output_tokens are %d",
			r.Prompt, r.Cached, r.Written, r.Output)
	case max(r.Prompt, r.Output) > maxLogged:
		return fmt.Errorf("prompt_tokens are %d and output_tokens %d; want at most %d", r.Prompt, r.Output, maxLogged)
	}
	return nil
}

// WayNamed returns the way of a name, as Way.String writes it; "" is the default protocol.
func WayNamed(name string) (Way, bool) {
	for p := toolsearch.ProtocolToolSearch; p <= toolsearch.ProtocolAnchored; p++ {
		if name == "" || name == p.String() && p != toolsearch.ProtocolNativeServer {
			return Way{Protocol: p}, true
		}
	}
	return Way{All: true}, name == "all"
}

// runsOf puts records together.
func runsOf(records []record) (runs []Run) {
	isMeta := map[string]bool{ // the protocols' own tools
		"tool_search": true, "search_tools": true, "add_tool": true, "remove_tool": true, "show_all_tools": true, "call_tool": true,
	}
	for _, r := range records {
		if r.Kind == "search" {
			isMeta[r.Tool] = true
		}
	}
	goesOn := false     // the last of runs
	var loaded []string // by now
	var found []string  // what was loaded since the last call of the model
	grown := 0          // tokens by which the list of tools has grown since then
	for _, r := range records {
		switch r.Kind {
		case "run": // a trial's, behind each of its conversations
			loaded, found, grown, goesOn = nil, nil, 0, false
		case "load":
			loaded = slices.DeleteFunc(append(loaded, r.Loaded...), func(name string) bool { return slices.Contains(r.Unloaded, name) })
			found = append(found, r.Loaded...)
			if r.ToolsChanged {
				grown += r.LoadedTokens
			}
		case "model":
			if !goesOn {
				runs = append(runs, Run{Way: r.way, conversation: Conversation{Loaded: slices.Clone(loaded)}})
			}
			run := &runs[len(runs)-1]
			if goesOn {
				run.addSteps(&r, isMeta, found, grown)
			}
			run.calls = append(run.calls, r)
			found, grown, goesOn = nil, 0, len(r.Calls) > 0
		}
	}
	for i := range runs {
		runs[i].conversation.Steps = claim(runs[i].conversation.Steps)
	}
	return runs
}

// unknownQuery is the query where a log does not say what was found.
const unknownQuery = selection + "not_in_any_catalog"

// addSteps makes steps of the calls in the model's last answer. next is the model call after it; between
// them tools were found, and the list of tools has grown by some tokens.
func (r *Run) addSteps(next *record, isMeta map[string]bool, found []string, grown int) {
	last := &r.calls[len(r.calls)-1]
	tools := slices.DeleteFunc(slices.Clone(last.Calls), func(name string) bool { return isMeta[name] })
	steps := r.conversation.Steps
	var after time.Duration
	if n := len(r.calls); n > 1 && !last.at.IsZero() && !r.calls[n-2].at.IsZero() {
		after = max(0, last.at.Sub(r.calls[n-2].at))
	}
	if len(tools) < len(last.Calls) {
		search := Step{Query: unknownQuery, After: after}
		if len(found) > 0 {
			search.Query = selection + strings.Join(found, ",")
		}
		// With ProtocolSearchAdd, a search and the addition that follows are two calls of
		// the model.
		isAddition := len(found) > 0 && r.Way.Protocol == toolsearch.ProtocolSearchAdd
		if n := len(steps) - 1; isAddition && n >= 0 && steps[n].Query == unknownQuery {
			search.After += steps[n].After
			steps = steps[:n]
		}
		steps, after = append(steps, search), 0
	}
	for i, name := range tools {
		result := max(0, next.Prompt-last.Prompt-last.Output-grown) / len(tools)
		steps = append(steps, Step{Tool: name, After: after, Together: i > 0, Result: result})
		after = 0
	}
	r.conversation.Steps = steps
}

// claim gives each search to the first step that calls a found tool, so that the search is played
// where the way needs it. Searches that led to no call stay where they are.
func claim(steps []Step) (rest []Step) {
	claimed := make([]bool, len(steps))
	open := map[string]int{} // name -> the search that found it
	for i := range steps {
		step := &steps[i]
		if step.Tool == "" {
			for name := range strings.SplitSeq(strings.TrimPrefix(step.Query, selection), ",") {
				open[name] = i
			}
			continue
		}
		if search, ok := open[step.Tool]; ok && !claimed[search] {
			claimed[search], step.Query = true, steps[search].Query
		}
	}
	var waited time.Duration
	for i, step := range steps {
		if claimed[i] {
			waited += step.After
			continue
		}
		step.After, waited = step.After+waited, 0
		rest = append(rest, step)
	}
	return rest
}

// A Check compares what a run was billed with what is computed for the same run in the same way.
// The difference tells how far to trust the rest of a report.
type Check struct {
	Way              Way   // in which the run was recorded
	Billed, Computed Usage // Computed is warm if the run's first call found anything in the cache
}

// CompareLog is Compare for recorded runs. What a replay lacks of a run's first prompt counts as history: the
// system message, the agent's own tools and the turns before. It fails if the runs call none of the tools.
func CompareLog(ctx context.Context, tools []*schema.ToolInfo, p *Provider, runs []Run) (*Report, error) {
	calls := func(run Run) bool {
		called := run.conversation.called()
		return slices.ContainsFunc(tools, func(info *schema.ToolInfo) bool { return called[info.Name] })
	}
	if !slices.ContainsFunc(runs, calls) {
		return nil, fmt.Errorf("cost: the log calls none of the catalog's %d tools", len(tools))
	}
	scenarios, checks := make([]scenario, len(runs)), make([]Check, len(runs))
	definitions := tokensOf(tools)
	for i := range runs {
		var err error
		if scenarios[i], checks[i], err = runs[i].reconstruct(ctx, tools, definitions, p); err != nil {
			return nil, err
		}
	}
	report, err := compare(ctx, tools, p, scenarios)
	if err != nil {
		return nil, err
	}
	report.Checks = checks
	return report, nil
}

// reconstruct finds the history of a run's conversation, and plays it in the way in which it was recorded.
// toolTokens is the tokens of the tools.
func (r *Run) reconstruct(ctx context.Context, tools []*schema.ToolInfo, toolTokens int, p *Provider) (s scenario, check Check, err error) {
	s.Conversation = r.conversation
	s.Steps = slices.Clone(s.Steps)
	s.Calls, s.Loads = 1, len(s.called())
	for i := range s.Steps {
		step := &s.Steps[i]
		step.Result = max(0, step.Result-framing(p.Wire))
		if step.Tool != "" && !step.Together {
			s.Calls++
		}
	}
	if err := s.check(toolTokens); err != nil {
		return s, check, err
	}
	played, err := Replay(ctx, tools, r.Way.Config(len(tools)), p.Wire, s.Conversation)
	if err != nil {
		return s, check, fmt.Errorf("%v: %w", r.Way, err)
	}
	s.Conversation.History = max(0, r.calls[0].Prompt-p.Bill(nil, played.Requests[:1])[0].Input())
	s.Shape.History = s.Conversation.History
	if err := s.check(toolTokens); err != nil {
		return s, check, err
	}
	o, err := outcomes(ctx, tools, p, r.Way, s.Conversation)
	check = Check{Way: r.Way, Billed: r.billed(p), Computed: o[0].Usage}
	if r.calls[0].Cached > 0 {
		check.Computed = o[1].Usage
	}
	s.Said = max(0, check.Billed.Output-check.Computed.Output)
	check.Computed.Output += s.Said
	return s, check, err
}
