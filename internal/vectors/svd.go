package vectors

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The largest singular values of a sparse matrix, and their vectors.
//
// The method is randomized subspace iteration (Halko, Martinsson and Tropp, Finding Structure with Randomness, 2011,
// algorithms 4.4 and 5.1, https://arxiv.org/abs/0909.4061):
//
//	X = random numbers
//	repeat: X = A Aᵀ X, made orthonormal      X spans the strongest directions ever better
//	Y = Aᵀ X
//	YᵀY = W Λ Wᵀ                              small and dense: Jacobi's rotations
//	V = Y W Λ^-½                              right singular vectors
//	A V                                       left singular vectors times singular values
//
// The time is proportional to entries · rank, plus (rows + columns) · rank². The same matrix gives the same bits on
// every machine: the random numbers have a fixed seed, every sum has a fixed order, and conversions forbid fused
// multiplications.

const (
	oversampling = 16    // directions beyond the rank; they make the last vectors within it exact
	iterations   = 3     // of X = A Aᵀ X
	dependent    = 1e-8  // the share of a column's square below which its new direction is rounding error
	noise        = 1e-10 // the same for eigenvalues, as a share of the largest
)

// A Sparse is a sparse matrix.
type Sparse struct {
	Rows    int
	Columns [][]Entry // each by ascending row
}

// An Entry is a value of a column that is not 0.
type Entry struct {
	Row   int32
	Value float32
}

// Decompose computes the singular vectors of the rank largest singular values: A V and V, where the columns of V are
// right singular vectors of A, the largest first. They are zero beyond the rank of A. It fails only if ctx is done.
func Decompose(ctx context.Context, a Sparse, rank int) (left, right Matrix, err error) {
	rank = max(0, min(rank, a.Rows, len(a.Columns)))
	width := min(rank+oversampling, a.Rows, len(a.Columns))
	x, y := NewMatrix(a.Rows, width), NewMatrix(len(a.Columns), width)
	x.randomize()
	for i := 0; i < iterations && ctx.Err() == nil; i++ {
		a.timesTransposed(ctx, y, x)
		a.times(ctx, x, y)
		x.orthonormalize()
	}
	a.timesTransposed(ctx, y, x)
	values, vectors := eigen(y.gram(), width)
	left, right = NewMatrix(a.Rows, rank), NewMatrix(len(a.Columns), rank)
	for i := range y.Rows {
		for c := range right.Row(i) {
			if values[c] > noise*values[0] {
				sum := 0.0
				for j, v := range y.Row(i) {
					sum += float64(float64(v) * vectors[c][j])
				}
				right.Row(i)[c] = float32(sum / math.Sqrt(values[c]))
			}
		}
	}
	a.times(ctx, left, right)
	return left, right, ctx.Err()
}

const columnsBetweenChecks = 256

// timesTransposed sets y = Aᵀ x.
func (a Sparse) timesTransposed(ctx context.Context, y, x Matrix) {
	clear(y.Numbers)
	a.each(ctx, func(row, column int, value float32) { addScaled(y.Row(column), x.Row(row), value) })
}

// times sets x = A y.
func (a Sparse) times(ctx context.Context, x, y Matrix) {
	clear(x.Numbers)
	a.each(ctx, func(row, column int, value float32) { addScaled(x.Row(row), y.Row(column), value) })
}

// each calls f for every entry, column by column, until ctx is done.
func (a Sparse) each(ctx context.Context, f func(row, column int, value float32)) {
	for c, column := range a.Columns {
		if c%columnsBetweenChecks == 0 && ctx.Err() != nil {
			return
		}
		for _, entry := range column {
			f(int(entry.Row), c, entry.Value)
		}
	}
}

func addScaled(to, from []float32, factor float32) {
	from = from[:len(to)]
	for i := range to {
		to[i] += float32(factor * from[i])
	}
}

// A Matrix is a dense matrix of many rows and few columns.
type Matrix struct {
	Rows, Width int
	Numbers     []float32 // row by row
}

// NewMatrix returns a matrix of zeros.
func NewMatrix(rows, width int) Matrix { return Matrix{rows, width, make([]float32, rows*width)} }

// Row returns a row, which shares its numbers with the matrix.
func (m Matrix) Row(i int) []float32 { return m.Numbers[i*m.Width : (i+1)*m.Width] }

// randomize sets every element to a number between -1 and 1, by SplitMix64 from a fixed seed. Random signs would not
// do: small blocks of them are often singular.
func (b Matrix) randomize() {
	state := uint64(0)
	for i := range b.Numbers {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b.Numbers[i] = float32(int32((z^z>>31)>>32)) / (1 << 31)
	}
}

// gram returns bᵀb.
func (b Matrix) gram() []float64 {
	n := b.Width
	g := make([]float64, n*n)
	wide := make([]float64, n)
	for r := range b.Rows {
		for i, v := range b.Row(r) {
			wide[i] = float64(v)
		}
		for i, v := range wide {
			to := g[i*n : i*n+i+1]
			for j := range to {
				to[j] += float64(v * wide[j])
			}
		}
	}
	for i := range n {
		for j := range i {
			g[j*n+i] = g[i*n+j]
		}
	}
	return g
}

// orthonormalize makes the columns orthonormal, by Cholesky's factors of bᵀb: b becomes b R^-1. A column that depends
// on those before it becomes zero.
func (b Matrix) orthonormalize() {
	n := b.Width
	lower := b.gram() // becomes Rᵀ
	inverse := make([]float64, n)
	for j := range n {
		row := lower[j*n : (j+1)*n]
		pivot := row[j]
		for i := range j {
			other := lower[i*n : i*n+i]
			sum := row[i]
			for k, v := range other {
				sum -= float64(v * row[k])
			}
			row[i] = sum * inverse[i]
			pivot -= float64(row[i] * row[i])
		}
		if pivot > dependent*row[j] {
			inverse[j] = 1 / math.Sqrt(pivot)
		}
	}
	wide := make([]float64, n)
	for r := range b.Rows {
		row := b.Row(r)
		for j := range n {
			sum := float64(row[j])
			for k, v := range lower[j*n : j*n+j] {
				sum -= float64(v * wide[k])
			}
			wide[j] = sum * inverse[j]
			row[j] = float32(wide[j])
		}
	}
}

// maxSweeps is more than Jacobi's method ever needs: it converges quadratically.
const maxSweeps = 30

// eigen returns the eigenvalues of a symmetric positive matrix of n rows, largest first, and their vectors, by
// Jacobi's rotations. It overwrites the matrix.
func eigen(a []float64, n int) (values []float64, vectors [][]float64) {
	rows := make([][]float64, n) // of the transposed matrix of the vectors
	order := make([]int, n)      // of the rows
	for i := range rows {
		rows[i] = make([]float64, n)
		rows[i][i] = 1
		order[i] = i
	}
	for sweep := 0; sweep < maxSweeps && !isDiagonal(a, n); sweep++ {
		for p := range n {
			for q := p + 1; q < n; q++ {
				if a[p*n+q] == 0 {
					continue
				}
				// The rotation that makes a[p][q] zero (Golub and Van Loan, Sparse Computations, section 8.5).
				tau := (a[q*n+q] - a[p*n+p]) / (2 * a[p*n+q])
				t := math.Copysign(1, tau) / (math.Abs(tau) + math.Sqrt(1+float64(tau*tau)))
				cos := 1 / math.Sqrt(1+float64(t*t))
				sin := t * cos
				for i := range n {
					a[i*n+p], a[i*n+q] = rotated(a[i*n+p], a[i*n+q], cos, sin)
				}
				rotate(a[p*n:(p+1)*n], a[q*n:(q+1)*n], cos, sin)
				rotate(rows[p], rows[q], cos, sin)
			}
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(a[j*n+j], a[i*n+i]) })
	for _, i := range order {
		values = append(values, max(0, a[i*n+i]))
		vectors = append(vectors, rows[i])
	}
	return values, vectors
}

func rotate(p, q []float64, cos, sin float64) {
	for i := range p {
		p[i], q[i] = rotated(p[i], q[i], cos, sin)
	}
}

func rotated(p, q, cos, sin float64) (float64, float64) {
	return float64(cos*p) - float64(sin*q), float64(sin*p) + float64(cos*q)
}

// isDiagonal reports whether everything off the diagonal is rounding error.
func isDiagonal(a []float64, n int) bool {
	beside, on := 0.0, 0.0
	for i := range n {
		for j := range i {
			beside += float64(a[i*n+j] * a[i*n+j])
		}
		on += float64(a[i*n+i] * a[i*n+i])
	}
	return beside <= 1e-24*on
}
