// Package mcp makes Groups of the servers in an mcp.json, for agents whose tools come from servers of the Model
// Context Protocol:
//
//	file, err := mcp.ReadFile("mcp.json")
//	servers, err := mcp.Connect(ctx, file)
//	defer servers.Close()
//	search, err := toolsearch.New(ctx, &toolsearch.Config{Groups: servers.Groups(), Index: toolsearch.BM25})
//
// The official SDK speaks the protocol (revisions 2024-11-05 to 2026-07-28). What the SDK leaves to its user is here:
// connections that are made anew, lists that are asked for only when they may have changed, and bounds on what a server
// sends, since servers are not trusted.
//
//   - A server that is slow, gone or broken costs the others nothing. The next run or call connects again.
//   - A list is kept for as long as the server says (ttlMs), and for as long as the server would tell of a change
//     (listChanged), up to ten minutes. Otherwise each run asks for it.
//   - A call is sent once: if the connection was lost, the call may have taken effect, and the result says so.
//     Errors of tools and connections are results that the model reads.
//   - One message, or all that comes in a minute without a request, is at most 32 MiB; a list at most 10,000 tools on
//     1,000 pages; JSON nests at most 64 deep; a server may ask 1,000 times a minute; redirects stay on its own origin.
//
// The title of a tool is an alias, and the hints in its annotations are tags: read-only, destructive, idempotent,
// open-world, and always-load for the mark of that name in its _meta, as in [toolsearch.Annotate].
package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/eino-toolsearch/toolsearch"
)

const (
	startTime   = 3 * time.Minute  // for a server to start and to list its tools: npx downloads a package the first time
	helloTime   = 30 * time.Second // that Connect waits for it
	maxAge      = 10 * time.Minute // of a list, whatever the server promises
	maxCallers  = 64               // connected at a time to a server
	maxGreeting = 2 << 10          // bytes of a server's instructions that are kept
)

// Servers are the connections to the servers of a File. They are safe for concurrent use.
type Servers struct {
	servers []*server // by name
	end     context.CancelCauseFunc
}

// An Info is what a server says about itself.
type Info struct {
	Namespace    string `json:"namespace,omitempty"`    // its name in the File
	Name         string `json:"name"`                   // that it gives itself; "" if it has not answered
	Version      string `json:"version"`                // of the server
	Protocol     string `json:"protocol"`               // the revision that is spoken
	Instructions string `json:"instructions,omitempty"` // up to 2 KiB
	StrayLines   int    `json:"stray_lines,omitempty"`  // output lines that are not messages
}

var errClosed = errors.New("the servers were closed")

// Connect connects to all servers of a file at once. It waits until each of them has listed its tools or failed, at most
// 30 seconds, and not for servers in the file's Manifest. A server that is late or fails is not an error: its tools come
// with a later run, but its Group has no Description. Connect fails if an entry of the file is wrong, or ctx is done.
// The connections last until Close.
func Connect(ctx context.Context, file *File) (*Servers, error) {
	names, filled, err := file.servers()
	if err != nil {
		return nil, err
	}
	living, end := context.WithCancelCause(context.Background())
	all := &Servers{end: end}
	kept := &manifest{path: file.Manifest}
	kept.read(filled)
	for _, name := range names {
		s := &server{name: name, at: filled[name], file: *file, ctx: living, kept: kept, callers: make(map[string]*caller)}
		all.servers = append(all.servers, s)
	}
	waiting, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	var hellos []<-chan singleflight.Result
	for _, s := range all.servers {
		s.first = s.caller(ctx)
		isStored := s.first.stored != nil
		if answer := s.first.ask(ctx); !isStored {
			hellos = append(hellos, answer)
		}
	}
	for _, answer := range hellos {
		select {
		case <-answer:
		case <-waiting.Done():
		}
	}
	if ctx.Err() == nil {
		return all, nil
	}
	var errs []error
	for _, s := range all.servers {
		if s.first.info().Protocol == "" {
			errs = append(errs, fmt.Errorf("the server %s: %w", s.label(), context.Cause(ctx)))
		}
	}
	all.Close()
	return nil, cmp.Or(errors.Join(errs...), context.Cause(ctx))
}

// Groups returns a Group for each server, by name: its tools, behind its name as a prefix, and its instructions as the
// Description. Its tools also have a method Definition() json.RawMessage, the definition as the server sent it.
func (s *Servers) Groups() []toolsearch.Group {
	groups := make([]toolsearch.Group, len(s.servers))
	for i, of := range s.servers {
		groups[i] = toolsearch.Group{Name: of.name, Description: of.first.info().Instructions, Source: of.tools, Prefix: true}
		if of.isPerCaller() {
			groups[i].PerCaller = of.file.PerCaller
		}
	}
	return groups
}

// Infos returns what the servers have said about themselves, in the order of Groups.
func (s *Servers) Infos() []Info {
	infos := make([]Info, len(s.servers))
	for i, of := range s.servers {
		infos[i] = of.first.info()
	}
	return infos
}

// Close ends all connections and processes. It waits at most a few seconds.
func (s *Servers) Close() error {
	s.end(errClosed)
	var all sync.WaitGroup
	for _, of := range s.servers {
		all.Go(of.close)
	}
	all.Wait()
	return nil
}
