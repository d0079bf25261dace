// Command report measures the searchers and writes BENCHMARKS.md and results.json. With
// -from results.json it writes BENCHMARKS.md again without measuring.
//
//	go run ./cmd/report [-sizes 100,1000,10000,100000] [-root ..] [-from results.json]
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/eino-toolsearch/toolsearch/workshop/benchmarks"
)

// Paths of the written files, from the root of the repository.
const (
	document = "BENCHMARKS.md"
	numbers  = "workshop/benchmarks/results.json"
)

func main() {
	sizes := flag.String("sizes", "100,1000,10000,100000", "numbers of tools, separated by commas")
	root := flag.String("root", "../..", "folder of the repository, where the files are written")
	from := flag.String("from", "", "results.json of an earlier run: write its files without measuring")
	flag.Parse()
	if err := run(context.Background(), *sizes, *root, *from); err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, sizes, root, from string) error {
	results := &benchmarks.Results{}
	if from != "" {
		text, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(text, results); err != nil {
			return fmt.Errorf("%s: %w", from, err)
		}
	} else if err := measure(ctx, sizes, root, results); err != nil {
		return err
	}
	text, err := json.MarshalIndent(results, "", "\t")
	if err != nil {
		return err
	}
	return errors.Join(
		os.WriteFile(filepath.Join(root, filepath.FromSlash(numbers)), append(text, '\n'), 0o666),
		os.WriteFile(filepath.Join(root, document), benchmarks.Markdown(results), 0o666))
}

func progress(what string) { fmt.Fprintln(os.Stderr, what) }

func measure(ctx context.Context, sizes, root string, results *benchmarks.Results) error {
	results.Environment = benchmarks.ThisEnvironment()
	results.Environment.Load[0] = benchmarks.LoadAverage()
	for text := range strings.SplitSeq(sizes, ",") {
		size, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || size < 1 {
			return fmt.Errorf("-sizes: %q is not a number of tools", text)
		}
		prepare, speeds := benchmarks.MeasureSpeed(ctx, size, progress)
		results.Prepare = append(results.Prepare, prepare)
		results.Speed = append(results.Speed, speeds...)
	}
	results.Environment.Load[1] = benchmarks.LoadAverage()
	results.Quality = benchmarks.MeasureQuality(ctx, root, benchmarks.PublicDir(root), progress)
	return nil
}
