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
