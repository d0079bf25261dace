package search

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// A query as terms of the index. A reader makes the query of a text, and knows no scores:
//
//	text -- words, values, sentences --> words -- bm25_words.go --> groups of terms
//
// A group is a word of the query, or a word of it in another form: the term of the word, and the
// terms that stand for it. Of the terms of a group, only the first that a tool has counts. What scores
// (bm25_score.go), LSA and explanations read the same query.
//
//	create issue   ->   creat:1, issu:1 | ticket:0.2 related

// noTerm stands for a term that no tool has.
const noTerm = analysis.NoTerm

// A bm25Query is a query that was read. It is valid until the reader reads another.
type bm25Query struct {
	index     *bm25f.Index
	groups    []bm25Group
	sentences [][]bm25Group // the groups of each sentence; empty for a single sentence
}

// A bm25Group is the terms that a word of the query stands for, the first of which counts.
type bm25Group []bm25Term

// String returns the groups, each as its terms with their weights and why they are there.
func (q *bm25Query) String() string {
	groups := make([]string, len(q.groups))
	for i, group := range q.groups {
		terms := make([]string, len(group))
		for i, term := range group {
			terms[i] = fmt.Sprintf("%s:%.3g", q.index.Terms[term.id], term.weight)
			if term.reason != asked {
				terms[i] += " " + reasonName[term.reason]
			}
		}
		groups[i] = strings.Join(terms, " | ")
	}
	return strings.Join(groups, ", ")
}

type bm25Term struct {
	id     int32
	group  int32 // the place of its group in the query
	weight float64
	from   int32 // the word that it stands for, in the analyzer's numbers; noTerm means no single word
	reason bm25Reason
	line   int32 // of the company's own lexicon, or 0
}

// A bm25Reason says why a term is in a query.
type bm25Reason uint8

const (
	asked bm25Reason = iota
	synonymous
	related
	misspelled
	divided
	joined
	translated
	inflected
)

var reasonName = [...]string{
	synonymous: "synonymous", related: "related", misspelled: "misspelled", divided: "divided",
	joined: "joined", translated: "translated", inflected: "inflected",
}

var reasonDetail = [...]string{
	synonymous: "a synonym of",
	related:    "in the thesaurus for",
	misspelled: "near",
	divided:    "a part of",
	joined:     "two words of the query as one",
	translated: "in the lexicon for",
	inflected:  "another form of",
}

// bm25Reader reads queries, one at a time. It remembers the words of earlier queries.
type bm25Reader struct {
	query bm25Query

	analyzer    *analysis.Analyzer
	words       []bm25Word      // the analyzer's number -> what is remembered
	meaningsOf  []*bm25Meanings // of the Chinese words, by number; nil if not yet read
	counts      []bm25Counted   // the analyzer's number -> how often the query has it
	texts       []int32         // the query, in the analyzer's numbers
	outside     []int32         // the part of texts that is not in a value
	ends        []int           // of the sentences in texts
	terms       []bm25Term      // the terms of a group are neighbours
	groups      int32           // how many were begun
	inSentences []bm25Group     // of all sentences
	taken       docset.Set      // terms of the query
	wanted      docset.Set      // terms that the query asks for itself
	wantedTerms []int32
	joined      []byte
	spare       []int32
	meanings    []bm25Meaning // by group
	meaningAt   []int32       // term -> 1 + the place in meanings where it has most weight; nil until a query has meanings
	meant       int32         // groups of meanings

	// What the query names (bm25_names.go).
	candidates []bm25Candidate // tools that it may name, by document
	names      []letters.Name  // that the query may be or have
	lists      [][]bm25f.Posting
	docs       []int32 // that may have a name
	having     docset.Set
}

// maxRememberedWords is how many words of earlier queries a reader remembers.
const maxRememberedWords = 1 << 14

// read turns a query into terms.
func (r *bm25Reader) read(x *bm25, q Query) {
	r.forget()
	text := q.text()
	r.readText(x, text)
	r.weigh(x)
	r.findNamed(x, text)
}

// forget drops the words of earlier queries once there are more than maxRememberedWords.
func (r *bm25Reader) forget() {
	if r.analyzer.Remembered() > maxRememberedWords {
		r.analyzer, r.words, r.meaningsOf, r.counts = analysis.New(), nil, nil, nil
	}
}

func (x *bm25) documents() []Document { return x.docs }

func (x *bm25) holdsWords() bool {
	return !slices.ContainsFunc(x.Fields, func(f bm25f.Field) bool { return f.Weight == 0 })
}

func (x *bm25) holdingWord(word string) docset.Set {
	s := x.take()
	s.forget()
	s.spare = s.analyzer.Append(s.spare[:0], word)
	var all docset.Set
	for _, n := range s.spare {
		having := docset.New(len(x.docs))
		if id := s.id(x, n); id != noTerm {
			for _, p := range x.List(id) {
				having.Add(int(p.Doc()))
			}
		}
		if all == nil {
			all = having
		} else {
			all.Intersect(having)
		}
	}
	x.scratch.Put(s)
	return all
}

// readText cuts a text into terms. It counts all terms, and the terms outside values.
func (r *bm25Reader) readText(x *bm25, text string) {
	if r.cut(x, text, r.appendWords); len(r.texts) == 0 {
		r.cut(x, text, r.analyzer.Append) // the text is identifiers only
	}
	if more := len(r.analyzer.Terms) - len(r.counts); more > 0 {
		r.counts = append(r.counts, make([]bm25Counted, more)...)
	}
	for _, n := range r.texts {
		r.counts[n].all++
	}
	for _, n := range r.outside {
		r.counts[n].outside++
	}
	for _, w := range r.analyzer.Wholes {
		r.counts[w.Term].all++
		r.counts[w.Term].outside++
	}
}

// cut sets texts, outside and ends.
func (r *bm25Reader) cut(x *bm25, text string, appendTerms func(terms []int32, text string) []int32) {
	r.texts, r.outside, r.ends = r.texts[:0], r.outside[:0], r.ends[:0]
	r.analyzer.Wholes, r.meanings, r.meant = r.analyzer.Wholes[:0], r.meanings[:0], 0
	for i := 0; i < len(text); {
		start, end := analysis.NextValue(text, i)
		for i < start {
			stop := min(start, analysis.SentenceEnd(text, i))
			from := len(r.texts)
			r.texts = appendTerms(r.texts, text[i:stop])
			r.outside = append(r.outside, r.texts[from:]...)
			r.readChinese(x, text[i:stop], 1)
			if i = stop; i < start && len(r.ends) < maxSentences-1 {
				r.ends = append(r.ends, len(r.texts))
			}
		}
		r.texts = appendTerms(r.texts, text[start:end])
		r.readChinese(x, text[start:end], valueWeight)
		i = end
	}
	r.ends = append(r.ends, len(r.texts))
	// Neighbouring words of a query are joined anyway, hyphen or not.
	r.analyzer.Wholes = slices.DeleteFunc(r.analyzer.Wholes, func(w analysis.Whole) bool { return w.IsHyphenated })
}

// appendWords adds the terms of a text without its identifiers.
func (r *bm25Reader) appendWords(terms []int32, text string) []int32 {
	for i := 0; i < len(text); {
		start, end := analysis.NextIdentifier(text, i)
		terms = r.analyzer.Append(terms, text[i:start])
		i = end
	}
	return terms
}

// bm25Counted is how often a query has a term.
type bm25Counted struct {
	all, outside int32    // outside: not in a value
	span         bm25Span // of its terms
	sentence     int32    // 1 + the last sentence found to have the term
}

// repeatWeights has the weight of a term by how often a query has it. It saves most calls of
// math.Pow.
var repeatWeights = func() (weights [16]float64) {
	for count := range weights {
		weights[count] = math.Pow(float64(max(1, count)), repeatPower)
	}
	return weights
}()

func (r *bm25Reader) weightOf(n int32) float64 {
	weight, count := 1.0, r.counts[n]
	switch {
	case int(count.all) < len(repeatWeights):
		weight = repeatWeights[count.all]
	default:
		weight = math.Pow(float64(count.all), repeatPower)
	}
	if count.outside == 0 && len(r.outside) > 0 {
		weight *= valueWeight
	}
	return weight * r.words[n].weight
}

// weigh gives every term of the query its weight, and adds the terms that stand for it.
func (r *bm25Reader) weigh(x *bm25) {
	r.terms, r.groups = r.terms[:0], 0
	unknown, wholes, partsEnd := 0, r.analyzer.Wholes, 0
	if x.lexicon.HasOwnMeanings() {
		r.readOwn(x)
	}
	for _, n := range r.texts {
		r.want(r.id(x, n))
	}
	for _, w := range r.analyzer.Wholes {
		r.want(r.id(x, w.Term))
	}
	for _, m := range r.meanings {
		r.want(m.term.id)
	}
	hasWords := slices.ContainsFunc(r.texts, r.isWord)
	for i, n := range r.texts {
		if hasWords && analysis.IsSingleLetter(r.analyzer.Terms[n]) {
			continue
		}
		from := int32(len(r.terms))
		weight := r.weightOf(n)
		// If a tool has a whole, its parts count less.
		for ; len(wholes) > 0 && wholes[0].From <= i; wholes = wholes[1:] {
			if r.addWhole(x, wholes[0].Term) {
				partsEnd = wholes[0].To
			}
		}
		group := r.newGroup()
		if i < partsEnd {
			weight *= partWeight
		}
		if id := r.id(x, n); id != noTerm {
			r.addTerm(bm25Term{id: id, group: group, weight: weight})
		}
		word := r.word(x, n)
		r.addSubstitutes(word.forms, n, weight, group)
		r.addSubstitutes(word.synonyms, n, 1, group)
		isSplit, isValue := false, r.counts[n].outside == 0 && len(r.outside) > 0
		if word.id == noTerm && len(word.forms) == 0 && !isValue && unknown < maxNearWords {
			unknown++
			isSplit = r.addNear(x, n, weight, group)
		}
		if len(r.texts) <= maxRelatedQuery && !isSplit {
			r.addSubstitutes(word.related, n, weight, group)
		}
		if to := int32(len(r.terms)); to > from {
			r.counts[n].span = bm25Span{from, to}
		}
	}
	for _, w := range wholes { // of stop words only
		r.addWhole(x, w.Term)
	}
	r.addMeanings(x)
	for i := 1; i < len(r.texts); i++ {
		if script := r.words[r.texts[i]].script; script == paired || script != r.words[r.texts[i-1]].script {
			continue
		}
		r.joined = append(append(r.joined[:0], r.analyzer.Terms[r.texts[i-1]]...), r.analyzer.Terms[r.texts[i]]...)
		id, known := x.IDs[string(r.joined)]
		if last := len(r.joined) - 1; !known && r.joined[last] == 'e' { // see split
			id, known = x.IDs[string(r.joined[:last])]
		}
		if known {
			r.addTerm(bm25Term{id: id, group: r.newGroup(), weight: joinedWeight, from: noTerm, reason: joined})
		}
	}
	r.readGroups(x)
	r.readSentences()
	for _, n := range r.texts {
		r.counts[n] = bm25Counted{}
	}
	for _, w := range r.analyzer.Wholes {
		r.counts[w.Term] = bm25Counted{}
	}
	for _, term := range r.terms {
		r.taken.Remove(int(term.id))
	}
	for _, id := range r.wantedTerms {
		r.wanted.Remove(int(id))
	}
	r.wantedTerms = r.wantedTerms[:0]
}

// readGroups makes the groups of the query from its terms, and gives them the numbers of their places.
func (r *bm25Reader) readGroups(x *bm25) {
	r.query.index, r.query.groups = x.Index, r.query.groups[:0]
	for from := 0; from < len(r.terms); {
		to, group := from, r.terms[from].group
		for ; to < len(r.terms) && r.terms[to].group == group; to++ {
			r.terms[to].group = int32(len(r.query.groups))
		}
		r.query.groups = append(r.query.groups, r.terms[from:to:to])
		from = to
	}
}

// newGroup returns the number of a new group.
func (r *bm25Reader) newGroup() int32 {
	r.groups++
	return r.groups
}

// addWhole adds a whole and its synonyms as a group. It reports whether a tool has
// the whole.
func (r *bm25Reader) addWhole(x *bm25, n int32) bool {
	word, group := r.word(x, n), r.newGroup()
	if word.id != noTerm {
		r.addTerm(bm25Term{id: word.id, group: group, weight: r.weightOf(n)})
	}
	r.addSubstitutes(word.synonyms, n, 1, group)
	return word.id != noTerm
}

// isWord reports whether a term is neither a number nor a single letter.
func (r *bm25Reader) isWord(n int32) bool {
	term := r.analyzer.Terms[n]
	return analysis.ClassOf(rune(term[0])) != analysis.Digit && !analysis.IsSingleLetter(term)
}

// want notes that the query itself asks for a term. The term then stands for no other word.
func (r *bm25Reader) want(id int32) {
	if id != noTerm && r.wanted.Add(int(id)) {
		r.wantedTerms = append(r.wantedTerms, id)
	}
}

// addTerm adds a term to the query, unless the query has it already.
func (r *bm25Reader) addTerm(term bm25Term) {
	if r.taken.Add(int(term.id)) {
		r.terms = append(r.terms, term)
	}
}

// bm25Span is where the terms of a word are in the terms of the query. They are the word
// itself and the terms that stand for it.
type bm25Span struct{ from, to int32 }

// readSentences sets the groups of each sentence, those of each word once.
func (r *bm25Reader) readSentences() {
	r.query.sentences, r.inSentences = r.query.sentences[:0], r.inSentences[:0]
	if len(r.ends) == 1 {
		return
	}
	start := 0
	for i, end := range r.ends {
		from := len(r.inSentences)
		for _, n := range r.texts[start:end] {
			if span := r.counts[n].span; span.to > span.from && r.counts[n].sentence != int32(i)+1 {
				r.counts[n].sentence = int32(i) + 1
				r.addSpan(span, from)
			}
		}
		for _, m := range r.meanings {
			if m.sentence == int32(i) && m.span.to > m.span.from {
				r.addSpan(m.span, from)
			}
		}
		if start = end; len(r.inSentences) > from {
			r.query.sentences = append(r.query.sentences, r.inSentences[from:])
		}
	}
	if len(r.query.sentences) == 1 {
		r.query.sentences = r.query.sentences[:0]
	}
}

// addSpan adds the groups of a word to those of a sentence, which begin at from. Several meanings of a
// word may be of one group.
func (r *bm25Reader) addSpan(span bm25Span, from int) {
	for _, term := range r.terms[span.from:span.to] {
		if last := len(r.inSentences) - 1; last < from || r.inSentences[last][0].group != term.group {
			r.inSentences = append(r.inSentences, r.query.groups[term.group])
		}
	}
}
