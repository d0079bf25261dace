package bm25f

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
)

// Building the index. There are as many workers as processors, and each gets a run of documents:
//
//	worker:  document -> terms -> counts by term and field   with the worker's own term numbers
//	merge:   terms of all workers -> term numbers; document frequencies, mean lengths
//	worker:  counts -> impacts -> postings, each in its place
//
// The place of a posting follows from the frequencies that the earlier workers counted, so the workers need no locks.
// The number of a term depends on the number of workers, but no result does.

const (
	minRun      = 256  // the fewest documents for which another worker is worth its cost
	sharedCells = 4096 // in one allocation
)

// A Counter counts the terms of a run of documents.
type Counter struct {
	Analyzer *analysis.Analyzer

	fields    []Field
	first     int            // the first document of the run
	rows      []row          // by document
	frequency []int32        // number of a term -> documents of the run that have it
	total     [MaxFields]int // length
	idf       []float32      // of a term; set by merge

	// Of the current document.
	terms []int32
	place []int32 // number of a term -> 1 + the place of its cell
	row   row     // its cells may share an allocation with others
}

// row is the counts of a document, in the order of its terms, and how long its fields are.
type row struct {
	cells   []cell
	lengths [MaxFields]int32
}

// cell is how often a term occurs in each field of a document.
type cell struct {
	term   int32
	counts [MaxFields]uint8
}

func newCounter(fields []Field) *Counter { return &Counter{Analyzer: analysis.New(), fields: fields} }

// Build indexes documents. read adds the texts of a document to a Counter. Build calls read for several documents at
// the same time, but for the documents of one Counter in their order.
func Build(ctx context.Context, docs int, k1 float64, fields []Field, read func(c *Counter, doc int)) (*Index, error) {
	workers := max(1, min(runtime.GOMAXPROCS(0), docs/minRun))
	runs := make([]*Counter, workers)
	err := foreign.InParallel(ctx, workers, workers, func(ctx context.Context, i int) error {
		c := newCounter(fields)
		first, end := i*docs/workers, (i+1)*docs/workers
		c.first, c.rows, runs[i] = first, make([]row, 0, end-first), c
		for doc := first; doc < end; doc++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			read(c, doc)
			c.keep()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	x := &Index{Fields: fields, k1: k1}
	places := x.merge(docs, runs)
	write := func(ctx context.Context, i int) error { return runs[i].write(ctx, x, places[i]) }
	return x, foreign.InParallel(ctx, workers, workers, write)
}

// Add counts the terms of a text in a field.
func (c *Counter) Add(field int, text string) {
	of := &c.fields[field]
	if of.Weight == 0 {
		return
	}
	z := c.Analyzer
	z.Wholes = z.Wholes[:0]
	c.terms = z.Append(c.terms[:0], text)
	c.row.lengths[field] += int32(len(c.terms))
	c.count(field)
	if of.Wholes != NoField && len(z.Wholes) > 0 {
		c.terms = c.terms[:0]
		for _, whole := range z.Wholes {
			c.terms = append(c.terms, whole.Term)
		}
		c.count(of.Wholes)
	}
}

// count adds c.terms to the row of the current document.
func (c *Counter) count(field int) {
	if more := len(c.Analyzer.Terms) - len(c.place); more > 0 {
		c.place = append(c.place, make([]int32, more)...)
		c.frequency = append(c.frequency, make([]int32, more)...)
	}
	cells := c.row.cells
	for _, term := range c.terms {
		at := c.place[term]
		if at == 0 {
			cells = append(cells, cell{term: term})
			at = int32(len(cells))
			c.place[term] = at
			c.frequency[term]++
		}
		if n := &cells[at-1].counts[field]; *n < math.MaxUint8 {
			*n++
		}
	}
	c.row.cells = cells
}

// keep appends the row of the current document to the others, and begins another document.
func (c *Counter) keep() {
	for i := range c.row.cells {
		c.place[c.row.cells[i].term] = 0
	}
	for field, length := range c.row.lengths {
		c.total[field] += int(length)
	}
	c.rows = append(c.rows, c.row)
	rest := c.row.cells[len(c.row.cells):]
	if cap(rest) < sharedCells/8 {
		rest = make([]cell, 0, sharedCells)
	}
	c.row = row{cells: rest}
}

// merge numbers the terms of all runs. It returns, for each run and term, the place of the run's first posting.
func (x *Index) merge(docs int, runs []*Counter) (places [][]int32) {
	x.IDs = runs[0].Analyzer.Numbers
	x.Terms = runs[0].Analyzer.Terms
	ids := make([][]int32, len(runs)) // number of a term in the run -> term
	for i, c := range runs {
		ids[i] = make([]int32, len(c.frequency))
		for n := range ids[i] {
			id, known := x.IDs[c.Analyzer.Terms[n]]
			if !known {
				id = int32(len(x.Terms))
				x.IDs[c.Analyzer.Terms[n]] = id
				x.Terms = append(x.Terms, c.Analyzer.Terms[n])
			}
			ids[i][n] = id
		}
		for field, length := range c.total {
			x.mean[field] += float64(length)
		}
	}
	for field := range x.mean {
		x.mean[field] = max(1, x.mean[field]/float64(max(1, docs)))
	}
	x.Bounds = make([]int32, len(x.Terms)+1)
	for i, c := range runs {
		for n, df := range c.frequency {
			x.Bounds[ids[i][n]+1] += df
		}
	}
	x.IDF = make([]float32, len(x.Terms))
	for term := range x.Terms {
		df := float64(x.Bounds[term+1])
		x.IDF[term] = float32(math.Log(1 + (float64(docs)-df+0.5)/(df+0.5)))
		x.Bounds[term+1] += x.Bounds[term]
	}
	next := slices.Clone(x.Bounds)
	for i, c := range runs {
		c.idf = make([]float32, len(c.frequency))
		for n, df := range c.frequency {
			id := ids[i][n]
			c.idf[n] = x.IDF[id]
			ids[i][n], next[id] = next[id], next[id]+df
		}
	}
	x.Postings = make([]Posting, x.Bounds[len(x.Terms)])
	x.PerName = make([]float32, docs)
	return ids
}

// write turns the counts of the run's documents into postings. next is the place of the next posting of each term.
func (c *Counter) write(ctx context.Context, x *Index, next []int32) error {
	for i := range c.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, doc := &c.rows[i], c.first+i
		norms, name := x.norms(row), 0.0
		for j := range row.cells {
			cell := &row.cells[j]
			p := Posting{doc: uint32(doc)}
			if cell.counts[Name] > 0 {
				name += float64(c.idf[cell.term])
				p.doc |= inName
			}
			f := 0.0
			for field, n := range cell.counts {
				if n > 0 {
					f += x.amount(field, n, &norms)
				}
			}
			p.Impact = c.idf[cell.term] * float32(f/(x.k1+f))
			x.Postings[next[cell.term]] = p
			next[cell.term]++
		}
		if name > 0 {
			x.PerName[doc] = float32(1 / name)
		}
	}
	return nil
}
