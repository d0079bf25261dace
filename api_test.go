package toolsearch_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	godoc "go/doc"
	"go/parser"
	"go/printer"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
)

var updateAPI = flag.Bool("update-api", false, "rewrite api.txt")

// publicPackages are the folders of the root module that others may import.
var publicPackages = []string{".", "search", "lock", "toolsearchtest", "eval", "mcp", "usage"}

// nestedPackages are the folders of nested modules that others may import.
var nestedPackages = []string{"otel"}

// parseFiles parses the files of a folder that are not tests.
func parseFiles(t *testing.T, dir string, mode parser.Mode) (*token.FileSet, []*ast.File) {
	t.Helper()
	paths := testtools.Must(filepath.Glob(filepath.Join(dir, "*.go")))(t)
	fset, files := token.NewFileSet(), []*ast.File(nil)
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := testtools.Must(parser.ParseFile(fset, path, nil, mode))(t)
		files = append(files, file)
	}
	return fset, files
}

// readPackage reads the docs of a folder.
func readPackage(t *testing.T, dir string, mode parser.Mode) (*token.FileSet, *godoc.Package) {
	t.Helper()
	fset, files := parseFiles(t, dir, mode)
	pkg := testtools.Must(godoc.NewFromFiles(fset, files, "github.com/eino-toolsearch/toolsearch/"+dir))(t)
	return fset, pkg
}

// Every exported name has a doc comment: packages, types, functions and methods. Fields and
// constants have a comment of their own or a comment over their group.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	for _, dir := range slices.Concat(publicPackages, nestedPackages) {
		fset, pkg := readPackage(t, dir, parser.ParseComments)
		var undocumented []string
		missing := func(node ast.Node, name string) {
			undocumented = append(undocumented, fmt.Sprintf("%s: %s", fset.Position(node.Pos()), name))
		}
		assert.NotEmpty(t, pkg.Doc, "the doc comment of package %s", pkg.Name)
		values, funcs := slices.Concat(pkg.Consts, pkg.Vars), slices.Clone(pkg.Funcs)
		for _, typ := range pkg.Types {
			values = slices.Concat(values, typ.Consts, typ.Vars)
			funcs = slices.Concat(funcs, typ.Funcs, typ.Methods)
			if typ.Doc == "" {
				missing(typ.Decl, typ.Name)
			}
			for _, field := range undocumentedFields(fset, typ) {
				missing(field, typ.Name+"."+field.Name)
			}
		}
		for _, f := range funcs {
			if f.Doc == "" {
				missing(f.Decl, f.Name)
			}
		}
		for _, v := range values {
			for _, spec := range v.Decl.Specs {
				if s := spec.(*ast.ValueSpec); v.Doc == "" && s.Doc == nil && s.Comment == nil && !selfEvident[v.Names[0]] {
					missing(s, s.Names[0].Name)
				}
			}
		}
		assert.Empty(t, undocumented, "package %s: names without a doc comment", pkg.Name)
	}
}

// selfEvident are first constants of groups that need no comment.
var selfEvident = map[string]bool{"English": true}

// selfEvidentFields are fields that need no comment beside the doc of their struct.
var selfEvidentFields = map[string]bool{
	"Document.Name": true, "Document.Description": true, "Parameter.Description": true,
	"Call.Name": true, "Call.Arguments": true, "Call.ID": true,
	"Message.Role": true, "Message.Extra": true, "Request.Messages": true, "Request.Streaming": true,
	"Turn.Text": true, "Turn.Calls": true,
	"Catalog.Tools": true, "Estimate.Value": true, "Estimate.Low": true, "Estimate.High": true,
	"Query.ID": true, "Query.Text": true, "Options.Seed": true,
}

// undocumentedFields returns the exported fields that have neither a comment of their own nor a
// comment over their block of lines.
func undocumentedFields(fset *token.FileSet, typ *godoc.Type) (names []*ast.Ident) {
	body, ok := typ.Decl.Specs[0].(*ast.TypeSpec).Type.(*ast.StructType)
	if !ok {
		return nil
	}
	covered, last := false, 0
	for _, field := range body.Fields.List {
		covered = field.Doc != nil || covered && fset.Position(field.Pos()).Line == last+1
		last = fset.Position(field.End()).Line
		for _, name := range field.Names {
			if name.IsExported() && !covered && field.Comment == nil && !selfEvidentFields[typ.Name+"."+name.Name] {
				names = append(names, name)
			}
		}
	}
	return names
}

// alignment matches the space that gofmt puts between the columns of a struct. The space depends
// on the longest name, so a new field could change every line.
var alignment = regexp.MustCompile(`(\S)[\t ]+`)

// api returns the exported declarations of a package, without comments.
func api(t *testing.T, dir string) string {
	fset, pkg := readPackage(t, dir, 0)
	var list []string
	add := func(decl ast.Decl) {
		var text bytes.Buffer
		require.NoError(t, printer.Fprint(&text, fset, decl))
		list = append(list, alignment.ReplaceAllString(strings.ReplaceAll(text.String(), "\n\n", "\n"), "$1 "))
	}
	addAll := func(values []*godoc.Value, funcs []*godoc.Func) {
		for _, v := range values {
			add(v.Decl)
		}
		for _, f := range funcs {
			f.Decl.Body = nil
			add(f.Decl)
		}
	}
	addAll(slices.Concat(pkg.Consts, pkg.Vars), pkg.Funcs)
	for _, typ := range pkg.Types {
		add(typ.Decl)
		addAll(slices.Concat(typ.Consts, typ.Vars), slices.Concat(typ.Funcs, typ.Methods))
	}
	return "package " + pkg.Name + "\n\n" + strings.Join(list, "\n")
}

// In review, a change of the API shows as a change of api.txt.
func TestAPI(t *testing.T) {
	var all []string
	for _, dir := range slices.Concat(publicPackages, nestedPackages) {
		all = append(all, api(t, dir))
	}
	got := "// What can be imported. Written by: go test -run '^TestAPI$' -update-api .\n\n" + strings.Join(all, "\n\n") + "\n"
	if *updateAPI {
		require.NoError(t, os.WriteFile("api.txt", []byte(got), 0o644))
	}
	want := testtools.Must(os.ReadFile("api.txt"))(t)
	is, was := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	assert.Empty(t, linesBeyond(is, was), "new lines")
	assert.Empty(t, linesBeyond(was, is), "missing lines")
	// assert.Equal prints both texts in full.
	assert.True(t, got == string(want), "api.txt is the API; to change the API, see the first line of api.txt and CONTRIBUTING.md")
}

// linesBeyond returns the lines that are not known.
func linesBeyond(lines, known []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(line string) bool { return slices.Contains(known, line) })
}
