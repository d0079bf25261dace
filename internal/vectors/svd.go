package vectors

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The largest singular values of a sparse matrix, and their vectors.
//
// The method is randomized subspace iteration (Halko, Martinsson and Tropp, Finding Structure
// with Randomness, 2011, algorithms 4.4 and 5.1, https://arxiv.org/abs/0909.4061):
//
//	X = random numbers
//	repeat: X = A Aᵀ X, made orthonormal      X spans the strongest directions ever better
//	Y = Aᵀ X
//	YᵀY = W Λ Wᵀ                              small and dense: Jacobi's rotations
//	V = Y W Λ^-½                              right singular vectors
//	A V                                       left singular vectors times singular values
//
// The time is proportional to entries · rank, plus (rows + columns) · rank². Nothing of size
// rows · columns is ever in memory.
//
// The same matrix gives the same bits on every machine: the random numbers have a fixed seed, every
// sum has a fixed order, and conversions forbid fused multiplications.

const (
	oversampling = 16    // directions beyond the rank; they make the last vectors within it exact
	iterations   = 3     // of X = A Aᵀ X
	dependent    = 1e-8  // the share of a column's square below which its new direction is rounding error
	noise        = 1e-10 // the same for eigenvalues, as a share of the largest
)

// A Sparse is sparse.
type Sparse struct {
	Rows    int
	Columns [][]Entry // each by ascending row
}

// An Entry is a value of a column that is not 0.
type Entry struct {
	Row   int32
	Value float32
}

// Factors are A V and V, where the columns of V are right singular vectors of A, those of the
// largest singular values first. They are zero beyond the rank of A.
type Factors struct {
	Rank  int
	Left  []float32 // A V: Rank numbers for each row of A
	Right []float32 // V: Rank numbers for each column of A
}

// Decompose computes the singular vectors of the rank largest singular values, or of all if there
// are fewer. It fails only if ctx is done.
func Decompose(ctx context.Context, a Sparse, rank int) (Factors, error) {
	rank = max(0, min(rank, a.Rows, len(a.Columns)))
	width := min(rank+oversampling, a.Rows, len(a.Columns))
	x, y := newBlock(a.Rows, width), newBlock(len(a.Columns), width)
	x.randomize()
	for range iterations {
		if err := a.timesTransposed(ctx, y, x); err != nil {
			return Factors{}, err
		}
		if err := a.times(ctx, x, y); err != nil {
			return Factors{}, err
		}
		x.orthonormalize()
	}
	if err := a.timesTransposed(ctx, y, x); err != nil {
		return Factors{}, err
	}
	values, vectors := eigen(y.gram(), width)
	right := newBlock(len(a.Columns), rank)
	for i := range y.rows {
		from, to := y.row(i), right.row(i)
		for c := range to {
			if values[c] > noise*values[0] {
				to[c] = float32(project(from, vectors[c]) / math.Sqrt(values[c]))
			}
		}
	}
	left := newBlock(a.Rows, rank)
	if err := a.times(ctx, left, right); err != nil {
		return Factors{}, err
	}
	return Factors{Rank: rank, Left: left.data, Right: right.data}, nil
}

func project(row []float32, direction []float64) (sum float64) {
	for i, v := range row {
		sum += float64(float64(v) * direction[i])
	}
	return sum
}

// columnsBetweenChecks is how many columns are multiplied between two checks of the context.
const columnsBetweenChecks = 256

// timesTransposed sets y = Aᵀ x.
func (a Sparse) timesTransposed(ctx context.Context, y, x block) error {
	clear(y.data)
	return a.each(ctx, func(row, column int, value float32) { addScaled(y.row(column), x.row(row), value) })
}

// times sets x = A y.
func (a Sparse) times(ctx context.Context, x, y block) error {
	clear(x.data)
	return a.each(ctx, func(row, column int, value float32) { addScaled(x.row(row), y.row(column), value) })
}

// each calls f for every entry, column by column, and fails only if ctx is done.
func (a Sparse) each(ctx context.Context, f func(row, column int, value float32)) error {
	for c, column := range a.Columns {
		if c%columnsBetweenChecks == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for _, entry := range column {
			f(int(entry.Row), c, entry.Value)
		}
	}
	return ctx.Err()
}

func addScaled(to, from []float32, factor float32) {
	from = from[:len(to)]
	for i := range to {
		to[i] += float32(factor * from[i])
	}
}

// A block is a dense matrix of many rows and few columns, by row.
type block struct {
	rows, width int
	data        []float32
}

func newBlock(rows, width int) block { return block{rows, width, make([]float32, rows*width)} }

func (b block) row(i int) []float32 { return b.data[i*b.width : (i+1)*b.width] }

// randomize sets every element to a number between -1 and 1, by the generator SplitMix64 from a
// fixed seed. Random signs would not do: small blocks of them are often singular.
func (b block) randomize() {
	state := uint64(0)
	for i := range b.data {
		state += 0x9e3779b97f4a7c15
		z := state
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		b.data[i] = float32(int32((z^z>>31)>>32)) / (1 << 31)
	}
}

// gram returns bᵀb.
func (b block) gram() []float64 {
	n := b.width
	g := make([]float64, n*n)
	wide := make([]float64, n)
	for r := range b.rows {
		for i, v := range b.row(r) {
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

// orthonormalize makes the columns orthonormal, by Cholesky's factors of bᵀb: b becomes b R^-1.
// A column that depends on those before it becomes zero.
func (b block) orthonormalize() {
	n := b.width
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
	for r := range b.rows {
		row := b.row(r)
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

// eigen returns the eigenvalues of a symmetric positive matrix of n rows, largest first, and their
// vectors, by Jacobi's rotations. It overwrites the matrix.
func eigen(a []float64, n int) (values []float64, vectors [][]float64) {
	rows := make([][]float64, n) // of the transposed matrix of the vectors
	for i := range rows {
		rows[i] = make([]float64, n)
		rows[i][i] = 1
	}
	for range maxSweeps {
		if isDiagonal(a, n) {
			break
		}
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
	order := make([]int, n)
	for i := range order {
		order[i] = i
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
