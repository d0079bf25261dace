package search

import (
	"math"
	"slices"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
)

// A query as terms of the index.

// noTerm stands for a term that no tool has.
const noTerm = analysis.NoTerm

type bm25Term struct {
	id     int32
	group  int32 // only the first term of a group that a tool has counts
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

var reasonDetail = [...]string{
	synonymous: "a synonym of",
	related:    "in the thesaurus for",
	misspelled: "near",
	divided:    "a part of",
	joined:     "two words of the query as one",
	translated: "in the lexicon for",
	inflected:  "another form of",
}

// maxRememberedWords is how many words of earlier queries a scratch remembers.
const maxRememberedWords = 1 << 14

// read turns a query into terms.
func (s *bm25Scratch) read(x *bm25, q Query) {
	s.forget()
	text := q.text()
	s.readText(x, text)
	s.weigh(x)
	s.findNamed(x, text)
}

// forget drops the words of earlier queries once there are more than maxRememberedWords.
func (s *bm25Scratch) forget() {
	if s.analyzer.Remembered() > maxRememberedWords {
		s.analyzer, s.words, s.meaningsOf, s.counts = analysis.New(), nil, nil, nil
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
func (s *bm25Scratch) readText(x *bm25, text string) {
	if s.cut(x, text, s.appendWords); len(s.texts) == 0 {
		s.cut(x, text, s.analyzer.Append) // the text is identifiers only
	}
	if more := len(s.analyzer.Terms) - len(s.counts); more > 0 {
		s.counts = append(s.counts, make([]bm25Counted, more)...)
	}
	for _, n := range s.texts {
		s.counts[n].all++
	}
	for _, n := range s.outside {
		s.counts[n].outside++
	}
	for _, w := range s.analyzer.Wholes {
		s.counts[w.Term].all++
		s.counts[w.Term].outside++
	}
}

// cut sets texts, outside and ends.
func (s *bm25Scratch) cut(x *bm25, text string, appendTerms func(terms []int32, text string) []int32) {
	s.texts, s.outside, s.ends = s.texts[:0], s.outside[:0], s.ends[:0]
	s.analyzer.Wholes, s.meanings, s.meant = s.analyzer.Wholes[:0], s.meanings[:0], 0
	for i := 0; i < len(text); {
		start, end := analysis.NextValue(text, i)
		for i < start {
			stop := min(start, analysis.SentenceEnd(text, i))
			from := len(s.texts)
			s.texts = appendTerms(s.texts, text[i:stop])
			s.outside = append(s.outside, s.texts[from:]...)
			s.readChinese(x, text[i:stop], 1)
			if i = stop; i < start && len(s.ends) < maxSentences-1 {
				s.ends = append(s.ends, len(s.texts))
			}
		}
		s.texts = appendTerms(s.texts, text[start:end])
		s.readChinese(x, text[start:end], valueWeight)
		i = end
	}
	s.ends = append(s.ends, len(s.texts))
	// Neighbouring words of a query are joined anyway, hyphen or not.
	s.analyzer.Wholes = slices.DeleteFunc(s.analyzer.Wholes, func(w analysis.Whole) bool { return w.IsHyphenated })
}

// appendWords adds the terms of a text without its identifiers.
func (s *bm25Scratch) appendWords(terms []int32, text string) []int32 {
	for i := 0; i < len(text); {
		start, end := analysis.NextIdentifier(text, i)
		terms = s.analyzer.Append(terms, text[i:start])
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

func (s *bm25Scratch) weightOf(n int32) float64 {
	weight, count := 1.0, s.counts[n]
	switch {
	case int(count.all) < len(repeatWeights):
		weight = repeatWeights[count.all]
	default:
		weight = math.Pow(float64(count.all), repeatPower)
	}
	if count.outside == 0 && len(s.outside) > 0 {
		weight *= valueWeight
	}
	return weight * s.words[n].weight
}

// weigh gives every term of the query its weight, and adds the terms that stand for it.
func (s *bm25Scratch) weigh(x *bm25) {
	s.terms = s.terms[:0]
	unknown, wholes, partsEnd := 0, s.analyzer.Wholes, 0
	if x.lexicon.HasOwnMeanings() {
		s.readOwn(x)
	}
	for _, n := range s.texts {
		s.want(s.id(x, n))
	}
	for _, w := range s.analyzer.Wholes {
		s.want(s.id(x, w.Term))
	}
	for _, m := range s.meanings {
		s.want(m.term.id)
	}
	hasWords := slices.ContainsFunc(s.texts, s.isWord)
	for group, n := range s.texts {
		if hasWords && analysis.IsSingleLetter(s.analyzer.Terms[n]) {
			continue
		}
		from := int32(len(s.terms))
		weight := s.weightOf(n)
		// If a tool has a whole, its parts count less.
		for ; len(wholes) > 0 && wholes[0].From <= group; wholes = wholes[1:] {
			if s.addWhole(x, wholes[0].Term, group) {
				partsEnd = wholes[0].To
			}
		}
		if group < partsEnd {
			weight *= partWeight
		}
		if id := s.id(x, n); id != noTerm {
			s.addTerm(bm25Term{id: id, group: int32(group), weight: weight})
		}
		word := s.word(x, n)
		s.addSubstitutes(word.forms, n, weight, group)
		s.addSubstitutes(word.synonyms, n, 1, group)
		isSplit, isValue := false, s.counts[n].outside == 0 && len(s.outside) > 0
		if word.id == noTerm && len(word.forms) == 0 && !isValue && unknown < maxNearWords {
			unknown++
			isSplit = s.addNear(x, n, weight, group)
		}
		if len(s.texts) <= maxRelatedQuery && !isSplit {
			s.addSubstitutes(word.related, n, weight, group)
		}
		if to := int32(len(s.terms)); to > from {
			s.counts[n].span = bm25Span{from, to}
		}
	}
	for _, w := range wholes { // of stop words only
		s.addWhole(x, w.Term, w.From)
	}
	s.addMeanings(x, (analysis.MaxParts+2)*len(s.texts)+1) // after the group of a whole of stop words at the end
	s.readSentences()
	for i := 1; i < len(s.texts); i++ {
		if script := s.words[s.texts[i]].script; script == paired || script != s.words[s.texts[i-1]].script {
			continue
		}
		s.joined = append(append(s.joined[:0], s.analyzer.Terms[s.texts[i-1]]...), s.analyzer.Terms[s.texts[i]]...)
		id, known := x.IDs[string(s.joined)]
		if last := len(s.joined) - 1; !known && s.joined[last] == 'e' { // see split
			id, known = x.IDs[string(s.joined[:last])]
		}
		if known {
			s.addTerm(bm25Term{id: id, group: int32(analysis.MaxParts*len(s.texts) + i), weight: joinedWeight, from: noTerm, reason: joined})
		}
	}
	for _, n := range s.texts {
		s.counts[n] = bm25Counted{}
	}
	for _, w := range s.analyzer.Wholes {
		s.counts[w.Term] = bm25Counted{}
	}
	for _, term := range s.terms {
		s.taken.Remove(int(term.id))
	}
	for _, id := range s.wantedTerms {
		s.wanted.Remove(int(id))
	}
	s.wantedTerms = s.wantedTerms[:0]
}

// addWhole adds a whole and its synonyms at a place in the query. It reports whether a tool has
// the whole.
func (s *bm25Scratch) addWhole(x *bm25, n int32, at int) bool {
	word, group := s.word(x, n), (analysis.MaxParts+1)*len(s.texts)+at
	if word.id != noTerm {
		s.addTerm(bm25Term{id: word.id, group: int32(group), weight: s.weightOf(n)})
	}
	s.addSubstitutes(word.synonyms, n, 1, group)
	return word.id != noTerm
}

// isWord reports whether a term is neither a number nor a single letter.
func (s *bm25Scratch) isWord(n int32) bool {
	term := s.analyzer.Terms[n]
	return analysis.ClassOf(rune(term[0])) != analysis.Digit && !analysis.IsSingleLetter(term)
}

// want notes that the query itself asks for a term. The term then stands for no other word.
func (s *bm25Scratch) want(id int32) {
	if id != noTerm && s.wanted.Add(int(id)) {
		s.wantedTerms = append(s.wantedTerms, id)
	}
}

// addTerm adds a term to the query, unless the query has it already.
func (s *bm25Scratch) addTerm(term bm25Term) {
	if s.taken.Add(int(term.id)) {
		s.terms = append(s.terms, term)
	}
}
