package benchmarks

import (
	"path/filepath"
	"testing"
)

func TestMeasureSpeed(t *testing.T) {
	const size = 100
	steps := 0
	prepare, speeds, err := MeasureSpeed(t.Context(), size, func(string) { steps++ })
	if err != nil {
		t.Fatal(err)
	}
	if prepare.Tools != size || prepare.Time <= 0 || steps == 0 {
		t.Errorf("%+v, %d steps", prepare, steps)
	}
	if len(speeds) != len(Contestants) {
		t.Fatalf("%d of %d contestants", len(speeds), len(Contestants))
	}
	for i, s := range speeds {
		if s.Searcher != Contestants[i].Name || s.Tools != size ||
			s.Query <= 0 || s.Slowest < s.Query || s.Build <= 0 || s.Allocs <= 0 || s.Bytes < 0 {
			t.Errorf("%s: %+v", Contestants[i].Name, s)
		}
	}
}

func TestMeasureQuality(t *testing.T) {
	list, err := MeasureQuality(t.Context(), "..", filepath.Join(t.TempDir(), "none"), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != len(finders()) {
		t.Fatalf("%d of %d searchers", len(list), len(finders()))
	}
	of := make(map[string]Quality)
	for _, q := range list {
		of[q.Searcher] = q
		if q.Set != ownSet || q.Tools < 150 || q.Queries < 200 || !(0 < q.Recall1 && q.Recall1 <= q.MRR && q.MRR <= 1 && q.Recall1 <= q.Recall5 && q.Recall5 <= 1) {
			t.Errorf("%+v", q)
		}
	}
	// Keyword is Eino's scorer, so it has to find the same.
	eino, keyword := of[Baseline], of["Keyword"]
	if keyword.Searcher = eino.Searcher; eino != keyword {
		t.Errorf("Eino %+v, Keyword %+v", eino, keyword)
	}
}
