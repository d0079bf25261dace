package toolsearch

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/schemacheck"
	"github.com/eino-toolsearch/toolsearch/search"
)

// Copies are tools of several servers that do the same, such as those of two accounts. An answer has one of them, and names
// the others.

// copiesOf returns the documents that differ from others in their server alone, in the order of docs, by each of them: the
// names on the servers and the descriptions have the same words, and the parameters are the same.
func copiesOf(docs []search.Document) map[int][]int {
	texts, count := make([]string, len(docs)), make(map[string]int)
	for doc := range docs {
		d := &docs[doc]
		own := cmp.Or(d.Original, naming.Bare(d.Name, d.Namespace))
		texts[doc] = naming.Fold(own) + "\n" + strings.ToLower(strings.Join(strings.Fields(d.Description), " "))
		count[texts[doc]]++
	}
	alike, copies := make(map[string][]int), make(map[int][]int)
	for doc, text := range texts {
		if count[text] > 1 { // to write the parameters of all tools would take long
			text += "\n" + schemacheck.JSON(docs[doc].Info)
			alike[text] = append(alike[text], doc)
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

// settle chooses which of several copies an answer has, among those that a query allows, and reports whether a match is
// another: one that is visible, one that an earlier query found, or else that of the earliest group.
func (c scope) settle(matches []Match, allowed func(doc int) bool) (hasCopy bool) {
	if c.settled == nil {
		return false
	}
	allows := func(doc int) bool { return allowed == nil || allowed(doc) }
	isVisible := func(doc int) bool { return c.isShown != nil && allows(doc) && c.isShown(doc) }
	earlier := maps.Clone(c.settled)
	for _, m := range matches {
		doc := c.byName[m.Info.Name]
		copies := c.copies()[doc]
		if copies == nil {
			continue
		}
		first := copies[0]
		chosen, known := c.settled[first]
		_, isEarlier := earlier[first]
		if at := slices.IndexFunc(copies, isVisible); at >= 0 {
			chosen = copies[at]
		} else if !known || !allows(chosen) || !isEarlier && doc < chosen {
			chosen = doc
		}
		c.settled[first] = chosen
	}
	return slices.ContainsFunc(matches, func(m Match) bool { return c.isCopy(c.byName[m.Info.Name]) })
}

// isCopy reports whether an answer has another tool in the place of this one.
func (c scope) isCopy(doc int) bool {
	if len(c.settled) == 0 || c.copies()[doc] == nil {
		return false
	}
	chosen, known := c.settled[c.copies()[doc][0]]
	return known && chosen != doc
}

// copiesOf returns the names of the other copies of the matches.
func (c scope) copiesOf(matches []Match) (names []string) {
	for _, m := range matches {
		for _, doc := range c.copies()[c.byName[m.Info.Name]] {
			if c.has(doc) && c.isCopy(doc) {
				names = append(names, c.docs[doc].Name)
			}
		}
	}
	return names
}
