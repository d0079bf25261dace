package usage_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/eino-toolsearch/toolsearch"
	"github.com/eino-toolsearch/toolsearch/usage"
)

// conversationKey is the context key of a conversation's name.
type conversationKey struct{}

func Example() {
	store := new(usage.Store) // one a tenant
	config := &toolsearch.Config{
		Usage: store.Snapshot,
		OnEvent: func(ctx context.Context, e toolsearch.Event) {
			name, _ := ctx.Value(conversationKey{}).(string)
			store.Observe(ctx, name, e)
		},
	}
	for name, tools := range map[string][]string{ // what agents with this config do
		"monday": {"ring_bell", "open_door"}, "tuesday": {"ring_bell", "open_door"}, "wednesday": {"water_plants"},
	} {
		ctx := context.WithValue(context.Background(), conversationKey{}, name)
		for _, tool := range tools {
			config.OnEvent(ctx, &toolsearch.CallEvent{Tool: tool})
		}
	}

	file, _ := json.Marshal(store)
	again := new(usage.Store)
	_ = json.Unmarshal(file, again)
	strengths := again.Snapshot(context.Background())([]string{"ring_bell"}, func(string) bool { return true })
	fmt.Printf("open_door goes with ring_bell: %.1f\n", strengths["open_door"])
	// Output: open_door goes with ring_bell: 0.2
}
