package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// The arithmetic: ranks -> values of one query -> means and intervals over queries. The
// package comment has the definitions.

const ndcgDepth = 10

func metricNames(ks []int) []string {
	var names []string
	for _, k := range ks {
		names = append(names, fmt.Sprintf("R@%d", k))
	}
	for _, k := range ks {
		names = append(names, fmt.Sprintf("complete@%d", k))
	}
	return append(names, "MRR", fmt.Sprintf("nDCG@%d", ndcgDepth))
}

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
func values(ranks []int, ks []int) []float64 {
	within := func(k int) float64 {
		n := 0
		for _, rank := range ranks {
			if rank > 0 && rank <= k {
				n++
			}
		}
		return float64(n)
	}
	groups := float64(len(ranks))
	var v []float64
	for _, k := range ks {
		v = append(v, within(k)/groups)
	}
	for _, k := range ks {
		complete := 0.0
		if within(k) == groups {
			complete = 1
		}
		v = append(v, complete)
	}
	reciprocal := 0.0
	for _, rank := range ranks {
		if rank > 0 {
			reciprocal = max(reciprocal, 1/float64(rank))
		}
	}
	return append(v, reciprocal, ndcg(ranks))
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
func estimates(rows [][]float64, columns int, options Options) []Estimate {
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
	if options.Resamples < 1 {
		return list
	}
	random := rand.New(rand.NewPCG(options.Seed, 0))
	means := make([][]float64, columns) // by column, the mean of every resample
	for range options.Resamples {
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
	for c := range list {
		slices.Sort(means[c])
		list[c].Low, list[c].High = middle95(means[c])
	}
	return list
}

// middle95 drops 2.5 % of a sorted list at either end, and returns the smallest and the
// largest value left.
func middle95(sorted []float64) (low, high float64) {
	drop := len(sorted) / 40
	return sorted[drop], sorted[len(sorted)-1-drop]
}
