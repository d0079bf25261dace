package benchmarks

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
)

func TestToolsAreTheSameEveryTime(t *testing.T) {
	for _, size := range []int{1, 60, 1000} {
		infos, questions := Tools(size)
		again, questionsAgain := Tools(size)
		if !slices.Equal(questions, questionsAgain) || len(questions) != 25 || len(infos) != size {
			t.Errorf("%d tools: %d of them and %d questions, then %d questions", size, len(infos), len(questions), len(questionsAgain))
		}
		names := make(map[string]bool)
		parameters := 0
		for i, info := range infos {
			names[info.Name] = true
			one, two := schemaOf(t, info), schemaOf(t, again[i])
			if info.Name != again[i].Name || info.Desc != again[i].Desc || one != two {
				t.Errorf("tool %d is %q %s, then %q %s", i, info.Name, one, again[i].Name, two)
			}
			if one != "null" {
				parameters++
			}
		}
		if len(names) != size {
			t.Errorf("%d names for %d tools", len(names), size)
		}
		if size > 10 && parameters < size/2 {
			t.Errorf("%d of %d tools have parameters", parameters, size)
		}
		for _, q := range questions {
			if !names[q.Tool] {
				t.Errorf("%q is about %q, which is not in the catalog", q.Text, q.Tool)
			}
		}
	}
}

func schemaOf(t *testing.T, info *schema.ToolInfo) string {
	t.Helper()
	parameters, err := info.ParamsOneOf.ToJSONSchema()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The comparison is fair only if everyone finds what is asked for.
func TestEveryContestantFindsTheNamedTool(t *testing.T) {
	f, err := newField(t.Context(), 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range Contestants {
		t.Run(c.Name, func(t *testing.T) {
			searcher, err := c.Index(t.Context(), f.docs)
			if err != nil {
				t.Fatal(err)
			}
			if closer, ok := searcher.(io.Closer); ok {
				defer closer.Close()
			}
			door, err := f.door(t.Context(), searcher)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range f.questions {
				limit := 5
				if c.Name == "Similarity" {
					limit = 25 // it measures whole texts, and a server's tools are much alike
				}
				names, err := ask(t.Context(), door, arguments(c.words(q), limit))
				if err != nil {
					t.Fatal(err)
				}
				if len(names) == 0 {
					t.Errorf("%q finds nothing", c.words(q))
				}
				if q.Named && !slices.Contains(names, q.Tool) {
					t.Errorf("%q finds %q, without %q", c.words(q), names, q.Tool)
				}
			}
		})
	}
}

// What the adapter of bleve adds to it: names cut into words, required words, a count, and
// a document's number for its id.
func TestBleve(t *testing.T) {
	docs := []toolsearch.Document{
		{Name: "mcp__mail__sendMessage", Description: "Writes to somebody."},
		{Name: "mcp__chat__send_message", Description: "Writes into a room."},
		{Name: "mcp__chat__list_rooms", Description: "Shows rooms.", Parameters: []toolsearch.Parameter{{Name: "isArchived", Description: "closed ones too", Enum: []string{"forever"}}}},
	}
	tests := []struct {
		query string
		want  []int // in ascending order
	}{
		{"sending messages", []int{0, 1}}, // stemmed
		{"+chat message", []int{1, 2}},
		{"+message +mail", []int{0}},
		{"archived", []int{2}},
		{"closed", []int{2}},
		{"forever", []int{2}},
		{"somebody", []int{0}},
		{"the a", nil},
		{"", nil},
	}
	for name, index := range map[string]toolsearch.Indexer{"one field": Bleve, "fields": BleveFields} {
		t.Run(name, func(t *testing.T) {
			searcher, err := index(t.Context(), docs)
			if err != nil {
				t.Fatal(err)
			}
			defer searcher.(io.Closer).Close()
			for _, test := range tests {
				hits, total, err := searcher.(toolsearch.Counter).SearchCount(t.Context(), toolsearch.ParseQuery(test.query))
				if err != nil {
					t.Fatal(err)
				}
				var got []int
				for _, hit := range hits {
					got = append(got, hit.Doc)
				}
				slices.Sort(got)
				if !slices.Equal(got, test.want) || total != len(test.want) {
					t.Errorf("%q finds %v, %d in all, want %v", test.query, got, total, test.want)
				}
			}
		})
	}
}

func TestUsual(t *testing.T) {
	docs := []toolsearch.Document{
		{Name: "get_user", Description: "Shows the user"}, // get user shows the user
		{Name: "listUsers", Description: "查日历"},           // list users 查 日 历
		{Name: "x"},
	}
	searcher, err := Usual(t.Context(), docs)
	if err != nil {
		t.Fatal(err)
	}
	mean := (5 + 5 + 1) / 3.0
	score := func(df, tf, length float64) float64 {
		return math.Log(1+(3-df+0.5)/(df+0.5)) * tf * 2.2 / (tf + 1.2*(1-0.75+0.75*length/mean))
	}
	tests := []struct {
		query string
		want  []toolsearch.Hit
	}{
		{"USER", []toolsearch.Hit{{Doc: 0, Score: score(1, 2, 5)}}},
		{"日", []toolsearch.Hit{{Doc: 1, Score: score(1, 1, 5)}}},
		{"get x x", []toolsearch.Hit{{Doc: 2, Score: 2 * score(1, 1, 1)}, {Doc: 0, Score: score(1, 1, 5)}}},
		{"nothing", nil},
	}
	for _, test := range tests {
		got, err := searcher.Search(t.Context(), toolsearch.ParseQuery(test.query))
		same := slices.EqualFunc(got, test.want, func(a, b toolsearch.Hit) bool {
			return a.Doc == b.Doc && math.Abs(a.Score-b.Score) < 1e-9
		})
		if err != nil || !same {
			t.Errorf("%q: %v, %v, want %v", test.query, got, err, test.want)
		}
	}
}

// BM25 as others ship it, against numbers that others computed. Theirs cuts names a little
// otherwise.
func TestUsualOnPublicSets(t *testing.T) {
	dir := PublicDir("..")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no retrieval sets: %v; TOOLSEARCH_RETRIEVAL names the folder that holds them", err)
	}
	for set, want := range map[string]float64{"azure_mcp": 95.6, "ultratool_en": 38.9, "ultratool_zh": 51.1} {
		catalog, queries, err := loadSet(filepath.Join(dir, set))
		if err != nil {
			t.Fatal(err)
		}
		got, err := qualityOf(t.Context(), catalog, queries, Usual)
		if err != nil || math.Abs(100*got.Recall5-want) > 1 {
			t.Errorf("%s: recall at 5 of %.1f, %v, want %.1f", set, 100*got.Recall5, err, want)
		}
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string]string{
		"mcp__git_hub__create-issue": "mcp  git hub  create issue",
		"listAllURLs":                "list All URLs",
		"日历.get2":                    "日历 get2",
		"":                           "",
	} {
		if got := words(name); got != want {
			t.Errorf("words(%q) = %q, want %q", name, got, want)
		}
	}
}
