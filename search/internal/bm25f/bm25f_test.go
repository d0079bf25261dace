package bm25f_test

import (
	"context"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search/internal/bm25f"
)

const (
	name = iota + bm25f.Name
	text
	whole
)

var fields = []bm25f.Field{
	name:  {Weight: 2, B: 0.5, Wholes: whole},
	text:  {Weight: 1, B: 0.75, Wholes: bm25f.NoField},
	whole: {Weight: 3},
}

// A document is the texts of its fields name and text.
type document [2]string

func (d document) addTo(c *bm25f.Counter) {
	c.Add(name, d[name])
	c.Add(text, d[text])
}

func build(t *testing.T, k1 float64, fields []bm25f.Field, docs ...document) *bm25f.Index {
	t.Helper()
	x, err := bm25f.Build(t.Context(), len(docs), k1, fields, func(c *bm25f.Counter, doc int) { docs[doc].addTo(c) })
	require.NoError(t, err)
	return x
}

// postings returns the postings of a term by their documents.
func postings(t *testing.T, x *bm25f.Index, term string) map[int32]bm25f.Posting {
	t.Helper()
	require.Contains(t, x.IDs, term)
	all := make(map[int32]bm25f.Posting)
	for _, p := range x.List(x.IDs[term]) {
		all[p.Doc()] = p
	}
	return all
}

func idf(docs, df float64) float64 { return math.Log(1 + (docs-df+0.5)/(df+0.5)) }

func TestImpacts(t *testing.T) {
	x := build(t, 1.2, fields,
		document{"send mail", "mail mail letter"},
		document{"draw", "letter"},
		document{"", ""},
	)
	// The mean length of a name is 1, and that of a text is 4/3.
	mail := 2*1/(1-0.5+0.5*2/1.) + 1*2/(1-0.75+0.75*3/(4/3.))
	got := postings(t, x, "mail")
	require.Len(t, got, 1)
	assert.InDelta(t, idf(3, 1)*mail/(1.2+mail), got[0].Impact, 1e-6)
	assert.EqualValues(t, 1, got[0].InName())

	letter := 1 * 1 / (1 - 0.75 + 0.75*1/(4/3.))
	got = postings(t, x, "letter")
	require.Len(t, got, 2)
	assert.InDelta(t, idf(3, 2)*letter/(1.2+letter), got[1].Impact, 1e-6)
	assert.EqualValues(t, 0, got[1].InName())
	assert.InDelta(t, idf(3, 2), x.IDF[x.IDs["letter"]], 1e-6)

	assert.InDelta(t, 1/(2*idf(3, 1)), x.PerName[0], 1e-6, "a name of two terms that no other document has")
	assert.Zero(t, x.PerName[2], "no name")
}

// The whole of a word counts in the field that is set for it, and adds nothing to a length.
func TestWholes(t *testing.T) {
	x := build(t, 1, fields, document{"MongoDB", "text"})
	got := postings(t, x, "mongodb")
	assert.InDelta(t, idf(1, 1)*3/(1+3), got[0].Impact, 1e-6)
	assert.EqualValues(t, 0, got[0].InName())
	assert.InDelta(t, 1/(2*idf(1, 1)), x.PerName[0], 1e-6, "a name of two terms")
}

func TestFieldsOfNoWeight(t *testing.T) {
	x := build(t, 1, []bm25f.Field{name: {Weight: 1}, text: {}}, document{"send", "mail"})
	assert.Contains(t, x.IDs, "send")
	assert.NotContains(t, x.IDs, "mail")
}

// The shares of a term are the parts of its impact, field by field.
func TestShares(t *testing.T) {
	docs := []document{{"send mail", "mail mail letter"}, {"draw", "letter"}, {"", ""}}
	x := build(t, 1.2, fields, docs...)
	shares := x.Shares(docs[0].addTo)
	inName, inText := 2*1/(1-0.5+0.5*2/1.), 1*2/(1-0.75+0.75*3/(4/3.))
	require.Len(t, shares["mail"], 2)
	assert.Equal(t, name, shares["mail"][0].Field)
	assert.Equal(t, 1, shares["mail"][0].Count)
	assert.InDelta(t, inName/(inName+inText), shares["mail"][0].Part, 1e-9)
	assert.Equal(t, text, shares["mail"][1].Field)
	assert.Equal(t, 2, shares["mail"][1].Count)
	assert.InDelta(t, inText/(inName+inText), shares["mail"][1].Part, 1e-9)
	assert.NotContains(t, shares, "draw")
}

// Many documents are read by several workers. Each term has its postings in the order of documents.
func TestManyDocuments(t *testing.T) {
	var docs []document
	for i := range 2000 {
		docs = append(docs, document{fmt.Sprintf("every name%d", i%7), "text"})
	}
	x := build(t, 1, fields, docs...)
	list := x.List(x.IDs["text"])
	require.Len(t, list, len(docs))
	for doc, p := range list {
		require.EqualValues(t, doc, p.Doc())
	}
	at, found := bm25f.Find(list, 1234)
	assert.True(t, found)
	assert.Equal(t, 1234, at)
}

func TestBuildStops(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := bm25f.Build(ctx, 1, 1, fields, func(*bm25f.Counter, int) {})
	assert.ErrorIs(t, err, context.Canceled)
}
