// Package benchmarks compares the searchers of toolsearch with Eino's own package and with
// bleve, a search engine in Go, on the same catalogs in one run. It measures the time of
// queries and of building an index, the memory per tool, and how often the right tool is
// found.
//
//	go run ./cmd/report                        # measures, writes BENCHMARKS.md
//	go test -run '^$' -bench 'Query/tools=1000$/'
//
// It is a separate module, since only the benchmarks need bleve.
//
//	catalog.go     the synthetic catalog and its questions
//	contestants.go the searchers that are measured, a line each
//	eino.go, bleve.go, usual.go   the searchers of others, as Indexers
//	measure.go     times, allocations and bytes -> Results
//	quality.go     recall and ranks over questions whose tools are known -> Results
//	markdown.go    Results -> BENCHMARKS.md, the same bytes every time
package benchmarks
