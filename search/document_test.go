package search_test

import (
	"context"
	"strings"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/search"
)

func mailInfo() *schema.ToolInfo {
	return &schema.ToolInfo{
		Name: "mcp__post__send_mail", Desc: "Sends", Extra: map[string]any{"team": "post"},
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"to": {Type: schema.String, Desc: "Whom to", Enum: []string{"all", "me"}},
		}),
	}
}

func TestDocuments(t *testing.T) {
	docs, err := search.Documents([]*schema.ToolInfo{mailInfo(), {Name: "clock"}}, nil)
	require.NoError(t, err)
	require.Len(t, docs, 2)
	mail, clock := docs[0], docs[1]
	assert.Equal(t, "mcp__post__send_mail", mail.Name)
	assert.Equal(t, "Sends", mail.Description)
	assert.Equal(t, search.Annotation{Namespace: "post"}, mail.Annotation)
	assert.Equal(t, []search.Parameter{{Name: "to", Description: "Whom to", Enum: []string{"all", "me"}}}, mail.Parameters)
	assert.Equal(t, "clock", clock.Name)
	assert.Empty(t, clock.Namespace)
	assert.Empty(t, clock.Parameters)
	definition, err := clock.Info.ToJSONSchema()
	require.NoError(t, err)
	require.NotNil(t, definition, "the schema of a tool without parameters")
	assert.Equal(t, "object", definition.Type)
}

func TestDocumentsAreAnnotated(t *testing.T) {
	want := search.Annotation{Namespace: "post", Hint: "letters", Aliases: []string{"write"}, Tags: []string{"human"}}
	docs, err := search.Documents([]*schema.ToolInfo{{Name: "send"}}, func(info *schema.ToolInfo) search.Annotation {
		assert.Equal(t, "send", info.Name)
		return want
	})
	require.NoError(t, err)
	assert.Equal(t, want, docs[0].Annotation)
}

// Documents copies the definitions, because a tool may change a definition that it has returned.
func TestDocumentsAreCopies(t *testing.T) {
	info := mailInfo()
	bare := &schema.ToolInfo{Name: "clock"}
	docs, err := search.Documents([]*schema.ToolInfo{info, bare}, nil)
	require.NoError(t, err)
	assert.NotSame(t, info, docs[0].Info)
	info.Name, info.Desc, info.Extra["team"] = "lies", "Lies", "liars"
	assert.Equal(t, "mcp__post__send_mail", docs[0].Info.Name)
	assert.Equal(t, "Sends", docs[0].Info.Desc)
	assert.Equal(t, map[string]any{"team": "post"}, docs[0].Info.Extra)
	assert.Nil(t, bare.ParamsOneOf, "the tool's own definition")
}

func TestWrongDocuments(t *testing.T) {
	for _, tt := range []struct {
		name  string
		infos []*schema.ToolInfo
		want  []string
	}{
		{"a nil definition", []*schema.ToolInfo{{Name: "a"}, nil}, []string{"tool 1", "no tool info"}},
		{"no name", []*schema.ToolInfo{{Name: "a"}, {Name: "b"}, {}}, []string{"tool 2", "empty name"}},
		{"a name twice", []*schema.ToolInfo{{Name: "b"}, {Name: "a"}, {Name: "c"}, {Name: "a"}}, []string{"tool 3", "tool 1", `"a"`}},
	} {
		docs, err := search.Documents(tt.infos, nil)
		assert.Nil(t, docs, tt.name)
		require.Error(t, err, tt.name)
		assert.True(t, strings.HasPrefix(err.Error(), "toolsearch: "), "%s: the beginning of %v", tt.name, err)
		for _, want := range tt.want {
			assert.ErrorContains(t, err, want, tt.name)
		}
		_, catalogErr := toolsearch.NewCatalogFromInfos(t.Context(), tt.infos, nil)
		assert.EqualError(t, catalogErr, err.Error(), "%s: the error of a catalog", tt.name)
	}
}

// Documents makes the documents that a catalog gives its searcher.
func TestDocumentsAreTheCatalogs(t *testing.T) {
	infos := []*schema.ToolInfo{mailInfo(), {Name: "clock", Desc: "Tells the time"}}
	docs, err := search.Documents(infos, nil)
	require.NoError(t, err)
	var given []search.Document
	_, err = toolsearch.NewCatalogFromInfos(t.Context(), infos, &toolsearch.CatalogOptions{Index: func(ctx context.Context, docs []search.Document) (search.Searcher, error) {
		given = docs
		return search.Keyword(ctx, docs)
	}})
	require.NoError(t, err)
	assert.Equal(t, given, docs)
}
