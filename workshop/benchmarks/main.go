// Benchmarks compares the searchers of toolsearch with Eino's own package and with bleve, a search engine in
// Go, on the same catalogs in one run. It measures the time of queries and of building an index, the memory
// per tool, and how often the right tool is found, and writes BENCHMARKS.md and results.json. Run it here:
//
//	go run . [-sizes 100,1000] [-from results.json]
//
// It is a separate module, since only the benchmarks need bleve.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// root is the folder of the repository.
const root = "../.."

func main() {
	sizes := flag.String("sizes", "100,1000,10000,100000", "numbers of tools, separated by commas")
	from := flag.String("from", "", "results.json of an earlier run: write BENCHMARKS.md again without measuring")
	flag.Parse()
	r, ctx := &Results{Environment: ThisEnvironment()}, context.Background()
	if *from != "" {
		check(json.Unmarshal(must(os.ReadFile(*from)), &r))
	} else {
		for size := range strings.SplitSeq(*sizes, ",") {
			r.Speed = append(r.Speed, MeasureSpeed(ctx, must(strconv.Atoi(size)))...)
		}
		r.Quality = MeasureQuality(ctx, publicDir())
	}
	check(os.WriteFile("results.json", append(must(json.MarshalIndent(r, "", "\t")), '\n'), 0o666))
	check(os.WriteFile(filepath.Join(root, "BENCHMARKS.md"), Markdown(r), 0o666))
}

func progress(format string, values ...any) { fmt.Fprintf(os.Stderr, format+"\n", values...) }

// check ends a measurement over an error.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

func must[T any](value T, err error) T {
	check(err)
	return value
}
