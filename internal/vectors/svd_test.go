package vectors

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// matrixOf returns the columns of a dense matrix without their zeros.
func matrixOf(rows, columns int, at func(row, column int) float64) Sparse {
	m := Sparse{Rows: rows, Columns: make([][]Entry, columns)}
	for c := range columns {
		for r := range rows {
			if v := at(r, c); v != 0 {
				m.Columns[c] = append(m.Columns[c], Entry{int32(r), float32(v)})
			}
		}
	}
	return m
}

// column is one column of a factor.
func column(data []float32, rank, c int) (v []float64) {
	for i := c; i < len(data); i += rank {
		v = append(v, float64(data[i]))
	}
	return v
}

func product(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
}

func decomposed(t *testing.T, a Sparse, rank int) Factors {
	t.Helper()
	f, err := Decompose(t.Context(), a, rank)
	require.NoError(t, err)
	return f
}

// waves is the orthonormal basis of the discrete cosine transform.
func waves(n, k int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.Sqrt(2/float64(n)) * math.Cos(math.Pi*(float64(i)+0.5)*float64(k+1)/float64(n))
	}
	return v
}

// A matrix that is made of known singular values and vectors is decomposed into them.
func TestDecomposeFindsTheSingularValues(t *testing.T) {
	const rows, columns, rank = 120, 90, 8
	singular := func(k int) float64 { return 10 * math.Pow(0.8, float64(k)) }
	a := matrixOf(rows, columns, func(r, c int) (sum float64) {
		for k := range 40 {
			sum += singular(k) * waves(rows, k)[r] * waves(columns, k)[c]
		}
		return sum
	})
	f := decomposed(t, a, rank)
	require.Equal(t, rank, f.Rank)
	for k := range rank {
		left, right := column(f.Left, rank, k), column(f.Right, rank, k)
		assert.InDelta(t, singular(k), math.Sqrt(product(left, left)), 1e-4, "singular value %d", k)
		assert.InDelta(t, singular(k), math.Abs(product(left, waves(rows, k))), 1e-4, "left vector %d", k)
		assert.InDelta(t, 1, math.Abs(product(right, waves(columns, k))), 1e-4, "right vector %d", k)
	}
}

// A sparse random matrix has flat singular values, the hardest case. Decompose keeps nearly as much
// as the exact decomposition, which Jacobi's method computes from the whole Gram matrix.
func TestDecomposeKeepsMostOfRandomMatrices(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	const rows, columns, rank = 150, 200, 10
	a := matrixOf(rows, columns, func(int, int) float64 {
		if random.IntN(20) > 0 {
			return 0
		}
		return random.Float64()
	})
	dense := newBlock(columns, rows)
	for c, column := range a.Columns {
		for _, e := range column {
			dense.row(c)[e.Row] = e.Value
		}
	}
	values, _ := eigen(dense.gram(), rows)
	exact := 0.0
	for _, v := range values[:rank] {
		exact += v
	}
	f := decomposed(t, a, rank)
	kept := 0.0
	for _, v := range f.Left {
		kept += float64(v) * float64(v)
	}
	assert.InDelta(t, exact, kept, 0.03*exact)
	assert.LessOrEqual(t, kept, exact*(1+1e-5))
}

// A matrix of a low rank has no more directions than its rank, whatever is asked for.
func TestDecomposeOfLowRank(t *testing.T) {
	a := matrixOf(30, 40, func(r, c int) float64 { return float64(r%3) * float64(1+c%2) }) // of rank 1
	f := decomposed(t, a, 20)
	require.Equal(t, 20, f.Rank)
	for r := range 30 {
		for c := range 40 {
			sum := 0.0
			for k := range f.Rank {
				sum += float64(f.Left[r*f.Rank+k]) * float64(f.Right[c*f.Rank+k])
			}
			assert.InDelta(t, float64(r%3)*float64(1+c%2), sum, 1e-4, "row %d, column %d", r, c)
		}
	}
	for k := 1; k < f.Rank; k++ {
		assert.InDelta(t, 0, product(column(f.Left, f.Rank, k), column(f.Left, f.Rank, k)), 1e-6, "direction %d", k)
	}
}

// Nothing is lost of a matrix that has no more rows than the rank.
func TestDecomposeOfFewRows(t *testing.T) {
	for n := 1; n <= 20; n++ {
		f := decomposed(t, matrixOf(n, n, func(r, c int) float64 {
			if r == c {
				return float64(1 + r%3)
			}
			return 0
		}), n)
		for r := range n {
			row := column(f.Left[r*n:(r+1)*n], 1, 0)
			assert.InDelta(t, float64(1+r%3), math.Sqrt(product(row, row)), 1e-4, "length of row %d of %d", r, n)
		}
	}
}

// Matrices without a direction have factors that are zero or empty.
func TestDecomposeOfNothing(t *testing.T) {
	for name, a := range map[string]Sparse{
		"no rows":    {Columns: make([][]Entry, 3)},
		"no columns": {Rows: 3},
		"only zeros": {Rows: 3, Columns: make([][]Entry, 3)},
	} {
		f := decomposed(t, a, 2)
		for _, v := range append(f.Left, f.Right...) {
			assert.Zero(t, v, name)
		}
	}
	assert.Zero(t, decomposed(t, matrixOf(2, 2, func(int, int) float64 { return 1 }), -1).Rank)
}

func TestDecomposeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Decompose(ctx, matrixOf(5, 5, func(r, c int) float64 { return float64(r + c) }), 2)
	assert.ErrorIs(t, err, context.Canceled)
}
