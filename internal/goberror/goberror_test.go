package goberror_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/goberror"
)

type value struct{ N int }

type panicking struct{}

func (*panicking) Error() string { panic("oh") }

func TestRoundTrip(t *testing.T) {
	for _, c := range []struct {
		failure error
		want    string
	}{
		{nil, ""},
		{fmt.Errorf("asking: %w", assert.AnError), "asking: " + assert.AnError.Error()},
		{&panicking{}, "*goberror_test.panicking"},
	} {
		data, err := goberror.Encode(value{7}, c.failure)
		require.NoError(t, err)
		var got value
		failure, err := goberror.Decode(data, &got)
		require.NoError(t, err)
		assert.Equal(t, value{7}, got)
		if c.want == "" {
			assert.NoError(t, failure)
		} else {
			assert.EqualError(t, failure, c.want)
		}
	}
}

func TestDecodeOfOtherData(t *testing.T) {
	data, err := goberror.Encode(value{7}, nil)
	require.NoError(t, err)
	for _, length := range []int{0, len(data) / 2, len(data) - 1} {
		_, err := goberror.Decode(data[:length], &value{})
		assert.Error(t, err, "%d bytes", length)
	}
}
