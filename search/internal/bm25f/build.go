package bm25f

import (
	"context"
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"

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
	minRun     = 256  // the fewest documents for which another worker is worth its cost
	blockCells = 8192 // in one allocation
)

var blocks = sync.Pool{New: func() any { return new([blockCells]cell) }} // for the next index: catalogs change

// A Counter counts the terms of a run of documents.
type Counter struct {
	Analyzer *analysis.Analyzer

	fields []Field
	first  int            // the first document of the run
	rows   []row          // by document
	blocks [][]cell       // the cells of the rows, one row behind the other
	terms  []term         // by number
	total  [MaxFields]int // length

	row     row     // of the current document
	cells   []cell  // of the current document
	numbers []int32 // of the terms of the current text
}

// A term is what a Counter knows of a term.
type term struct {
	place     int32 // 1 + that of its cell in the current document, or 0; when all are counted, that of its next posting
	documents int32 // of the run that have it
	number    int32 // in the index; set by merge, like idf
	idf       float32
}

// A row is a document: how many terms it has, each a cell, and how long its fields are.
type row struct {
	cells   int32
	lengths [MaxFields]uint16 // a longer field counts as if it had 65,535 terms
}

// A cell is a term, and above it how often the term is in each field of a document. It is small, since building an index
// is mostly waiting for memory.
type cell uint64

const (
	termBits  = 26 // 2^26 terms would take gigabytes
	countBits = 4  // of a field; the last field gets the six bits that are left
)

var maxCount = [MaxFields]int{15, 15, 15, 15, 15, 15, 15, 15, 63} // how often a term counts at most

func (c cell) term() int32 { return int32(c & (1<<termBits - 1)) }

func (c cell) count(field int) int { return int(c>>(termBits+field*countBits)) & maxCount[field] }

// counts yields the fields that have the term, and how often.
func (c cell) counts(yield func(field, n int) bool) {
	for rest := c >> termBits; rest != 0; {
		field := min(bits.TrailingZeros64(uint64(rest))/countBits, MaxFields-1)
		if !yield(field, c.count(field)) {
			return
		}
		rest &^= cell(maxCount[field]) << (field * countBits)
	}
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
	x.merge(docs, runs)
	return x, foreign.InParallel(ctx, workers, workers, func(ctx context.Context, i int) error { return runs[i].write(ctx, x) })
}

// Add counts the terms of a text in a field.
func (c *Counter) Add(field int, text string) {
	of := &c.fields[field]
	if of.Weight == 0 || text == "" {
		return
	}
	z := c.Analyzer
	z.Wholes, z.OmitsWholes = z.Wholes[:0], of.Wholes == NoField
	c.numbers = z.Append(c.numbers[:0], text)
	c.row.lengths[field] = uint16(min(int(c.row.lengths[field])+len(c.numbers), math.MaxUint16))
	c.count(field)
	if len(z.Wholes) > 0 {
		c.numbers = c.numbers[:0]
		for _, whole := range z.Wholes {
			c.numbers = append(c.numbers, whole.Term)
		}
		c.count(of.Wholes)
	}
}

// count adds c.numbers to the row of the current document.
func (c *Counter) count(field int) {
	if more := len(c.Analyzer.Terms) - len(c.terms); more > 0 {
		c.terms = append(c.terms, make([]term, more)...)
	}
	cells := c.cells
	for _, n := range c.numbers {
		at := &c.terms[n].place
		if *at == 0 {
			cells = append(cells, cell(n))
			*at = int32(len(cells))
		}
		if cell := &cells[*at-1]; cell.count(field) < maxCount[field] {
			*cell += 1 << (termBits + field*countBits)
		}
	}
	c.cells = cells
}

// keep appends the row of the current document to the others, and begins another document.
func (c *Counter) keep() {
	for _, cell := range c.cells {
		term := &c.terms[cell.term()]
		term.place = 0
		term.documents++
	}
	for field, length := range c.row.lengths {
		c.total[field] += int(length)
	}
	last := len(c.blocks) - 1
	if last < 0 || len(c.blocks[last])+len(c.cells) > blockCells {
		c.blocks = append(c.blocks, blocks.Get().(*[blockCells]cell)[:0])
		last++
	}
	c.blocks[last] = append(c.blocks[last], c.cells...)
	c.rows = append(c.rows, row{int32(len(c.cells)), c.row.lengths})
	c.cells, c.row = c.cells[:0], row{}
}

// merge numbers the terms of all runs, and sets their idf and the place of each run's first posting of a term.
func (x *Index) merge(docs int, runs []*Counter) {
	x.IDs, x.Terms = runs[0].Analyzer.Numbers, runs[0].Analyzer.Terms
	for _, c := range runs {
		for n := range c.terms {
			text := c.Analyzer.Terms[n]
			id, known := x.IDs[text]
			if !known {
				id = int32(len(x.Terms))
				x.IDs[text], x.Terms = id, append(x.Terms, text)
			}
			c.terms[n].number = id
		}
		for field, length := range c.total {
			x.mean[field] += float64(length)
		}
	}
	for field := range x.mean {
		x.mean[field] = max(1, x.mean[field]/float64(max(1, docs)))
	}
	x.Bounds = make([]int32, len(x.Terms)+1)
	for _, c := range runs {
		for _, term := range c.terms {
			x.Bounds[term.number+1] += term.documents
		}
	}
	x.IDF = make([]float32, len(x.Terms))
	for term := range x.Terms {
		df := float64(x.Bounds[term+1])
		x.IDF[term] = float32(math.Log(1 + (float64(docs)-df+0.5)/(df+0.5)))
		x.Bounds[term+1] += x.Bounds[term]
	}
	next := slices.Clone(x.Bounds)
	for _, c := range runs {
		for n := range c.terms {
			term := &c.terms[n]
			term.idf, term.place = x.IDF[term.number], next[term.number]
			next[term.number] += term.documents
		}
	}
	x.Postings = make([]Posting, x.Bounds[len(x.Terms)])
	x.PerName = make([]float32, docs)
}

// write turns the counts of the run's documents into postings.
func (c *Counter) write(ctx context.Context, x *Index) error {
	block, rest := 0, []cell(nil)
	for i := range c.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		row, doc := &c.rows[i], c.first+i
		norms, name := x.norms(row), 0.0
		for len(rest) < int(row.cells) {
			rest, block = c.blocks[block], block+1
		}
		for _, cell := range rest[:row.cells] {
			p, term, f := Posting{doc: uint32(doc)}, &c.terms[cell.term()], 0.0
			if cell.count(Name) > 0 {
				name += float64(term.idf)
				p.doc |= inName
			}
			for field, n := range cell.counts {
				f += x.amount(field, n, &norms)
			}
			p.Impact = term.idf * float32(f/(x.k1+f))
			x.Postings[term.place] = p
			term.place++
		}
		rest = rest[row.cells:]
		if name > 0 {
			x.PerName[doc] = float32(1 / name)
		}
	}
	for _, block := range c.blocks {
		if cap(block) == blockCells { // the row of a giant has a longer one
			blocks.Put((*[blockCells]cell)(block[:blockCells]))
		}
	}
	return nil
}
