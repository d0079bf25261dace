package eval

import "fmt"

// A Difference is how report b differs from report a on one metric.
type Difference struct {
	Mean   Estimate `json:"mean"`   // mean of b's value minus a's over the queries, with its 95 % interval
	Wins   int      `json:"wins"`   // queries on which b is better
	Ties   int      `json:"ties"`   // queries on which they are equal
	Losses int      `json:"losses"` // queries on which a is better
}

// Certain reports whether the interval of the mean difference excludes 0.
func (d Difference) Certain() bool { return d.Mean.Low > 0 || d.Mean.High < 0 }

// Compare compares report b with report a query by query, and returns a Difference for each of their
// metrics. Most of what makes a query easy or hard affects both and cancels out, so a difference can
// be certain even where the intervals of the two means overlap. Both must have the same queries. The
// options of a's Run decide how the intervals are computed.
func Compare(a, b *Report) ([]Difference, error) {
	if len(a.Queries) != len(b.Queries) {
		return nil, fmt.Errorf("eval: comparing reports on %d and on %d queries", len(a.Queries), len(b.Queries))
	}
	changes := make([]Difference, len(a.Metrics))
	rows := make([][]float64, len(a.Queries))
	for i := range a.Queries {
		if one, other := a.Queries[i].Query, b.Queries[i].Query; one.ID != other.ID || one.Text != other.Text {
			return nil, fmt.Errorf("eval: comparing reports on different queries: number %d is %q and %q", i+1, one.ID, other.ID)
		}
		for m := range changes {
			change := b.Queries[i].Values[m] - a.Queries[i].Values[m]
			rows[i] = append(rows[i], change)
			switch {
			case change > 0:
				changes[m].Wins++
			case change < 0:
				changes[m].Losses++
			default:
				changes[m].Ties++
			}
		}
	}
	for m, mean := range estimates(rows, len(changes), a.options.Resamples) {
		changes[m].Mean = mean
	}
	return changes, nil
}
