package search

import (
	"math"
	"slices"
	"strings"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
)

// A query as terms of the index. A reader makes it of a text, and knows no scores. What scores (bm25_score.go), LSA
// and explanations read the same query.
//
//	text -- words, values, sentences --> words -- bm25_words.go --> groups of terms
//
//	create issue   ->   creat:1, issu:1 | ticket:0.2 related

const noTerm = analysis.NoTerm

// A bm25Query is a query that was read. The reader owns its memory, so it lasts until the next read.
type bm25Query struct {
	groups    []bm25Group
	sentences [][]int // the places of each sentence's groups in groups; empty for a single sentence
}

// A bm25Group is the alternatives for one word of the query: its own term, then its substitutes. Of these, only
// the first that a tool has counts.
type bm25Group struct {
	word  string // "" means no single word
	terms []bm25Term
}

type bm25Term struct {
	id     int32
	weight float64
	reason bm25Reason
	line   int // of the company's own lexicon, or 0
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

// reasons are what Explain says before the word.
var reasons = [...]string{
	synonymous: "a synonym of",
	related:    "in the thesaurus for",
	misspelled: "near",
	divided:    "a part of",
	joined:     "two words of the query as one",
	translated: "in the lexicon for",
	inflected:  "another form of",
}

// bm25Reader reads queries over an index, one at a time. It remembers the words of earlier queries.
type bm25Reader struct {
	x      *bm25
	query  bm25Query
	begun  string // the word of the group that terms are added to
	isOpen bool   // whether the query has that group, which its first term opens

	lacksLanguage, isJapanese bool // the query; what is in a language that the index lacks counts by the tools' own words alone

	analyzer   *analysis.Analyzer
	words      []*bm25Word   // by the analyzer's number
	meaningsOf [][]bm25Group // of the lexicon's words, by number; nil if not yet read

	texts      []int32             // the words of the query, in the analyzer's numbers
	all        []int32             // texts, then the wholes
	sentence   int                 // the sentence that is read, and then the last
	sentenceOf []int               // by place in all
	sentences  [maxSentences][]int // the places of their groups
	hasOutside bool                // whether some of texts are not in a value
	taken      docset.Set          // terms of the query
	wanted     docset.Set          // terms that the query asks for itself, which substitute no other word
	meanings   []bm25Meaning       // in the order of the text
	spare      []int32

	// What the query names (bm25_names.go).
	named map[int32]letters.Tier // by document
	name  letters.Name           // that the query may be or have
	lists [][]bm25f.Posting
}

const maxRememberedWords = 1 << 14

func (r *bm25Reader) read(q Query) {
	r.forget()
	var text string
	text, r.lacksLanguage, r.isJapanese = r.x.languages.Read(q.text())
	if r.cut(text, r.appendWords); len(r.texts) == 0 {
		r.cut(text, r.analyzer.Append) // the text is identifiers only
	}
	// Neighbouring words of a query are joined anyway, hyphen or not.
	r.analyzer.Wholes = slices.DeleteFunc(r.analyzer.Wholes, func(w analysis.Whole) bool { return w.IsHyphenated })
	r.all = r.texts
	for _, w := range r.analyzer.Wholes {
		r.all, r.sentenceOf = append(r.all, w.Term), append(r.sentenceOf, r.sentence)
		r.word(w.Term).add(true)
	}
	r.texts = r.all[:len(r.texts)]
	r.weigh()
	for _, n := range r.all {
		r.words[n].counted = counted{}
	}
	r.findNamed(q.text())
}

// forget drops the words of earlier queries once there are more than maxRememberedWords.
func (r *bm25Reader) forget() {
	if r.analyzer.Remembered() > maxRememberedWords {
		r.analyzer, r.words, r.meaningsOf = analysis.New(), nil, nil
	}
}

// cut cuts a text into sentences, values and words, and counts the words.
func (r *bm25Reader) cut(text string, appendTerms func(terms []int32, text string) []int32) {
	r.texts, r.sentenceOf, r.sentence, r.hasOutside, r.meanings = r.texts[:0], r.sentenceOf[:0], 0, false, r.meanings[:0]
	r.analyzer.Wholes = r.analyzer.Wholes[:0]
	add := func(text string, weight float64) {
		from := len(r.texts)
		r.texts = appendTerms(r.texts, text)
		for _, n := range r.texts[from:] {
			r.word(n).add(weight == 1)
			r.sentenceOf = append(r.sentenceOf, r.sentence)
		}
		r.hasOutside = r.hasOutside || weight == 1 && from < len(r.texts)
		if !r.isJapanese {
			r.readChinese(text, weight)
		}
	}
	for i := 0; i < len(text); {
		start, end := analysis.NextValue(text, i)
		for i < start {
			stop := min(start, analysis.SentenceEnd(text, i))
			add(text[i:stop], 1)
			if i = stop; i < start {
				r.sentence = min(r.sentence+1, maxSentences-1)
			}
		}
		add(text[start:end], valueWeight)
		i = end
	}
}

func (r *bm25Reader) appendWords(terms []int32, text string) []int32 {
	for i := 0; i < len(text); {
		start, end := analysis.NextIdentifier(text, i)
		terms = r.analyzer.Append(terms, text[i:start])
		i = end
	}
	return terms
}

// isValue reports whether a word is only in values, while other words are not.
func (r *bm25Reader) isValue(n int32) bool { return !r.words[n].isOutside && r.hasOutside }

func (r *bm25Reader) weightOf(n int32) float64 {
	weight := math.Pow(float64(r.words[n].count), repeatPower)
	if r.isValue(n) {
		weight *= valueWeight
	}
	return weight * r.words[n].weight
}

// weigh makes the groups of the query: its words with their weights, and their substitutes.
func (r *bm25Reader) weigh() {
	r.query.groups = r.query.groups[:0]
	clear(r.taken)
	clear(r.wanted)
	if r.x.lexicon.HasOwnMeanings() { // of words that are not Chinese: only a company's own lexicon lists these
		for i, n := range r.all {
			if number, known := r.x.lexicon.Meanings().Numbers[r.analyzer.Terms[n]]; known && r.words[n].script == alphabetic {
				r.addMeaningsOf(r.analyzer.Terms[n], n, number, r.weightOf(n), r.sentenceOf[i])
			}
		}
	}
	for _, n := range r.all {
		if id := r.words[n].id; id != noTerm {
			r.wanted.Add(int(id))
		}
	}
	for _, m := range r.meanings {
		for _, term := range m.group.terms {
			r.wanted.Add(int(term.id))
		}
	}
	left, wholes, partsEnd := [...]int{maxNearWords, maxOwnedWords}, r.analyzer.Wholes, 0
	hasWords := slices.ContainsFunc(r.texts, r.isWord)
	for i, n := range r.texts {
		if hasWords && analysis.IsSingleLetter(r.analyzer.Terms[n]) || r.lacksLanguage && r.words[n].script == ideographic {
			continue
		}
		from, weight := len(r.query.groups), r.weightOf(n)
		// The parts of a whole count less if a tool has the whole.
		for ; len(wholes) > 0 && wholes[0].From <= i; wholes = wholes[1:] {
			if r.addWhole(wholes[0].Term) {
				partsEnd = wholes[0].To
			}
		}
		if i < partsEnd {
			weight *= partWeight
		}
		word := r.substitutes(n)
		r.begin(r.analyzer.Terms[n])
		r.addTerm(bm25Term{id: word.id, weight: weight})
		r.addSubstitutes(word.forms, weight)
		r.addSubstitutes(word.synonyms, 1)
		isSplit := false
		if kind := min(word.owner, 1); kind != several && !r.lacksLanguage && !r.isValue(n) && left[kind] > 0 {
			left[kind]--
			isSplit = r.addNear(n, weight)
		}
		if len(r.texts) <= maxRelatedQuery && !isSplit && !r.lacksLanguage {
			r.addSubstitutes(word.related, weight)
		}
		if r.x.ideographs > 0 {
			r.addPhrases(i)
		}
		if to := len(r.query.groups); to > from {
			word.from, word.to = from, to
		}
	}
	for _, w := range wholes { // of stop words only
		r.addWhole(w.Term)
	}
	r.readSentences()
	if r.addJoined(); r.isLonger(longTaskLength) {
		r.leaveOutCommon()
	}
}

// leaveOutCommon empties the groups with the most postings until a long task reads two postings for three tools: its rare words
// say more about what it wants than its common ones. Characters are all common, so they do not count.
func (r *bm25Reader) leaveOutCommon() {
	groups, left := r.query.groups, max(minLongTaskPostings, len(r.x.docs)*2/3)
	postings, order := make([]int, len(groups)), make([]int, len(groups))
	for at, group := range groups {
		order[at] = at
		for _, term := range group.terms {
			if scriptOf(r.x.Terms[term.id]) == alphabetic {
				postings[at] += len(r.x.List(term.id))
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return postings[a] - postings[b] })
	for i, at := range order {
		if left -= postings[at]; left < 0 && i > 0 {
			groups[at].terms = groups[at].terms[:0]
		}
	}
}

// isLonger reports whether the query has more words. Two Chinese characters are a word, and pairs do not count.
func (r *bm25Reader) isLonger(words int) bool {
	halves := 0
	for _, n := range r.texts {
		switch r.words[n].script {
		case alphabetic:
			halves += 2
		case ideographic:
			halves++
		}
	}
	return halves > 2*words
}

// addPhrases adds the Chinese words for several words from place i on.
func (r *bm25Reader) addPhrases(i int) {
	phrase := r.analyzer.Terms[r.texts[i]]
	for _, next := range r.texts[i+1 : min(len(r.texts), i+maxMeaningGroups)] {
		phrase += " " + r.analyzer.Terms[next]
		r.begin(phrase)
		r.addSubstitutes(r.chinese(phrase), 1)
	}
}

func (r *bm25Reader) addJoined() {
	for i := 1; i < len(r.texts); i++ {
		first, second := r.texts[i-1], r.texts[i]
		if script := r.words[second].script; script == paired || script != r.words[first].script {
			continue
		}
		word := r.analyzer.Terms[first] + r.analyzer.Terms[second]
		id := r.x.id(word)
		if stem, isCut := strings.CutSuffix(word, "e"); isCut && id == noTerm { // see letters.Split
			id = r.x.id(stem)
		}
		r.begin("")
		r.addTerm(bm25Term{id: id, weight: joinedWeight, reason: joined})
	}
}

// addWhole adds a whole and its synonyms as a group. It reports whether a tool has the whole.
func (r *bm25Reader) addWhole(n int32) bool {
	word := r.substitutes(n)
	r.begin(r.analyzer.Terms[n])
	r.addTerm(bm25Term{id: word.id, weight: r.weightOf(n)})
	r.addSubstitutes(word.synonyms, 1)
	return word.id != noTerm
}

func (r *bm25Reader) isWord(n int32) bool {
	term := r.analyzer.Terms[n]
	return analysis.ClassOf(rune(term[0])) != analysis.Digit && !analysis.IsSingleLetter(term)
}

// begin begins a group, which the query gets with its first term.
func (r *bm25Reader) begin(word string) { r.begun, r.isOpen = word, false }

// addTerm adds a term to the group that was begun last, unless no tool has the term or a group already lists it.
func (r *bm25Reader) addTerm(term bm25Term) {
	if term.id == noTerm || !r.taken.Add(int(term.id)) {
		return
	}
	q, last := &r.query, len(r.query.groups)-1
	if !r.isOpen {
		last++
		q.groups = slices.Grow(q.groups, 1)[:last+1] // with the space of an earlier query's group
		q.groups[last].word, q.groups[last].terms, r.isOpen = r.begun, q.groups[last].terms[:0], true
	}
	q.groups[last].terms = append(q.groups[last].terms, term)
}

// readSentences adds the meanings of the query, and sets the groups of each sentence, those of each word once, unless
// only one sentence has groups.
func (r *bm25Reader) readSentences() {
	for i := range r.sentences {
		r.sentences[i] = r.sentences[i][:0]
	}
	for i, n := range r.texts {
		if word, sentence := r.words[n], r.sentenceOf[i]; word.sentence <= sentence {
			word.sentence = sentence + 1
			for group := word.from; group < word.to; group++ {
				r.sentences[sentence] = append(r.sentences[sentence], group)
			}
		}
	}
	r.addMeanings()
	r.query.sentences = append(r.query.sentences[:0], r.sentences[:]...)
	r.query.sentences = slices.DeleteFunc(r.query.sentences, func(groups []int) bool { return len(groups) == 0 })
	if len(r.query.sentences) == 1 {
		r.query.sentences = r.query.sentences[:0]
	}
}
