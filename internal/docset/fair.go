package docset

import "maps"

// Interleave merges lists rank by rank: the first item of each list, then the second of each, and so on. An item whose
// key came before is left out, but a single list is returned as it is.
func Interleave[T any, K comparable](lists [][]T, key func(item T) K) []T {
	if len(lists) == 1 {
		return lists[0]
	}
	var merged []T
	longest, seen := 0, make(map[K]bool)
	for _, list := range lists {
		longest = max(longest, len(list))
	}
	for rank := range longest {
		for _, list := range lists {
			if rank < len(list) && !seen[key(list[rank])] {
				seen[key(list[rank])] = true
				merged = append(merged, list[rank])
			}
		}
	}
	return merged
}

// maxAsks is how often Share asks for more. Each time, at least one more namespace reaches its share.
const maxAsks = 10

// Share limits the places of one namespace in a result to most, at least 1, so that a server whose tools repeat every
// word that a user may say cannot hide all other servers. It gives the other places to the best items of others, which
// come last. more returns the best items whose documents are open, best first; it may keep the function. Places for
// which there is no other item stay as they are. Documents without a namespace have no limit.
func Share[T any](
	items []T, most int, docOf func(T) int, namespaceOf func(int) string, more func(isOpen func(doc int) bool) []T,
) []T {
	chosen := make(map[int]bool)
	places := make(map[string]int) // by namespace
	free := len(items)
	take := func(item T) bool {
		doc := docOf(item)
		namespace := namespaceOf(doc)
		if free == 0 || chosen[doc] || namespace != "" && places[namespace] >= most {
			return false
		}
		chosen[doc] = true
		places[namespace]++
		free--
		return true
	}
	kept := make([]bool, len(items))
	for i, item := range items {
		kept[i] = take(item)
	}
	var others []T
	for asked := 0; asked < maxAsks && free > 0; asked++ {
		known, full := maps.Clone(chosen), maps.Clone(places)
		found := more(func(doc int) bool {
			namespace := namespaceOf(doc)
			return !known[doc] && (namespace == "" || full[namespace] < most)
		})
		if len(found) == 0 {
			break
		}
		for _, item := range found {
			if take(item) {
				others = append(others, item)
			}
		}
	}
	shared := make([]T, 0, len(items))
	for i, item := range items {
		if kept[i] {
			shared = append(shared, item)
		} else if free > 0 {
			free--
			shared = append(shared, item)
		}
	}
	return append(shared, others...)
}
