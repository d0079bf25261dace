package sources_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/sources"
)

var errDown = errors.New("down")

func explain(_ context.Context, err error) string { return "failed: " + err.Error() }

func TestCall(t *testing.T) {
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	interrupt := compose.NewInterruptAndRerunErr("ask")
	cases := []struct {
		name    string
		ctx     context.Context
		call    func() (string, error)
		want    string
		wantErr error
	}{
		{"a result", context.Background(), func() (string, error) { return "sunny", nil }, "sunny", nil},
		{"an error", context.Background(), func() (string, error) { return "", errDown }, "failed: down", nil},
		{"a panic", context.Background(), func() (string, error) { panic("oh") }, "failed: panic: oh", nil},
		{"an error of a cancelled run", cancelled, func() (string, error) { return "", errDown }, "", errDown},
		{"a cancelled call", context.Background(), func() (string, error) { return "", fmt.Errorf("asking: %w", context.Canceled) }, "", context.Canceled},
		{"an interrupt", context.Background(), func() (string, error) { return "", interrupt }, "", interrupt},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			result, err := sources.CallTool(c.ctx, explain, sources.TextResult, c.call)
			assert.ErrorIs(t, err, c.wantErr)
			assert.Equal(t, c.want, result)
		})
	}
}

func TestStream(t *testing.T) {
	read := func(call func() (*schema.StreamReader[string], error)) (chunks []string) {
		stream, err := sources.StreamTool(context.Background(), explain, sources.TextResult, call)
		require.NoError(t, err)
		defer stream.Close()
		for {
			chunk, err := stream.Recv()
			if err == io.EOF {
				return chunks
			}
			require.NoError(t, err)
			chunks = append(chunks, chunk)
		}
	}
	assert.Equal(t, []string{"failed: down"}, read(func() (*schema.StreamReader[string], error) { return nil, errDown }))
	assert.Equal(t, []string{"sunny", "\nfailed: down"}, read(func() (*schema.StreamReader[string], error) {
		reader, writer := schema.Pipe[string](2)
		defer writer.Close()
		writer.Send("sunny", nil)
		writer.Send("", errDown)
		return reader, nil
	}))
}
