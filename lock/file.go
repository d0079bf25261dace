package lock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The lock file:
//
//	{"lock_version": 1, "namespaces": {"github": {
//	  "create_issue": {"description": "...", "parameters": {...}, "sha256": "..."}}}}
//
// Hashes decide; the texts are there for reviewers and for Diff. So a file whose hash does not
// match the texts beside it is refused: otherwise a reviewer would read one definition and
// approve another.

// FileName is the usual name of a lock file.
const FileName = "toolsearch.lock.json"

const version = "1"

// A File holds the approved definitions of a lock file. The zero value has none. It is not safe
// for concurrent use while it changes.
type File struct {
	tools map[ID]definition
}

// ReadFile reads what WriteFile wrote. It fails on anything else, on a file of more than 64 MiB, and
// on a hash that does not match the definition beside it. The layout of the JSON does not matter. For
// a file that does not exist, the error wraps fs.ErrNotExist.
func ReadFile(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	defer file.Close()
	f, err := read(file)
	if err != nil {
		return nil, fmt.Errorf("lock: %s: %w", path, err)
	}
	return f, nil
}

// read interprets the JSON of a lock file. No key may be unknown.
func read(r io.Reader) (*File, error) {
	data, err := toolfile.Read(r)
	if err != nil {
		return nil, err
	}
	value, err := readJSON(data)
	if err != nil {
		return nil, err
	}
	top, ok := value.(map[string]any)
	if !ok || top["lock_version"] == nil {
		return nil, errors.New(`not a lock file: want an object with "lock_version"`)
	}
	if v, _ := top["lock_version"].(json.Number); v != version {
		return nil, fmt.Errorf("lock_version is not %s; another version of the program wrote this file", version)
	}
	namespaces, ok := top["namespaces"].(map[string]any)
	if !ok || len(top) != 2 {
		return nil, errors.New(`want "lock_version" and "namespaces" alone`)
	}
	f := &File{tools: make(map[ID]definition)}
	for namespace, value := range namespaces {
		tools, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("namespace %s: want an object of tools", naming.Visible(namespace, 100))
		}
		for name, value := range tools {
			id := ID{namespace, name}
			var err error
			if f.tools[id], err = entryOf(id, value); err != nil {
				return nil, fmt.Errorf("%v: %w", id, err)
			}
		}
	}
	return f, nil
}

func entryOf(id ID, value any) (d definition, err error) {
	fields, _ := value.(map[string]any)
	description, isText := fields["description"].(string)
	parameters, hasParameters := fields["parameters"]
	hash, isHash := fields["sha256"].(string)
	if !isText || !hasParameters || !isHash || len(fields) != 3 {
		return d, errors.New(`want "description", "parameters" and "sha256" alone`)
	}
	d = definition{ID: id, description: description, parameters: string(appendCanonical(nil, parameters))}
	if err = d.seal(); err == nil && d.sum.String() != hash {
		err = errors.New("its sha256 is not that of the definition beside it; has the file been edited by hand?")
	}
	return d, err
}

func (f *File) bytes() ([]byte, error) {
	namespaces := make(map[string]any)
	for id, d := range f.tools {
		tools, ok := namespaces[id.Namespace].(map[string]any)
		if !ok {
			tools = make(map[string]any)
			namespaces[id.Namespace] = tools
		}
		tools[id.Name] = map[string]any{"description": d.description, "parameters": json.RawMessage(d.parameters), "sha256": d.sum.String()}
	}
	canonical := appendCanonical(nil, map[string]any{"lock_version": json.Number(version), "namespaces": namespaces})
	var indented bytes.Buffer
	if err := json.Indent(&indented, canonical, "", "  "); err != nil {
		return nil, err
	}
	data := append(escapeHidden(indented.Bytes()), '\n')
	if len(data) > toolfile.MaxBytes { // ReadFile would refuse it
		return nil, fmt.Errorf("the lock file would have more than %d MiB", toolfile.MaxBytes>>20)
	}
	return data, nil
}

// WriteFile replaces a file as a whole: a concurrent reader, and a reader after a crash, finds
// the old file or the new file. A new file gets mode 0644; a replaced file keeps its mode. A
// symbolic link stays, and its target is replaced. If two programs write at the same time, the
// later file stays. The same tools give the same bytes. More than 64 MiB is an error.
func (f *File) WriteFile(path string) error {
	data, err := f.bytes()
	if err == nil {
		err = toolfile.Replace(path, data, 0o644)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

// IDs returns the tools whose definitions are approved, sorted by namespace and name.
func (f *File) IDs() []ID { return slices.SortedFunc(maps.Keys(f.tools), compareIDs) }

// Approve adds the definitions of documents: the name, description and schema of their Info, under
// their Namespace. They replace earlier definitions of the same tools. It fails, and adds none, if two
// documents of the same tool differ or if a definition cannot be locked: an empty name, text that is
// not UTF-8, a schema that cannot be written as JSON, and anything beyond 1 KiB of name or namespace,
// 64 KiB of description and 1 MiB of schema.
func (f *File) Approve(docs ...search.Document) error {
	added := make(map[ID]definition, len(docs))
	for i := range docs {
		d, err := define(&docs[i])
		if other, twice := added[d.ID]; twice && other.sum != d.sum {
			err = cmp.Or(err, errors.New("two tools of that name with different definitions"))
		}
		if err != nil {
			return fmt.Errorf("lock: %v: %w", d.ID, err)
		}
		added[d.ID] = d
	}
	if f.tools == nil {
		f.tools = added
	}
	maps.Copy(f.tools, added)
	return nil
}

// Remove takes a tool out of the file and reports whether it was there.
func (f *File) Remove(id ID) bool {
	_, there := f.tools[id]
	delete(f.tools, id)
	return there
}

// Verify compares a whole catalog with the file: it returns a Finding for each tool that is new,
// changed, a copy or impossible to lock, and for each approved tool that is missing, sorted by
// namespace and name. Nil means that the whole catalog is as approved.
func (f *File) Verify(docs []search.Document) []Finding {
	a := f.approved()
	seen := make(map[ID]bool, len(docs))
	var findings []Finding
	for i := range docs {
		finding, ok := a.judge(&docs[i])
		seen[finding.ID] = true
		if !ok {
			findings = append(findings, finding)
		}
	}
	for id, was := range f.tools {
		if !seen[id] {
			findings = append(findings, Finding{Kind: Missing, ID: id, was: &was})
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return compareIDs(a.ID, b.ID) })
	return findings
}

// approved is a File that no longer changes, prepared for comparing.
type approved struct {
	tools  map[ID]definition
	copies map[sum]ID // content -> the first tool that has it
}

func (f *File) approved() *approved {
	a := &approved{tools: maps.Clone(f.tools), copies: make(map[sum]ID, len(f.tools))}
	for _, id := range slices.Backward(f.IDs()) { // of two with the same content, the first stays
		d := f.tools[id]
		if content, ok := d.content(); ok {
			a.copies[content] = id
		}
	}
	return a
}

// judge compares a tool with the lock. ok means that it is as approved; the Finding then has
// only an ID.
func (a *approved) judge(doc *search.Document) (f Finding, ok bool) {
	d, err := define(doc)
	if err != nil {
		return Finding{Kind: Refused, ID: d.ID, Reason: err.Error()}, false
	}
	was, known := a.tools[d.ID]
	as := d
	if !known && d.Namespace != "" { // a Group may show the tool under another name than its own
		as.Name = cmp.Or(doc.Original, strings.TrimPrefix(d.Name, naming.PrefixOf(d.Namespace)+"__"))
		if as.seal() == nil {
			was, known = a.tools[as.ID]
		}
	}
	if known && (was.sum == as.sum || was.mended().sum == as.sum) {
		return Finding{ID: d.ID}, true
	}
	f = Finding{Kind: New, ID: d.ID, is: &d}
	if content, ok := d.content(); ok {
		if original, copied := a.copies[content]; copied && original != d.ID {
			f.Kind, f.Original = Copied, original
		}
	}
	if known {
		f.Kind, f.was = Changed, &was
	}
	return f, false
}
