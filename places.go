package toolsearch

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/search"
)

// How the places of an answer are shared: among queries, among namespaces, and among copies. Copies are tools of
// several servers that do the same, such as those of two accounts. An answer has one of them, and names the others.

// interleaved returns the best match of each list, then the second of each, and so on, each tool once. A single list is
// returned as it is.
func interleaved(lists [][]Match) (merged []Match) {
	if len(lists) == 1 {
		return lists[0]
	}
	longest, seen := 0, make(map[*schema.ToolInfo]bool)
	for _, list := range lists {
		longest = max(longest, len(list))
	}
	for rank := range longest {
		for _, list := range lists {
			if rank < len(list) && !seen[list[rank].Info] {
				seen[list[rank].Info] = true
				merged = append(merged, list[rank])
			}
		}
	}
	return merged
}

// spread limits the places of one namespace in a result, so that a server whose tools repeat every word that a user
// may say cannot hide all other servers. It gives the other places to the best matches of others, which come last.
// Places for which there is no other match stay as they are. Tools without a namespace have no limit.
func (c scope) spread(ctx context.Context, s search.Searcher, a ranking) []Match {
	free, most := len(a.matches), cmp.Or(c.perNamespace, len(a.matches)-1)
	if most < 1 || most >= free || a.total <= free {
		return a.matches
	}
	query, chosen, places := a.query, docset.New(len(c.docs)), make(map[string]int) // by namespace
	query.Limit = free
	take := func(m Match) bool {
		doc := c.byName[m.Info.Name]
		namespace := c.docs[doc].Namespace
		if free == 0 || namespace != "" && places[namespace] >= most || !chosen.Add(doc) {
			return false
		}
		places[namespace]++
		free--
		return true
	}
	for _, m := range a.matches {
		take(m)
	}
	var others []Match
	for asked := 0; asked < maxSpreads && free > 0; asked++ {
		q, known, full := query, slices.Clone(chosen), maps.Clone(places) // the searcher may keep the function
		q.Allowed = func(doc int) bool {
			namespace := c.docs[doc].Namespace
			return query.Allows(doc) && !known.Has(doc) && (namespace == "" || full[namespace] < most)
		}
		more, _ := c.ask(ctx, s, q) // nothing if the search fails
		if len(more.matches) == 0 {
			break
		}
		others = append(others, slices.DeleteFunc(more.matches, func(m Match) bool { return !take(m) })...)
	}
	kept := slices.DeleteFunc(slices.Clone(a.matches), func(m Match) bool {
		if chosen.Has(c.byName[m.Info.Name]) {
			return false
		}
		free--
		return free < 0
	})
	return append(kept, others...)
}

// copiesOf returns the documents that differ from others in their server alone, in the order of docs, by each of them: the
// names on the servers and the descriptions have the same words, and the parameters are the same.
func copiesOf(docs []search.Document) map[int][]int {
	texts, count := make([]string, len(docs)), make(map[string]int)
	for doc := range docs {
		d := &docs[doc]
		own := cmp.Or(d.Original, naming.Bare(d.Name, d.Namespace))
		texts[doc] = naming.Fold(own) + "\n" + strings.TrimRight(strings.ToLower(strings.Join(strings.Fields(d.Description), " ")), ".。")
		count[texts[doc]]++
	}
	alike, copies, seen := make(map[string][]int), make(map[int][]int), make(map[string]bool)
	for doc, text := range texts {
		if count[text] > 1 { // to write the parameters of all tools would take long
			text += "\n" + schemacheck.JSON(docs[doc].Info)
			if on := docs[doc].Namespace + "\n" + text; !seen[on] {
				seen[on], alike[text] = true, append(alike[text], doc)
			}
		}
	}
	for _, list := range alike {
		for _, doc := range list {
			if len(list) > 1 {
				copies[doc] = list
			}
		}
	}
	return copies
}

// chooseCopies keeps one of several copies for an answer: one that an earlier query found, one that is visible, or that
// of the earliest group. But one that scores far more, or whose server the query names, is on the server that the query
// means. It reports whether a match is a copy that is not kept.
func (c scope) chooseCopies(matches []Match, q search.Query) (hasCopy bool) {
	if c.chosen == nil {
		return false
	}
	earlier, scores, decided := maps.Clone(c.chosen), make(map[int]float64), make(map[int]bool)
	for _, m := range matches {
		scores[c.byName[m.Info.Name]] = m.Score
	}
	for _, m := range matches {
		best := c.byName[m.Info.Name]
		copies := c.copies()[best]
		if copies == nil || decided[copies[0]] {
			continue
		}
		first, server := copies[0], naming.Fold(c.docs[best].Namespace)
		rank := func(doc int) int { // the less, the better
			if of, known := earlier[first]; known && of == doc {
				return doc - 2*len(c.docs)
			} else if c.isShown(doc) {
				return doc - len(c.docs)
			}
			return doc
		}
		isMeant := server != "" && strings.Contains(naming.Fold(q.Text), server)
		decided[first], c.chosen[first] = true, best
		for _, doc := range copies {
			score, isMatch := scores[doc]
			isBeyond := !isMatch && rank(doc) < 0 && !isMeant && c.has(doc) && q.Allows(doc) // the limit
			if (isBeyond || isMatch && score >= gapRatio*m.Score) && rank(doc) < rank(c.chosen[first]) {
				c.chosen[first] = doc
			}
		}
	}
	return slices.ContainsFunc(matches, func(m Match) bool { return c.isCopy(c.byName[m.Info.Name]) })
}

func (c scope) isCopy(doc int) bool {
	if len(c.chosen) == 0 || c.copies()[doc] == nil {
		return false
	}
	chosen, known := c.chosen[c.copies()[doc][0]]
	return known && chosen != doc
}

// otherCopies returns the names of other copies of the matches, up to maxCopies.
func (c scope) otherCopies(matches []Match) (names []string) {
	if len(c.chosen) == 0 { // then nobody needs to know which tools are copies
		return nil
	}
	for _, m := range matches {
		for _, doc := range c.copies()[c.byName[m.Info.Name]] {
			if len(names) < maxCopies && c.has(doc) && c.isCopy(doc) {
				names = append(names, c.docs[doc].Name)
			}
		}
	}
	return names
}
