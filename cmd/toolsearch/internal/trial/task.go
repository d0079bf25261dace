package trial

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/cmd/toolsearch/internal/cli"
	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// Tasks: lines of a file of queries, as eval reads it, with two more keys:
//
//	{"id": ..., "query": the request, "gold": [...], "accept": [[...], ...], "arguments": {tool: {...}, ...}}

// A task is what a model is asked to do.
type task struct {
	eval.Query // solved when a tool of each of its groups was called

	// Arguments that a call of a tool must have, by the tool; it may have others too.
	Arguments map[string]map[string]any
}

// readTasks reads the tasks of a file. Those without a request are skeletons that nobody has completed.
func readTasks(ctx context.Context, c *cli.Call, path string, known map[string]string) (tasks []task) {
	file, data := c.ReadFile(ctx, path)
	kept, left := bytes.Clone(data), 0
	var arguments []map[string]map[string]any
	cli.Check(toolfile.Values(data, func(from, to int) error {
		var line struct {
			Query     any
			Arguments map[string]map[string]any
		}
		if err := json.Unmarshal(data[from:to], &line); err != nil {
			return fmt.Errorf("%s:%d: %w", file, 1+bytes.Count(data[:from], []byte("\n")), err)
		}
		if line.Query != "" {
			arguments = append(arguments, line.Arguments)
			return nil
		}
		left++
		for i := from; i < to; i++ {
			kept[i] = min(kept[i], ' ') // its lines stay, for the errors of others
		}
		return nil
	}))
	if left > 0 {
		fmt.Fprintf(c.Stderr, "Left out: %s without a request. Write it as the task's \"query\".\n", cli.Plural(left, "task"))
	}
	for i, q := range cli.Must(eval.ReadQueries(bytes.NewReader(kept), file)) {
		for _, name := range slices.Concat(append(slices.Clone(q.Groups), slices.Sorted(maps.Keys(arguments[i])))...) {
			if _, ok := known[name]; !ok {
				cli.Check(fmt.Errorf("%s: task %q: the catalog has no tool %q", file, q.ID, cli.OneLine(name, 64)))
			}
		}
		tasks = append(tasks, task{q, arguments[i]})
	}
	return tasks
}

// A call is a call of a tool that was run.
type call struct {
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`
}

// solves reports whether a call does a part of the task.
func (t *task) solves(c call) bool {
	var given map[string]any
	_ = json.Unmarshal([]byte(c.Arguments), &given) // what is no object has no arguments
	for key, want := range t.Arguments[c.Tool] {
		if !reflect.DeepEqual(given[key], want) {
			return false
		}
	}
	return t.needs(c.Tool)
}

func (t *task) needs(tool string) bool {
	return slices.ContainsFunc(t.Groups, func(group []string) bool { return slices.Contains(group, tool) })
}

// isSolved reports whether calls do the whole task, in any order.
func (t *task) isSolved(calls []call) bool {
	return !slices.ContainsFunc(t.Groups, func(group []string) bool {
		return !slices.ContainsFunc(calls, func(c call) bool { return slices.Contains(group, c.Tool) && t.solves(c) })
	})
}

// maxAcross is how many tasks over two servers, and over three, skeletons have.
const maxAcross = 20

// skeletons returns a task for each tool, and tasks over two and three servers, as lines without requests.
func (r *trial) skeletons() (text []byte) {
	write := func(needed ...*schema.ToolInfo) {
		var line struct {
			ID    string   `json:"id"`
			Query string   `json:"query"` // to be written
			Gold  []string `json:"gold"`
			About []string `json:"about"` // for whoever writes it
		}
		for _, info := range needed {
			line.Gold, line.About = append(line.Gold, info.Name), append(line.About, naming.OneLine(info.Desc, 120))
		}
		line.ID = strings.Join(line.Gold, "+")
		text = append(text, cli.Line(line)...)
	}
	byServer := make(map[string][]*schema.ToolInfo)
	for _, info := range r.catalog.Tools {
		write(info)
		byServer[r.servers[info.Name]] = append(byServer[r.servers[info.Name]], info)
	}
	servers := slices.Sorted(maps.Keys(byServer))
	for n := 2; n <= min(3, len(servers)); n++ {
		for i := range min(maxAcross, len(r.catalog.Tools)) { // neighbours, each round with their next tools
			var needed []*schema.ToolInfo
			for j := range n {
				list := byServer[servers[(i+j)%len(servers)]]
				needed = append(needed, list[(i/len(servers)+j)%len(list)])
			}
			write(needed...)
		}
	}
	return text
}
