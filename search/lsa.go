package search

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/vectors"
)

// Latent semantic analysis: search by the topics of the catalog, without a model.
//
//	build:  BM25's index -- impacts --> matrix of tools and terms -- internal/vectors --> vectors of tools, vectors of terms
//	query:  terms, as BM25 reads them -- weight · idf · the term's vector --> sum -- dot product --> every tool
//
// Words of the same tools get similar vectors, so a query finds tools that say the same in other words, as far as the
// catalog itself uses the words together. The vectors are those of the largest singular values of the matrix
// (Deerwester and others, Indexing by Latent Semantic Analysis, 1990). Terms are weighted, corrected and translated
// as in BM25 (bm25_query.go). A row of the matrix is divided by the root of its length; otherwise tools with long
// texts would determine the topics. Alone it finds less than BM25, because tools of one topic look alike.

const (
	defaultLSADimensions = 64
	maxLSADimensions     = 512
	lsaWeight            = 0.3  // in a Hybrid without weights
	minLSAScore          = 1e-4 // less is rounding
)

// LSAOptions configures LSA. The zero value is a good default.
type LSAOptions struct {
	// Dimensions is how many numbers a vector has, at most 512 and at most as many as tools. Zero means 64.
	Dimensions int

	// BM25 says how words are read and weighed. The zero value means BM25's defaults.
	BM25 BM25Options
}

// LSA is the Indexer that ranks tools by the topics of the catalog, which it finds by latent semantic analysis of the
// tools' words, without an embedder. It is meant as a part of a Hybrid: Hybrid(BM25, LSA) finds more than BM25 for
// long requests, and for questions in a language other than the tools'.
//
// The score is the cosine of two vectors. A match must score above 0. Ties go by the order of the documents. A query
// without a word of the catalog finds nothing.
//
// LSA contains a BM25 index, and building it takes three to seven times as long as that index alone. A search
// compares the query with every tool. Each tool and each term of the catalog needs 256 bytes on top of the BM25
// index. The searcher is a Restricter. Restrict takes as long as indexing the documents.
func LSA(ctx context.Context, docs []Document) (Searcher, error) {
	return LSAOptions{}.Index(ctx, docs)
}

// lsa implements Searcher. It is immutable.
type lsa struct {
	options LSAOptions
	words   *bm25
	tools   vectors.Matrix // by document: a vector of length 1, or zero
	terms   vectors.Matrix // by term
}

// Index is an Indexer. See LSA.
func (o LSAOptions) Index(ctx context.Context, docs []Document) (Searcher, error) {
	words, err := o.BM25.index(ctx, docs)
	return o.over(ctx, words, err)
}

// Restrict implements Restricter. It factors the matrix of the documents alone.
func (x *lsa) Restrict(ctx context.Context, docs []int) (Searcher, error) {
	words, err := x.options.BM25.restricted(ctx, x.words.all, docs)
	return x.options.over(ctx, words, err)
}

// over makes the searcher over the index of its words.
func (o LSAOptions) over(ctx context.Context, words *bm25, err error) (Searcher, error) {
	if err != nil {
		return nil, err
	}
	// In the order of their texts: the numbers of terms depend on how many workers built the index.
	order := ascending(len(words.Terms))
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(words.Terms[a], words.Terms[b]) })
	dimensions := min(cmp.Or(max(o.Dimensions, 0), defaultLSADimensions), maxLSADimensions)
	tools, sorted, err := vectors.Decompose(ctx, matrixOf(words, order), dimensions)
	if err != nil {
		return nil, err
	}
	x := &lsa{options: o, words: words, tools: tools, terms: vectors.NewMatrix(sorted.Rows, sorted.Width)}
	for i, term := range order {
		copy(x.terms.Row(int(term)), sorted.Row(i))
	}
	for doc := range words.docs {
		copy(tools.Row(doc), vectors.Normalized(tools.Row(doc)))
	}
	return x, ctx.Err()
}

// matrixOf returns the matrix of impacts: a row for each document, a column for each term.
func matrixOf(words *bm25, order []int32) vectors.Sparse {
	squares := make([]float64, len(words.docs))
	for _, term := range order {
		for _, p := range words.List(term) {
			squares[p.Doc()] += float64(float64(p.Impact) * float64(p.Impact))
		}
	}
	scale := make([]float32, len(words.docs))
	for doc, square := range squares {
		if square > 0 {
			scale[doc] = float32(1 / math.Sqrt(math.Sqrt(square)))
		}
	}
	matrix := vectors.Sparse{Rows: len(words.docs), Columns: make([][]vectors.Entry, len(order))}
	for i, term := range order {
		for _, p := range words.List(term) {
			matrix.Columns[i] = append(matrix.Columns[i], vectors.Entry{Row: p.Doc(), Value: p.Impact * scale[p.Doc()]})
		}
	}
	return matrix
}

func (x *lsa) String() string { return "LSA" }

func (x *lsa) read(q Query) (terms []bm25Term, vector []float32) {
	sum := make([]float32, x.tools.Width)
	x.words.with(func(s *bm25Scratch) {
		s.read(q)
		for _, group := range s.query.groups {
			for _, t := range group.terms {
				weight := float32(t.weight) * x.words.IDF[t.id]
				terms = append(terms, bm25Term{id: t.id, weight: float64(weight)})
				for i, v := range x.terms.Row(int(t.id)) {
					sum[i] += float32(weight * v)
				}
			}
		}
	})
	return terms, vectors.Normalized(sum)
}

func (x *lsa) Search(ctx context.Context, q Query) (Hits, error) {
	_, vector := x.read(q)
	if vector == nil {
		return Hits{}, ctx.Err()
	}
	return rank(ctx, &q, x.words.docOf, len(x.words.docs), minLSAScore, func(number int) float64 {
		return float64(vectors.Dot(vector, x.tools.Row(number)))
	})
}

const maxExplainedTerms = 5

func (x *lsa) Explain(ctx context.Context, q Query, doc int) (Explanation, error) {
	number, isHere, err := x.words.numberOf(ctx, doc)
	if err != nil || !isHere {
		return Explanation{}, err
	}
	terms, vector := x.read(q)
	if vector == nil {
		return Explanation{}, ctx.Err()
	}
	cosine := float64(vectors.Dot(vector, x.tools.Row(number)))
	part := Contribution{Term: q.text(), Detail: fmt.Sprintf("the cosine, %.4f, is not above 0", cosine)}
	if cosine > minLSAScore {
		part.Score = cosine
		part.Detail = fmt.Sprintf("cosine of the query's and the tool's vectors, %d dimensions", x.tools.Width)
	}
	part.Detail += x.shares(terms, number)
	return Explanation{Score: part.Score, Parts: []Contribution{part}}, ctx.Err()
}

// shares says how much the terms that count most add to the cosine, in percent of what all terms add.
func (x *lsa) shares(terms []bm25Term, number int) string {
	sum := 0.0
	for i := range terms {
		terms[i].weight *= float64(vectors.Dot(x.terms.Row(int(terms[i].id)), x.tools.Row(number)))
		sum += math.Abs(terms[i].weight)
	}
	if sum == 0 {
		return ""
	}
	slices.SortStableFunc(terms, func(a, b bm25Term) int { return cmp.Compare(math.Abs(b.weight), math.Abs(a.weight)) })
	var names []string
	for _, t := range terms[:min(len(terms), maxExplainedTerms)] {
		names = append(names, fmt.Sprintf("%q %+.0f %%", x.words.Terms[t.id], 100*t.weight/sum))
	}
	return "; of it " + strings.Join(names, ", ")
}
