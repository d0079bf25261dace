package lock

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cloudwego/eino/schema"
	"golang.org/x/text/unicode/norm"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Definitions: which parts of a tool are locked, and how they are hashed.

// Bounds on a definition, in bytes. A definition beyond them cannot be approved.
const (
	maxNameBytes        = 1 << 10 // of a name or a namespace
	maxDescriptionBytes = search.MaxDescriptionBytes
	maxParametersBytes  = 1 << 20
)

// An ID names a tool. Both parts count exactly.
type ID struct {
	Namespace string // "" means that the tool has none
	Name      string // the whole name, with any prefix of the namespace
}

// String returns "name" or "name of namespace" in a form for a terminal, cut to some 200
// characters.
func (id ID) String() string {
	if id.Namespace == "" {
		return naming.Visible(id.Name, naming.MaxBytes)
	}
	return naming.Visible(id.Name, naming.MaxBytes) + " of " + naming.Visible(id.Namespace, 64)
}

// A Definition is what a lock knows of a tool: the part that a model reads. The order of the schema's
// keys does not matter. Tags, hints and whatever else the program knows of a tool are not part of it.
type Definition struct {
	ID
	Description string // "" means none
	Parameters  string // the JSON schema in canonical form
	sum         sum
}

// noParameters is the schema of a tool without one, as a catalog fills it in.
const noParameters = `{"properties":{},"type":"object"}`

// define returns the definition of a document: the name, description and schema of its Info, if it
// has one. It fails on a definition that cannot be locked, and then returns what can be read of it.
func define(doc *search.Document) (d Definition, err error) {
	d = Definition{ID: ID{doc.Namespace, doc.Name}, Description: doc.Description, Parameters: noParameters}
	if doc.Info != nil {
		d.Name, d.Description = doc.Info.Name, doc.Info.Desc
		if doc.Info.ParamsOneOf != nil {
			d.Parameters, err = parametersOf(doc.Info)
		}
	}
	return d.sealed(cmp.Or(d.check(), err))
}

// sealed returns the definition with its hash, unless there is an error.
func (d Definition) sealed(err error) (Definition, error) {
	if err == nil {
		b := append([]byte(nil), `{"description":`...)
		b = append(appendText(b, d.Description), `,"name":`...)
		b = append(appendText(b, d.Name), `,"parameters":`...)
		d.sum = sha256.Sum256(append(append(b, d.Parameters...), '}'))
	}
	return d, err
}

// check returns why a definition cannot be locked, apart from its parameters.
func (d *Definition) check() error {
	switch {
	case d.Name == "":
		return errors.New("it has no name")
	case len(d.Name) > maxNameBytes || len(d.Namespace) > maxNameBytes:
		return fmt.Errorf("its name or namespace is longer than %d bytes", maxNameBytes)
	case len(d.Description) > maxDescriptionBytes:
		return fmt.Errorf("its description is longer than %d bytes", maxDescriptionBytes)
	case !utf8.ValidString(d.Name) || !utf8.ValidString(d.Namespace) || !utf8.ValidString(d.Description):
		return errors.New("its name, namespace or description is not UTF-8")
	}
	return nil
}

func parametersOf(info *schema.ToolInfo) (string, error) {
	root, err := foreign.Guard(info.ToJSONSchema)
	switch {
	case err != nil:
		return "", errors.New("its schema is wrong")
	case root == nil:
		return noParameters, nil
	case !schemacheck.IsWritable(root):
		return "", errors.New("its schema is too large or nested too deep")
	}
	text, err := json.Marshal(root)
	switch {
	case err != nil:
		return "", errors.New("its schema is not JSON")
	case len(text) > maxParametersBytes:
		return "", fmt.Errorf("its schema is longer than %d bytes", maxParametersBytes)
	case bytes.Contains(text, []byte(`\ufffd`)): // encoding/json writes this for invalid bytes
		return "", errors.New("its schema has text that is not UTF-8")
	}
	value, err := readJSON(text)
	if err != nil {
		return "", errors.New("its schema is not JSON")
	}
	return string(appendCanonical(nil, value)), nil
}

// mended returns the definition that a catalog makes of d if d comes from a Source and providers
// would refuse its schema. Whoever approved d has approved the mended definition, which says nothing
// more. Without a need to mend, it is the zero value.
func (d *Definition) mended() Definition {
	s, err := schemacheck.Read([]byte(d.Parameters))
	if err != nil {
		return Definition{}
	}
	info := &schema.ToolInfo{Name: d.Name, Desc: d.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)}
	info, refusal, _ := schemacheck.Mended(info)
	if info == nil || refusal == nil {
		return Definition{}
	}
	mended, _ := define(&search.Document{Info: info, Annotation: search.Annotation{Namespace: d.Namespace}})
	return mended
}

// A sum is a SHA-256.
type sum [sha256.Size]byte

// hash returns the hash by which a lock knows the definition, in hex. Finding.MarshalJSON says what is hashed.
func (d Definition) hash() string { return hex.EncodeToString(d.sum[:]) }

// content returns a hash that a copy of the tool under another name shares: the hash of the
// letters and digits of its description, and of its parameters. ok is false for a tool without a
// description, since similar tools are then not copies.
func (d *Definition) content() (s sum, ok bool) {
	text := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && !naming.IsHidden(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKC.String(d.Description))
	if text == "" {
		return sum{}, false
	}
	return sha256.Sum256([]byte(text + "\x00" + d.Parameters)), true
}
