package search_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

var update = flag.Bool("update", false, "rewrite the golden file")

// Questions find their tools within a language. A file testdata/languages/<language>.txt has the
// descriptions of tools, a line each, an empty line, and questions, each after the number of its
// tool. The words of the questions have other endings than those of the descriptions, and German
// questions have compounds. The tools have no names, since most are in English. The golden file
// has the rank of each question's tool. Rewrite it with
//
//	go test -run Languages -update ./search
func TestLanguages(t *testing.T) {
	files, err := filepath.Glob("testdata/languages/*.txt")
	require.NoError(t, err)
	require.Len(t, files, 8)
	var ranks, lines strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		tools, questions, isSplit := strings.Cut(string(text), "\n\n")
		require.True(t, isSplit, file)
		var docs []search.Document
		for i, description := range strings.Split(tools, "\n") {
			docs = append(docs, doc(fmt.Sprintf("t%d", 1+i), description))
		}
		s := bm25Catalog(t, search.BM25Options{}, docs...)
		firsts, all := 0, strings.Split(strings.TrimSpace(questions), "\n")
		assert.GreaterOrEqual(t, len(all), 12, "%s: questions", file)
		for _, line := range all {
			number, question, _ := strings.Cut(line, " ")
			want, err := strconv.Atoi(number)
			require.NoError(t, err, "%s: %q", file, line)
			rank, first := "-", "nothing"
			for i, at := range bestOf(t, s, search.ParseQuery(question)) {
				if i == 0 {
					first = docs[at].Description
				}
				if at == want-1 {
					rank = strconv.Itoa(1 + i)
				}
			}
			fmt.Fprintf(&lines, "%4s  %s", rank, question)
			if rank == "1" {
				firsts++
			} else {
				fmt.Fprintf(&lines, ", first %q", first)
			}
			fmt.Fprintln(&lines)
		}
		language := strings.TrimSuffix(filepath.Base(file), ".txt")
		fmt.Fprintf(&ranks, "%s  %2d of %d questions have their tool first\n", language, firsts, len(all))
		fmt.Fprintln(&lines)
	}
	got := ranks.String() + "\n" + lines.String()
	golden := filepath.Join("testdata", "languages.golden")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o666))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), got, "go test -run Languages -update ./search rewrites the file")
}

// Explain tells what stands for a word in German, and catalogs without German have none of it.
func TestLanguagesExplained(t *testing.T) {
	german := []search.Document{
		doc("t1", "Erstellt die Rechnung für den Kunden"),
		doc("t2", "Verfolgt ein Paket mit der Post"),
	}
	english := []search.Document{doc("t1", "Erstellt Rechnung Kunden"), doc("t2", "Verfolgt Paket Post")}
	for _, tt := range []struct {
		query, reason string
		want          int
	}{
		{"Rechnungen", `another form of "rechnungen"`, 0},
		{"Paketverfolgung", `a part of "paketverfolgung"`, 1},
	} {
		s := bm25Catalog(t, search.BM25Options{}, german...)
		q := search.ParseQuery(tt.query)
		assert.Equal(t, []int{tt.want}, bestOf(t, s, q), tt.query)
		e, err := s.(search.Explainer).Explain(t.Context(), q, tt.want)
		require.NoError(t, err)
		assert.Contains(t, e.String(), tt.reason, tt.query)

		s = bm25Catalog(t, search.BM25Options{}, english...)
		for doc := range english {
			e, err := s.(search.Explainer).Explain(t.Context(), q, doc)
			require.NoError(t, err)
			assert.NotContains(t, e.String(), tt.reason, "%s, in a catalog without function words", tt.query)
		}
	}
}

// A function word of a catalog's language counts little: the tool of the other word comes first.
func TestLanguagesFunctionWords(t *testing.T) {
	s := bm25Catalog(t, search.BM25Options{},
		doc("t1", "Die Liste der Kunden und das Konto mit ein"),
		doc("t2", "Sendet eine Nachricht"),
		doc("t3", "Ruft an"),
	)
	assert.Equal(t, []int{1, 0}, bestOf(t, s, search.ParseQuery("die Nachricht der Woche")))
}
