// Package bm25f indexes documents for BM25F: for each term and document, the impact, which a query only has to weigh
// and add up:
//
//	impact = idf · f / (K1 + f)
//	f      = sum over fields of weight · count / (1 - b + b · length / mean length)
//	idf    = ln(1 + (N - df + 0.5) / (df + 0.5))
package bm25f

import "slices"

const (
	MaxFields = 9  // of an index
	Name      = 0  // the field that is the name of a document
	NoField   = -1 // a field in which nothing counts
)

// A Field says how much a field counts.
type Field struct {
	Weight float64 // of a word in the field; zero means that the field is not read
	B      float64 // how much the field's length counts, from 0 to 1

	// Wholes is the field in which the wholes of this field count (analysis.Whole), or NoField. They add nothing to
	// lengths.
	Wholes int
}

// An Index never changes. The postings of a term are in the order of documents.
type Index struct {
	IDs      map[string]int32 // term -> number
	Terms    []string         // number -> term
	IDF      []float32        // by term
	Postings []Posting
	Bounds   []int32   // postings of term t are Postings[Bounds[t]:Bounds[t+1]]
	PerName  []float32 // by document: 1 / the idf of the terms of its name
	Fields   []Field

	k1   float64
	mean [MaxFields]float64 // mean length
}

// A Posting is the impact of one term on one document.
type Posting struct {
	doc    uint32 // and inName
	Impact float32
}

// inName marks a posting of a term in the document's name.
const inName = 1 << 31 // the highest bit

// Doc returns the document.
func (p Posting) Doc() int32 { return int32(p.doc &^ inName) }

// InName returns 1 if the term is in the document's name, and otherwise 0.
func (p Posting) InName() uint32 { return p.doc >> 31 }

// List returns the postings of a term, in the order of documents.
func (x *Index) List(term int32) []Posting { return x.Postings[x.Bounds[term]:x.Bounds[term+1]] }

// Find returns the place of a document's posting in a list.
func Find(list []Posting, doc int32) (at int, found bool) {
	return slices.BinarySearchFunc(list, doc, func(p Posting, doc int32) int { return int(p.Doc() - doc) })
}

func (x *Index) norms(row *row) (norms [MaxFields]float64) {
	for field, of := range x.Fields {
		norms[field] = 1 - of.B + of.B*float64(row.lengths[field])/x.mean[field]
	}
	return norms
}

// amount is what n terms in a field add to f.
func (x *Index) amount(field, n int, norms *[MaxFields]float64) float64 {
	return x.Fields[field].Weight * float64(n) / norms[field]
}

// A Share is the part of a term's impact on a document that comes from one field.
type Share struct {
	Field int
	Count int     // of the term in the field, up to maxCount
	Part  float64 // of the impact, up to 1
}

// Shares divides the impact of each term on a document among the fields. read adds the texts of the document.
func (x *Index) Shares(read func(c *Counter)) map[string][]Share {
	c := newCounter(x.Fields)
	read(c)
	norms := x.norms(&c.row)
	shares := make(map[string][]Share)
	for _, cell := range c.cells {
		fields, f := []Share(nil), 0.0
		for field, n := range cell.counts {
			fields = append(fields, Share{field, n, x.amount(field, n, &norms)})
			f += fields[len(fields)-1].Part
		}
		for i := range fields {
			fields[i].Part /= f
		}
		shares[c.Analyzer.Terms[cell.term()]] = fields
	}
	return shares
}
