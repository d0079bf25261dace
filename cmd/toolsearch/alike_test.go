package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestWords(t *testing.T) {
	for text, want := range map[string]string{
		"mcp__git-hub__getHTTPStatus2": "mcp git hub get http status2",
		"天气预报API":                      "天气 气预 预报 api",
		"+select:a,b github:x":         "select a b github x",
		"été_ÉTÉ":                      "été été",
		"":                             "",
	} {
		assert.Equal(t, want, strings.Join(words(text), " "), "words(%q)", text)
	}
}

// Comparing only sets that share a rare word finds the same pairs as comparing all sets.
func TestNearSetsMissesNothing(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sets := make([][]string, 30)
		for i := range sets {
			for w := range 12 {
				if random.IntN(5) > 0 {
					sets[i] = append(sets[i], fmt.Sprint("w", w))
				}
			}
		}
		var want []string
		for i := range sets {
			for j := range i {
				if min(len(sets[i]), len(sets[j])) < alikeWords {
					continue
				}
				both := 0
				for _, w := range sets[i] {
					if slices.Contains(sets[j], w) {
						both++
					}
				}
				if all := len(sets[i]) + len(sets[j]) - both; float64(both)/float64(all) >= 0.8 {
					want = append(want, fmt.Sprint(j, " ", i))
				}
			}
		}
		list, all := nearSets(sets)
		var got []string
		for _, l := range list {
			got = append(got, fmt.Sprint(l.tools[0], " ", l.tools[1]))
		}
		slices.Sort(got)
		slices.Sort(want)
		require.True(t, all)
		require.Equal(t, want, got)
	}
}

// The report on a server whose tools are all nearly the same is bounded.
func TestAlikeIsBounded(t *testing.T) {
	tools := make([]definition, 3_000)
	for i := range tools {
		tools[i] = definition{Name: fmt.Sprint("t", i), Description: fmt.Sprint("one two three four five six seven eight nine ten", i)}
	}
	list, all := alikeDescriptions(tools)
	assert.Len(t, list, maxPairs)
	assert.False(t, all)
}
