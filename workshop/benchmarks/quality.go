package main

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/eino-toolsearch/toolsearch/eval"
	"github.com/eino-toolsearch/toolsearch/examples/quickstart/services"
)

// A Quality is how often a searcher finds the right tools for a set of questions.
type Quality struct {
	Set      string
	Tools    int
	Queries  int
	Searcher string
	Recall1  float64 // from 0 to 1, like Recall5 and MRR
	Recall5  float64
	MRR      float64
}

// finders are the searchers whose finds are measured: the Contestants, and BM25 as it is usually shipped.
var finders = append(slices.Clip(Contestants), Contestant{Name: "BM25 as usual", Index: Usual})

// publicFinders are the finders measured on the public sets. Some of the others would take minutes.
var publicFinders = map[string]bool{"Keyword": true, "BM25": true, "bleve": true, "BM25 as usual": true}

// ownSet is the name of the repository's own questions, testdata/ranking.
const ownSet = "ranking"

// publicSets are folders of tools and questions that are not part of the repository.
var publicSets = []string{"azure_mcp", "azure_mcp_xl", "metatool_single", "bfcl_live", "tooleyes", "stabletoolbench", "ultratool_en", "ultratool_zh"}

// publicDir is the folder of the public sets: TOOLSEARCH_RETRIEVAL, or shared/retrieval beside the repository.
func publicDir() string {
	return cmp.Or(os.Getenv("TOOLSEARCH_RETRIEVAL"), filepath.Join(root, "..", "shared", "retrieval"))
}

// MeasureQuality measures quality on the repository's own questions, and on the public
// sets in a folder if that exists.
func MeasureQuality(ctx context.Context, public string) (list []Quality) {
	catalog, queries := loadSet(filepath.Join(root, "testdata", "ranking"))
	catalog.Tools = append(catalog.Tools, services.Infos()...)
	measure := func(set string, isMeasured func(finder string) bool) {
		for _, finder := range finders {
			if !isMeasured(finder.Name) {
				continue
			}
			progress("finds of %s in %s", finder.Name, set)
			report := must(eval.Run(ctx, catalog, queries, eval.Options{Index: finder.Index, Resamples: -1}))
			q := Quality{Set: set, Tools: len(catalog.Tools), Queries: len(queries), Searcher: finder.Name}
			for metric, value := range map[string]*float64{"R@1": &q.Recall1, "R@5": &q.Recall5, "MRR": &q.MRR} {
				mean, _ := report.Mean(metric)
				*value = mean.Value
			}
			list = append(list, q)
		}
	}
	measure(ownSet, func(string) bool { return true })
	for _, set := range publicSets {
		folder := filepath.Join(public, set)
		if _, err := os.Stat(folder); errors.Is(err, fs.ErrNotExist) {
			progress("no %s, which is left out", set)
			continue
		}
		catalog, queries = loadSet(folder)
		measure(set, func(finder string) bool { return publicFinders[finder] })
	}
	return list
}

func loadSet(folder string) (*eval.Catalog, []eval.Query) {
	catalog := must(eval.LoadCatalog(filepath.Join(folder, "tools.jsonl")))
	return catalog, must(eval.LoadQueries(filepath.Join(folder, "queries.jsonl")))
}
