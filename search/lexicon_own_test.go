package search_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

const ownLexicon = `# of a company
== spellings
kubernetes k8s
== synonyms
falcon procurement
== thesaurus
bonus payroll
== meanings
pto	paid leave; vacation
采购单	procurement order
`

// A line of meanings may be written in several ways.
func TestLexiconMeaningsAsWritten(t *testing.T) {
	docs := []search.Document{doc("vacation_request", ""), doc("paid_leave", ""), doc("weather", "")}
	for _, line := range []string{"pto\tpaid leave; vacation", "PTO \t Paid-Leave;Vacation", "  pto\t\tpaid   leave ;vacation\r"} {
		lexicon, err := search.ParseLexicon("== meanings\n" + line)
		require.NoError(t, err, "%q", line)
		s := bm25Catalog(t, search.BM25Options{Lexicon: lexicon}, docs...)
		assert.Equal(t, []int{1, 0}, bestOf(t, s, search.ParseQuery("pto")), "%q", line)
	}
}

// A company's own words find its tools, and the explanation names the line.
func TestLexiconOwn(t *testing.T) {
	docs := []search.Document{
		doc("list_kubernetes_pods", ""),
		doc("procurement_order", "Of a supplier"),
		doc("payroll_run", ""),
		doc("request_leave", "Paid, for some days"),
		doc("weather", "Of a city"),
	}
	lexicon, err := search.ParseLexicon(ownLexicon)
	require.NoError(t, err)
	own := bm25Catalog(t, search.BM25Options{Lexicon: lexicon}, docs...)
	plain := bm25Catalog(t, search.BM25Options{}, docs...)
	for _, tt := range []struct {
		query, line string
		want        int
	}{
		{"K8s", "line 3 of the own lexicon", 0},
		{"k8s", "line 3 of the own lexicon", 0},
		{"falcon", "line 5 of the own lexicon", 1},
		{"bonus", "line 7 of the own lexicon", 2},
		{"PTO", "line 9 of the own lexicon", 3},
		{"my PTO please", "line 9 of the own lexicon", 3},
		{"查看采购单", "line 10 of the own lexicon", 1},
		{"採購單", "line 10 of the own lexicon", 1},
	} {
		q := search.ParseQuery(tt.query)
		got := bestOf(t, own, q)
		require.NotEmpty(t, got, tt.query)
		assert.Equal(t, tt.want, got[0], tt.query)
		e, err := own.(search.Explainer).Explain(t.Context(), q, tt.want)
		require.NoError(t, err)
		assert.Contains(t, e.String(), tt.line, tt.query)
		e, err = plain.(search.Explainer).Explain(t.Context(), q, tt.want)
		require.NoError(t, err)
		assert.NotContains(t, e.String(), "own lexicon", tt.query)
	}
	assert.Equal(t, []int{4}, bestOf(t, own, search.ParseQuery("天气")), "a word of the lexicon of every index")
}

func TestParseLexiconErrors(t *testing.T) {
	for text, want := range map[string]string{
		"a b":                                       "line 1: a line before the first section",
		"== synonims\na b":                          `line 1: no section "synonims"`,
		"== synonyms\n\nfalcon":                     "line 3: want two words or more",
		"== synonyms\nthe falcon":                   `line 2: "the" is a word that searches leave out`,
		"== spellings\nsign-on sso":                 `line 2: "sign-on" is read as several words`,
		"== spellings\n发票 fapiao":                   `line 2: "发票" is in Chinese`,
		"== meanings\npto paid leave":               "line 2: want a word, a tab",
		"== meanings\npto\t":                        "line 2: want a word, a tab",
		"== meanings\nbig red\tprocurement":         `line 2: "big red" is read as several words`,
		"== meanings\npto\ta; b; c; d":              "line 2: 4 meanings; at most 3 count",
		"== synonyms\nfalcon \xff":                  "line 2: not UTF-8",
		"== synonyms\n" + strings.Repeat("x", 1025): "line 2: 1025 bytes",
		strings.Repeat("\n", 1<<20+1):               "1048577 bytes",
		strings.Repeat("one line\n", 100):           "line 20:",
	} {
		lexicon, err := search.ParseLexicon(text)
		assert.ErrorContains(t, err, want, "%.40q", text)
		assert.Nil(t, lexicon, "%.40q", text)
	}
	_, err := search.ParseLexicon(strings.Repeat("one line\n", 100))
	assert.NotContains(t, err.Error(), "line 21:", "at most 20 errors")
}

func TestLexiconCheck(t *testing.T) {
	docs := []search.Document{doc("procurement_order", "Of a supplier")}
	lexicon, err := search.ParseLexicon("== synonyms\nfalcon procurement\nprocurement falcon\norders order\nzebra giraffe\n" +
		"== thesaurus\nbonus payroll\n== meanings\npto\tpaid leave\norder\torders\n采购\tprocurement\n")
	require.NoError(t, err)
	findings, err := lexicon.Check(t.Context(), docs)
	require.NoError(t, err)
	assert.Equal(t, []search.LexiconFinding{
		{Line: 3, Detail: "repeats line 2"},
		{Line: 4, Detail: "a word of the line stands for itself"},
		{Line: 5, Detail: "no tool has a word of the line that it could find"},
		{Line: 7, Detail: "no tool has a word of the line that it could find"},
		{Line: 9, Detail: "no tool has a word of the line that it could find"},
		{Line: 10, Detail: `"order" stands for itself`},
	}, findings)
}
