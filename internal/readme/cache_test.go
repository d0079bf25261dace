package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestCached(t *testing.T) {
	requests := []string{"abcd", "abcdef", "abXX"}
	cold := writtenRate*4 + (cachedRate*4 + writtenRate*2) + (cachedRate*2 + writtenRate*2)
	assert.InDelta(t, cold, cached(nil, requests), 1e-9)
	warm := (cachedRate*3 + writtenRate*1) + (cachedRate*4 + writtenRate*2) + (cachedRate*2 + writtenRate*2)
	assert.InDelta(t, warm, cached([]string{"abc"}, requests), 1e-9)
	assert.Equal(t, "-74 / +0 / +26 %", bill{-74, 0, 26}.String())
}
