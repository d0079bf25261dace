package schemacheck

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"maps"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	validator "github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The definitions of tools as JSON.

const anyObject = `{"type":"object","properties":{}}`

// Read reads a schema. The schema's own reader panics on a type of null.
func Read(text []byte) (*jsonschema.Schema, error) {
	s, wrong := &jsonschema.Schema{}, errors.New("a type of a JSON schema is null")
	_, _ = foreign.Guard(func() (any, error) { wrong = json.Unmarshal(text, s); return nil, nil })
	return s, wrong
}

// JSON is the JSON schema of a tool's parameters, or allows any object if that is wrong, or too large to be written.
func JSON(info *schema.ToolInfo) string {
	text, _ := written(info)
	return cmp.Or(text, anyObject)
}

func written(info *schema.ToolInfo) (string, error) {
	definition, _, err := SchemaOf(info)
	if err != nil {
		return "", err
	}
	text, err := foreign.Guard(func() (string, error) { return sonic.ConfigStd.MarshalToString(definition) })
	switch {
	case err != nil:
		return "", errWrongSchema
	case !strings.HasPrefix(text, "{"): // no schema is written as null, and {} as true
		return anyObject, nil
	}
	return text, nil
}

// SchemaOf returns the schema of a tool's parameters, or nil if it has none. It fails for a schema that is wrong, or
// cannot be written in a reasonable time: one that contains itself never ends. IsPlain says that the schema can be
// written, as at most MaxSchemaBytes, and that nothing in it needs to be mended.
func SchemaOf(info *schema.ToolInfo) (s *jsonschema.Schema, isPlain bool, err error) {
	if s, err = foreign.Guard(info.ToJSONSchema); err != nil {
		return nil, false, errWrongSchema
	}
	w := newPrinter(maxWriting, 0)
	if w.value(reflect.ValueOf(s)); w.left < 0 {
		return nil, false, errLargeSchema
	}
	return s, !w.isOdd && (maxWriting-w.left)*escapedBytes <= MaxSchemaBytes, nil
}

// Frozen returns a copy of a definition that nobody else can change, with all properties in the order of their names:
// it is written the same however its server orders them. A schema that cannot be written stays as it is.
func Frozen(info *schema.ToolInfo) *schema.ToolInfo {
	text, err := written(info)
	if err != nil || info.ParamsOneOf == nil {
		return info
	}
	value, _ := validator.UnmarshalJSON(strings.NewReader(text)) // it is JSON
	inOrder, _ := sonic.ConfigStd.Marshal(value)
	s, err := Read(inOrder)
	if err != nil {
		return info
	}
	copied := *info
	copied.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
	return &copied
}

// Short returns the JSON of a schema with texts of at most so many bytes, and without titles and examples. A schema that
// cannot be read again as it was written stays as it is.
func Short(text string, most int) string {
	if s, isSame := readAgain(text[:min(len(text), maxShortened)]); isSame { // part of an object is no JSON
		shorten := func(part *jsonschema.Schema) *jsonschema.Schema {
			part.Title, part.Examples, part.Description = "", nil, naming.ShortLine(part.Description, most)
			return part
		}
		replaceInside(shorten(s), shorten)
		if short, _ := sonic.ConfigStd.MarshalToString(s); strings.HasPrefix(short, "{") {
			return short
		}
	}
	return text
}

// readAgain reads a schema, and reports whether it is written with the same text.
func readAgain(text string) (s *jsonschema.Schema, isSame bool) {
	s, err := Read([]byte(text))
	again, _ := sonic.ConfigStd.MarshalToString(s)
	return s, err == nil && again == text
}

// A part of minShared bytes is worth two references. Each level of a definition is written once more to share its parts,
// so a definition of which more than maxShared bytes are written stays whole. A schema of more than maxShortened bytes
// keeps its texts, since to read it again costs more than to write it.
const minShared, maxShared, maxShortened = 64, 64 << 10, 128 << 10

// wholeRef matches a reference that does not lead into a part.
var wholeRef = regexp.MustCompile(`"\$ref":"#(/(\$defs|definitions)/[^/"]+)?"`)

// Share moves enumerations and parameters that repeat in definitions, such as all currencies, into a list of their own,
// shared, and leaves references behind: "#/shared/0" is the first. With that list, the definitions accept the same
// arguments as before. A part with references of its own stays, and so do a definition as a whole and one with an $id.
func Share(definitions []json.RawMessage) (shared []json.RawMessage) {
	schemas := make([]*jsonschema.Schema, len(definitions))
	for i, text := range definitions {
		w, isWhole := newPrinter(maxShared, 0), len(wholeRef.FindAll(text, -1)) == bytes.Count(text, []byte(`"$ref"`))
		s, isSame := readAgain(string(text))
		if w.value(reflect.ValueOf(s)); w.left >= 0 && isSame && isWhole && !bytes.Contains(text, []byte(`"$id"`)) {
			schemas[i] = s
		}
	}
	for _, ofEnums := range [...]bool{true, false} {
		count, places, texts := make(map[string]int), make(map[string]string), make(map[*jsonschema.Schema]string)
		for pass := range 2 * len(schemas) {
			s := schemas[pass%len(schemas)]
			if ofEnums && s != nil && strings.Contains(s.Version, "/draft-0") { // there, what is beside a $ref does not count
				continue
			}
			replaceInside(s, func(part *jsonschema.Schema) *jsonschema.Schema {
				if pass < len(schemas) {
					texts[part] = repeatable(part, ofEnums)
					count[texts[part]]++
				} else if text := texts[part]; text != "" && count[text] > 1 {
					if places[text] == "" {
						places[text] = fmt.Sprintf("#/shared/%d", len(shared))
						shared = append(shared, json.RawMessage(text))
					}
					if !ofEnums {
						return &jsonschema.Schema{Ref: places[text]}
					}
					part.Enum, part.Ref = nil, places[text] // what else the parameter has stays
				}
				return part
			})
		}
	}
	for i, s := range schemas {
		if s != nil {
			definitions[i], _ = sonic.ConfigStd.Marshal(s)
		}
	}
	return shared
}

// repeatable returns the JSON of an enumeration or of a part that is worth a reference, and otherwise "".
func repeatable(part *jsonschema.Schema, ofEnums bool) string {
	if ofEnums && (part.Enum == nil || part.Ref != "") {
		return ""
	} else if ofEnums {
		part = &jsonschema.Schema{Enum: part.Enum}
	}
	text, _ := sonic.ConfigStd.MarshalToString(part)
	if len(text) < minShared || strings.Contains(strings.ReplaceAll(text, `"$ref":"#/shared/`, ""), `"$`) {
		return ""
	}
	return text
}

// replaceInside replaces the schemas inside a schema, the outer before the inner.
func replaceInside(s *jsonschema.Schema, replace func(*jsonschema.Schema) *jsonschema.Schema) {
	if s != nil {
		replaceParts(s, func(part *jsonschema.Schema) *jsonschema.Schema {
			if part != nil {
				part = replace(part)
			}
			replaceInside(part, replace)
			return part
		})
	}
}

// replaceParts replaces the schemas directly inside a schema. It copies the lists and maps that hold them.
func replaceParts(s *jsonschema.Schema, replace func(*jsonschema.Schema) *jsonschema.Schema) {
	for _, part := range [...]**jsonschema.Schema{
		&s.Not, &s.If, &s.Then, &s.Else, &s.Items, &s.Contains, &s.AdditionalProperties, &s.PropertyNames, &s.ContentSchema,
	} {
		*part = replace(*part)
	}
	for _, list := range [...]*[]*jsonschema.Schema{&s.AllOf, &s.AnyOf, &s.OneOf, &s.PrefixItems} {
		*list = slices.Clone(*list)
		for i, inner := range *list {
			(*list)[i] = replace(inner)
		}
	}
	for _, named := range [...]*map[string]*jsonschema.Schema{
		(*map[string]*jsonschema.Schema)(&s.Definitions), &s.DependentSchemas, &s.PatternProperties,
	} {
		*named = maps.Clone(*named)
		for _, name := range slices.Sorted(maps.Keys(*named)) {
			(*named)[name] = replace((*named)[name])
		}
	}
	if s.Properties != nil {
		properties := jsonschema.NewProperties()
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			properties.Set(pair.Key, replace(pair.Value))
		}
		s.Properties = properties
	}
}

// A walk over a definition hashes it field by field, because writing it as JSON takes much longer. The walk
// also counts the bytes that writing it would copy: each part once for every level above the part.

const (
	maxWriting   = 6 << 20 // bytes copied
	partsWriting = 136     // bytes of a schema besides its texts
	valueWriting = 8       // bytes of an empty value
	escapedBytes = 6       // of \u0000, and more than what partsWriting leaves out
)

// A Print tells whether a source's definition changed: it is equal for equal definitions, whatever the order of their
// keys, within one run of the program.
type Print uint64

var printSeed = maphash.MakeSeed()

// PrintOf returns the print of a definition, without a schema that is invalid or cannot be written in a reasonable
// time.
func PrintOf(info *schema.ToolInfo) Print {
	w := newPrinter(math.MaxInt, 0)
	w.value(reflect.ValueOf([]any{info.Name, info.Desc, info.Extra}))
	plain := w.hash.Sum64()
	w.left = maxWriting
	if definition, err := foreign.Guard(info.ToJSONSchema); err == nil {
		w.value(reflect.ValueOf(definition))
	}
	if w.left < 0 {
		return Print(plain)
	}
	return Print(w.hash.Sum64())
}

type printer struct {
	hash  maphash.Hash
	left  int  // bytes that may still be copied; the walk ends when it is negative
	depth int  // of the schemas around
	isOdd bool // a part needs to be mended, or may be impossible to write
}

func newPrinter(left, depth int) *printer {
	w := &printer{left: left, depth: depth}
	w.hash.SetSeed(printSeed)
	return w
}

var (
	schemaPackage      = reflect.TypeFor[jsonschema.Schema]().PkgPath()
	propertiesField, _ = reflect.TypeFor[jsonschema.Schema]().FieldByName("Properties")
)

// schema hashes the fields of a schema that are set, each after its number, whether exported or not.
func (w *printer) schema(s *jsonschema.Schema) {
	w.depth++
	if w.left -= partsWriting * w.depth; w.depth > maxDepth {
		w.left = -1
	}
	w.isOdd = w.isOdd || hasOddType(s) || lacksItems(s) || s.Type != "" && s.TypeEnhanced != nil
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		if field := v.Field(i); w.left >= 0 && !field.IsZero() && i != propertiesField.Index[0] {
			maphash.WriteComparable(&w.hash, i)
			w.value(field)
		}
	}
	if s.Properties != nil {
		w.named(s.Properties.Len(), func(yield func(name, inner reflect.Value) bool) {
			for pair := s.Properties.Oldest(); pair != nil && yield(reflect.ValueOf(pair.Key), reflect.ValueOf(pair.Value)); pair = pair.Next() {
			}
		})
	}
	maphash.WriteComparable(&w.hash, -1) // the end
	w.depth--
}

// named hashes n values with names, in any order.
func (w *printer) named(n int, values iter.Seq2[reflect.Value, reflect.Value]) {
	var sum uint64
	for name, value := range values {
		inner := newPrinter(w.left, w.depth)
		inner.value(name)
		inner.value(value)
		sum, w.left, w.isOdd = sum+inner.hash.Sum64(), inner.left, w.isOdd || inner.isOdd
	}
	maphash.WriteComparable(&w.hash, [2]uint64{uint64(n), sum})
}

// value hashes a field of a schema, or what is inside. A value that JSON cannot express comes from the program itself,
// and is hashed as the JSON that it is written as.
func (w *printer) value(v reflect.Value) {
	if w.left < 0 {
		return
	}
	if of := v.Type().PkgPath(); of != "" && of != schemaPackage { // may write itself, as json.Number does
		w.isOdd = true
	}
	w.left -= valueWriting * w.depth
	switch v.Kind() {
	case reflect.String:
		w.left -= v.Len() * w.depth
		maphash.WriteComparable(&w.hash, v.String())
	case reflect.Bool:
		maphash.WriteComparable(&w.hash, v.Bool())
	case reflect.Uint64, reflect.Float64:
		w.isOdd = w.isOdd || v.CanFloat() && v.Float()-v.Float() != 0 // JSON does not have it
		maphash.WriteComparable(&w.hash, v.Interface())
	case reflect.Slice:
		maphash.WriteComparable(&w.hash, v.Len())
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map:
		w.isOdd = w.isOdd || v.Type().Key().Kind() != reflect.String
		w.named(v.Len(), v.Seq2())
	case reflect.Pointer, reflect.Interface:
		switch inner := v.Elem(); {
		case !inner.IsValid(): // null
			w.hash.WriteByte('0')
		case v.Type() == reflect.TypeFor[*jsonschema.Schema]():
			w.schema(v.Interface().(*jsonschema.Schema))
		default:
			w.hash.WriteString(inner.Type().String())
			w.value(inner)
		}
	default:
		w.isOdd = true
		text, _ := foreign.Guard(func() ([]byte, error) { return sonic.ConfigStd.Marshal(v.Interface()) }) // or nil
		w.hash.Write(text)
	}
}
