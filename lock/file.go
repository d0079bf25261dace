package lock

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// The lock file:
//
//	{
//	  "lock_version": 1,
//	  "namespaces": {
//	    "github": {
//	      "create_issue": {
//	        "description": "...",
//	        "parameters": {...},
//	        "sha256": "..."
//	      }
//	    }
//	  }
//	}
//
// Hashes decide; the texts are there for reviewers and for Diff. So a file whose hash does not
// match the texts beside it is refused: otherwise a reviewer would read one definition and
// approve another.

// FileName is the usual name of a lock file.
const FileName = "toolsearch.lock.json"

// MaxFileBytes is the size of the largest lock file that is read or written.
const MaxFileBytes = 64 << 20

const version = "1"

// A File holds the approved definitions of a lock file. The zero value has none. It is not safe
// for concurrent use while it changes.
type File struct {
	tools map[ID]entry
}

type entry struct {
	Definition
	sum sum
}

// Read reads what Write wrote. It fails on anything else, on a file of more than MaxFileBytes, and
// on a hash that does not match the definition beside it. The layout of the JSON does not matter.
func Read(r io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxFileBytes+1))
	if err == nil && len(data) > MaxFileBytes {
		err = fmt.Errorf("more than %d MiB", MaxFileBytes>>20)
	}
	var value any
	if err == nil {
		value, err = readJSON(data)
	}
	var f *File
	if err == nil {
		f, err = fileOf(value)
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	return f, nil
}

// ReadFile is Read for a file. For a file that does not exist, the error wraps fs.ErrNotExist.
func ReadFile(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	defer file.Close()
	f, err := Read(file)
	if err != nil {
		return nil, fmt.Errorf("lock: %s: %s", path, strings.TrimPrefix(err.Error(), "lock: "))
	}
	return f, nil
}

// fileOf interprets the JSON of a lock file. No key may be unknown.
func fileOf(value any) (*File, error) {
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
	f := &File{tools: make(map[ID]entry)}
	for namespace, value := range namespaces {
		tools, ok := value.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("namespace %s: want an object of tools", naming.Visible(namespace, 100))
		}
		for name, value := range tools {
			id := ID{namespace, name}
			e, err := entryOf(id, value)
			if err != nil {
				return nil, fmt.Errorf("%v: %w", id, err)
			}
			f.tools[id] = e
		}
	}
	return f, nil
}

func entryOf(id ID, value any) (entry, error) {
	fields, _ := value.(map[string]any)
	description, isText := fields["description"].(string)
	parameters, hasParameters := fields["parameters"]
	hash, isHash := fields["sha256"].(string)
	if !isText || !hasParameters || !isHash || len(fields) != 3 {
		return entry{}, errors.New(`want "description", "parameters" and "sha256" alone`)
	}
	e := entry{Definition: Definition{ID: id, Description: description, Parameters: string(appendCanonical(nil, parameters))}}
	if err := e.check(); err != nil {
		return entry{}, err
	}
	e.sum = e.Definition.sum()
	if hex.EncodeToString(e.sum[:]) != hash {
		return entry{}, errors.New("its sha256 is not that of the definition beside it; has the file been edited by hand?")
	}
	return e, nil
}

// Write writes the file: the same tools give the same bytes. It fails if the file would have
// more than MaxFileBytes.
func (f *File) Write(w io.Writer) error {
	data, err := f.bytes()
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	_, err = w.Write(data)
	return err
}

func (f *File) bytes() ([]byte, error) {
	namespaces := make(map[string]any)
	for id, e := range f.tools {
		parameters, err := readJSON([]byte(e.Parameters))
		if err != nil {
			return nil, fmt.Errorf("%v: %w", id, err)
		}
		tools, ok := namespaces[id.Namespace].(map[string]any)
		if !ok {
			tools = make(map[string]any)
			namespaces[id.Namespace] = tools
		}
		tools[id.Name] = map[string]any{"description": e.Description, "parameters": parameters, "sha256": e.SHA256()}
	}
	canonical := appendCanonical(nil, map[string]any{"lock_version": json.Number(version), "namespaces": namespaces})
	var indented bytes.Buffer
	if err := json.Indent(&indented, canonical, "", "  "); err != nil {
		return nil, err
	}
	data := append(escapeHidden(indented.Bytes()), '\n')
	if len(data) > MaxFileBytes {
		return nil, fmt.Errorf("the lock file would have more than %d MiB", MaxFileBytes>>20)
	}
	return data, nil
}

// WriteFile replaces a file as a whole: a concurrent reader, and a reader after a crash, finds
// the old file or the new file. A new file gets mode 0644; a replaced file keeps its mode. A
// symbolic link stays, and its target is replaced. If two programs write at the same time, the
// later file stays.
func (f *File) WriteFile(path string) error {
	data, err := f.bytes()
	if err == nil {
		err = replaceFile(path, data)
	}
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	return nil
}

func replaceFile(path string, data []byte) (err error) {
	mode := os.FileMode(0o644)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
		if info, err := os.Stat(path); err == nil {
			mode = info.Mode().Perm()
		}
	}
	file, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
		}
	}()
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := errors.Join(file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// Definitions returns the approved definitions, sorted by namespace and name.
func (f *File) Definitions() []Definition {
	list := make([]Definition, 0, len(f.tools))
	for _, id := range f.ids() {
		list = append(list, f.tools[id].Definition)
	}
	return list
}

func (f *File) ids() []ID { return slices.SortedFunc(maps.Keys(f.tools), compareIDs) }

// Approve adds definitions, which replace earlier definitions of the same tools. It fails, and adds
// none, if a definition cannot be locked or if two documents of the same tool differ.
func (f *File) Approve(docs ...search.Document) error {
	added := make(map[ID]entry, len(docs))
	for i := range docs {
		d, err := Define(docs[i])
		if err != nil {
			return fmt.Errorf("lock: %v: %w", d.ID, err)
		}
		e := entry{d, d.sum()}
		if other, twice := added[d.ID]; twice && other.sum != e.sum {
			return fmt.Errorf("lock: %v: two tools of that name with different definitions", d.ID)
		}
		added[d.ID] = e
	}
	if f.tools == nil {
		f.tools = make(map[ID]entry, len(added))
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
	x := f.index()
	seen := make(map[ID]bool, len(docs))
	var findings []Finding
	for i := range docs {
		finding, ok := x.judge(&docs[i])
		seen[finding.ID] = true
		if !ok {
			findings = append(findings, finding)
		}
	}
	for _, id := range f.ids() {
		if !seen[id] {
			was := f.tools[id].Definition
			findings = append(findings, Finding{Kind: Missing, ID: id, Was: &was})
		}
	}
	slices.SortStableFunc(findings, func(a, b Finding) int { return compareIDs(a.ID, b.ID) })
	return findings
}

// An index is a File that no longer changes, prepared for comparing.
type index struct {
	tools  map[ID]entry
	copies map[sum]ID // content -> the first tool that has it
}

func (f *File) index() *index {
	x := &index{tools: maps.Clone(f.tools), copies: make(map[sum]ID, len(f.tools))}
	for _, id := range f.ids() {
		e := f.tools[id]
		if content, ok := e.content(); ok {
			if _, taken := x.copies[content]; !taken {
				x.copies[content] = id
			}
		}
	}
	return x
}

// judge compares a tool with the lock. ok means that it is as approved; the Finding then has
// only an ID.
func (x *index) judge(doc *search.Document) (f Finding, ok bool) {
	d, err := Define(*doc)
	if err != nil {
		return Finding{Kind: Refused, ID: d.ID, Reason: err.Error()}, false
	}
	approved, known := x.tools[d.ID]
	if known && approved.sum == d.sum() {
		return Finding{ID: d.ID}, true
	}
	if known {
		if mended, differs := approved.mended(); differs && mended.sum() == d.sum() {
			return Finding{ID: d.ID}, true
		}
	}
	f = Finding{Kind: New, ID: d.ID, Is: &d}
	if content, ok := d.content(); ok {
		if original, copied := x.copies[content]; copied && original != d.ID {
			f.Kind, f.Original = Copied, original
		}
	}
	if known {
		f.Kind, f.Was = Changed, &approved.Definition
	}
	return f, false
}
