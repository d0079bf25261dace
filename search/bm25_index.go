package search

import (
	"context"
	"math"
	"runtime"
	"slices"

	"github.com/eino-toolsearch/toolsearch/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/internal/byname"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Building the BM25 index. There are as many workers as processors, and each worker gets a
// run of documents:
//
//	worker:  document -> terms -> counts by term and field   with the worker's own term numbers
//	merge:   terms of all workers -> term numbers; document frequencies, mean lengths
//	worker:  counts -> impacts -> postings, each in its place
//
// The place of a posting follows from the frequencies that the earlier workers counted.
// The workers therefore need no locks. The postings of a term are in the order of
// documents, whatever the number of workers. The number of a term may differ, but no
// result depends on it.

// minBM25Run is the fewest documents for which another worker is worth its cost.
const minBM25Run = 256

// bm25Run is a worker's state for its run of documents.
type bm25Run struct {
	first, end int // documents
	analyzer   *analysis.Analyzer
	rows       []bm25Row   // by document
	block      []bm25Count // the last block of counts, which rows share
	frequency  []int32     // number of a term -> documents of the run that have it
	total      [fields]int // length
	idf        []float32   // of a term; set by merge
	nameless   []int32

	// Of the current document.
	terms []int32
	place []int32 // number of a term -> 1 + its row
	row   []bm25Cells
}

// bm25Count is how often a term occurs in one field of one document.
type bm25Count struct {
	term  int32
	count uint16
	field uint8
}

// bm25Row is the counts of a document, by term, then field, and how long its fields are.
type bm25Row struct {
	counts  []bm25Count
	lengths [fields]int32
}

type bm25Cells struct {
	term   int32
	counts [fields]uint16
}

// countBlock is how many counts are allocated at once. A single growing slice would copy
// them again and again.
const countBlock = 1 << 14

func (x *bm25) build(ctx context.Context) error {
	workers := max(1, min(runtime.GOMAXPROCS(0), len(x.docs)/minBM25Run))
	runs := make([]*bm25Run, workers)
	for i := range runs {
		runs[i] = &bm25Run{first: i * len(x.docs) / workers, end: (i + 1) * len(x.docs) / workers, analyzer: analysis.New()}
	}
	if err := foreign.InParallel(ctx, workers, workers, func(ctx context.Context, i int) error { return runs[i].read(ctx, x) }); err != nil {
		return err
	}
	places := x.merge(runs)
	return foreign.InParallel(ctx, workers, workers, func(ctx context.Context, i int) error { return runs[i].write(ctx, x, places[i]) })
}

// read counts the terms of the run's documents.
func (r *bm25Run) read(ctx context.Context, x *bm25) error {
	r.rows = make([]bm25Row, 0, r.end-r.first)
	for i := r.first; i < r.end; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		doc := &x.docs[i]
		if hasBareName(r.analyzer, doc) {
			r.nameless = append(r.nameless, int32(i))
		}
		row := bm25Row{}
		for field := range fieldWhole {
			if x.field[field].Weight == 0 {
				continue
			}
			r.terms = appendField(r.terms[:0], r.analyzer, doc, field)
			row.lengths[field] = int32(len(r.terms))
			r.total[field] += len(r.terms)
			r.count(field)
			if into, counts := wholesOf(field); counts {
				r.terms = r.terms[:0]
				for _, w := range r.analyzer.Wholes {
					r.terms = append(r.terms, w.Term)
				}
				r.count(into)
			}
		}
		r.keep(row)
	}
	return nil
}

// count adds r.terms to the row of the current document.
func (r *bm25Run) count(field int) {
	if more := len(r.analyzer.Terms) - len(r.place); more > 0 {
		r.place = append(r.place, make([]int32, more)...)
		r.frequency = append(r.frequency, make([]int32, more)...)
	}
	for _, term := range r.terms {
		at := r.place[term]
		if at == 0 {
			r.row = append(r.row, bm25Cells{term: term})
			at = int32(len(r.row))
			r.place[term] = at
			r.frequency[term]++
		}
		if n := &r.row[at-1].counts[field]; *n < math.MaxUint16-1 {
			*n++
		}
	}
}

// keep appends the row of the current document to the others, and empties it.
func (r *bm25Run) keep(row bm25Row) {
	if need := len(r.row) * fields; cap(r.block)-len(r.block) < need {
		r.block = make([]bm25Count, 0, max(countBlock, need))
	}
	start := len(r.block)
	for i := range r.row {
		cells := &r.row[i]
		r.place[cells.term] = 0
		for field, count := range cells.counts {
			if count > 0 {
				r.block = append(r.block, bm25Count{cells.term, count, uint8(field)})
			}
		}
	}
	row.counts = r.block[start:]
	r.rows = append(r.rows, row)
	r.row = r.row[:0]
}

// merge numbers the terms of all runs. It returns, for each run and each of its terms, the
// place of the run's first posting.
func (x *bm25) merge(runs []*bm25Run) (places [][]int32) {
	x.ids = runs[0].analyzer.Numbers
	x.terms = runs[0].analyzer.Terms
	ids := make([][]int32, len(runs)) // number of a term in the run -> term
	for i, r := range runs {
		ids[i] = make([]int32, len(r.frequency))
		for n := range ids[i] {
			id, known := x.ids[r.analyzer.Terms[n]]
			if !known {
				id = int32(len(x.terms))
				x.ids[r.analyzer.Terms[n]] = id
				x.terms = append(x.terms, r.analyzer.Terms[n])
			}
			ids[i][n] = id
		}
		x.nameless = append(x.nameless, r.nameless...)
		for field, length := range r.total {
			x.mean[field] += float64(length)
		}
	}
	for field := range fields {
		x.mean[field] = max(1, x.mean[field]/float64(max(1, len(x.docs))))
	}
	x.bounds = make([]int32, len(x.terms)+1)
	for i, r := range runs {
		for n, df := range r.frequency {
			x.bounds[ids[i][n]+1] += df
		}
	}
	x.idf = make([]float32, len(x.terms))
	for term := range x.terms {
		x.idf[term] = float32(idf(len(x.docs), int(x.bounds[term+1])))
		x.bounds[term+1] += x.bounds[term]
	}
	next := slices.Clone(x.bounds)
	for i, r := range runs {
		r.idf = make([]float32, len(r.frequency))
		for n, df := range r.frequency {
			id := ids[i][n]
			r.idf[n] = x.idf[id]
			ids[i][n], next[id] = next[id], next[id]+df
		}
		r.analyzer = nil // no longer needed
	}
	x.postings = make([]bm25Posting, x.bounds[len(x.terms)])
	x.perName = make([]float32, len(x.docs))
	x.heads = make([]byname.Heads, len(x.docs))
	return ids
}

// write turns the counts of the run's documents into postings. next holds the place of the
// next posting of each term of the run.
func (r *bm25Run) write(ctx context.Context, x *bm25, next []int32) error {
	for i := range r.rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := &r.rows[i]
		counts := row.counts
		x.heads[r.first+i] = byname.HeadsOf(x.docs[r.first+i].Name, x.docs[r.first+i].Aliases)
		var norms [fields]float64
		name := 0.0
		for field := range fields {
			norms[field] = x.norm(field, float64(row.lengths[field]))
		}
		for _, c := range counts {
			if c.field == fieldName {
				name += float64(r.idf[c.term])
			}
		}
		if name > 0 {
			x.perName[r.first+i] = float32(1 / name)
		}
		for at := 0; at < len(counts); {
			term := counts[at].term
			p := bm25Posting{tool: uint32(r.first + i)}
			f := 0.0
			for ; at < len(counts) && counts[at].term == term; at++ {
				c := counts[at]
				f += x.field[c.field].Weight * float64(c.count) / norms[c.field]
				if c.field == fieldName {
					p.tool |= inName
				}
			}
			p.impact = r.idf[term] * float32(f/(x.k1+f))
			x.postings[next[term]] = p
			next[term]++
		}
	}
	return nil
}

func idf(docs, frequency int) float64 {
	return math.Log(1 + (float64(docs-frequency)+0.5)/(float64(frequency)+0.5))
}
