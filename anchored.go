package toolsearch

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/anchor"
	"github.com/eino-toolsearch/toolsearch/internal/conversation"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Where ProtocolAnchored defines loaded tools.
//
// The middleware lists them as ProtocolToolSearch does. A plan in the context of the model call says
// where in the conversation each belongs, and the transport moves it there and reports what the
// request had. The session keeps the report: a definition keeps its place and its bytes.
//
//	history, session -> plan -> transport -> report -> session
//
// A new definition goes to the end of the conversation. If a definition's place is gone, or unknown to the session and the
// run, it goes behind the first result that found the tool or the first call of it; but to the end if there is neither, or
// if its provider got that part of the conversation without it. So the session also keeps where requests ended.

// AnchoredTransport returns a transport that moves the tools loaded under [ProtocolAnchored] from the tool
// list of a request into its conversation. Give it to the model's adapter in an HTTP client:
//
//	HTTPClient: &http.Client{Transport: toolsearch.AnchoredTransport(nil)}
//
// base sends the requests; nil means [http.DefaultTransport]. It knows the requests of Chat Completions, of
// Anthropic's Messages and of OpenAI's Responses, and by default only sends definitions in this form to models
// whose documents say that they take them: docs/anchored.md lists them. accepts names other models that take
// them, such as "my-kimi" or "kimi-k4*", where the asterisk is the rest of the name. Every other request passes as
// it is. A model that refuses added definitions gets the request once more with the ordinary list, which is
// also how its later requests go. Claude gets a request whose earlier thinking it refuses once more without that
// thinking. The transport is safe for concurrent use.
func AnchoredTransport(base http.RoundTripper, accepts ...string) http.RoundTripper {
	return anchor.Transport(base, accepts...)
}

// A course is the messages of a model call as places.
type course struct {
	now     anchor.At
	results map[anchor.At]bool // the places behind results
	users   []anchor.At        // the places behind the user's messages
	first   map[int]anchor.At  // by document: the place behind the first result that loads it or that its call has
}

// courseOf reads the places of a transcript that is ready to be sent.
func (r *run) courseOf(t *transcript) *course {
	c := &course{results: make(map[anchor.At]bool), first: make(map[int]anchor.At)}
	nth := make(map[string]int)
	next, items, system := 0, 0, "" // agents that share a Session differ in their instructions
	for i := range t.views {
		v := &t.views[i]
		if t.inserted != nil && t.insertAt == i && t.inserted.user {
			items++
			c.users = append(c.users, anchor.At{User: len(c.users) + 1, Item: items})
		}
		if v.system {
			system = hashOf(append(v.texts, system, v.text)...)
		}
		for ; next < len(t.answers) && t.answers[next].view == i; next++ {
			a := &t.answers[next]
			id := t.result(a).callID
			if id == "" {
				continue
			}
			c.now = anchor.At{Call: id, Nth: nth[id], User: len(c.users), Text: cmp.Or(c.now.Text, system)} // IDs may come again
			c.results[c.now] = true
			nth[id]++
			for _, doc := range r.broughtBy(t, a) {
				c.first[doc] = cmp.Or(c.first[doc], c.now)
			}
		}
		if v.inputs > 0 && (v.user && !v.dropped || v.asks) {
			items += v.inputs
			at := anchor.At{User: len(c.users) + 1, Item: items}
			if !r.reminder.is(v) {
				at.Text = hashOf(append(v.texts, system, v.text)...)
				c.now = at
			}
			c.users = append(c.users, at)
		}
	}
	return c
}

// broughtBy returns the dynamic tools that an answer loads, and the tool whose call it answers.
func (r *run) broughtBy(t *transcript, a *answer) (docs []int) {
	for result := range t.loading(a, &r.names) {
		docs = append(docs, r.effectOf(result).loads...)
	}
	if a.call != nil {
		if doc, ok := r.calledDoc(a.call); ok {
			docs = append(docs, doc)
		}
	}
	return docs
}

// find returns a place of an earlier request, if this one has it. A user's message that moved is found by its text.
func (c *course) find(at anchor.At) (anchor.At, bool) {
	if at.Call != "" {
		return at, c.results[at]
	}
	for i := min(at.User, len(c.users)) - 1; i >= 0; i-- {
		if c.users[i].Text == at.Text {
			return c.users[i], true
		}
	}
	return at, false
}

// plan returns where the tools of a model call's list are defined; nil means in the list.
func (r *run) plan(ctx context.Context, t *transcript, tools []*schema.ToolInfo) *anchor.Plan {
	if r.mode != anchoredMode || r.hidesNone {
		return nil
	}
	c, isFirst := r.courseOf(t), r.planned == nil
	if isFirst {
		r.planned, r.begun = make(map[string]anchor.At), make(map[string][]anchor.Step)
		isEarlier := func(at anchor.At) bool { return at.Text != "" && at != c.now } // but the reminder
		if r.isAlone && (c.now.Call != "" || slices.ContainsFunc(c.users, isEarlier)) {
			r.tellOnce(ctx, "without a Session, a run defines the tools of earlier runs anew, which may cost the prompt cache once")
		}
	}
	p := &anchor.Plan{Search: r.names.search, Now: c.now, Drops: r.drops.Load(), Excess: toolNames(r.infos(r.excess))}
	definitions, hasRoom := r.session.definitions()
	isWhole := hasRoom && len(definitions) > 0 && !r.isAlone // what the session does not have was never defined
	add := func(tool anchor.Tool, isNew bool) {
		at, wasPlanned := r.planned[tool.Name]
		at, remains := c.find(cmp.Or(tool.First, at))
		if !remains {
			at = p.Now // but the history may say where an earlier request defined it
			if doc, ok := r.scope.byName[tool.Name]; ok && (isFirst && !isNew || wasPlanned) {
				at = cmp.Or(c.first[doc], at)
			}
		}
		tool.First, r.planned[tool.Name] = at, at
		p.Tools = append(p.Tools, tool)
	}
	listed, hidden := make(map[string]*Document), make(map[string]bool)
	for _, info := range tools {
		if r.isMovable(info) {
			doc := r.scope.docs[r.scope.byName[info.Name]]
			listed[info.Name] = &doc
		}
	}
	for _, at := range r.hidden {
		doc := r.scope.docs[at]
		listed[doc.Name], hidden[doc.Name] = &doc, true
	}
	known := make(map[string]bool)
	var ends []anchor.Step // of the requests that this one goes on from, as the session has them
	for _, tool := range definitions {
		if isFirst {
			r.begun[tool.Name] = tool.Steps
		}
		if tool.Name == p.Search {
			for _, end := range tool.Steps {
				if at, ok := c.find(end.At); ok {
					next := anchor.End{At: at, Wire: end.Wire}
					_ = json.Unmarshal([]byte(end.JSON), &next.Tools) // a session from elsewhere may have anything there
					ends, p.Ends = append(ends, end), append(p.Ends, next)
				}
			}
			continue
		}
		doc, room := listed[tool.Name], maxSteps-len(tool.Steps)
		isChanged := doc != nil && tool.Hash != hashOfTool(doc.Info)
		if isChanged && !r.mayKnow(ctx, &tool) { // Filter rejects the old definition, though it passes the catalog's
			r.session.forget(tool.Name)
			continue
		}
		if known[tool.Name] = doc == nil || tool.Namespace == doc.Namespace; !known[tool.Name] {
			continue
		}
		next := anchor.Tool{Name: tool.Name, Gone: doc == nil || hidden[tool.Name]}
		next.HasRoom = hasRoom && !hidden[tool.Name] && (room > 1 || room == 1 && !next.Gone) // taken back, it may come again
		for _, step := range tool.Steps {
			at, ok := c.find(step.At)
			if !ok {
				continue
			}
			next.Steps = append(next.Steps, anchor.Step{At: at, Wire: step.Wire, JSON: step.JSON})
			next.First = next.Steps[0].At // where another agent of the session may replace it
			if slices.Contains(r.begun[tool.Name], step) {
				next.Begun = len(next.Steps)
			}
		}
		if !next.Gone || len(next.Steps) > 0 && r.isGone(ctx, &tool, tools) {
			add(next, false)
		}
	}
	for _, info := range tools {
		if r.isMovable(info) && !known[info.Name] {
			add(anchor.Tool{Name: info.Name, HasRoom: hasRoom}, isWhole)
		}
	}
	r.unreported.Store(len(p.Tools) > 0)
	p.Report = func(report anchor.Report) { r.recordSent(ctx, p, report, listed, ends) }
	return p
}

// recordSent records what a request that follows a plan had, for later plans. listed are the tools of its list, and those that
// MaxLoaded keeps out of it; ends are those of earlier requests, as the session has them.
func (r *run) recordSent(ctx context.Context, p *anchor.Plan, report anchor.Report, listed map[string]*Document, ends []anchor.Step) {
	r.unreported.Store(false)
	isOnce := errors.Is(report.Err, anchor.ErrDemanded)
	r.moves.Store(report.Err == nil || len(report.Steps) > 0 || isOnce && r.moves.Load()) // of several tools, one may stay in the list
	if report.Err != nil {
		r.tellOnce(ctx, "loaded tools stay in the tool list: "+report.Err.Error())
	}
	if report.Dropped {
		r.drops.Store(true)
		r.tellOnce(ctx, "something before the model's earlier thinking changed, so the provider leaves that thinking out")
	}
	if report.Wire != "" {
		defined := toJSON(slices.Sorted(maps.Keys(report.Steps)))
		r.session.end(p.Search, anchor.Step{At: p.Now, Wire: report.Wire, JSON: defined}, ends)
	}
	for _, tool := range p.Tools {
		if sent := report.Steps[tool.Name]; len(sent) > 0 {
			r.session.define(tool.Name, listed[tool.Name], sent[len(sent)-1])
		}
	}
}

// isMovable reports whether a tool of the list is a loaded one whose definition belongs in the conversation.
func (r *run) isMovable(t *schema.ToolInfo) bool {
	if !conversation.IsLoaded(t, r.names.search) {
		return false
	}
	doc, ok := r.owns(t.Name)
	return ok && !r.isAlways(doc)
}

// isGone reports whether a tool that the conversation defines is not callable any more. A tool that Filter drops
// is not gone: the model must not see it, so its definition leaves the conversation. Neither is a name that
// another tool has now. About a tool that the catalog lost, Filter is asked with what the session still has of it.
func (r *run) isGone(ctx context.Context, tool *anchored, tools []*schema.ToolInfo) bool {
	doc, ok := r.scope.byName[tool.Name]
	_, exists := r.catalog.byName[tool.Name]
	return (exists && ok && r.scope.has(doc) || !exists && r.mayKnow(ctx, tool)) && !containsName(tools, tool.Name)
}

// mayKnow asks Filter about what the session still has of a tool.
func (r *run) mayKnow(ctx context.Context, tool *anchored) bool {
	may, err := foreign.Guard(func() (bool, error) {
		return r.config.Filter == nil || tool.doc != nil && r.config.Filter(ctx, *tool.doc), nil
	})
	return may && err == nil
}

// onWire returns the tool list that a provider sees.
func (r *run) onWire(tools []*schema.ToolInfo) []*schema.ToolInfo {
	if !r.moves.Load() {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), r.isMovable)
}

// checkTransport tells if the last planned call did not reach the transport.
func (r *run) checkTransport(ctx context.Context) {
	if r.unreported.Swap(false) {
		r.moves.Store(false)
		r.tellOnce(ctx, "a call of the model sent no request through AnchoredTransport in a form that it knows; "+
			"any other has loaded tools in its list")
	}
}

// tellOnce tells once what keeps ProtocolAnchored from its purpose.
func (r *run) tellOnce(ctx context.Context, problem string) {
	if r.told.isNew(problem) {
		r.events.fail(ctx, PartProtocol, errors.New("toolsearch: ProtocolAnchored: "+problem))
	}
}
