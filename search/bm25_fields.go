package search

import (
	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The fields of a document in the index.
const (
	fieldName = iota
	fieldDescription
	fieldParameterName
	fieldParameterText // descriptions and enum values of parameters
	fieldNamespace
	fieldAliases
	fieldHint  // and tags
	fieldWhole // of the name; see wholesOf
	fields
)

var fieldTitles = [fields]string{"name", "description", "parameter name", "parameter", "namespace", "alias", "hint", "name"}

// Field says how much one field of a tool counts in BM25.
type Field struct {
	Weight float64 // of a word in the field; zero means the default, negative means that the field is not searched
	B      float64 // how much the field's length counts, from 0 to 1; zero means the default, negative means not at all
}

var defaultFields = [fields]Field{
	fieldName:          {2, 0.3},
	fieldDescription:   {1, 0.6},
	fieldParameterName: {0.8, 0.3},
	fieldParameterText: {0.5, 0.3},
	fieldNamespace:     {1, -1},
	fieldAliases:       {2, 0.3},
	fieldHint:          {1, 0.3},
}

// wholesOf returns the field in which the wholes of a field count, and false if they do not
// count. They add nothing to the length of the field. The wholes of a name are no part of its
// coverage. Names of parameters are mostly written in camel case, and are no brands.
func wholesOf(field int) (into int, counts bool) {
	switch field {
	case fieldName:
		return fieldWhole, true
	case fieldParameterName:
		return 0, false
	default:
		return field, true
	}
}

// norm is the divisor of the counts in a field of that length.
func (x *bm25) norm(field int, length float64) float64 {
	b := x.field[field].B
	return 1 - b + b*length/x.mean[field]
}

// appendField adds the terms of one field of a document. It sets z.wholes to the field's wholes.
func appendField(terms []int32, z *termizer, doc *Document, field int) []int32 {
	z.wholes = z.wholes[:0]
	switch field {
	case fieldName:
		return z.append(terms, doc.Name)
	case fieldDescription:
		return z.append(terms, naming.Cut(doc.Description, MaxDescriptionBytes))
	case fieldParameterName:
		for i := range doc.Parameters {
			terms = z.append(terms, doc.Parameters[i].Name)
		}
	case fieldParameterText:
		for i := range doc.Parameters {
			terms = z.append(terms, naming.Cut(doc.Parameters[i].Description, MaxDescriptionBytes))
			for _, value := range doc.Parameters[i].Enum {
				terms = z.append(terms, value)
			}
		}
	case fieldNamespace:
		return z.append(terms, doc.Namespace)
	case fieldAliases:
		for _, alias := range doc.Aliases {
			terms = z.append(terms, alias)
		}
	case fieldHint:
		terms = z.append(terms, naming.Cut(doc.Hint, MaxDescriptionBytes))
		for _, tag := range doc.Tags {
			terms = z.append(terms, tag)
		}
	}
	return terms
}
