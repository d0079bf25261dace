package main

import (
	"cmp"
	"slices"
	"strings"
)

// Near-duplicate names and descriptions.
//
// Names are alike if they have the same words in any order and with any endings: get_issue,
// getIssues and issue-get. Descriptions are alike if they share enough of their distinct
// stems (the Jaccard index).
//
// Comparing all pairs would take a minute for ten thousand tools. Two sets of words whose
// Jaccard index is at least t also share a rare word: of a set's n words, one of the
// n-ceil(t*n)+1 that the fewest descriptions have ("prefix filtering"; Chaudhuri, Ganti
// and Kaushik, ICDE 2006). So only descriptions that share a rare word are compared.

const (
	alikeOf, alikeIn = 4, 5 // four words in five, as whole numbers to avoid rounding
	alikeWords       = 4    // shorter descriptions say too little to compare
	alikeTextBytes   = 8 << 10
	maxCompared      = 2_000_000 // pairs, about a second
	maxPairs         = 1_000     // reported groups and pairs
)

// A likeness is two or more tools that are hard to tell apart.
type likeness struct {
	tools []int
	share float64 // share of the words; 1 means all
}

// alikeNames returns groups of tools whose names have the same words.
func alikeNames(tools []definition) []likeness {
	return groups(len(tools), func(i int) string {
		list := stems(cutText(tools[i].Name))
		slices.Sort(list)
		return strings.Join(list, " ")
	}, func(a, b int) bool { return tools[a].Name == tools[b].Name }) // equal names are reported as duplicates
}

// groups collects the tools with the same key, in their order. "" means no key. Tools for
// which equal is true count once.
func groups(n int, key func(int) string, equal func(a, b int) bool) []likeness {
	at := make(map[string]int)
	var list []likeness
	for i := range n {
		k := key(i)
		if k == "" {
			continue
		}
		g, ok := at[k]
		if !ok {
			g, at[k] = len(list), len(list)
			list = append(list, likeness{share: 1})
		}
		if !slices.ContainsFunc(list[g].tools, func(j int) bool { return equal(i, j) }) {
			list[g].tools = append(list[g].tools, i)
		}
	}
	return slices.DeleteFunc(list, func(l likeness) bool { return len(l.tools) < 2 })
}

// alikeDescriptions returns groups of tools with the same words, then pairs with nearly the
// same words, nearest first. all is false if there were too many to compare or to report.
func alikeDescriptions(tools []definition) (list []likeness, all bool) {
	sets := make([][]string, len(tools))
	for i := range tools {
		sets[i] = telling(cutText(tools[i].Description))
	}
	key := func(i int) string {
		if len(sets[i]) < alikeWords {
			return ""
		}
		sorted := slices.Sorted(slices.Values(sets[i]))
		return strings.Join(sorted, " ")
	}
	list = groups(len(tools), key, func(int, int) bool { return false })
	for _, l := range list { // only the first tool of a group is compared further
		for _, i := range l.tools[1:] {
			sets[i] = nil
		}
	}
	near, all := nearSets(sets)
	slices.SortStableFunc(near, func(a, b likeness) int { return cmp.Compare(b.share, a.share) })
	list = append(list, near...)
	if len(list) > maxPairs {
		return list[:maxPairs], false
	}
	return list, all
}

// nearSets compares the sets that share a rare word.
func nearSets(sets [][]string) (list []likeness, all bool) {
	frequency := make(map[string]int)
	for _, set := range sets {
		for _, w := range set {
			frequency[w]++
		}
	}
	having := make(map[string][]int) // rare word -> earlier sets that have it
	compared := 0
	for i, set := range sets {
		if len(set) < alikeWords {
			continue
		}
		slices.SortFunc(set, func(a, b string) int {
			return cmp.Or(cmp.Compare(frequency[a], frequency[b]), cmp.Compare(a, b))
		})
		words := make(map[string]bool, len(set))
		for _, w := range set {
			words[w] = true
		}
		seen := make(map[int]bool)
		rare := set[:len(set)-(alikeOf*len(set)+alikeIn-1)/alikeIn+1]
		for _, w := range rare {
			for _, j := range having[w] {
				if seen[j] {
					continue
				}
				if compared++; compared > maxCompared {
					return list, false
				}
				seen[j] = true
				if both, all := common(words, sets[j]); alikeIn*both >= alikeOf*all {
					list = append(list, likeness{[]int{j, i}, float64(both) / float64(all)})
				}
			}
		}
		for _, w := range rare {
			having[w] = append(having[w], i)
		}
	}
	return list, true
}

// common counts the words that both sets have, and the words of either.
func common(a map[string]bool, b []string) (both, all int) {
	for _, w := range b {
		if a[w] {
			both++
		}
	}
	return both, len(a) + len(b) - both
}

func cutText(s string) string {
	if len(s) > alikeTextBytes {
		return strings.ToValidUTF8(s[:alikeTextBytes], "")
	}
	return s
}
