package toolsearch

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
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
	synonymWeight   = 0.2
	joinedWeight    = 0.5
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

type bm25 struct {
	k1, coverage float64
	field        [fields]Field
	mean         [fields]float64 // mean length

	docs       []Document
	ids        map[string]int32 // term -> number
	idf        []float32        // by term
	postings   []bm25Posting
	bounds     []int32 // postings of term t are postings[bounds[t]:bounds[t+1]]
	byName     map[string][]int32
	namespaces map[string]int32 // folded -> number
	namespace  []int32          // by document
	termizers  sync.Pool
	scratch    sync.Pool
}

// bm25Posting is what one term adds to one tool.
type bm25Posting struct {
	doc    int32
	impact float32 // idf · f / (K1 + f)
	share  float32 // of the name, by idf; 0 if the name does not have the term
}

// Index builds a BM25 searcher with these options.
func (o BM25Options) Index(ctx context.Context, docs []Document) (Searcher, error) {
	x := &bm25{k1: cmp.Or(o.K1, defaultK1), coverage: max(0, cmp.Or(o.Coverage, defaultCoverage)), docs: docs}
	for i, field := range [fields]Field{o.Name, o.Description, o.ParameterName, o.ParameterTexts, o.Namespace, o.Aliases, o.Hint} {
		x.field[i] = Field{
			Weight: max(0, cmp.Or(field.Weight, defaultFields[i].Weight)),
			B:      min(1, max(0, cmp.Or(field.B, defaultFields[i].B))),
		}
	}
	b := bm25Builder{bm25: x, termizer: newTermizer()}
	if err := b.build(ctx); err != nil {
		return nil, err
	}
	x.termizers.New = func() any { return newTermizer() }
	x.scratch.New = func() any { return &bm25Scratch{cells: make([]bm25Cell, len(docs))} }
	return x, nil
}

// bm25Builder reads every document once into counts, and turns those into impacts when
// the mean lengths and document frequencies are known.
type bm25Builder struct {
	*bm25
	termizer *termizer
	counts   []bm25Count // by document, in order
	ends     []int       // document -> end of its counts
	lengths  [][fields]float64
}

// bm25Count is how often a term stands in each field of one document.
type bm25Count struct {
	term   int32
	counts [fields]uint16
}

func (b *bm25Builder) build(ctx context.Context) error {
	b.ids = make(map[string]int32)
	b.byName = make(map[string][]int32)
	b.namespaces = make(map[string]int32)
	b.namespace = make([]int32, len(b.docs))
	var frequency []int32
	place := make(map[int32]int) // term -> its place in the counts of the document at hand
	var terms []string
	for i := range b.docs {
		if err := ctx.Err(); err != nil {
			return err
		}
		doc := &b.docs[i]
		b.addName(doc, int32(i))
		clear(place)
		var lengths [fields]float64
		for field := range fields {
			if b.field[field].Weight == 0 {
				continue
			}
			terms = appendField(terms[:0], b.termizer, doc, field)
			lengths[field] = float64(len(terms))
			for _, term := range terms {
				id, known := b.ids[term]
				if !known {
					id = int32(len(b.ids))
					b.ids[strings.Clone(term)] = id
					frequency = append(frequency, 0)
				}
				at, counted := place[id]
				if !counted {
					at = len(b.counts)
					place[id] = at
					b.counts = append(b.counts, bm25Count{term: id})
					frequency[id]++
				}
				b.counts[at].counts[field] = min(b.counts[at].counts[field]+1, math.MaxUint16-1)
			}
			b.mean[field] += lengths[field]
		}
		b.lengths = append(b.lengths, lengths)
		b.ends = append(b.ends, len(b.counts))
	}
	for field := range fields {
		b.mean[field] = max(1, b.mean[field]/float64(max(1, len(b.docs))))
	}
	b.finish(frequency)
	return nil
}

// appendField adds the terms of one field of a document.
func appendField(terms []string, z *termizer, doc *Document, field int) []string {
	switch field {
	case fieldName:
		return z.append(terms, doc.Name)
	case fieldDescription:
		return z.append(terms, cut(doc.Description, maxDescriptionBytes))
	case fieldParameterName:
		for i := range doc.Parameters {
			terms = z.append(terms, doc.Parameters[i].Name)
		}
	case fieldParameterText:
		for i := range doc.Parameters {
			terms = z.append(terms, cut(doc.Parameters[i].Description, maxDescriptionBytes))
			for _, value := range doc.Parameters[i].Enum {
				terms = z.append(terms, value)
			}
		}
	case fieldNamespace:
		return z.append(terms, doc.Namespace)
	case fieldAliases:
		for _, alias := range doc.Aliases {
			terms = z.append(terms, alias)
		}
	case fieldHint:
		terms = z.append(terms, cut(doc.Hint, maxDescriptionBytes))
		for _, tag := range doc.Tags {
			terms = z.append(terms, tag)
		}
	}
	return terms
}

// addName makes the document known by its name, with and without its namespace, and by
// its aliases.
func (b *bm25Builder) addName(doc *Document, i int32) {
	names := []string{joinParts(doc.Name)}
	if at := strings.LastIndex(doc.Name, "__"); at > 0 {
		names = append(names, joinParts(doc.Name[at+2:]))
	}
	for _, alias := range doc.Aliases {
		names = append(names, joinParts(alias))
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name != "" {
			b.byName[name] = append(b.byName[name], i)
		}
	}
	if doc.Namespace == "" {
		b.namespace[i] = -1
		return
	}
	folded := foldName(doc.Namespace)
	number, known := b.namespaces[folded]
	if !known {
		number = int32(len(b.namespaces))
		b.namespaces[folded] = number
	}
	b.namespace[i] = number
}

// finish turns counts into postings, sorted by counting.
func (b *bm25Builder) finish(frequency []int32) {
	b.idf = make([]float32, len(frequency))
	b.bounds = make([]int32, len(frequency)+1)
	for term, df := range frequency {
		b.idf[term] = float32(idf(len(b.docs), int(df)))
		b.bounds[term+1] = b.bounds[term] + df
	}
	b.postings = make([]bm25Posting, len(b.counts))
	next := slices.Clone(b.bounds)
	from := 0
	for i, end := range b.ends {
		name := 0.0
		for _, c := range b.counts[from:end] {
			if c.counts[fieldName] > 0 {
				name += float64(b.idf[c.term])
			}
		}
		for _, c := range b.counts[from:end] {
			f := 0.0
			for field, count := range c.counts {
				f += b.weighed(field, float64(count), b.lengths[i][field])
			}
			p := bm25Posting{doc: int32(i), impact: b.idf[c.term] * float32(f/(b.k1+f))}
			if c.counts[fieldName] > 0 {
				p.share = float32(float64(b.idf[c.term]) / name)
			}
			b.postings[next[c.term]] = p
			next[c.term]++
		}
		from = end
	}
}

func idf(docs, frequency int) float64 {
	return math.Log(1 + (float64(docs-frequency)+0.5)/(float64(frequency)+0.5))
}

// weighed is what a term that occurs count times in a field of that length adds to f.
func (x *bm25) weighed(field int, count, length float64) float64 {
	if count == 0 {
		return 0
	}
	f := x.field[field]
	return f.Weight * count / (1 - f.B + f.B*length/x.mean[field])
}

// bm25Query is a query in the terms of the index.
type bm25Query struct {
	terms     []bm25Term
	required  []bm25Required
	namespace int32 // -1: any; -2: one no tool is of
	exact     []int32
}

type bm25Term struct {
	text   string
	id     int32
	weight float64
	group  int // of the terms of a group, the first that a tool has counts
}

// bm25Required is a required word: a tool must have all its terms or, if it has none
// because it is a stop word, the word itself in its name or description.
type bm25Required struct {
	terms []int32 // sorted; -1: a term no tool has
	word  string
}

// read turns a query into terms. A namespace in front of the text counts only if there
// is one of that name.
func (x *bm25) read(q Query) bm25Query {
	z := x.termizers.Get().(*termizer)
	defer x.termizers.Put(z)
	if len(z.terms) > 1<<14 {
		clear(z.terms) // words of queries pile up
	}
	text := q.Text
	if text == "" {
		text = strings.Join(q.Keywords, " ")
	}
	if len(q.Required) > 0 {
		words := strings.Fields(text)
		for i := range words {
			words[i] = strings.TrimPrefix(words[i], "+")
		}
		text = strings.Join(words, " ")
	}
	r := bm25Query{namespace: -1}
	if prefix, rest, found := strings.Cut(text, ":"); q.Namespace == "" && found {
		if number, known := x.namespaces[foldName(strings.TrimSpace(prefix))]; known {
			r.namespace, text = number, rest
		}
	}
	if q.Namespace != "" {
		var known bool
		if r.namespace, known = x.namespaces[foldName(q.Namespace)]; !known {
			r.namespace = -2
		}
	}
	texts := z.append(nil, text)
	if len(texts) == 0 {
		texts = strings.Fields(strings.ToLower(text)) // nothing but stop words
	}
	r.terms = x.weigh(texts)
	for _, word := range q.Required {
		required := bm25Required{word: strings.ToLower(word)}
		for _, term := range z.append(nil, word) {
			id, known := x.ids[term]
			if !known {
				id = -1
			}
			required.terms = append(required.terms, id)
		}
		r.required = append(r.required, required)
	}
	r.exact = x.byName[joinParts(text)]
	return r
}

// weigh gives every term of the query its weight, and adds synonyms and neighbours
// written as one word. A synonym stands behind its word, in one group with it.
func (x *bm25) weigh(texts []string) []bm25Term {
	var terms []bm25Term
	counts := make(map[string]float64, len(texts))
	for _, text := range texts {
		counts[text]++
	}
	taken := make(map[string]bool, len(texts))
	add := func(text string, weight float64, group int) {
		if id, known := x.ids[text]; known && !taken[text] {
			taken[text] = true
			terms = append(terms, bm25Term{text, id, weight, group})
		}
	}
	for group, text := range texts {
		add(text, math.Pow(counts[text], repeatPower), group)
		for _, synonym := range synonyms[text] {
			if counts[synonym] == 0 {
				add(synonym, synonymWeight, group)
			}
		}
	}
	for i := range texts[:max(0, len(texts)-1)] {
		add(texts[i]+texts[i+1], joinedWeight, len(texts)+i)
	}
	return terms
}

type bm25Scratch struct {
	first   uint32 // the tick before the query's first group
	tick    uint32 // advances with every group
	cells   []bm25Cell
	touched []int32
	best    []scored
}

type bm25Cell struct {
	tick         uint32 // the group that last scored this tool
	score, share float32
}

// Search implements Searcher.
func (x *bm25) Search(ctx context.Context, q Query) ([]Hit, error) {
	hits, _, err := x.SearchCount(ctx, q)
	return hits, err
}

// SearchCount implements Counter.
func (x *bm25) SearchCount(ctx context.Context, q Query) ([]Hit, int, error) {
	r := x.read(q)
	s := x.scratch.Get().(*bm25Scratch)
	defer x.scratch.Put(s)
	s.begin(len(r.terms))
	for i, term := range r.terms {
		if i == 0 || term.group != r.terms[i-1].group {
			s.tick++
		}
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		s.add(x.postings[x.bounds[term.id]:x.bounds[term.id+1]], float32(term.weight))
	}
	s.tick++
	for _, doc := range r.exact { // an exactly named tool may consist of stop words
		s.add([]bm25Posting{{doc: doc}}, 1)
	}
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	best := newTop(q.Limit, len(s.touched), s.best)
	total := 0
	for _, doc := range s.touched {
		if r.namespace != -1 && x.namespace[doc] != r.namespace || !x.hasRequired(doc, r.required) || !q.allows(int(doc)) {
			continue
		}
		cell := s.cells[doc]
		if score := x.total(float64(cell.score), float64(cell.share), slices.Contains(r.exact, doc)); score > 0 {
			total++
			best.add(score, doc)
		}
	}
	s.best = best.heap
	return best.hits(nil), total, nil
}

// begin starts a query of that many terms, whose ticks must not overflow on the way.
func (s *bm25Scratch) begin(terms int) {
	s.touched = s.touched[:0]
	if s.tick > math.MaxUint32-uint32(terms)-2 {
		s.tick = 0
		clear(s.cells)
	}
	s.first = s.tick
}

// add scores the tools of a list, but for those the group has scored already.
func (s *bm25Scratch) add(postings []bm25Posting, weight float32) {
	cells, tick, first := s.cells, s.tick, s.first
	for i := range postings {
		p := &postings[i]
		cell := &cells[p.doc]
		switch {
		case cell.tick == tick:
			continue
		case cell.tick <= first:
			*cell = bm25Cell{}
			s.touched = append(s.touched, p.doc)
		}
		cell.tick = tick
		// The conversions keep every machine from rounding the sum otherwise than Explain.
		cell.score += float32(weight * p.impact)
		cell.share += float32(min(weight, 1) * p.share)
	}
}

// exactBonus lifts a tool the query names above any sum of impacts: a query has at most
// some thousand terms, each of which adds at most its idf, below 25 even among a billion.
const exactBonus = 1e6

func (x *bm25) total(sum, share float64, exact bool) float64 {
	score := sum * (1 + x.coverage*share)
	if exact {
		score += exactBonus
	}
	return score
}

func (x *bm25) hasRequired(doc int32, required []bm25Required) bool {
	for i := range required {
		if len(required[i].terms) == 0 {
			d := &x.docs[doc]
			if !strings.Contains(strings.ToLower(d.Name), required[i].word) && !strings.Contains(strings.ToLower(d.Description), required[i].word) {
				return false
			}
		}
		for _, term := range required[i].terms {
			if term < 0 {
				return false
			}
			list := x.postings[x.bounds[term]:x.bounds[term+1]]
			if _, found := slices.BinarySearchFunc(list, doc, func(p bm25Posting, doc int32) int { return int(p.doc - doc) }); !found {
				return false
			}
		}
	}
	return true
}

// Explain implements Explainer.
func (x *bm25) Explain(_ context.Context, q Query, doc int) (Explanation, error) {
	if doc < 0 || doc >= len(x.docs) {
		return Explanation{}, fmt.Errorf("toolsearch: no document %d", doc)
	}
	r := x.read(q)
	if r.namespace != -1 && x.namespace[doc] != r.namespace {
		return Explanation{Parts: []Contribution{{Field: "namespace", Detail: "another one was asked for"}}}, nil
	}
	if !x.hasRequired(int32(doc), r.required) {
		return Explanation{Parts: []Contribution{{Detail: "a required word is missing"}}}, nil
	}
	z := newTermizer()
	var counts [fields]map[string]int
	var lengths [fields]float64
	for field := range fields {
		counts[field] = make(map[string]int)
		for _, term := range appendField(nil, z, &x.docs[doc], field) {
			counts[field][term]++
			lengths[field]++
		}
	}
	var e Explanation
	var sum, share float32 // as the search adds them up
	scored := -1           // the last group that counted
	for _, term := range r.terms {
		if term.group == scored {
			continue
		}
		list := x.postings[x.bounds[term.id]:x.bounds[term.id+1]]
		at, found := slices.BinarySearchFunc(list, int32(doc), func(p bm25Posting, doc int32) int { return int(p.doc - doc) })
		if !found {
			e.Parts = append(e.Parts, Contribution{Term: term.text, Detail: "not found"})
			continue
		}
		scored = term.group
		weight := float32(term.weight)
		impact := float32(weight * list[at].impact)
		sum += impact
		share += float32(min(weight, 1) * list[at].share)
		f := 0.0
		for field := range fields {
			f += x.weighed(field, float64(counts[field][term.text]), lengths[field])
		}
		for field := range fields {
			if n := counts[field][term.text]; n > 0 {
				part := x.weighed(field, float64(n), lengths[field]) / f
				e.Parts = append(e.Parts, Contribution{term.text, fieldTitles[field], float64(impact) * part,
					fmt.Sprintf("%d times; weight in the query %.2g, idf %.3g", n, term.weight, x.idf[term.id])})
			}
		}
	}
	if share > 0 && x.coverage > 0 {
		e.Parts = append(e.Parts, Contribution{Field: "name", Score: float64(sum) * x.coverage * float64(share),
			Detail: fmt.Sprintf("the query has %.0f %% of the name", 100*share)})
	}
	exact := slices.Contains(r.exact, int32(doc))
	if exact {
		e.Parts = append(e.Parts, Contribution{Field: "name", Score: exactBonus, Detail: "the query is the name"})
	}
	e.Score = x.total(float64(sum), float64(share), exact)
	return e, nil
}
