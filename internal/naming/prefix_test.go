package naming_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

func TestPrefixOf(t *testing.T) {
	for namespace, want := range map[string]string{
		"GitHub": "GitHub", "my server": "my_server", "__a..b__": "a_b", "Café": "Cafe", "日历": "", "x-1": "x-1",
	} {
		assert.Equal(t, want, naming.PrefixOf(namespace), namespace)
	}
}

func TestShown(t *testing.T) {
	assert.Equal(t, "create", naming.Shown("", "create"))
	assert.Equal(t, "hub__create", naming.Shown("hub", "create"))
	assert.Equal(t, "hub__"+strings.Repeat("a", 59), naming.Shown("hub", strings.Repeat("a", 59)), "64 letters")
	seen := make(map[string]bool)
	for _, prefix := range []string{"", "hub"} {
		for _, name := range []string{"a.b", "a/b", "a_b", "日历", "é", strings.Repeat("a", 65), strings.Repeat("a", 66), strings.Repeat("a.", 64)} {
			shown := naming.Shown(prefix, name)
			assert.Regexp(t, `^[a-zA-Z0-9_-]{1,64}$`, shown)
			assert.False(t, seen[shown], "%s twice", shown)
			seen[shown] = true
		}
	}
	assert.Equal(t, "hub__a_b_1b1ee3d3", naming.Shown("hub", "a.b"), "the same in every replica")
}
