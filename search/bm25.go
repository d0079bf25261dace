package search

import (
	"cmp"
	"context"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/docset"
	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/search/internal/analysis"
	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
	"github.com/eino-toolsearch/toolsearch/search/internal/letters"
	"github.com/eino-toolsearch/toolsearch/search/internal/lexicon"
)

// BM25 for tools: short texts, of which each field is worth something else. The score of a tool is
//
//	sum over the terms t of the query of
//
//	    q(t) · idf(t) · f(t) / (K1 + f(t))                          saturation
//
//	    f(t) = sum over fields of weight · count / (1 - b + b · length / mean length)
//
// A request of several sentences adds a quarter of the best sentence's sum (bm25_score.go). The result is multiplied
// by 1 + Coverage · (share of the name's terms, by idf, that are in the query). Tools whose names the query spells
// out or begins come before all others (names.go in package letters). This is BM25F: the weighted fields are added up
// before saturation, so a word that is in both the name and the description does not count as two.
// https://www.staff.city.ac.uk/~sbrp622/papers/foundations_bm25_review.pdf, section 3.6
//
//	idf(t) = ln(1 + (N - df + 0.5) / (df + 0.5))
//	q(t)   = (count in the query)^0.3, times the weight of what t is in the query:
//	         a value, a number, a word that people ask with ("give", "details"), a part
//	         of a word that a tool has as a whole ("Mongo" of "MongoDB"), or a substitute
//	         (bm25_words.go)
//
// Everything but q(t) is known when the index is built, by package bm25f. A query adds the impacts up. The numbers
// were tuned on eight public catalogs with 8,072 questions. docs/searchers.md says what each part is worth.

const (
	defaultK1       = 1.0
	defaultCoverage = 0.5
	repeatPower     = 0.3
	joinedWeight    = 0.5 // of two neighbours written as one word: "web page" ~ "webpage"
	partWeight      = 0.5
	valueWeight     = 0.65
	numberWeight    = 0.5
	requestWeight   = 0.5

	headBytes  = 400 // of a description, in which it says what the tool does
	tailWeight = 0.3 // of the rest, compared with them

	longTaskLength      = 75  // words of a query; a longer one does without its commonest words
	minLongTaskPostings = 100 // of the words of such a query, over few tools
)

// BM25Options are the parameters of BM25. The zero value means the measured defaults.
type BM25Options struct {
	K1       float64 // how soon repetition stops counting; zero means 1
	Coverage float64 // the share of the score that a wholly covered name adds; zero means 0.5, negative means nothing

	Name, Description             Field // of the tool itself; behind its first 400 bytes, a description counts 0.3 times as much
	ParameterName, ParameterTexts Field // every property of the schema, nested ones too; texts are descriptions and enum values
	Namespace, Aliases, Hint      Field // of the tool's Annotation; tags count as hint

	Lexicon *Lexicon // a company's own words, besides the built-in ones; nil means none
}

// BM25 is the recommended Indexer. It searches names, descriptions, parameters and annotations. A namespace lifts its
// tools if its description matches the query or, for a long query, if its other tools do. BM25 handles diacritics,
// Chinese, Japanese and Korean, and inflected words in English, German, Spanish, French and Russian. A tool that is
// asked for by its name comes first.
//
// The searcher is a Restricter. Restrict takes as long as indexing the documents.
func BM25(ctx context.Context, docs []Document) (Searcher, error) {
	return BM25Options{}.Index(ctx, docs)
}

// bm25 implements Searcher. It is immutable except for what its scratches remember.
type bm25 struct {
	*bm25f.Index
	coverage float64
	lexicon  *lexicon.Lexicon
	options  BM25Options
	all      []Document // that the Indexer was given
	docOf    []int32    // number of a document in docs -> in all; nil means that docs is all

	docs       []Document
	heads      []letters.Heads       // by document
	nearTerms  func() *letters.Terms // built at the first word that no tool has
	scratch    sync.Pool
	namespaces *bm25Namespaces // nil means that no tool has a namespace
	ideographs int             // how many postings are of ideographs
	languages  *analysis.Languages
}

func (x *bm25) String() string { return "BM25" }

// ByWords returns the searcher that package toolsearch asks how relevant tools are to the user's request.
func (x *bm25) ByWords() Searcher { return x }

// Index is an Indexer. See BM25.
func (o BM25Options) Index(ctx context.Context, docs []Document) (Searcher, error) {
	return asSearcher(o.index(ctx, docs))
}

func (o BM25Options) index(ctx context.Context, docs []Document) (*bm25, error) {
	return o.within(ctx, docs, docs, nil)
}

// Restrict implements Restricter. Every impact depends on the frequencies in the whole index.
func (x *bm25) Restrict(ctx context.Context, docs []int) (Searcher, error) {
	return asSearcher(x.options.restricted(ctx, x.all, docs))
}

// restricted returns the index of some of the documents, which keep their numbers.
func (o BM25Options) restricted(ctx context.Context, all []Document, docs []int) (*bm25, error) {
	some, docOf, err := pick(all, docs)
	if err != nil {
		return nil, err
	}
	return o.within(ctx, all, some, docOf)
}

func (o BM25Options) within(ctx context.Context, all, docs []Document, docOf []int32) (*bm25, error) {
	x := &bm25{
		coverage: max(0, cmp.Or(o.Coverage, defaultCoverage)), lexicon: o.Lexicon.tables(), options: o,
		all: all, docs: docs, docOf: docOf, heads: make([]letters.Heads, len(docs)),
	}
	err := foreign.InParallel(ctx, 2, 2, func(ctx context.Context, i int) (err error) {
		if i == 0 {
			x.namespaces, err = o.namespaces(ctx, docs) // on one processor, a fortieth of the time
			return err
		}
		x.Index, err = bm25f.Build(ctx, len(docs), cmp.Or(o.K1, defaultK1), o.fields(), func(c *bm25f.Counter, doc int) {
			fetch(&docs[doc])
			x.heads[doc] = letters.HeadsOf(docs[doc].Name, docs[doc].Aliases)
			addTexts(c, &docs[doc])
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	for id, term := range x.Terms {
		if class, _ := analysis.ClassAt(term, 0); class == analysis.Ideograph {
			x.ideographs += len(x.List(int32(id)))
		}
	}
	x.languages = analysis.FindLanguages(x.IDs, x.Terms, x.Bounds, len(docs))
	x.nearTerms = sync.OnceValue(func() *letters.Terms { return letters.NewTerms(x.Terms, x.Bounds, x.owner) })
	x.scratch.New = func() any {
		return &bm25Scratch{sums: bm25Sums{cells: make([]bm25Cell, len(docs)), query: 1, group: 1}, bm25Reader: bm25Reader{
			x: x, analyzer: analysis.New(), named: make(map[int32]letters.Tier),
			taken: docset.New(len(x.Terms)), wanted: docset.New(len(x.Terms)),
		}}
	}
	return x, nil
}

// The fields of a document in the index.
const (
	fieldName = iota + bm25f.Name
	fieldDescription
	fieldParameterName
	fieldParameterText // descriptions and enum values of parameters
	fieldNamespace
	fieldAliases
	fieldHint  // and tags
	fieldWhole // wholes of the name
	fieldTail  // of the description
	fields
)

var fieldTitles = [fields]string{"name", "description", "parameter name", "parameter", "namespace", "alias", "hint", "name", "description"}

// Field says how much one field of a tool counts in BM25.
type Field struct {
	Weight float64 // of a word in the field; zero means the default, negative means that the field is not searched
	B      float64 // how much the field's length counts, from 0 to 1; zero means the default, negative means not at all
}

var defaultFields = [fields]Field{
	fieldName:          {2, 0.3},
	fieldDescription:   {1, 0.6},
	fieldParameterName: {0.8, 0.3},
	fieldParameterText: {0.5, 0.3},
	fieldNamespace:     {1, -1},
	fieldAliases:       {2, 0.3},
	fieldHint:          {0.5, 0.3},
}

// fields returns how much each field counts. The wholes of a name do not belong to its coverage, so they count in a
// field of their own. Those of parameter names do not count: most are camel case, not brands.
func (o BM25Options) fields() []bm25f.Field {
	of := make([]bm25f.Field, fields)
	for i, field := range [fieldWhole]Field{o.Name, o.Description, o.ParameterName, o.ParameterTexts, o.Namespace, o.Aliases, o.Hint} {
		of[i] = bm25f.Field{
			Weight: max(0, cmp.Or(field.Weight, defaultFields[i].Weight)),
			B:      min(1, max(0, cmp.Or(field.B, defaultFields[i].B))),
			Wholes: i,
		}
	}
	of[fieldName].Wholes, of[fieldParameterName].Wholes = fieldWhole, bm25f.NoField
	of[fieldWhole].Weight = of[fieldName].Weight
	of[fieldTail] = bm25f.Field{Weight: tailWeight * of[fieldDescription].Weight, B: 0.3, Wholes: fieldTail}
	return of
}

// fetch reads from the texts of a document, so that the processor waits for their memory once, and not for each when its
// words are counted. That saves a sixth of the time that a large index takes.
//
//go:noinline
func fetch(doc *Document) (sum int) {
	read := func(text string) {
		if text != "" {
			sum += int(text[0]) + int(text[len(text)-1])
		}
	}
	read(doc.Name)
	read(doc.Description)
	for i := range doc.Parameters {
		read(doc.Parameters[i].Name)
		read(doc.Parameters[i].Description)
	}
	return sum
}

func addTexts(c *bm25f.Counter, doc *Document) {
	c.Add(fieldName, doc.Name)
	head := naming.CutWords(doc.Description, headBytes)
	c.Add(fieldDescription, head)
	c.Add(fieldTail, naming.Cut(doc.Description, MaxDescriptionBytes)[len(head):])
	for i := range doc.Parameters {
		c.Add(fieldParameterName, doc.Parameters[i].Name)
		c.Add(fieldParameterText, naming.Cut(doc.Parameters[i].Description, MaxDescriptionBytes))
		for _, value := range doc.Parameters[i].Enum {
			c.Add(fieldParameterText, value)
		}
	}
	c.Add(fieldNamespace, doc.Namespace)
	c.Add(fieldAliases, doc.Original)
	for _, alias := range doc.Aliases {
		c.Add(fieldAliases, alias)
	}
	c.Add(fieldHint, naming.Cut(doc.Hint, MaxDescriptionBytes))
	for _, tag := range doc.Tags {
		c.Add(fieldHint, tag)
	}
}

// holdingWord returns the documents that have every term of a word, in any field, or nil for a stop word.
func (x *bm25) holdingWord(word string) (all docset.Set) {
	x.with(func(s *bm25Scratch) {
		s.forget()
		for _, n := range s.analyzer.Append(nil, word) {
			having := docset.New(len(x.docs))
			if id := s.word(n).id; id != noTerm {
				for _, p := range x.List(id) {
					having.Add(int(p.Doc()))
				}
			}
			if all == nil {
				all = having
			}
			all.Intersect(having)
		}
	})
	return all
}
