package search_test

import (
	"context"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

func TestDocuments(t *testing.T) {
	infos := []*schema.ToolInfo{{
		Name: "mcp__post__send_mail", Desc: "Sends", Extra: map[string]any{"team": "post"},
		ParamsOneOf: schema.NewParamsOneOfByParams(map[string]*schema.ParameterInfo{
			"to": {Type: schema.String, Desc: "Whom to", Enum: []string{"all", "me"}},
		}),
	}, {Name: "clock"}}
	docs := testtools.Must(search.Documents(infos, nil))(t)
	require.Len(t, docs, 2)
	mail, clock := docs[0], docs[1]
	parameters := []search.Parameter{{Name: "to", Description: "Whom to", Enum: []string{"all", "me"}}}
	assert.Equal(t, search.Document{Name: "mcp__post__send_mail", Description: "Sends", Parameters: parameters,
		Annotation: search.Annotation{Namespace: "post"}, Info: mail.Info}, mail)
	assert.Equal(t, search.Document{Name: "clock", Info: clock.Info}, clock)
	definition := testtools.Must(clock.Info.ToJSONSchema())(t)
	require.NotNil(t, definition, "the schema of a tool without parameters")
	assert.Equal(t, "object", definition.Type)

	want := search.Annotation{Namespace: "post", Hint: "letters", Aliases: []string{"write"}, Tags: []string{"human"}}
	annotated, err := search.Documents(infos[1:], func(info *schema.ToolInfo) search.Annotation {
		assert.Equal(t, "clock", info.Name)
		return want
	})
	require.NoError(t, err)
	assert.Equal(t, want, annotated[0].Annotation)

	_, err = toolsearch.NewCatalogFromInfos(t.Context(), infos, &toolsearch.CatalogOptions{
		Index: func(ctx context.Context, given []search.Document) (search.Searcher, error) {
			assert.Equal(t, given, docs, "a catalog gives its searcher the same")
			return search.Keyword(ctx, given)
		}})
	require.NoError(t, err)

	// The definitions are copies, because a tool may change a definition that it has returned.
	infos[0].Name, infos[0].Desc, infos[0].Extra["team"] = "lies", "Lies", "liars"
	assert.Equal(t, "mcp__post__send_mail", mail.Info.Name)
	assert.Equal(t, "Sends", mail.Info.Desc)
	assert.Equal(t, map[string]any{"team": "post"}, mail.Info.Extra)
	assert.Nil(t, infos[1].ParamsOneOf, "the tool's own definition")
}

func TestWrongDocuments(t *testing.T) {
	for _, tt := range []struct {
		name  string
		infos []*schema.ToolInfo
		want  string
	}{
		{"a nil definition", []*schema.ToolInfo{{Name: "a"}, nil}, "tool 1.*no tool info"},
		{"no name", []*schema.ToolInfo{{Name: "a"}, {Name: "b"}, {}}, "tool 2.*empty name"},
		{"a name twice", []*schema.ToolInfo{{Name: "b"}, {Name: "a"}, {Name: "c"}, {Name: "a"}}, `tool 3.*"a".*tool 1`},
	} {
		docs, err := search.Documents(tt.infos, nil)
		assert.Nil(t, docs, tt.name)
		require.Error(t, err, tt.name)
		assert.Regexp(t, "^toolsearch: .*"+tt.want, err, tt.name)
		_, catalogErr := toolsearch.NewCatalogFromInfos(t.Context(), tt.infos, nil)
		assert.EqualError(t, catalogErr, err.Error(), "%s: the error of a catalog", tt.name)
	}
}
