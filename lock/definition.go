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

// A definition is what a lock knows of a tool: the part that a model reads. The order of the schema's
// keys does not matter. Tags, hints and whatever else the program knows of a tool are not part of it.
type definition struct {
	ID
	description string
	parameters  string // the JSON schema in canonical form
	sum         sum
}

// noParameters is the schema of a tool without one, as a catalog fills it in.
const noParameters = `{"properties":{},"type":"object"}`

// define returns the definition of a document: the name, description and schema of its Info, if it
// has one. It fails on a definition that cannot be locked, and then returns what can be read of it.
func define(doc *search.Document) (d definition, err error) {
	d = definition{ID: ID{doc.Namespace, doc.Name}, description: doc.Description, parameters: noParameters}
	if doc.Info != nil {
		d.Name, d.description = doc.Info.Name, doc.Info.Desc
		if doc.Info.ParamsOneOf != nil {
			d.parameters, err = parametersOf(doc.Info)
		}
	}
	err = cmp.Or(d.seal(), err)
	return d, err
}

// seal computes the hash of a definition, or returns why it cannot be locked, apart from its parameters.
func (d *definition) seal() error {
	switch {
	case d.Name == "":
		return errors.New("it has no name")
	case len(d.Name) > maxNameBytes || len(d.Namespace) > maxNameBytes:
		return fmt.Errorf("its name or namespace is longer than %d bytes", maxNameBytes)
	case len(d.description) > maxDescriptionBytes:
		return fmt.Errorf("its description is longer than %d bytes", maxDescriptionBytes)
	case !utf8.ValidString(d.Name) || !utf8.ValidString(d.Namespace) || !utf8.ValidString(d.description):
		return errors.New("its name, namespace or description is not UTF-8")
	}
	b := append([]byte(nil), `{"description":`...)
	b = append(appendText(b, d.description), `,"name":`...)
	b = append(appendText(b, d.Name), `,"parameters":`...)
	d.sum = sha256.Sum256(append(append(b, d.parameters...), '}'))
	return nil
}

func parametersOf(info *schema.ToolInfo) (string, error) {
	root, _, err := schemacheck.SchemaOf(info)
	switch {
	case err != nil:
		return "", errors.New("its schema is wrong, too large, or nested too deep")
	case root == nil:
		return noParameters, nil
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
func (d *definition) mended() definition {
	s, err := schemacheck.Read([]byte(d.parameters))
	if err != nil {
		return definition{}
	}
	info := &schema.ToolInfo{Name: d.Name, Desc: d.description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)}
	info, refusal, _ := schemacheck.Mended(info)
	if info == nil || refusal == nil {
		return definition{}
	}
	mended, _ := define(&search.Document{Info: info, Annotation: search.Annotation{Namespace: d.Namespace}})
	return mended
}

// A sum is a SHA-256. Finding.MarshalJSON says of what a lock takes it.
type sum [sha256.Size]byte

func (s sum) String() string { return hex.EncodeToString(s[:]) }

// content returns a hash that a copy of the tool under another name shares: the hash of the
// letters and digits of its description, and of its parameters. ok is false for a tool without a
// description, since similar tools are then not copies.
func (d *definition) content() (s sum, ok bool) {
	text := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) && !naming.IsHidden(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, norm.NFKC.String(d.description))
	if text == "" {
		return sum{}, false
	}
	return sha256.Sum256([]byte(text + "\x00" + d.parameters)), true
}
