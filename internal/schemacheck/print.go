package schemacheck

import (
	"hash/maphash"
	"reflect"
	"strconv"

	"github.com/bytedance/sonic"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// The prints of definitions, which tell whether a source's definitions changed. They are hashed field by
// field, because writing them as JSON takes much longer.

// A Print is equal for equal definitions of tools. It is valid only within one run of the program.
type Print uint64

var printSeed = maphash.MakeSeed()

// PrintOf returns the print of a definition. It leaves out a schema that is invalid or cannot
// be written in a reasonable time.
func PrintOf(info *schema.ToolInfo) Print {
	var w printer
	w.hash.SetSeed(printSeed)
	w.text(info.Name)
	w.text(info.Desc)
	w.value(reflect.ValueOf(info.Extra))
	if definition, err := foreign.Guard(info.ToJSONSchema); err == nil && definition != nil && IsWritable(definition) {
		w.schema(definition)
	}
	return Print(w.hash.Sum64())
}

type printer struct{ hash maphash.Hash }

func (w *printer) text(s string) {
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
	w.hash.WriteByte('{')
	v := reflect.ValueOf(s).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if field.IsZero() {
			continue
		}
		w.number(i)
		if i != propertiesField.Index[0] {
			w.value(field)
			continue
		}
		for pair := s.Properties.Oldest(); pair != nil; pair = pair.Next() {
			w.text(pair.Key)
			w.value(reflect.ValueOf(pair.Value))
		}
	}
	w.hash.WriteByte('}')
}

// value hashes a field of a schema, or what is inside.
func (w *printer) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		w.text(v.String())
	case reflect.Bool:
		w.text(strconv.FormatBool(v.Bool()))
	case reflect.Uint64:
		w.text(strconv.FormatUint(v.Uint(), 10))
	case reflect.Slice:
		w.number(v.Len())
		for i := range v.Len() {
			w.value(v.Index(i))
		}
	case reflect.Map: // independently of the order
		var sum uint64
		for entries := v.MapRange(); entries.Next(); {
			var inner printer
			inner.hash.SetSeed(printSeed)
			inner.text(entries.Key().String())
			inner.value(entries.Value())
			sum += inner.hash.Sum64()
		}
		w.number(v.Len())
		w.text(strconv.FormatUint(sum, 36))
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
	w.text(v.Type().String())
	switch value := v.Interface().(type) {
	case string, bool, []any, map[string]any:
		w.value(v)
	default:
		text, err := foreign.Guard(func() ([]byte, error) { return sonic.ConfigStd.Marshal(value) })
		if err == nil {
			w.hash.Write(text)
		}
	}
}
