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
			if rank >= len(list) {
				continue
			}
			if k := key(list[rank]); !seen[k] {
				seen[k] = true
				merged = append(merged, list[rank])
			}
		}
	}
	return merged
}

// A PlaceRule says how many places of a result one namespace may have, so that a server whose tools repeat
// every word that a user may say cannot hide all other servers. T is an item of a result.
type PlaceRule[T any] struct {
	Most      int                  // places for one namespace, at least 1
	Doc       func(item T) int     // its document
	Namespace func(doc int) string // "" means none: such documents have no limit
}

// maxAsks is how often Share asks for more. Each time, at least one more namespace reaches its share.
const maxAsks = 10

// Share limits the places of one namespace in a result, and gives the other places to the best items of others, which
// come last. more returns the best items whose documents are open, best first; it may keep the function. Places for
// which there is no other item stay as they are.
func (r *PlaceRule[T]) Share(items []T, more func(isOpen func(doc int) bool) []T) []T {
	chosen := make(map[int]bool)
	places := make(map[string]int) // by namespace
	free := len(items)
	take := func(item T) bool {
		doc := r.Doc(item)
		namespace := r.Namespace(doc)
		if free == 0 || chosen[doc] || namespace != "" && places[namespace] >= r.Most {
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
			namespace := r.Namespace(doc)
			return !known[doc] && (namespace == "" || full[namespace] < r.Most)
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
