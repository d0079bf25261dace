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

// The terms that stand for a word of a query. A word's term in the index and the terms that may
// stand for it are the same in every query, so a scratch looks them up once and remembers them:
//
//	word -> its term; its other forms; what the lexicon has for it; if no tool has it, its parts or near terms
//
// A query chooses among them: a term that it asks for itself stands for no other word.

const (
	inflectedWeight = 0.8 // of a term with the same stem in a language of the index
	compoundWeight  = 0.8 // of each part of a compound
	functionWeight  = 0.1 // of a function word

	maxRelatedQuery = 20  // terms of a query for which the thesaurus is used
	maxRelatedTools = 256 // that have a word of the thesaurus; a sixteenth of all tools if that is more

	nearWeight    = 0.5 // of a term that an unknown word was probably meant to be
	maxNearWords  = 4   // unknown words of a query that are looked up
	maxShortQuery = 8   // terms of a query in which an unknown word may be cut short
)

// bm25Word is what is remembered of a word.
type bm25Word struct {
	id       int32 // the word's term, or noTerm if no tool has it
	script   script
	weight   float64         // 1, or less for a number or a word that people ask with
	isRead   bool            // whether forms, synonyms, related and parts are set
	forms    []substitute    // the same word with other endings, in a language of the index
	synonyms []substitute    // synonyms, and Chinese words for an English word
	related  []substitute    // of the thesaurus
	parts    [][]substitute  // if no tool has the word: the terms that it consists of
	near     [2][]substitute // if no tool has the word: what it was probably meant to be; the second if it may be cut short
	isNear   [2]bool         // whether near is set
}

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
	default:
		return paired
	}
}

// A substitute is a term that may stand for a word of a query.
type substitute struct {
	id     int32
	weight float64 // for a word of weight 1
	reason bm25Reason
	line   int32 // of the company's own lexicon, or 0
}

// id returns the term of the index for a word of the query, or noTerm if no tool has it.
func (r *bm25Reader) id(x *bm25, n int32) int32 {
	for at := len(r.words); at <= int(n); at++ {
		term := r.analyzer.Terms[at]
		id, known := x.IDs[term]
		if !known {
			id = noTerm
		}
		word := bm25Word{id: id, weight: 1}
		word.script = scriptOf(term)
		switch {
		case x.languages.IsFunctionWord(id):
			word.weight = functionWeight
		case analysis.ClassOf(rune(term[0])) == analysis.Digit:
			word.weight = numberWeight
		case analysis.IsRequestWord(term):
			word.weight = requestWeight
		}
		r.words = append(r.words, word)
	}
	return r.words[n].id
}

// word returns what is remembered of a word. It is valid until another word is looked up.
func (r *bm25Reader) word(x *bm25, n int32) *bm25Word {
	if r.id(x, n); !r.words[n].isRead {
		text := r.analyzer.Terms[n]
		var synonyms, similar []substitute
		for _, other := range x.lexicon.Synonyms()[text] {
			if id, known := x.IDs[other.Term]; known {
				synonyms = append(synonyms, substitute{id, other.Weight, synonymous, int32(other.Line)})
			}
		}
		synonyms = r.appendChinese(synonyms, x, text)
		// Words that many tools have say little and take the most time.
		most := max(maxRelatedTools, len(x.docs)/16)
		for _, other := range x.lexicon.Thesaurus()[text] {
			if id, known := x.IDs[other.Term]; known && len(x.List(id)) <= most {
				similar = append(similar, substitute{id, other.Weight, related, int32(other.Line)})
			}
		}
		word := &r.words[n]
		word.isRead, word.synonyms, word.related = true, synonyms, similar
		word.forms = substitutesOf(x.languages.Forms(text), inflectedWeight, inflected)
		if word.id == noTerm && len(word.forms) == 0 {
			if first, second, isSplit := letters.Split(x.IDs, text); isSplit {
				word.parts = [][]substitute{{{first, 1, divided, 0}}, {{second, 1, divided, 0}}}
			} else {
				for _, part := range x.languages.Compound(text) {
					word.parts = append(word.parts, substitutesOf(part, compoundWeight, divided))
				}
			}
		}
	}
	return &r.words[n]
}

func substitutesOf(terms []int32, weight float64, reason bm25Reason) []substitute {
	var all []substitute
	for _, id := range terms {
		all = append(all, substitute{id, weight, reason, 0})
	}
	return all
}

// addSubstitutes adds the terms that stand for a word, except those that the query asks for.
func (r *bm25Reader) addSubstitutes(terms []substitute, n int32, weight float64, group int32) {
	for _, other := range terms {
		if !r.wanted.Has(int(other.id)) {
			r.addTerm(bm25Term{id: other.id, group: group, weight: weight * other.weight, from: n, reason: other.reason, line: other.line})
		}
	}
}

// addNear adds the terms that an unknown word was probably meant to be. If the word is several
// words written as one, all of them count. A word of the lexicon is not misspelled.
func (r *bm25Reader) addNear(x *bm25, n int32, weight float64, group int32) (isSplit bool) {
	word, text := &r.words[n], r.analyzer.Terms[n]
	if len(word.parts) > 0 {
		for i, part := range word.parts {
			if i > 0 {
				group = r.newGroup()
			}
			r.addSubstitutes(part, n, weight, group)
		}
		return true
	}
	if x.lexicon.Has(text) {
		return false
	}
	at := 0
	if len(r.texts) <= maxShortQuery {
		at = 1
	}
	if !word.isNear[at] {
		word.isNear[at], word.near[at] = true, substitutesOf(x.nearTerms().Of(text, at == 1), nearWeight, misspelled)
	}
	r.addSubstitutes(word.near[at], n, weight, group)
	return false
}

// Two languages. A query in Chinese finds tools in English, and the other way round, by the
// lexicon. Chinese is cut into the longest words that the lexicon has:
//
//	查询明天的天气 -> 查询       query, 0.7 search, 0.5 get
//	                  明天       tomorrow
//	                  天气       weather, 0.7 forecast
//
// A word is a group: a tool gets the first of its meanings that it has. A word that means
// several English words is several groups. If the catalog has the Chinese word too, its
// English meanings count half.
//
// An English word stands for its Chinese words as for its synonyms. They are looked up by their
// pairs of characters. In a catalog in Chinese, a Chinese word also stands for the Chinese words of
// its best meaning: 有哪些 (list) for 列出. These count by their characters as well, which adds 0.2
// of MRR to questions in Chinese over tools in Chinese.
//
// The lexicon has 6,900 lines. Over English tools, questions in Chinese have a recall at 5 of
// 74.5 %, and 2.7 % without it; the same questions in English have 76.4 %. English questions
// over tools with only their names in English have 74.7 %, and 72.4 % without it. Where the tools
// and the questions are Chinese but the names English, the lexicon adds 2.6 points. Tried and
// dropped, on Chinese questions over English tools: without words of a single character -0.8, all
// meanings count the same -1.3, two meanings -0.4, five +0.1.

// meaningWeights are the weights of the meanings of a word, the best first.
var meaningWeights = [lexicon.MaxMeanings]float64{1, 0.7, 0.5}

const (
	bilingualWeight  = 0.5 // of a meaning, if the catalog has the Chinese word too
	chineseWeight    = 0.5 // of the best Chinese word for an English word
	nextChinese      = 0.8 // of the weight of the previous Chinese word
	maxChinese       = 4   // Chinese words for an English word
	sameMeaning      = 0.8 // times chineseWeight for a Chinese word of the same meaning: a synonym's weight
	minHan           = 0xe3
	maxMeaningGroups = 4 // English words in a meaning
)

// bm25Meaning is an English term that a Chinese word of the query means.
type bm25Meaning struct {
	term     bm25Term
	sentence int32
	span     bm25Span // in the terms of the query
}

// readChinese adds the meanings of the Chinese words of a text, which is a part of a sentence.
func (r *bm25Reader) readChinese(x *bm25, text string, weight float64) {
	if !x.hasLatin && !x.hasIdeographs {
		return
	}
	for i := 0; i < len(text); {
		if text[i] < minHan { // the first byte of U+3000; Chinese characters come after it
			i++
			continue
		}
		end := analysis.HanEnd(text, i)
		if end == i {
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
			continue
		}
		words, run, before := x.lexicon.Meanings(), analysis.Simplify(text[i:end]), int32(noTerm)
		for at := 0; at < len(run); {
			length, number := words.Cut(run[at:])
			if number != noTerm && words.English[number] != "" && !words.AsksForAmount(run, at, before) {
				r.addMeaningsOf(x, run[at:at+length], noTerm, number, weight, len(r.ends))
				before = number
			}
			at += length
		}
		i = end
	}
}

// readOwn adds the meanings of the words that are not Chinese, which a company's own lexicon has.
func (r *bm25Reader) readOwn(x *bm25) {
	read := func(n int32, sentence int) {
		if number, known := x.lexicon.Meanings().Numbers[r.analyzer.Terms[n]]; known && r.words[n].script == alphabetic {
			r.addMeaningsOf(x, r.analyzer.Terms[n], n, number, r.weightOf(n), sentence)
		}
	}
	sentence := 0
	for i, n := range r.texts {
		for i >= r.ends[sentence] {
			sentence++
		}
		r.id(x, n)
		read(n, sentence)
	}
	for _, w := range r.analyzer.Wholes {
		r.id(x, w.Term)
		read(w.Term, len(r.ends)-1)
	}
}

// addMeaningsOf adds the meanings of a word of a sentence, by its number in the lexicon. n is the
// word's number in the analyzer, or noTerm if the word is Chinese.
func (r *bm25Reader) addMeaningsOf(x *bm25, word string, n, number int32, weight float64, sentence int) {
	if r.meaningsOf == nil {
		r.meaningsOf = make([]*bm25Meanings, len(x.lexicon.Meanings().English))
	}
	meanings := r.meaningsOf[number]
	if meanings == nil {
		meanings = r.readMeanings(x, word, n, number)
		r.meaningsOf[number] = meanings
	}
	for _, m := range meanings.terms {
		r.meanings = append(r.meanings, bm25Meaning{
			term:     bm25Term{id: m.id, group: r.meant + m.group, weight: weight * m.weight, from: m.from, reason: m.reason, line: m.line},
			sentence: int32(sentence),
		})
	}
	r.meant += int32(meanings.groups)
}

// bm25Meanings are the terms of the index that a Chinese word means. Each is in one of the
// word's groups.
type bm25Meanings struct {
	terms  []bm25Term // by group, and in a group the best first
	groups int
}

func (r *bm25Reader) readMeanings(x *bm25, word string, n, number int32) *bm25Meanings {
	of := new(bm25Meanings)
	isChinese, from, weight := n == noTerm, n, 1.0
	if isChinese {
		from = r.analyzer.Number(word, analysis.Ideograph)
	}
	if isChinese && x.hasIdeographs && r.holdsAll(x, word) || !isChinese && r.id(x, n) != noTerm {
		weight = bilingualWeight
	}
	words, rank := x.lexicon.Meanings(), 0
	for meaning := range strings.SplitSeq(words.English[number], "; ") {
		if rank == len(meaningWeights) {
			break
		}
		r.spare = r.spare[:0]
		for part := range strings.SplitSeq(meaning, " ") {
			if n := r.analyzer.Number(part, analysis.Lower); n != noTerm {
				r.spare = append(r.spare, n)
			}
		}
		if of.groups == 0 {
			of.groups = min(len(r.spare), maxMeaningGroups)
		}
		for i, n := range r.spare {
			id := r.id(x, n)
			if id == noTerm {
				continue
			}
			term := bm25Term{id: id, weight: weight * meaningWeights[rank], from: from, reason: translated, line: int32(words.Lines[number])}
			if analysis.IsRequestWord(r.analyzer.Terms[n]) {
				term.weight *= requestWeight
			}
			// The last word of a meaning names the thing, so meanings are aligned at their ends.
			term.group = int32(max(0, i-len(r.spare)+of.groups))
			of.terms = append(of.terms, term)
		}
		rank++
	}
	if isChinese && x.isIdeographic {
		r.appendSameMeaning(of, x, words.English[number], bm25Term{weight: weight * sameMeaning, from: from, reason: synonymous, line: int32(words.Lines[number])})
	}
	slices.SortFunc(of.terms, func(a, b bm25Term) int {
		return cmp.Or(cmp.Compare(a.group, b.group), cmp.Compare(b.weight, a.weight), cmp.Compare(a.id, b.id))
	})
	return of
}

// appendSameMeaning adds the Chinese words with the same best meaning. Such a word counts as it does
// where it is asked for: by its pairs, and by each of its characters.
func (r *bm25Reader) appendSameMeaning(of *bm25Meanings, x *bm25, english string, like bm25Term) {
	best, _, _ := strings.Cut(english, "; ")
	if strings.Contains(best, " ") {
		return
	}
	n := r.analyzer.Number(best, analysis.Lower)
	if n == noTerm {
		return
	}
	for _, other := range r.appendChinese(nil, x, r.analyzer.Terms[n]) {
		term := like
		term.id, term.weight = other.id, like.weight*other.weight
		of.terms = append(of.terms, term)
		for _, char := range x.Terms[other.id] {
			if id, known := x.IDs[string(char)]; known && id != other.id {
				term.id, term.group = id, term.group+1
				of.terms = append(of.terms, term)
			}
		}
		of.groups = max(of.groups, int(term.group)+1)
	}
}

// holdsAll reports whether the index has all terms of a Chinese word.
func (r *bm25Reader) holdsAll(x *bm25, word string) bool {
	r.spare = r.analyzer.AppendIdeographs(r.spare[:0], word)
	return !slices.ContainsFunc(r.spare, func(n int32) bool { return r.id(x, n) == noTerm })
}

// addMeanings adds the meanings to the terms of the query, in the order of their groups. A term that
// several words mean is added at the first place where it has the most weight.
func (r *bm25Reader) addMeanings(x *bm25) {
	first := r.groups + 1
	r.groups += r.meant
	if len(r.meanings) > 0 && r.meaningAt == nil {
		r.meaningAt = make([]int32, len(x.Terms))
	}
	for i := range r.meanings {
		term := &r.meanings[i].term
		if at := r.meaningAt[term.id]; at == 0 || term.weight > r.meanings[at-1].term.weight {
			r.meaningAt[term.id] = int32(i) + 1
		}
	}
	for i := range r.meanings {
		m := &r.meanings[i]
		if r.meaningAt[m.term.id] != int32(i)+1 {
			continue
		}
		m.span.from = int32(len(r.terms))
		m.term.group += first
		r.addTerm(m.term)
		m.span.to = int32(len(r.terms))
	}
	for i := range r.meanings {
		r.meaningAt[r.meanings[i].term.id] = 0
	}
}

// appendChinese adds the terms of the index that are the Chinese words for an English word.
func (r *bm25Reader) appendChinese(terms []substitute, x *bm25, word string) []substitute {
	if !x.hasIdeographs || word[0] >= utf8.RuneSelf {
		return terms
	}
	found, weight := 0, chineseWeight
	for _, of := range x.lexicon.Chinese()[word] {
		chinese := of.Term
		if !r.holdsAll(x, chinese) {
			continue
		}
		for _, part := range r.spare {
			// A word of several characters counts by its pairs.
			if term := r.analyzer.Terms[part]; len(term) == len(chinese) || utf8.RuneCountInString(term) > 1 {
				terms = append(terms, substitute{r.id(x, part), weight, translated, int32(of.Line)})
			}
		}
		if found++; found == maxChinese {
			break
		}
		weight *= nextChinese
	}
	return terms
}
