package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// The arithmetic: ranks -> values of one query -> means and intervals over queries. The
// package comment has the definitions.

// cutoffs are those of recall and complete recall.
var cutoffs = []int{1, 5, 10}

const ndcgDepth = 10

// metricNames are in the order of values.
var metricNames = []string{"R@1", "R@5", "R@10", "complete@1", "complete@5", "complete@10", "MRR", "nDCG@10"}

// ranks returns the rank of each group: the place of its first tool in found, from 1. Zero
// means that no tool of the group was found.
func ranks(found []string, groups [][]string) []int {
	ranks := make([]int, len(groups))
	for i, group := range groups {
		ranks[i] = 1 + slices.IndexFunc(found, func(name string) bool { return slices.Contains(group, name) })
	}
	return ranks
}

// values computes the metrics of one query, in the order of metricNames.
func values(ranks []int) []float64 {
	var recall, complete []float64
	reciprocal := 0.0
	for _, k := range cutoffs {
		found, all := 0.0, 1.0
		for _, rank := range ranks {
			if rank > 0 && rank <= k {
				found++
			} else {
				all = 0
			}
			if rank > 0 {
				reciprocal = max(reciprocal, 1/float64(rank))
			}
		}
		recall, complete = append(recall, found/float64(len(ranks))), append(complete, all)
	}
	return append(append(recall, complete...), reciprocal, ndcg(ranks))
}

func ndcg(ranks []int) float64 {
	discount := func(rank int) float64 { return 1 / math.Log2(float64(1+rank)) }
	gain, ideal := 0.0, 0.0
	for i, rank := range ranks {
		if rank > 0 && rank <= ndcgDepth {
			gain += discount(rank)
		}
		if i < ndcgDepth {
			ideal += discount(i + 1)
		}
	}
	return min(1, gain/ideal)
}

// estimates returns the mean of every column of rows with its interval. Each resample draws
// rows once for all columns. The mean of no rows is 0.
func estimates(rows [][]float64, columns, resamples int) []Estimate {
	list := make([]Estimate, columns)
	if len(rows) == 0 {
		return list
	}
	sums := make([]float64, columns)
	for _, row := range rows {
		for c, v := range row {
			sums[c] += v
		}
	}
	n := float64(len(rows))
	for c := range list {
		mean := sums[c] / n
		list[c] = Estimate{Value: mean, Low: mean, High: mean}
	}
	if resamples < 1 {
		return list
	}
	random := rand.New(rand.NewPCG(0, 0))
	means := make([][]float64, columns) // by column, the mean of every resample
	for range resamples {
		clear(sums)
		for range rows {
			for c, v := range rows[random.IntN(len(rows))] {
				sums[c] += v
			}
		}
		for c := range sums {
			means[c] = append(means[c], sums[c]/n)
		}
	}
	for c := range list { // the middle 95 %
		slices.Sort(means[c])
		drop := resamples / 40
		list[c].Low, list[c].High = means[c][drop], means[c][resamples-1-drop]
	}
	return list
}
