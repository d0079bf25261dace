package toolsearch

import (
	"cmp"
	"context"
	"math"
	"sync"
)

// BM25 for tools.
//
// A tool is short: a name of three words, a description of twenty, a dozen parameters of
// a few words each. What makes a search good here is less the formula than what it is
// given to work on. The score of a tool is
//
//	sum over the terms t of the query of
//
//	    q(t) · idf(t) · f(t) / (K1 + f(t))                          saturation
//
//	    f(t) = sum over fields of weight · count / (1 - b + b · length / mean length)
//
// times 1 + Coverage · (share of the name's terms, by idf, that the query has), and above
// all of these a tool whose name the query spells out. This is BM25F: the fields are
// weighed against one another before saturation, so that a word in the name and again in
// the description does not count as two.
// https://www.staff.city.ac.uk/~sbrp622/papers/foundations_bm25_review.pdf, section 3.6
//
//	idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
//	q(t)   = (count in the query)^0.3; for a synonym 0.2; for two neighbours written as
//	         one word ("web page" ~ "webpage") 0.5
//
// Everything but q(t) is known when the index is built, so it holds two numbers for each
// term and tool, the impact and the term's share of the name, and a query adds them up.
//
// How the numbers were found: over eight public catalogs with questions (two of one
// vendor's servers with many siblings, plugin one-liners, user-contributed functions,
// noisy API docs, long multi-step tasks in English and in Chinese), 7,072 queries in all,
// by changing one number at a time and keeping what helped on most of them. Mean gain
// over BM25 as it is usually shipped (k1 1.2, b 0.75, name and description alike, Chinese
// by character, no stop words, no stemming, no parameters), in points of recall at 5 and
// of MRR, for all of it and with one thing left out or changed:
//
//	all of it                      +17.9  +18.7
//	without parameters             +11.7  +11.7
//	  their descriptions           +14.2  +14.0
//	  their names                  +17.8  +18.1
//	without English stop words     +15.8  +16.4
//	without Chinese stop words     +17.7  +18.4
//	without stemming               +15.9  +16.6
//	without pairs of characters    +17.7  +18.6   CJK
//	without single characters      +17.0  +17.4   CJK
//	without Coverage               +17.2  +17.2
//	without synonyms               +17.7  +18.5
//	without joined neighbours      +18.0  +18.5
//	a repeated word counts once    +17.8  +18.5
//	  or as often as it stands     +17.5  +18.1
//	weight of the name 1           +17.9  +18.9
//	  4                            +18.0  +18.5
//
// Tried and dropped, since they helped nowhere or on one set alone: powers of idf (0.8:
// -0.0 +0.1, 1.5: -0.4 -0.6), the square or root of the covered share (-0.1 -0.1, -0.2
// -0.4), single characters at half weight beside pairs (-0.0 -0.3), K1 below 0.8 or above
// 1.3 (up to -0.7 -0.9).

const (
	defaultK1       = 1.0
	defaultCoverage = 0.5
	repeatPower     = 0.3
	joinedWeight    = 0.5
	valueWeight     = 0.65
	numberWeight    = 0.5
	requestWeight   = 0.5
)

// The fields of a document, as the index knows them.
const (
	fieldName = iota
	fieldDescription
	fieldParameterName
	fieldParameterText // descriptions and enum values of parameters
	fieldNamespace
	fieldAliases
	fieldHint // and tags
	fields
)

var fieldTitles = [fields]string{"name", "description", "parameter name", "parameter", "namespace", "alias", "hint"}

// Field is how much one field of a tool counts in BM25.
type Field struct {
	Weight float64 // of a word in it; zero: the default; negative: the field is not searched
	B      float64 // how much its length counts, from 0 to 1; zero: the default; negative: not at all
}

// BM25Options are the parameters of BM25. The zero value is the default, which was
// measured; search_bm25.go says how.
type BM25Options struct {
	K1       float64 // how soon repetition stops counting; zero: 1
	Coverage float64 // what a wholly covered name adds, as a share of the score; zero: 0.5; negative: nothing

	Name, Description             Field
	ParameterName, ParameterTexts Field // every property of the schema, nested ones too; texts are descriptions and enum values
	Namespace, Aliases, Hint      Field // of the tool's Annotation; tags count as hint
}

// Defaults in the order of the field constants.
var defaultFields = [fields]Field{
	fieldName:          {2, 0.3},
	fieldDescription:   {1, 0.6},
	fieldParameterName: {0.8, 0.3},
	fieldParameterText: {0.5, 0.3},
	fieldNamespace:     {1, -1},
	fieldAliases:       {2, 0.3},
	fieldHint:          {1, 0.3},
}

// BM25 is the Indexer of the searcher to recommend: it reads names, descriptions,
// parameters and annotations, knows inflected words, diacritics, Chinese, Japanese and
// Korean, and puts a tool first that is asked for by its name. "+word" drops tools that
// do not have the word; a query that begins with a namespace and a colon, "github: create
// issue", or whose Namespace is set, is answered from that namespace.
func BM25(ctx context.Context, docs []Document) (Searcher, error) {
	return BM25Options{}.Index(ctx, docs)
}

// bm25 implements Searcher. But for what its scratches remember it is immutable.
type bm25 struct {
	k1, coverage float64
	field        [fields]Field
	mean         [fields]float64 // mean length

	docs       []Document
	ids        map[string]int32 // term -> number
	terms      []string         // number -> term
	idf        []float32        // by term
	postings   []bm25Posting
	bounds     []int32   // postings of term t are postings[bounds[t]:bounds[t+1]]
	perName    []float32 // by document: 1 / the idf of the terms of its name
	nameless   []int32   // documents with a name of stop words only
	namespaces map[string]int32
	namespace  []int32           // by document
	nearTerms  func() *nearTerms // built for the first word that no tool has
	scratch    sync.Pool
}

// bm25Posting is what one term adds to one tool.
type bm25Posting struct {
	tool   uint32  // the document, and inName
	impact float32 // idf · f / (K1 + f)
}

// inName marks a posting of a term that the tool's name has.
const inName = 1 << 31 // the highest bit

func (p bm25Posting) doc() int32 { return int32(p.tool &^ inName) }

// Index builds a BM25 searcher with these options.
func (o BM25Options) Index(ctx context.Context, docs []Document) (Searcher, error) {
	x := &bm25{k1: cmp.Or(o.K1, defaultK1), coverage: max(0, cmp.Or(o.Coverage, defaultCoverage)), docs: docs}
	for i, field := range [fields]Field{o.Name, o.Description, o.ParameterName, o.ParameterTexts, o.Namespace, o.Aliases, o.Hint} {
		x.field[i] = Field{
			Weight: max(0, cmp.Or(field.Weight, defaultFields[i].Weight)),
			B:      min(1, max(0, cmp.Or(field.B, defaultFields[i].B))),
		}
	}
	if err := x.build(ctx); err != nil {
		return nil, err
	}
	x.nearTerms = sync.OnceValue(x.newNearTerms)
	x.scratch.New = func() any {
		return &bm25Scratch{cells: make([]bm25Cell, len(docs)), taken: newDocSet(len(x.terms)), termizer: newTermizer()}
	}
	return x, nil
}

// bm25Scratch is what one search at a time works with.
type bm25Scratch struct {
	// Scores.
	first   uint32 // the tick before the query's first group
	tick    uint32 // advances with every group
	cells   []bm25Cell
	touched []int32
	parts   []bm25Part // nil until a query has sentences
	best    []scored

	// The query.
	query      bm25Query
	termizer   *termizer
	ids        []int32       // number of the termizer's -> term
	counts     []bm25Counted // number of the termizer's -> how often the query has it
	texts      []int32       // the query, in numbers of the termizer's
	plain      []int32       // what of it is outside of values
	ends       []int         // of its sentences in texts
	spans      []bm25Span
	taken      docSet // terms
	allowed    docSet // documents; nil until a query has required words, as is
	having     docSet
	joined     []byte
	name       bm25Name
	lists      [][]bm25Posting
	candidates []int32
	near       []nearTerm
	spare      []int32
}

type bm25Cell struct {
	tick         uint32 // the group that last scored this tool; behind the last group, its tier
	score, share float32
}

// Search implements Searcher.
func (x *bm25) Search(ctx context.Context, q Query) ([]Hit, error) {
	hits, _, err := x.SearchCount(ctx, q)
	return hits, err
}

// SearchCount implements Counter.
func (x *bm25) SearchCount(ctx context.Context, q Query) ([]Hit, int, error) {
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	s := x.scratch.Get().(*bm25Scratch)
	defer x.scratch.Put(s)
	r := s.read(x, q)
	s.begin((1 + len(r.sentences)) * len(r.terms))
	for i, term := range r.terms {
		if i == 0 || term.group != r.terms[i-1].group {
			s.tick++
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		s.add(x.postings[x.bounds[term.id]:x.bounds[term.id+1]], float32(term.weight), x.idf[term.id])
	}
	if err := s.addSentences(ctx, x); err != nil {
		return nil, 0, err
	}
	for _, named := range r.named { // a name of stop words has no terms
		s.touch(named.doc).tick = s.tick + uint32(named.tier)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	best := newTop(q.Limit, len(s.touched), s.best)
	total := 0
	for _, doc := range s.touched {
		if !x.allows(r, doc) || !q.allows(int(doc)) {
			continue
		}
		cell := &s.cells[doc]
		tier := nameTier(max(cell.tick, s.tick) - s.tick)
		sum := float64(cell.score) + s.inSentence(doc)
		if score := x.total(sum, float64(cell.share*x.perName[doc]), tier); score > 0 {
			total++
			best.add(score, doc)
		}
	}
	s.tick += uint32(exactlyNamed)
	s.best = best.heap
	return best.hits(nil), total, nil
}

// begin starts a query of that many groups, whose ticks must not overflow on the way.
func (s *bm25Scratch) begin(groups int) {
	s.touched = s.touched[:0]
	if s.tick > math.MaxUint32-uint32(groups)-uint32(exactlyNamed) {
		s.tick = 0
		clear(s.cells)
		clear(s.parts)
	}
	s.first = s.tick
}

// touch returns the cell of a tool, empty if the query has not scored it yet.
func (s *bm25Scratch) touch(doc int32) *bm25Cell {
	cell := &s.cells[doc]
	if cell.tick <= s.first {
		*cell = bm25Cell{}
		s.touched = append(s.touched, doc)
	}
	return cell
}

// add scores the tools of a list, but for those the group has scored already.
func (s *bm25Scratch) add(postings []bm25Posting, weight, idf float32) {
	cells, tick, first := s.cells, s.tick, s.first
	share := shareOf(weight, idf)
	for i := range postings {
		p := &postings[i]
		cell := &cells[p.doc()]
		switch {
		case cell.tick == tick:
			continue
		case cell.tick <= first:
			*cell = bm25Cell{}
			s.touched = append(s.touched, p.doc())
		}
		cell.tick = tick
		// The conversion keeps every machine from rounding the sum otherwise than Explain.
		cell.score += float32(weight * p.impact)
		cell.share += share * float32(p.tool>>31) // no branch: it would be mispredicted
	}
}

// shareOf is what a term of the query has of a name with it, before it is divided by what
// the whole name has.
func shareOf(weight, idf float32) float32 { return float32(min(weight, 1) * idf) }

// Above any sum of impacts come the tools whose names the query begins, and above these
// the one it names: a query has at most some thousand terms, each of which adds at most its
// idf, below 25 even among a billion.
const (
	prefixBonus = 5e5
	exactBonus  = 2 * prefixBonus
)

var tierBonus = [...]float64{notNamed: 0, prefixNamed: prefixBonus, exactlyNamed: exactBonus}
var tierDetail = [...]string{prefixNamed: "the name begins with the query", exactlyNamed: "the query is the name"}

func (x *bm25) total(sum, share float64, tier nameTier) float64 {
	return sum*(1+x.coverage*share) + tierBonus[tier]
}
