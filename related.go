package toolsearch

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search"
)

// What belongs together: tools that a match names, those beside it on its server, and those that other conversations
// call together with it (Config.Usage). And what the user asked for, beside what the queries ask.

const (
	maxMentioned  = 2   // tools that come along with the matches of a query, since a match names them
	maxNeighbours = 3   // names of tools beside the best match of a query, and of tools called together with others
	maxRelated    = 8   // such names in one answer
	maxDistance   = 200 // visible tools on either side of a match that may be its neighbours
	maxCalled     = 20  // tools that the conversation called last, about which co-use is asked
	evidencePool  = 60  // matches of a query whose order evidence may change, and of the user's last request
	useShare      = 0.5 // what co-use adds to a score at most, as a share of the best
	requestShare  = 0.3 // what the request adds at most, likewise
	longRequest   = 450 // bytes; each of several queries asks for a part of a longer one
	quotes        = "'\"`‘’“”„«»「」《》"
)

// evidence is what speaks for documents besides the query.
type evidence struct {
	use       map[int]float64 // how strongly other conversations call one together with the tools called here, at most 1
	request   map[int]float64 // how relevant one is to the user's last request, as a share of the best; none below farRatio
	onlyFills bool            // the request does not order the matches of a query, and is only for places that are left
}

// orders reports whether anything changes the order of matches.
func (e *evidence) orders() bool { return len(e.use) > 0 || len(e.request) > 0 && !e.onlyFills }

// byEvidence adds to the scores of a query's matches what evidence says, and returns the best. A tool that the query names
// keeps its place. docs/settings.md has what the shares were measured with.
func (c scope) byEvidence(matches []Match, places int) []Match {
	if !c.evidence.orders() {
		return matches
	}
	best, request := 0.0, c.evidence.request
	if c.evidence.onlyFills {
		request = nil
	}
	for i := range matches {
		if m := &matches[i]; m.Score < docset.Named {
			doc := c.byName[m.Info.Name]
			best = cmp.Or(best, m.Score)
			m.Score += max(best, 0) * (useShare*c.evidence.use[doc] + requestShare*request[doc])
		}
	}
	slices.SortStableFunc(matches, func(a, b Match) int { return cmp.Compare(b.Score, a.Score) })
	return matches[:min(len(matches), places)]
}

// strongest returns documents, those first for which most speaks.
func strongest(of map[int]float64) []int {
	docs := slices.Sorted(maps.Keys(of))
	slices.SortStableFunc(docs, func(a, b int) int { return cmp.Compare(of[b], of[a]) })
	return docs
}

// requested returns tools that are relevant to the user's last request, for places that the queries leave. One namespace
// gets no more of all places than in the result of one query.
func (c scope) requested(matches []Match, places int) (more []Match) {
	count, most := make(map[string]int), cmp.Or(c.perNamespace, len(matches)+places-1)
	for _, m := range matches {
		count[c.docs[c.byName[m.Info.Name]].Namespace]++
	}
	for _, doc := range strongest(c.evidence.request) {
		m, namespace := []Match{{Info: c.docs[doc].Info}}, c.docs[doc].Namespace
		isFull := len(more) >= places || c.isMixed && namespace != "" && most > 0 && count[namespace] >= most
		if !isFull && c.isFree(doc, matches) && !c.chooseCopies(m, search.Query{}) {
			more = append(more, m...)
			count[namespace]++
		}
	}
	return more
}

// isFree reports whether a document may be named or sent besides the matches.
func (c scope) isFree(doc int, matches []Match) bool {
	return c.has(doc) && (c.isShown == nil || !c.isShown(doc)) && !c.isCopy(doc) && !isAmong(matches, c.docs[doc].Name)
}

// relatedTo returns the names of tools that may be needed together with the matches of a query. Some are called together
// with this conversation's tools in other conversations. Others are neighbours of the best match in its server's list,
// where tools of one kind mostly stand together; the model gets those only if it sees no list of names.
func (c scope) relatedTo(matches []Match) (names []string) {
	best := c.byName[matches[0].Info.Name]
	related := slices.DeleteFunc(strongest(c.evidence.use), func(doc int) bool { return !c.isFree(doc, matches) })
	related = related[:min(len(related), maxNeighbours)]
	most, sides := len(related)+maxNeighbours, [2]int{best, best}
	for passed := 0; c.showsNoNames && passed < 2*maxDistance && len(related) < most; passed++ { // behind and before it in turn
		at, step := &sides[passed%2], 1-2*(passed%2)
		isInside := func() bool { return *at >= 0 && *at < len(c.docs) }
		for *at += step; isInside() && !c.has(*at); *at += step { // what the run may not see makes no difference
		}
		if isInside() && c.docs[best].Namespace != "" && c.docs[*at].Namespace == c.docs[best].Namespace && c.isFree(*at, matches) &&
			!slices.Contains(related, *at) {
			related = append(related, *at)
		}
	}
	for _, doc := range related {
		names = append(names, c.docs[doc].Name)
	}
	return names
}

func textsOf(d *search.Document) []string {
	texts := []string{d.Name, d.Description}
	for i := range d.Parameters {
		texts = append(texts, d.Parameters[i].Description)
	}
	return texts
}

// withMentioned adds tools of the same namespace that a match names in its texts ("call resolve-library-id first"), if
// need be in the places of the last matches behind it. As in beforeGap, Eino's own answers and patterns get nothing else.
func (c scope) withMentioned(matches []Match, limit int) []Match {
	if c.isShown == nil && !c.cutsOff {
		return matches
	}
	var mentioned []Match
	var kept []string // the matches that others mention, or that mention others
	isOutside := func(r rune) bool {
		return !strings.ContainsRune("_-"+quotes, r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) ||
			unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) // no blank needs to follow a name
	}
	for i, m := range matches {
		of := &c.docs[c.byName[m.Info.Name]]
		prefix, texts := naming.Prefix(of.Name, of.Namespace), strings.Join(textsOf(of)[1:], "\n")
		for quoted := range strings.FieldsFuncSeq(naming.Cut(texts, search.MaxDescriptionBytes), isOutside) {
			word := strings.Trim(quoted, quotes)
			doc, known := c.byName[prefix+word]
			if !known {
				doc, known = c.byName[word]
			}
			isQuoted := strings.TrimLeft(quoted, quotes) != quoted && strings.TrimRight(quoted, quotes) != quoted
			isName := isQuoted || strings.ContainsAny(word, "_-") || strings.ToLower(word) != word // not search
			switch {
			case !known || !isName || c.docs[doc].Namespace != of.Namespace:
			case len(mentioned) < min(maxMentioned, limit-1-i) && c.isFree(doc, slices.Concat(matches, mentioned)):
				mentioned, kept = append(mentioned, Match{Info: c.docs[doc].Info}), append(kept, m.Info.Name)
			default:
				kept = append(kept, c.docs[doc].Name)
			}
		}
	}
	over := len(matches) + len(mentioned) - limit
	for i := len(matches) - 1; i > 0 && over > 0; i-- {
		if !slices.Contains(kept, matches[i].Info.Name) {
			matches, over = slices.Delete(slices.Clone(matches), i, i+1), over-1
		}
	}
	return append(matches, mentioned[:len(mentioned)-max(over, 0)]...)
}
