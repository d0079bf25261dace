// Package benchmarks measures the searchers of toolsearch against Eino's own package and
// against bleve, a search engine in Go, on the same catalogs in one run: how long a query
// and an index take, how much memory a tool, and how often the right tool is found.
//
//	go run ./cmd/report                        # measures, writes BENCHMARKS.md and the plots
//	go test -run '^$' -bench 'Query/tools=1000$/'
//
// It is a module of its own, since it needs bleve and nobody else does.
//
//	catalog.go     the synthetic catalog and its questions
//	contestants.go who is measured: a line each
//	eino.go, bleve.go, usual.go   what toolsearch does not have itself, as Indexers
//	measure.go     times, allocations and bytes -> Results
//	quality.go     recall and ranks over questions whose tools are known -> Results
//	markdown.go, plot.go          Results -> BENCHMARKS.md and SVG, the same bytes every time
package benchmarks
