// Package standout says how far a score stands out among others. Scores of different searchers
// have different scales, but how far a tool stands out can be compared. hybrid.go in package
// search says why it is measured twice.
package standout

import "math"

// A Scale is made of a searcher's best scores.
type Scale struct {
	highest float64
	among   spread // of the scores
	in      spread // of the whole catalog; all tools but those with a score have 0
}

// Of returns the scale of the best scores among n tools. Without scores nothing stands out.
func Of(scores []float64, n int) Scale {
	s := Scale{among: spreadOf(scores, len(scores)), in: spreadOf(scores, n)}
	for _, score := range scores {
		s.highest = max(s.highest, score)
	}
	return s
}

// Deviations returns how far a score is above the mean of the scores and above the mean of the
// catalog, in standard deviations. A score above all of these counts as the highest of them.
func (s *Scale) Deviations(score float64) (among, in float64) {
	score = min(score, s.highest)
	return s.among.standard(score), s.in.standard(score)
}

// Amount returns by how much a score stands out, which is more than 0: the mean of ln(1 + e^z) for
// the two deviations z.
func (s *Scale) Amount(score float64) float64 {
	among, in := s.Deviations(score)
	return (soft(among) + soft(in)) / 2
}

// soft is ln(1 + e^z), written so that it does not overflow.
func soft(z float64) float64 { return max(z, 0) + math.Log1p(math.Exp(-math.Abs(z))) }

// spread is a mean and the standard deviation from it.
type spread struct{ mean, deviation float64 }

// spreadOf returns the spread of n scores. Scores that are not given are 0.
func spreadOf(scores []float64, n int) spread {
	if len(scores) == 0 {
		return spread{}
	}
	sum, squares := 0.0, 0.0
	for _, score := range scores {
		sum += score
	}
	mean := sum / float64(n)
	for _, score := range scores {
		squares += float64((score - mean) * (score - mean))
	}
	squares += float64(float64(n-len(scores)) * float64(mean*mean))
	s := spread{mean, math.Sqrt(squares / float64(n))}
	if s.deviation < 1e-9*mean { // equal but for rounding
		s.deviation = 0
	}
	return s
}

// standard returns how far a score is above the mean, in standard deviations. It is 0 if
// all scores are equal.
func (s spread) standard(score float64) float64 {
	if s.deviation == 0 {
		return 0
	}
	return (score - s.mean) / s.deviation
}
