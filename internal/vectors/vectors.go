// Package vectors turns texts into vectors with an embedder, keeps vectors in a file, and finds the
// singular vectors of sparse matrices.
package vectors

import "math"

// Vectors of length 1: a dot product is a cosine.

// maxDimensions is the largest number of dimensions of a vector.
const maxDimensions = 1 << 16

// Normalized scales a vector to length 1. It returns nil if the vector has no direction.
// The division by the largest number keeps the squares from overflowing.
func Normalized[F float32 | float64](v []F) []float32 {
	largest, sum := 0.0, 0.0
	for _, x := range v {
		largest = max(largest, math.Abs(float64(x))) // NaN if x is
	}
	if largest == 0 || math.IsNaN(largest) || math.IsInf(largest, 0) {
		return nil
	}
	for _, x := range v {
		scaled := float64(x) / largest
		sum += float64(scaled * scaled)
	}
	length := math.Sqrt(sum)
	unit := make([]float32, len(v))
	for i, x := range v {
		unit[i] = float32(float64(x) / largest / length)
	}
	return unit
}

// Dot returns the dot product of two vectors of equal length. It sums in four lanes, which the
// processor works on at once. The conversions make every machine round alike.
func Dot(a, b []float32) float32 {
	var s0, s1, s2, s3 float32
	b = b[:len(a)]
	i := 0
	for ; i+4 <= len(a); i += 4 {
		s0 += float32(a[i] * b[i])
		s1 += float32(a[i+1] * b[i+1])
		s2 += float32(a[i+2] * b[i+2])
		s3 += float32(a[i+3] * b[i+3])
	}
	for ; i < len(a); i++ {
		s0 += float32(a[i] * b[i])
	}
	return (s0 + s1) + (s2 + s3)
}
