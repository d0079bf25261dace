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
	fieldHint // and tags
	fields
)

var fieldTitles = [fields]string{"name", "description", "parameter name", "parameter", "namespace", "alias", "hint"}

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

// norm is the divisor of the counts in a field of that length.
func (x *bm25) norm(field int, length float64) float64 {
	b := x.field[field].B
	return 1 - b + b*length/x.mean[field]
}

// appendField adds the terms of one field of a document.
func appendField(terms []int32, z *termizer, doc *Document, field int) []int32 {
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
