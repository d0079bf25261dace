package internal_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/vectors"
)

// matrixOf returns the columns of a dense matrix without their zeros.
func matrixOf(rows, columns int, at func(row, column int) float64) vectors.Sparse {
	m := vectors.Sparse{Rows: rows, Columns: make([][]vectors.Entry, columns)}
	for c := range columns {
		for r := range rows {
			if v := at(r, c); v != 0 {
				m.Columns[c] = append(m.Columns[c], vectors.Entry{Row: int32(r), Value: float32(v)})
			}
		}
	}
	return m
}

// column is one column of a factor.
func column(m vectors.Matrix, c int) (v []float64) {
	for i := range m.Rows {
		v = append(v, float64(m.Row(i)[c]))
	}
	return v
}

func product(a, b []float64) (sum float64) {
	for i := range a {
		sum += a[i] * b[i]
	}
	return sum
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
	var tall, wide [40][]float64
	for k := range tall {
		tall[k], wide[k] = waves(rows, k), waves(columns, k)
	}
	a := matrixOf(rows, columns, func(r, c int) (sum float64) {
		for k := range tall {
			sum += singular(k) * tall[k][r] * wide[k][c]
		}
		return sum
	})
	lefts, rights, err := vectors.Decompose(t.Context(), a, rank)
	require.NoError(t, err)
	require.Equal(t, rank, lefts.Width)
	for k := range rank {
		left, right := column(lefts, k), column(rights, k)
		assert.InDelta(t, singular(k), math.Sqrt(product(left, left)), 1e-4, "singular value %d", k)
		assert.InDelta(t, singular(k), math.Abs(product(left, waves(rows, k))), 1e-4, "left vector %d", k)
		assert.InDelta(t, 1, math.Abs(product(right, waves(columns, k))), 1e-4, "right vector %d", k)
	}
}

func TestDecomposeStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, _, err := vectors.Decompose(ctx, matrixOf(5, 5, func(r, c int) float64 { return float64(r + c) }), 2)
	assert.ErrorIs(t, err, context.Canceled)
}
