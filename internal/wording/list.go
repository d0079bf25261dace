package wording

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A Tool is what a list may show of a tool.
type Tool struct {
	Name                 string
	Description          string
	Namespace            string // "" means none
	NamespaceDescription string // "" means none
}

// A List writes the list of the tools that a model can search for, in the first of these forms that fits a budget:
//
//	names with descriptions, if asked for, cut shorter and shorter
//	names
//	names by namespace, without the prefix they share, with descriptions of the namespaces
//	namespaces, if there are any, with the number of their tools and with their descriptions
//	the same for as many namespaces as fit, of those that a request is about, with half a line of each description
//	one line
//
// The descriptions of namespaces share the room: all are cut to the same length, a short one leaves its room to longer
// ones, and a talkative server does not crowd out the others. In the forms without names, the words that set its tools
// apart describe a namespace that has no description. The same tools give the same bytes.
type List struct {
	Tools          []Tool
	Groups         map[string]bool   // the namespaces that the program declared; with tools of one, names are by namespace
	Descriptions   map[string]string // of namespaces, before those of tools; with any, names are by namespace
	OnlyNamespaces bool              // lists no names of tools
	Describe       bool              // adds short descriptions to names that are not by namespace
	Budget         int               // the largest length in bytes, of all forms but the last

	// Phrase returns a phrase of the list by its key, with pairs of a placeholder and its value filled in.
	Phrase func(key string, values ...string) string
}

// Unlimited is the Budget of a list that may have any length.
const Unlimited = math.MaxInt

// MaxDescriptionBytes is how much of a namespace's description is read.
const MaxDescriptionBytes = 2 << 10

// Text writes the list. If it has no room for all namespaces, listFor writes it for the request of a user; else listFor is nil.
func (l *List) Text() (text string, form Form, listFor func(request string) string) {
	isGrouped := slices.ContainsFunc(l.Tools, func(t Tool) bool { return l.Groups[t.Namespace] })
	if !isGrouped && !l.OnlyNamespaces && len(l.Descriptions) == 0 {
		for _, length := range [...]int{120, 60, 30, 0} { // that descriptions are cut to
			if length > 0 && !l.Describe {
				continue
			}
			if text := l.names(length); len(text) <= l.Budget {
				return text, Names, nil
			}
		}
	}
	groups := l.groups()
	if !l.OnlyNamespaces {
		if text, fits := l.described(groups, l.grouped); fits {
			return text, Names, nil
		}
	}
	count := l.Phrase("reminder-count", "{count}", strconv.Itoa(len(l.Tools)))
	if len(groups) == 1 && groups[0].namespace == "" { // there are none to search in
		return count, Nothing, nil
	}
	order := l.characterize(groups)
	largest, near := order("")
	if text, fits := l.described(largest, l.titles); fits {
		return text, Groups, nil
	}
	for _, limit := range [...]int{maxWordsBytes, 0} {
		if text := l.namespaces(largest, near, limit); text != "" {
			return text, Groups, func(request string) string {
				ordered, near := order(request)
				return cmp.Or(l.namespaces(ordered, near, limit), text)
			}
		}
	}
	return count, Nothing, nil
}

// Bounds on the descriptions of namespaces.
const (
	// maxDescriptionsBytes is the room for all descriptions in an Unlimited list: a paragraph each for ten servers.
	maxDescriptionsBytes = 4_000
	// minDescriptionBytes is the shortest that a longer description is cut to.
	minDescriptionBytes = 30
)

// described writes a form of the list with descriptions that share the budget. write writes it with at most limit bytes
// of each. It reports false if the form does not fit the budget or leaves too little to the descriptions.
func (l *List) described(groups []group, write func(groups []group, limit int) string) (string, bool) {
	var lengths []int
	total := 0
	for i := range groups {
		if n := len(groups[i].summary(MaxDescriptionBytes)); n > 0 {
			lengths = append(lengths, n)
			total += n
		}
	}
	text := write(groups, MaxDescriptionBytes)
	room := l.Budget - (len(text) - total)
	if l.Budget == Unlimited {
		room = maxDescriptionsBytes
	}
	if len(lengths) == 0 || total <= room {
		return text, len(text) <= l.Budget
	}
	slices.Sort(lengths) // all are cut to the same length
	for len(lengths) > 1 && lengths[0]*len(lengths) <= room {
		room, lengths = room-lengths[0], lengths[1:]
	}
	switch limit := max(room, 0) / len(lengths); {
	case limit >= minDescriptionBytes:
		return write(groups, limit), true
	case l.Budget == Unlimited: // all names are wanted
		return write(groups, 0), true
	}
	return "", false
}

// names lists every name, with at most describe bytes of its description.
func (l *List) names(describe int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder"))
	for i := range l.Tools {
		t := &l.Tools[i]
		b.WriteString(line(naming.Safe(t.Name), t.Description, describe))
	}
	return b.String()
}

func line(title, description string, limit int) string {
	if text := naming.ShortLine(description, limit); text != "" {
		return "\n" + title + ": " + text
	}
	return "\n" + title
}

// group is the tools of a namespace, or with namespace "" the tools without a namespace.
type group struct {
	namespace   string
	tools       []*Tool
	title       string // with the number of tools
	description string
	prefix      string             // of its namespace, if all names share it
	words       map[string]float64 // how much each says of the group
	relevance   float64            // to a request
}

// groups returns the tools by namespace, sorted by name. Tools without a namespace come last.
func (l *List) groups() []group {
	of := make(map[string][]*Tool)
	for i := range l.Tools {
		t := &l.Tools[i]
		of[t.Namespace] = append(of[t.Namespace], t)
	}
	var groups []group
	for _, namespace := range slices.Sorted(maps.Keys(of)) {
		g := group{namespace: namespace, tools: of[namespace], prefix: naming.Prefix(of[namespace][0].Name, namespace)}
		for _, t := range g.tools { // a tool may have a Group's namespace without being in the Group
			g.description = cmp.Or(g.description, t.NamespaceDescription)
			if naming.Prefix(t.Name, namespace) != g.prefix {
				g.prefix = ""
			}
		}
		if own, known := l.Descriptions[namespace]; known {
			g.description = own
		}
		g.title = fmt.Sprintf("%s (%d)", naming.Safe(namespace), len(g.tools))
		groups = append(groups, g)
	}
	if len(groups) > 0 && groups[0].namespace == "" {
		groups = append(groups[1:], groups[0])
		last := &groups[len(groups)-1]
		last.title = l.Phrase("reminder-no-namespace", "{count}", strconv.Itoa(len(last.tools)))
	}
	return groups
}

func (g *group) summary(limit int) string { return naming.ShortLine(g.description, limit) }

func (g *group) line(limit int) string { return line(g.title, g.description, limit) }

// grouped lists every name by namespace, without the prefix that the names share.
func (l *List) grouped(groups []group, limit int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder-grouped"))
	for _, g := range groups {
		if g.summary(limit) != "" || g.prefix == "" && l.Groups[g.namespace] { // otherwise no line would name the namespace
			b.WriteString(g.line(limit))
		}
		b.WriteByte('\n')
		if g.prefix != "" {
			b.WriteString(naming.Safe(g.prefix) + "*: ")
		}
		for i, t := range g.tools {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString(naming.Safe(strings.TrimPrefix(t.Name, g.prefix)))
		}
	}
	return b.String()
}

func (l *List) titles(groups []group, limit int) string {
	var b strings.Builder
	b.WriteString(l.Phrase("reminder-namespaces", "{count}", strconv.Itoa(len(l.Tools))))
	for i := range groups {
		b.WriteString(groups[i].line(limit))
	}
	return b.String()
}

// namespaces lists those of the first near that fit, with limit bytes of each description, and counts the others; "" if
// none fits.
func (l *List) namespaces(groups []group, near, limit int) string {
	rest := func(left []group) string {
		if len(left) == 0 {
			return ""
		}
		tools := 0
		for _, g := range left {
			tools += len(g.tools)
		}
		return "\n" + l.Phrase("reminder-more-namespaces", "{namespaces}", strconv.Itoa(len(left)), "{count}", strconv.Itoa(tools))
	}
	// The line about the remaining namespaces is longest when none is listed; that length is reserved.
	reserve := len(rest(groups))
	text, taken := l.titles(nil, 0), 0
	for i := range near {
		if i == len(groups)-1 {
			reserve = 0
		}
		line := groups[i].line(limit)
		if len(text)+len(line)+reserve > l.Budget {
			break
		}
		text, taken = text+line, i+1
	}
	if taken == 0 {
		return ""
	}
	return text + rest(groups[taken:])
}

// What a namespace is for: the words that its tools share, and those of others do not.
const (
	maxWordsBytes = 60     // about half a line
	maxReadBytes  = 100    // of a tool's description
	maxReadTools  = 10_000 // of a larger catalog, every second tool is read, or every third
	nameWeight    = 3      // of a word in a tool's name; one in its description counts once
	nearRatio     = 0.1    // of the best relevance; those below get at most a quarter of the budget
)

// eachWord calls use for the words of at least three bytes that are no stop words, with a key in which case and number
// do not matter. Two neighbours among Chinese characters are a word.
func eachWord(text string, use func(key, word string)) {
	add := func(word string) {
		lower := strings.ToLower(word)
		if len(word) >= 3 && len(word) <= maxWordsBytes/2 && !naming.StopWords[lower] {
			use(strings.TrimSuffix(lower, "s"), word)
		}
	}
	isHan := func(r rune) bool { return unicode.Is(unicode.Han, r) }
	isOutside := func(r rune) bool { // Hiragana are endings and particles
		return isHan(r) || unicode.Is(unicode.Hiragana, r) || !unicode.In(r, unicode.L, unicode.M, unicode.Nd)
	}
	for word := range strings.FieldsFuncSeq(text, isOutside) {
		add(strings.TrimLeftFunc(word, unicode.IsMark)) // behind an emoji may be a mark
	}
	for run := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isHan(r) }) {
		characters := []rune(run)
		for i := 1; i < len(characters); i++ {
			add(string(characters[i-1 : i+1]))
		}
	}
}

// bounded returns the words of a text in small letters, with "_" between and around them.
func bounded(text string) string {
	isOther := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	return "_" + strings.Join(strings.FieldsFunc(strings.ToLower(text), isOther), "_") + "_"
}

// characterize weighs words: the more tools of a group have one, and the fewer other groups, the more it says. It returns
// a function that orders the groups by how relevant they are to a request, those first that it names, and then by size;
// near is the number of those worth listing. Words that at most a fourth of the groups have describe a group without a
// description, those of the request first.
func (l *List) characterize(groups []group) (order func(request string) (ordered []group, near int)) {
	step := 1 + len(l.Tools)/maxReadTools
	in, written := make(map[string]int), make(map[string]string) // how many groups have a word; how it is written
	for i := range groups {
		g, weight := &groups[i], 1.0
		g.words = make(map[string]float64)
		add := func(key, word string) {
			if g.words[key] == 0 {
				in[key]++
			}
			g.words[key] += weight
			written[key] = max(written[key], word) // in small letters, if it ever is
		}
		eachWord(g.namespace+"\n"+g.description, add)
		for i := 0; i < len(g.tools); i += step {
			weight = 1
			eachWord(naming.CutWords(g.tools[i].Description, maxReadBytes), add)
			weight = nameWeight
			eachWord(strings.Join(naming.Parts(strings.TrimPrefix(g.tools[i].Name, "mcp__")), " "), add)
		}
	}
	for i := range groups {
		g := &groups[i]
		for key := range g.words { // the sum of a large group grows with its size, and its mean falls
			g.words[key] *= math.Log(float64(len(groups)+1)/float64(in[key])) / math.Sqrt(float64(len(g.tools)))
		}
	}
	return func(request string) (ordered []group, near int) {
		ordered, asked, best := slices.Clone(groups), make(map[string]int), 0.0
		request = naming.Cut(request, MaxDescriptionBytes)
		eachWord(request, func(key, _ string) {
			for i := 0; i < len(ordered) && asked[key] == 0; i++ {
				ordered[i].relevance += ordered[i].words[key]
				best = max(best, ordered[i].relevance)
			}
			asked[key] = 1
		})
		text := bounded(request)
		for i := range ordered {
			if g := &ordered[i]; g.namespace != "" && strings.Contains(text, bounded(g.namespace)) {
				g.relevance += best
			}
		}
		slices.SortStableFunc(ordered, func(a, b group) int {
			return cmp.Or(cmp.Compare(b.relevance, a.relevance), cmp.Compare(len(b.tools), len(a.tools)))
		})
		// What follows twice the budget is not listed even if all descriptions are cut by half.
		for size := 0; near < len(ordered) && size/2 < l.Budget && (size < l.Budget/4 || ordered[near].relevance >= nearRatio*best); near++ {
			g := &ordered[near]
			title, words := strings.ToLower(g.namespace), ""
			for _, key := range slices.SortedFunc(maps.Keys(g.words), func(a, b string) int {
				return cmp.Or(asked[b]-asked[a], cmp.Compare(g.words[b], g.words[a]), cmp.Compare(a, b))
			}) {
				next := words + ", " + written[key]
				if len(next) > maxWordsBytes {
					break
				}
				if 4*in[key] <= len(groups)+3 && !strings.Contains(title, key) {
					words = next
				}
			}
			g.description = cmp.Or(g.description, strings.TrimPrefix(words, ", "))
			size += len(g.title) + min(len(g.description), maxWordsBytes)
		}
		return ordered, near
	}
}
