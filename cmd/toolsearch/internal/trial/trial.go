// Package trial is the command trial: tasks are played with the user's own model, in each way to hide tools, and
// compared. The program toolsearch-trial brings the adapters that reach a model.
//
//	tasks (task.go) -> runs (play.go), paid for (meter.go) -> a journal -> a report (report.go)
//
// A person can be the model too (manual.go).
package trial

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/catalog"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/costs"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/cost"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/mcp"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Help is the help text of the command trial.
var Help = catalog.HelpOf("trial [flags] CATALOG -tasks TASKS -model MODEL", `
Plays tasks with your own model, in each way to show tools, and says which way to take.
The tools are simulated: what they return is made of their output schemas.

A task is a line {"id", "query", "gold", "accept", "arguments"}: a request, and the tools
that solve it, as in a file of queries for eval. "arguments" has those that a call must
have, by the tool. Each run is kept in a file as soon as it ends, and not played again.
`, "", `	-tasks FILE      the tasks
	-model NAME      the model, NAME or NAME@ADDRESS; "manual" asks you, at a local address.
	                 Its key is in $TOOLSEARCH_MODEL_KEY, or without ADDRESS in
	                 $ANTHROPIC_API_KEY or $OPENAI_API_KEY
	-api NAME        messages (Anthropic), responses (OpenAI) or chat; without it, messages
	                 for claude..., responses without ADDRESS, and else chat
	-way NAMES       all, eino (Eino's own package), default, or a protocol such as dispatch,
	                 each with +SEARCHER or +groups, such as dispatch+bm25+groups
	                 (all,eino,default+bm25,dispatch)
	-n N             plays each task N times (1)
	-o FILE          keeps the runs (trial.jsonl); cost -log reads it too
	-budget USD      stops before the bill exceeds it, what FILE's runs cost included
	-provider NAME   whose prices these are, as for cost; without it, the model's name says
	-prices FILE     a table of your own, as for cost
	-parallel N      runs at the same time (4)
	-run             calls the tools of CATALOG's servers: those that say that they only read
	-destructive     with -run: calls all of them
	-write FILE      instead of a trial, writes tasks without requests, for you to complete
	-svg FILE        write a picture
	-json            print JSON
`+catalog.FlagsHelp, `
	toolsearch trial -write tasks.jsonl tools.jsonl
	toolsearch trial -tasks tasks.jsonl -model claude-sonnet-5-5 -budget 5 tools.jsonl
	toolsearch trial -tasks tasks.jsonl -model qwen3@http://localhost:8000/v1 -n 3 mcp.json
	toolsearch trial -tasks tasks.jsonl -model manual -way dispatch tools.jsonl
`, "0 the report was printed, 2 a mistake, or a model that does not answer")

// An Address says which model is meant, for Connect.
type Address struct {
	API       string // messages, responses or chat
	Model     string
	URL       string // "" means the provider's own
	Key       string
	MaxOutput int          // tokens of an answer
	Client    *http.Client // that every request goes through
}

// Connect makes the model of an address: a model.BaseModel of either type of messages.
type Connect func(ctx context.Context, a Address) (chat any, err error)

// A trial is one call of the command.
type trial struct {
	*catalog.Reader
	model, api                                string
	tasksFile, waysText, journal, prices, svg string
	write, provider                           string
	n, parallel                               int
	real, destructive, json                   bool

	ways     []way
	tasks    []task
	catalog  *eval.Catalog
	servers  map[string]string // by tool
	subjects []subject         // the catalog's tools, as every run has them
	schemas  schemacheck.Checker
	meter    *meter
}

// Trial plays a trial. A nil connect means that only a person can be the model.
func Trial(ctx context.Context, call *cli.Call, args []string, connect Connect) int {
	reader, flags := catalog.NewReader(call)
	r := &trial{Reader: reader, meter: &meter{base: http.DefaultTransport}}
	r.meter.changed = sync.NewCond(&r.meter.mu)
	r.flags(flags)
	r.Parse(flags, args, 0, 0, "CATALOG")
	if r.write != "" {
		defer r.load(ctx)()
		if _, err := os.Stat(r.write); err == nil {
			cli.Check(fmt.Errorf("%s is there already, perhaps with requests that you wrote", r.write))
		}
		cli.Check(os.WriteFile(r.write, cli.Visible(r.skeletons()), 0o644))
		return cli.Found
	}
	address := r.address()
	if connect == nil && r.model != "manual" {
		cli.Check(errors.New("models are reached by the program toolsearch-trial, which takes the same arguments; " +
			"in a clone of this repository, go -C cmd/toolsearch/toolsearch-trial install . builds it"))
	}
	r.meter.provider = costs.Provider(ctx, call, r.prices, r.provider, r.model)
	if r.meter.provider == nil && (r.meter.budget > 0 || r.prices != "") {
		r.WrongUsage("no price of %s is known: want -provider", r.model)
	}
	defer r.load(ctx)()
	r.tasks = readTasks(ctx, call, r.tasksFile, r.servers)
	for name := range strings.SplitSeq(r.waysText, ",") {
		w, err := parseWay(name, len(r.catalog.Tools))
		if err != nil {
			r.WrongUsage("%v", err)
		}
		if r.model == "manual" && strings.HasPrefix(name, "native") {
			r.WrongUsage("way %s: you cannot search as a provider does", name)
		}
		r.ways = append(r.ways, w)
	}
	var chat any
	if r.model == "manual" {
		here, over := context.WithCancel(ctx)
		defer over()
		m := cli.Must(listen(here))
		fmt.Fprintf(r.Stderr, "You are the model: %s\n", m.address)
		chat, r.parallel = m, 1
	} else {
		address.Client = &http.Client{
			Transport: toolsearch.AnchoredTransport(r.meter, r.model), Timeout: 10 * time.Minute,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // a key goes nowhere else
		}
		chat = cli.Must(connect(ctx, address))
	}
	results, err := r.playAll(ctx, chat, address.URL)
	out := r.reportOf(results)
	if r.svg != "" {
		draw(out, r.svg)
	}
	if r.json {
		r.PrintJSON(out)
	} else {
		r.print(out)
	}
	if err != nil { // the report goes out nevertheless
		text := strings.ReplaceAll(err.Error(), cmp.Or(address.Key, "\x00"), "[key]") // providers quote it
		fmt.Fprintf(r.Stderr, "toolsearch: the trial is not complete, and goes on when it is started again: %s\n", cli.OneLine(text, 1000))
		return cli.Failed
	}
	return cli.Found
}

func (r *trial) flags(flags *flag.FlagSet) {
	for name, to := range map[string]*string{"tasks": &r.tasksFile, "model": &r.model, "api": &r.api, "provider": &r.provider,
		"prices": &r.prices, "svg": &r.svg, "write": &r.write} {
		flags.StringVar(to, name, "", "")
	}
	flags.StringVar(&r.waysText, "way", "all,eino,default+bm25,dispatch", "")
	flags.StringVar(&r.journal, "o", "trial.jsonl", "")
	flags.IntVar(&r.n, "n", 1, "")
	flags.IntVar(&r.parallel, "parallel", 4, "")
	flags.Float64Var(&r.meter.budget, "budget", 0, "")
	flags.BoolVar(&r.real, "run", false, "")
	flags.BoolVar(&r.destructive, "destructive", false, "")
	flags.BoolVar(&r.json, "json", false, "")
}

// address reads -model and -api, and leaves the name in r.model.
func (r *trial) address() (a Address) {
	a.API = r.api
	if at := strings.Index(r.model, "@http"); at >= 0 {
		r.model, a.URL = r.model[:at], r.model[at+1:]
	}
	switch {
	case r.model == "" || r.tasksFile == "":
		r.WrongUsage("want -tasks and -model")
	case r.n < 1 || r.n > 1000 || r.parallel < 1 || r.parallel > 100 || r.meter.budget < 0:
		r.WrongUsage("want -n 1 to 1000, -parallel 1 to 100, and a -budget of 0 or more")
	case r.destructive && !r.real:
		r.WrongUsage("-destructive wants -run")
	case a.API != "":
	case strings.HasPrefix(r.model, "claude"):
		a.API = "messages"
	case a.URL == "":
		a.API = "responses"
	default:
		a.API = "chat"
	}
	if !slices.Contains([]string{"messages", "responses", "chat"}, a.API) || a.API == "chat" && a.URL == "" {
		r.WrongUsage("want -api messages, responses or chat, and for chat an address, as in %s@https://...", r.model)
	}
	a.Model, a.MaxOutput, a.Key = r.model, maxOutput, os.Getenv("TOOLSEARCH_MODEL_KEY")
	if a.Key == "" && a.URL == "" { // these keys are for their providers alone
		a.Key = os.Getenv(map[string]string{"messages": "ANTHROPIC_API_KEY", "responses": "OPENAI_API_KEY"}[a.API])
	}
	return a
}

// load reads the catalog, and with -run connects to its servers until closing is called.
func (r *trial) load(ctx context.Context) (closing func()) {
	closing = func() {}
	read := r.Load(ctx)
	real := make(map[string]tool.BaseTool)
	if r.real {
		if read.Asked == nil {
			r.WrongUsage("-run wants servers, not a file of tools")
		}
		servers := cli.Must(mcp.Connect(ctx, read.Asked))
		closing = func() { _ = servers.Close() }
		for _, g := range servers.Groups() {
			for _, t := range cli.Must(g.Source(ctx)) {
				if info, err := t.Info(ctx); err == nil {
					real[g.Name+"\x00"+info.Name] = t
				}
			}
		}
	}
	tools, _ := catalog.Apart(read.Tools)
	var err error
	if r.catalog, tools, err = catalog.Of(tools); err == nil && r.catalog == nil {
		err = errors.New("no tool has a name")
	}
	cli.Check(err)
	r.servers = make(map[string]string)
	for i, d := range tools {
		r.servers[d.Name] = r.catalog.Annotate(r.catalog.Tools[i]).Namespace
		s := subject{doc: i, info: r.catalog.Tools[i], answer: cmp.Or(cost.Answer(d.Output), `{"ok":true}`)}
		if r.real {
			s.bind(ctx, cmp.Or(real[d.Server+"\x00"+d.Name], real[d.Server+"\x00"+strings.TrimPrefix(d.Name, d.Server+"__")]), r.destructive)
		}
		r.subjects = append(r.subjects, s)
	}
	return closing
}

// bind lets a tool of a server answer, if it may be called.
func (s *subject) bind(ctx context.Context, t tool.BaseTool, destructive bool) {
	s.real, _ = t.(tool.InvokableTool)
	if s.real == nil {
		s.barred = "error: this tool cannot be called here"
		return
	}
	info, err := t.Info(ctx)
	if !destructive && (err != nil || !slices.Contains(search.Annotate(info).Tags, "read-only")) {
		s.barred = "error: this tool was not run: it does not say that it only reads, and -destructive was not given"
	}
}

// playAll plays what the journal does not have, and returns all results of this trial.
func (r *trial) playAll(ctx context.Context, chat any, url string) (results []result, err error) {
	type run struct {
		way  way
		task *task
		key  string
	}
	var definitions []byte
	for _, info := range r.catalog.Tools {
		definitions = fmt.Appendf(definitions, "%s\n%s\n%s\n", info.Name, info.Desc, schemacheck.JSON(info))
	}
	old := r.readJournal(ctx)
	var runs []run
	for repetition := range r.n { // a trial that is cut off has played every way
		for i := range r.tasks {
			for _, w := range r.ways {
				text, _ := json.Marshal(r.tasks[i])
				sum := sha256.Sum256(fmt.Appendf(nil, "%s\n%s@%s\n%s\n%s\n%d\n%t\n%t", definitions, r.model, url, w.name, text, repetition, r.real, r.destructive))
				key := fmt.Sprintf("%x", sum[:12])
				if done, ok := old[key]; ok {
					results = append(results, done)
				} else {
					runs = append(runs, run{w, &r.tasks[i], key})
				}
			}
		}
	}
	file, err := os.OpenFile(r.journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600) // it may quote what users said
	cli.Check(err)
	var mu sync.Mutex
	failed := make(map[string]error) // by way, "" for all
	total, bill := len(results)+len(runs), r.meter.spent
	defer r.Waiting("playing " + cli.Plural(total, "run"))()
	err = foreign.InParallel(ctx, r.parallel, len(runs), func(ctx context.Context, i int) error {
		run := &runs[i]
		mu.Lock()
		isOver := failed[run.way.name] != nil || failed[""] != nil // runs under way come to their ends
		mu.Unlock()
		if isOver {
			return nil
		}
		p := &recorder{trial: r, way: run.way, ran: make(map[string]bool), result: result{
			Event: "run", Key: run.key, Model: r.model, Way: run.way.name, Task: run.task.ID, Counts: make(map[string]float64),
		}}
		p.log = slog.New(slog.NewJSONHandler(&p.journal, nil))
		var err error
		switch m := chat.(type) {
		case model.BaseModel[*schema.Message]:
			err = play(ctx, p, m, run.task, schema.UserMessage(run.task.Text))
		case model.BaseModel[*schema.AgenticMessage]:
			err = play(ctx, p, m, run.task, schema.UserAgenticMessage(run.task.Text))
		}
		mu.Lock()
		defer mu.Unlock()
		if err != nil { // the run is played again next time; what it cost counts
			p.result.Event = "failed"
			p.journal.Reset()
			way := run.way.name // whose requests a provider may refuse, such as too many tools
			if ctx.Err() != nil || errors.Is(err, errBudget) {
				way = ""
			}
			failed[way] = cmp.Or(failed[way], fmt.Errorf("%s: %w", run.way.name, err))
		}
		p.log.InfoContext(ctx, "trial", "event", &p.result)
		if err == nil {
			results = append(results, p.result)
		}
		bill += p.result.Counts[dollars]
		r.Step(fmt.Sprintf("bill %.4f, runs", bill), len(results), total)
		_, err = file.Write(p.journal.Bytes()) // at once, so that no part of a run is kept
		return err
	})
	for _, way := range slices.Sorted(maps.Keys(failed)) {
		err = errors.Join(err, failed[way])
	}
	slices.SortFunc(results, func(a, b result) int { return cmp.Compare(a.Key, b.Key) }) // they ended in any order
	return results, errors.Join(err, file.Close())
}

// readJournal returns the runs of a journal by their keys, and cuts off what was written of a last line.
func (r *trial) readJournal(ctx context.Context) map[string]result {
	runs := make(map[string]result)
	if _, err := os.Stat(r.journal); err != nil {
		return runs
	}
	_, data := r.ReadFile(ctx, r.journal)
	whole := bytes.LastIndexByte(data, '\n') + 1
	for line := range bytes.Lines(data[:whole]) {
		var outer struct{ Event result }
		if json.Unmarshal(line, &outer) != nil || outer.Event.Model != r.model {
			continue
		}
		r.meter.spent += outer.Event.Counts[dollars]
		if outer.Event.Event == "run" {
			runs[outer.Event.Key] = outer.Event
		}
	}
	if whole < len(data) {
		cli.Check(os.Truncate(r.journal, int64(whole)))
	}
	return runs
}
