package search

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
	"github.com/eino-toolsearch/toolsearch/search/internal/lexicon"
)

// The substitutes of a word of a query. A word's term in the index and its possible substitutes are the same in every
// query, so a reader looks them up once. A query chooses among them: a term that it asks for itself substitutes no
// other word.
//
//	word -> its term; its other forms; what the lexicon lists for it; if no tool has it, its parts or near terms

const (
	inflectedWeight = 0.8  // of a term with the same stem in a language of the index
	compoundWeight  = 0.8  // of each part of a compound
	functionWeight  = 0.1  // of a function word
	manyWeight      = 0.25 // of "many" itself

	maxRelatedQuery = 20  // terms of a query for which the thesaurus is used
	maxRelatedTools = 256 // that have a word of the thesaurus; a sixteenth of all tools if that is more

	nearWeight     = 0.5  // of a term that an unknown word was probably meant to be
	maxNearWords   = 4    // unknown words of a query that are looked up
	maxOwnedWords  = 16   // words of a query that only one namespace has and that are looked up as if they were unknown
	ownedWeight    = 0.25 // of the parts of such a word, and of terms near such a word that is short
	minOwnedLength = 5    // bytes; a shorter word is near many others
	maxShortQuery  = 8    // terms of a query in which an unknown word may be cut short
)

// bm25Word is what is remembered of a word. Weights are those for a word of weight 1.
type bm25Word struct {
	id       int32 // the word's term, or noTerm if no tool has it
	owner    int32 // the only namespace whose tools contain the word or a form of it; 0 for none, or several
	script   script
	weight   float64       // 1, or less for a number or a word that people ask with
	isRead   bool          // whether forms, synonyms, related and parts are set
	forms    []bm25Term    // the same word with other endings, in a language of the index
	synonyms []bm25Term    // synonyms, and Chinese words for an English word
	related  []bm25Term    // of the thesaurus
	parts    [][]bm25Term  // unless several namespaces have the word: the terms that it consists of
	isSplit  bool          // whether it consists of them, whatever one namespace has
	near     [2][]bm25Term // likewise: what it was probably meant to be; the second if it may be cut short; nil if not set

	counted // in the query that is read
}

// counted is where a word occurs in a query.
type counted struct {
	count     int
	isOutside bool // of a value
	from, to  int  // its groups
	sentence  int  // 1 + the last sentence in which the word was found
}

func (c *counted) add(isOutside bool) { c.count, c.isOutside = c.count+1, c.isOutside || isOutside }

// A script says which neighbours a word may be written together with.
type script uint8

const (
	alphabetic  script = iota // with another such word
	ideographic               // with another such character
	paired                    // a pair of characters: with nothing
)

func scriptOf(term string) script {
	switch class, size := analysis.ClassAt(term, 0); {
	case class != analysis.Ideograph:
		return alphabetic
	case size == len(term):
		return ideographic
	}
	return paired
}

func (r *bm25Reader) word(n int32) *bm25Word {
	for at := len(r.words); at <= int(n); at++ {
		term := r.analyzer.Terms[at]
		word := &bm25Word{id: r.x.id(term), weight: 1, script: scriptOf(term)}
		switch {
		case r.x.languages.IsFunctionWord(word.id):
			word.weight = functionWeight
		case analysis.ClassOf(rune(term[0])) == analysis.Digit:
			word.weight = numberWeight
		case term == "mani": // "how many" asks for tools that count, by its synonyms, and not for insert_many
			word.weight = manyWeight
		case analysis.IsRequestWord(term):
			word.weight = requestWeight
		}
		r.words = append(r.words, word)
	}
	return r.words[n]
}

func (x *bm25) id(term string) int32 {
	if id, known := x.IDs[term]; known {
		return id
	}
	return noTerm
}

// substitutes returns what is remembered of a word, with its possible substitutes.
func (r *bm25Reader) substitutes(n int32) *bm25Word {
	x, text, word := r.x, r.analyzer.Terms[n], r.word(n)
	if word.isRead {
		return word
	}
	word.isRead = true
	// Words of many tools say little and cost the most time.
	word.related = r.listed(x.lexicon.Thesaurus()[text], related, max(maxRelatedTools, len(x.docs)/16))
	word.synonyms = append(r.listed(x.lexicon.Synonyms()[text], synonymous, len(x.docs)), r.chinese(text)...)
	forms := x.languages.Forms(text)
	word.forms = termsOf(forms, inflectedWeight, inflected)
	if word.id != noTerm {
		forms = append(forms, word.id)
	}
	if word.owner = x.owner(forms...); word.owner != several {
		word.isSplit = word.owner == 0
		r.divide(word, text, word.owner)
	}
	return word
}

// divide adds the parts of a word. It ignores terms that are only in the namespace without, unless that is 0. If a
// part is only in one namespace, divide also adds the parts that it finds without that namespace.
func (r *bm25Reader) divide(word *bm25Word, text string, without int32) {
	weight, parts := 1.0, letters.Split(text, func(term string) (id int32, known bool) {
		id, known = r.x.IDs[term]
		return id, known && (without == 0 || r.x.owner(id) != without)
	})
	if parts == nil {
		weight, parts = compoundWeight, r.x.languages.Compound(text)
	}
	word.isSplit = word.isSplit && len(parts) > 0
	for _, part := range parts {
		word.parts = append(word.parts, termsOf(part, weight, divided))
		if owner := r.x.owner(part...); owner > 0 && without == 0 {
			word.isSplit = false
			r.divide(word, text, owner)
		}
	}
}

// listed returns the terms of the lexicon's words that at most that many tools have.
func (r *bm25Reader) listed(words []lexicon.Synonym, reason bm25Reason, most int) (terms []bm25Term) {
	for _, other := range words {
		if id := r.x.id(other.Term); id != noTerm && len(r.x.List(id)) <= most {
			terms = append(terms, bm25Term{id, other.Weight, reason, other.Line})
		}
	}
	return terms
}

// termsOf returns a list that is not nil.
func termsOf(ids []int32, weight float64, reason bm25Reason) []bm25Term {
	terms := make([]bm25Term, 0, len(ids))
	for _, id := range ids {
		terms = append(terms, bm25Term{id: id, weight: weight, reason: reason})
	}
	return terms
}

// addSubstitutes adds substitutes of a word of that weight, except terms that the query asks for.
func (r *bm25Reader) addSubstitutes(terms []bm25Term, weight float64) {
	for _, term := range terms {
		if !r.wanted.Has(int(term.id)) {
			term.weight *= weight
			r.addTerm(term)
		}
	}
}

// addNear adds the terms that a word was probably meant to be, if no tool has it or only tools of one namespace,
// which must not hide the others. If the word is several words written as one, all of them count.
func (r *bm25Reader) addNear(n int32, weight float64) (isSplit bool) {
	word, text, ofParts := r.words[n], r.analyzer.Terms[n], weight
	if word.owner > 0 { // the word may be right
		ofParts *= ownedWeight
		if _, isWord := r.x.lexicon.Thesaurus()[text]; isWord || len(text) < minOwnedLength {
			weight *= ownedWeight
		}
	}
	if !word.isSplit && !r.x.lexicon.Has(text) {
		at := 0
		if len(r.texts) <= maxShortQuery {
			at = 1
		}
		if word.near[at] == nil {
			word.near[at] = termsOf(r.x.nearTerms().Of(text, at == 1), nearWeight, misspelled)
		}
		r.addSubstitutes(word.near[at], weight)
	}
	for _, part := range word.parts {
		r.begin(text)
		r.addSubstitutes(part, ofParts)
	}
	return word.isSplit
}

// Two languages. A query in Chinese finds tools in English, and the other way round, by the lexicon. Chinese is cut
// into the longest words of the lexicon:
//
//	查询明天的天气 -> 查询       query, 0.7 search, 0.5 get
//	                  明天       tomorrow
//	                  天气       weather, 0.7 forecast
//
// A word is a group: of its meanings, only the first that a tool has counts. A meaning of several English words is
// several groups. The Chinese words for an English word are substitutes like its synonyms, and are looked up by their
// pairs of characters; those for an English phrase are a group of their own. In a catalog in Chinese, the Chinese words
// of a Chinese word's best meaning are substitutes too, and count by their characters as well: 有哪些 (list) for 列出.

var meaningWeights = [lexicon.MaxMeanings]float64{1, 0.7, 0.5}

const (
	bilingualWeight  = 0.5 // of a meaning, if the catalog contains the Chinese word too
	chineseWeight    = 0.5 // of the best Chinese word for an English word
	nextChinese      = 0.8 // of the weight of the previous Chinese word
	maxChinese       = 4   // Chinese words for an English word
	sameMeaning      = 0.8 // times chineseWeight for a Chinese word of the same meaning: a synonym's weight
	maxMeaningGroups = 4   // English words in a meaning or phrase
)

// bm25Meaning is an English word that a Chinese word of the query means, or the alternatives to it.
type bm25Meaning struct {
	group    bm25Group // for a word of weight 1
	weight   float64
	sentence int
}

// readChinese adds the meanings of the Chinese words of a text, which is a part of a sentence.
func (r *bm25Reader) readChinese(text string, weight float64) {
	for run := range strings.FieldsFuncSeq(text, analysis.IsNotHan) {
		words, before := r.x.lexicon.Meanings(), int32(noTerm)
		run = analysis.Simplify(run)
		for at := 0; at < len(run); {
			length, number := words.Cut(run[at:])
			if number != noTerm && words.English[number] != "" && !words.AsksForAmount(run, at, before) {
				r.addMeaningsOf(run[at:at+length], noTerm, number, weight, r.sentence)
				before = number
			}
			at += length
		}
	}
}

// addMeaningsOf adds the meanings of a word of a sentence, by its number in the lexicon. n is the
// word's number in the analyzer, or noTerm if the word is Chinese.
func (r *bm25Reader) addMeaningsOf(word string, n, number int32, weight float64, sentence int) {
	if r.meaningsOf == nil {
		r.meaningsOf = make([][]bm25Group, len(r.x.lexicon.Meanings().English))
	}
	if r.meaningsOf[number] == nil {
		r.meaningsOf[number] = r.readMeanings(word, n, number)
	}
	for _, group := range r.meaningsOf[number] {
		r.meanings = append(r.meanings, bm25Meaning{group: group, weight: weight, sentence: sentence})
	}
}

// readMeanings returns the terms of the index that a word means: a group for each word of its best meaning.
func (r *bm25Reader) readMeanings(word string, n, number int32) []bm25Group {
	words, like, isChinese := r.x.lexicon.Meanings(), bm25Term{weight: 1, reason: translated}, n == noTerm
	like.line = words.Lines[number]
	if isChinese {
		n = r.analyzer.Number(word, analysis.Ideograph)
	}
	if isChinese && r.x.ideographs > 0 && r.holdsAll(word) || !isChinese && r.word(n).id != noTerm {
		like.weight = bilingualWeight
	}
	groups := make([]bm25Group, 0, 1) // not nil, even if it stays empty
	add := func(at int, term bm25Term) {
		for len(groups) <= at {
			groups = append(groups, bm25Group{})
			if n != noTerm {
				groups[len(groups)-1].word = r.analyzer.Terms[n]
			}
		}
		groups[at].terms = append(groups[at].terms, term)
	}
	meanings, size := strings.Split(words.English[number], "; "), 0
	for rank, meaning := range meanings[:min(len(meanings), len(meaningWeights))] {
		r.spare = r.spare[:0]
		for part := range strings.SplitSeq(meaning, " ") {
			if n := r.analyzer.Number(part, analysis.Lower); n != noTerm {
				r.spare = append(r.spare, n)
			}
		}
		if size == 0 {
			size = min(len(r.spare), maxMeaningGroups)
		}
		for i, n := range r.spare {
			term := like
			if term.id = r.word(n).id; term.id == noTerm {
				continue
			}
			term.weight *= meaningWeights[rank]
			if analysis.IsRequestWord(r.analyzer.Terms[n]) {
				term.weight *= requestWeight
			}
			// The last word of a meaning names the thing, so meanings are aligned at their ends.
			add(max(0, i-len(r.spare)+size), term)
		}
	}
	if isChinese && r.x.ideographs > len(r.x.Postings)/4 { // a catalog in Chinese
		like.weight, like.reason = like.weight*sameMeaning, synonymous
		r.addSameMeaning(meanings[0], like, add)
	}
	for _, group := range groups {
		slices.SortFunc(group.terms, func(a, b bm25Term) int {
			return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.id, b.id))
		})
	}
	return groups
}

// addSameMeaning adds the Chinese words with the same best meaning, by their pairs and by each of their characters.
func (r *bm25Reader) addSameMeaning(meaning string, like bm25Term, add func(at int, term bm25Term)) {
	for _, other := range r.chinese(r.analyzer.Stems(meaning)) {
		term := like
		term.id, term.weight = other.id, like.weight*other.weight
		add(0, term)
		at := 0
		for _, char := range r.x.Terms[other.id] {
			if id := r.x.id(string(char)); id != noTerm && id != other.id {
				at++
				term.id = id
				add(at, term)
			}
		}
	}
}

func (r *bm25Reader) holdsAll(word string) bool {
	r.spare = r.analyzer.AppendIdeographs(r.spare[:0], word)
	return !slices.ContainsFunc(r.spare, func(n int32) bool { return r.word(n).id == noTerm })
}

// addMeanings adds the groups of the meanings. A term that several words mean is added at the first place where its
// weight is largest.
func (r *bm25Reader) addMeanings() {
	most := make(map[int32]float64)
	for _, m := range r.meanings {
		for _, term := range m.group.terms {
			most[term.id] = max(most[term.id], m.weight*term.weight)
		}
	}
	for _, m := range r.meanings {
		at := len(r.query.groups)
		r.begin(m.group.word)
		for _, term := range m.group.terms {
			if term.weight *= m.weight; term.weight == most[term.id] {
				r.addTerm(term)
			}
		}
		if len(r.query.groups) > at {
			r.sentences[m.sentence] = append(r.sentences[m.sentence], at)
		}
	}
}

// chinese returns the terms of the index that are the Chinese words for an English word or phrase.
func (r *bm25Reader) chinese(english string) (terms []bm25Term) {
	if r.x.ideographs == 0 {
		return nil
	}
	found, weight := 0, chineseWeight
	for _, of := range r.x.lexicon.Chinese()[english] {
		if !r.holdsAll(of.Term) {
			continue
		}
		for _, part := range r.spare {
			// A word of several characters counts by its pairs.
			if term := r.analyzer.Terms[part]; len(term) == len(of.Term) || utf8.RuneCountInString(term) > 1 {
				terms = append(terms, bm25Term{r.word(part).id, weight, translated, of.Line})
			}
		}
		if found++; found == maxChinese {
			break
		}
		weight *= nextChinese
	}
	return terms
}
