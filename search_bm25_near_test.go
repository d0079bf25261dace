package toolsearch_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/eino-toolsearch/toolsearch"
)

// TestBM25Near: what a word that no tool has is taken for.
func TestBM25Near(t *testing.T) {
	s := bm25Catalog(t, toolsearch.BM25Options{},
		doc("create_invoice", "Bills a customer"),
		doc("list_channels", "Of the workspace"),
		doc("kubernetes_pods", "Running ones"),
		doc("open_web_page", "In a browser"),
		doc("read_v20", "Of the year 2024"),
		doc("get_subscription", "Of a customer"),
		doc("get_prescription", "Of a patient"),
		doc("подключить", "Ставит связь"),
	)
	tests := []struct {
		query string
		want  []int
		why   string
	}{
		{"invioce", []int{0}, "two neighbours swapped"},
		{"invoce", []int{0}, "a letter less"},
		{"invooice", []int{0}, "a letter more"},
		{"inwoice", []int{0}, "another letter"},
		{"nivoice", []int{0}, "at the beginning"},
		{"invxxce", nil, "two slips in a short word"},
		{"subcsrpition", []int{5}, "two slips in a long word, and no third"},
		{"kube", []int{2}, "cut short"},
		{"ku", nil, "cut too short"},
		{"webpage", []int{3}, "two words written as one"},
		{"2025", nil, "a number is no other number"},
		{"v21", []int{4}, "nor in a word, whose letters are there"},
		{"подключть", []int{7}, "in another alphabet"},
		{"delete chanel", []int{1}, "beside a word of the lexicon"},
		{"'chanel' kubernetes", []int{2}, "a value"},
		{"so many words that chanel here stands among eight others of no use today kubernetes green yellow purple", []int{2}, "a sentence"},
		{strings.Repeat("x", 4000), nil, "a long word"},
	}
	for _, tt := range tests {
		if got := bestOf(t, s, toolsearch.ParseQuery(tt.query)); !slices.Equal(got, tt.want) && len(got)+len(tt.want) > 0 {
			t.Errorf("%s: %.40q found %v, want %v", tt.why, tt.query, got, tt.want)
		}
	}
}

// TestBM25NearCountsLess: the word itself comes before those like it, and a required word
// is not taken for another.
func TestBM25NearCountsLess(t *testing.T) {
	docs := []toolsearch.Document{doc("send_mesage", ""), doc("send_message", "")}
	s := bm25Catalog(t, toolsearch.BM25Options{}, docs...)
	if got := bestOf(t, s, toolsearch.ParseQuery("mesage")); !slices.Equal(got, []int{0}) {
		t.Errorf("a word that a tool has found %v, want it alone", got)
	}
	if got := bestOf(t, s, toolsearch.ParseQuery("+messsage send")); len(got) > 0 {
		t.Errorf("a misspelled required word found %v", got)
	}
	hits, err := s.Search(context.Background(), toolsearch.ParseQuery("messsage"))
	if err != nil {
		t.Fatal(err)
	}
	right, err := s.Search(context.Background(), toolsearch.ParseQuery("message"))
	if err != nil {
		t.Fatal(err)
	}
	// Half the weight: of the impact, and of the share of the name, which is one half.
	if len(hits) != 1 || len(right) != 1 || hits[0].Score >= right[0].Score-0.5*right[0].Score+1e-6 {
		t.Errorf("misspelled %v, spelled right %v", hits, right)
	}
}

// TestBM25Values: what a query quotes counts for less than what it asks for.
func TestBM25Values(t *testing.T) {
	s := bm25Catalog(t, toolsearch.BM25Options{},
		doc("walnut_maker", "Makes it"),
		doc("pecan_maker", "Makes it"),
		doc("cashew.nuts", "Some"),
	)
	for _, query := range []string{
		`"walnut" pecan`, `pecan "walnut"`, "walnut.txt pecan", "pecan at https://walnut/", "pecan for me@walnut.org",
		"pecan 'walnut'", "pecan <walnut>", "pecan “walnut”", "pecan `walnut`", "pecan 「walnut」",
	} {
		if got := bestOf(t, s, toolsearch.ParseQuery(query)); !slices.Equal(got, []int{1, 0}) {
			t.Errorf("%q found %v, want what is not quoted first", query, got)
		}
	}
	for _, query := range []string{
		"walnut pecan", "pecan's walnut's", `"walnut" and "pecan"`, `walnut "walnut" pecan`, `pecan "walnut`, "walnut, pecan.", "walnut's 5' pecan",
	} {
		if got := bestOf(t, s, toolsearch.ParseQuery(query)); !slices.Equal(got, []int{0, 1}) {
			t.Errorf("%q found %v, want both alike", query, got)
		}
	}
	if got := bestOf(t, s, toolsearch.ParseQuery("use cashew.nuts")); !slices.Equal(got, []int{2}) {
		t.Errorf("a name with a dot found %v", got)
	}
}

// TestBM25Lexicon: words for the same, and words that tools are asked with.
func TestBM25Lexicon(t *testing.T) {
	s := bm25Catalog(t, toolsearch.BM25Options{},
		doc("remove_directory", ""), doc("repo_config", ""), doc("information_desk", ""), doc("desk_lamp", ""))
	for query, want := range map[string][]int{
		"delete folder":            {0},
		"erase dir":                {0},
		"repository configuration": {1},
		"lamp information":         {3, 2}, // what is asked for before the word it is asked with
	} {
		if got := bestOf(t, s, toolsearch.ParseQuery(query)); !slices.Equal(got, want) {
			t.Errorf("%q found %v, want %v", query, got, want)
		}
	}
}

// TestBM25Sentences: of two tools with the same words of a request, the one that has them
// in one sentence comes first, by a quarter of what that sentence scores.
func TestBM25Sentences(t *testing.T) {
	s := bm25Catalog(t, toolsearch.BM25Options{Coverage: -1},
		doc("apart", "walnut cashew"), doc("together", "walnut pecan"), doc("other", "pecan cashew"))
	score := func(query string, doc int) float64 {
		hits, err := s.Search(context.Background(), toolsearch.ParseQuery(query))
		if err != nil {
			t.Fatal(err)
		}
		for _, hit := range hits {
			if hit.Doc == doc {
				return hit.Score
			}
		}
		return 0
	}
	one := score("walnut", 0) // what each word adds to each tool, since two of three have it
	for _, tt := range []struct {
		query           string
		apart, together float64 // in words
	}{
		{"walnut pecan cashew", 2, 2},
		{"walnut pecan. cashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut pecan! cashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut pecan\ncashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut pecan。cashew", 2 + 0.25, 2 + 0.25*2},
		{"walnut. pecan. cashew", 2 + 0.25, 2 + 0.25},
		{"the. walnut pecan cashew.", 2, 2},
		{"walnut pecan cashew. Thank you!", 2, 2},
		{"walnut pecan. walnut cashew", math.Pow(2, 0.3) + 1 + 0.25*(math.Pow(2, 0.3)+1), math.Pow(2, 0.3) + 1 + 0.25*(math.Pow(2, 0.3)+1)},
		{"a. b. c. d. e. f. g. walnut pecan. cashew", 2, 2}, // of the eighth on it is all one
	} {
		for doc, want := range []float64{tt.apart, tt.together} {
			if got := score(tt.query, doc) / one; math.Abs(got-want) > 1e-5 {
				t.Errorf("%q: tool %d scores %.5f words, want %.5f", tt.query, doc, got, want)
			}
		}
	}
}
