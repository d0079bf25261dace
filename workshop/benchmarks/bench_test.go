package benchmarks

import (
	"context"
	"fmt"
	"io"
	"testing"
)

var benchSizes = []int{100, 1_000, 10_000, 100_000}

// BenchmarkQuery measures the time of a question through tool_search. The report has the ratios.
func BenchmarkQuery(b *testing.B) {
	eachContestant(b, func(b *testing.B, run *contest) {
		run.build(b.Context())
		run.open(b.Context())
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := run.door.InvokableRun(context.Background(), run.arguments[i%len(run.arguments)]); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkBuild measures the time to index a catalog's documents.
func BenchmarkBuild(b *testing.B) {
	eachContestant(b, func(b *testing.B, run *contest) {
		b.ReportAllocs()
		for b.Loop() {
			searcher, err := run.Index(context.Background(), run.field.docs)
			if err != nil {
				b.Fatal(err)
			}
			if closer, ok := searcher.(io.Closer); ok {
				b.StopTimer()
				closer.Close()
				b.StartTimer()
			}
		}
	})
}

func eachContestant(b *testing.B, bench func(*testing.B, *contest)) {
	for _, size := range benchSizes {
		b.Run(fmt.Sprintf("tools=%d", size), func(b *testing.B) {
			f := newField(size)
			for _, c := range Contestants {
				b.Run(c.Name, func(b *testing.B) {
					run := &contest{Contestant: c, field: f}
					defer run.close()
					bench(b, run)
				})
			}
		})
	}
}
