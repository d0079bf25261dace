package toolsearch_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/schema"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/toolsearchtest"
)

// TestConcurrentRunsKeepTheirCatalogAndTheirUser: many runs over one middleware, whose source
// changes all the while, each for a user who may have other tools. Run with -race.
func TestConcurrentRunsKeepTheirCatalogAndTheirUser(t *testing.T) {
	inAllWays(t, testConcurrentVisibility[*schema.Message], testConcurrentVisibility[*schema.AgenticMessage])
}

// editionKey is the context key of the edition of the catalog that a run's source answers
// with; the user of a run is allowedKey's.
type editionKey struct{}

func testConcurrentVisibility[M adk.MessageType](t *testing.T, w way) {
	const runs, editions, users = 48, 3, 4
	middleware := newMiddleware[M](t, toolsearch.Config{
		DynamicTools: echoTools("clock: The time"),
		Source: func(ctx context.Context) ([]tool.BaseTool, error) {
			edition := ctx.Value(editionKey{}).(int)
			var specs []string
			for user := range users {
				for _, kind := range []string{"a", "b", "c"} {
					specs = append(specs, fmt.Sprintf("%s_of_user%d_in_edition%d: Does", kind, user, edition))
				}
			}
			return echoTools(specs...), nil
		},
		Filter: func(ctx context.Context, info *schema.ToolInfo) bool {
			return strings.Contains(info.Name, ctx.Value(allowedKey{}).(string)) || info.Name == "clock"
		},
		AlwaysLoaded: []string{"clock"}, MaxLoaded: 2, Preselect: 1, SendEvents: true,
		OnError:  func(_ context.Context, err error) { t.Error(err) },
		OnLoaded: func(context.Context, []string) {},
	})
	var group sync.WaitGroup
	for i := range runs {
		group.Add(1)
		go func() {
			defer group.Done()
			user, edition := fmt.Sprintf("user%d", i%users), i/users%editions
			ctx := context.WithValue(context.WithValue(context.Background(), editionKey{}, edition), allowedKey{}, user)
			name := func(kind string) string { return fmt.Sprintf("%s_of_%s_in_edition%d", kind, user, edition) }
			theirs := fmt.Sprintf("b_of_user%d_in_edition%d", (i+1)%users, edition)
			scripted := toolsearchtest.NewModel[M](
				selecting(name("a")+","+theirs), selecting(name("b")), calling(name("c")), calling(theirs), search(`{"query":"edition"}`), toolsearchtest.Say("done"))
			config := with(middleware)
			config.Model = scripted
			if _, err := runAgent(ctx, newAgent(t, config), w, question); err != nil {
				t.Errorf("run %d: %v", i, err)
				return
			}
			var saw []string
			for _, r := range scripted.Requests() {
				saw = append(saw, strings.Join(slices.DeleteFunc(r.ToolNames(), func(n string) bool { return n == "tool_search" || n == "clock" }), " "))
				if got := announced(r); !slices.Equal(got, []string{name("a"), name("b"), name("c")}) {
					t.Errorf("run %d: the reminder lists %v", i, got)
				}
			}
			want := []string{"", name("a"), name("a") + " " + name("b"), name("b") + " " + name("c"), name("b") + " " + name("c")}
			if got := saw[:5]; !slices.Equal(got, want) {
				t.Errorf("run %d saw\n %s\nwant\n %s", i, strings.Join(got, "\n "), strings.Join(want, "\n "))
			}
			if got := strings.Fields(saw[5]); len(got) != 2 || !strings.Contains(saw[5], user) {
				t.Errorf("run %d saw %v after a search for all", i, got)
			}
		}()
	}
	group.Wait()
}
