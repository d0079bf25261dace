package schemacheck

import (
	"encoding/json"
	"hash/maphash"
	"iter"
	"math"
	"reflect"
	"strconv"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// A walk over a definition hashes it field by field, because writing it as JSON takes much longer. The walk
// also counts the bytes that writing it would copy: each part once for every level above the part.

const (
	maxWriting   = 6 << 20 // bytes copied
	partsWriting = 136     // bytes of a schema besides its texts
	valueWriting = 8       // bytes of an empty value
)

// A Print tells whether a source's definition changed: it is equal for equal definitions, whatever the
// order of their keys. It is valid only within one run of the program.
type Print uint64

var printSeed = maphash.MakeSeed()

// PrintOf returns the print of a definition. It leaves out a schema that is invalid or cannot
// be written in a reasonable time.
func PrintOf(info *schema.ToolInfo) Print {
	w := newPrinter(math.MaxInt, 0)
	w.text(info.Name)
	w.text(info.Desc)
	w.value(reflect.ValueOf(info.Extra))
	plain := w.hash.Sum64()
	w.left = maxWriting
	if definition, err := foreign.Guard(info.ToJSONSchema); err == nil && definition != nil {
		w.schema(definition)
	}
	if w.left < 0 {
		return Print(plain)
	}
	return Print(w.hash.Sum64())
}

// IsWritable reports whether a definition can be written in a reasonable time. Writing a
// definition that contains itself would never end.
func IsWritable(root *jsonschema.Schema) bool {
	w := newPrinter(maxWriting, 0)
	if root != nil {
		w.schema(root)
	}
	return w.left >= 0
}

type printer struct {
	hash  maphash.Hash
	left  int // bytes that may still be copied; the walk ends when it is negative
	depth int // of the schemas around
}

func newPrinter(left, depth int) *printer {
	w := &printer{left: left, depth: depth}
	w.hash.SetSeed(printSeed)
	return w
}

func (w *printer) text(s string) {
	w.left -= (valueWriting + len(s)) * w.depth
	w.number(len(s))
	w.hash.WriteString(s)
}

func (w *printer) number(n int) {
	var b [20]byte
	w.hash.Write(strconv.AppendInt(b[:0], int64(n), 36))
	w.hash.WriteByte(' ')
}

var propertiesField, _ = reflect.TypeFor[jsonschema.Schema]().FieldByName("Properties")

// schema hashes the fields of a schema that are set, each after its number. One of them is not exported:
// whether the schema is true or false.
func (w *printer) schema(s *jsonschema.Schema) {
	w.depth++
	if w.left -= partsWriting * w.depth; w.depth > maxDepth {
		w.left = -1
	}
	w.hash.WriteByte('{')
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if w.left < 0 || field.IsZero() {
			continue
		}
		w.number(i)
		if i != propertiesField.Index[0] {
			w.value(field)
			continue
		}
		w.named(s.Properties.Len(), func(yield func(name string, inner reflect.Value) bool) {
			for pair := s.Properties.Oldest(); pair != nil && yield(pair.Key, reflect.ValueOf(pair.Value)); pair = pair.Next() {
			}
		})
	}
	w.hash.WriteByte('}')
	w.depth--
}

// named hashes n values with names, in any order.
func (w *printer) named(n int, values iter.Seq2[string, reflect.Value]) {
	var sum uint64
	for name, value := range values {
		inner := newPrinter(w.left, w.depth)
		inner.text(name)
		inner.value(value)
		sum, w.left = sum+inner.hash.Sum64(), inner.left
	}
	w.number(n)
	w.number(int(sum))
}

// value hashes a field of a schema, or what is inside.
func (w *printer) value(v reflect.Value) {
	if w.left < 0 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		w.text(strconv.FormatBool(v.Bool()))
	case reflect.Uint64:
		w.number(int(v.Uint()))
	case reflect.Float64:
		w.number(int(math.Float64bits(v.Float())))
	case reflect.Slice:
		w.number(v.Len())
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map:
		w.named(v.Len(), func(yield func(name string, inner reflect.Value) bool) {
			for entries := v.MapRange(); entries.Next() && yield(entries.Key().String(), entries.Value()); {
			}
		})
	case reflect.Pointer:
		switch {
		case v.IsNil():
			w.hash.WriteByte('0')
		case v.Elem().Kind() == reflect.Struct:
			w.schema(v.Interface().(*jsonschema.Schema))
		default:
			w.value(v.Elem())
		}
	case reflect.Interface:
		w.any(v.Elem())
	}
}

// any hashes a value of JSON. A value of another type comes from the program itself, and is hashed as the
// JSON that it is written as.
func (w *printer) any(v reflect.Value) {
	if !v.IsValid() {
		w.hash.WriteByte('0')
		return
	}
	if v.Kind() != reflect.String { // whose text counts
		w.left -= valueWriting * w.depth
	}
	w.hash.WriteString(v.Type().String())
	w.hash.WriteByte(' ')
	switch value := v.Interface().(type) {
	case string, json.Number, bool, float64, []any, map[string]any:
		w.value(v)
	default:
		text, err := foreign.Guard(func() ([]byte, error) { return sonic.ConfigStd.Marshal(value) })
		if err == nil {
			w.hash.Write(text)
		}
	}
}
