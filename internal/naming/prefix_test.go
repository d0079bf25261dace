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

func TestPrefixed(t *testing.T) {
	assert.Equal(t, "hub__create", naming.Prefixed("hub", "create"))
	assert.Equal(t, "hub__"+strings.Repeat("a", 59), naming.Prefixed("hub", strings.Repeat("a", 59)), "64 letters")
	long, other := naming.Prefixed("hub", strings.Repeat("a", 60)), naming.Prefixed("hub", strings.Repeat("a", 61))
	assert.Len(t, long, 64)
	assert.True(t, strings.HasPrefix(long, "hub__aaa"))
	assert.NotEqual(t, long, other)
}
