package search_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/search"
)

const storeRecord = 64 + 4 + 3*4 // bytes

func storeEntry(n int) (key string, vector []float32) {
	sum := sha256.Sum256(fmt.Append(nil, n))
	return hex.EncodeToString(sum[:]), []float32{float32(n), 0.25, -1}
}

func saveEntries(t *testing.T, s search.VectorStore, entries ...int) {
	t.Helper()
	var keys []string
	var vectors [][]float32
	for _, n := range entries {
		key, vector := storeEntry(n)
		keys, vectors = append(keys, key), append(vectors, vector)
	}
	require.NoError(t, s.Save(context.Background(), keys, vectors))
}

// entriesIn returns which of the first entries a new store over the file has. It checks that these
// entries are right.
func entriesIn(t *testing.T, path string, first int) (found []int) {
	t.Helper()
	var keys []string
	for n := range first {
		key, _ := storeEntry(n)
		keys = append(keys, key)
	}
	vectors := testtools.Must(search.NewFileStore(path, 0).Load(context.Background(), keys))(t)
	require.Len(t, vectors, first)
	for n, v := range vectors {
		if v == nil {
			continue
		}
		_, want := storeEntry(n)
		require.Equal(t, want, v, "entry %d", n)
		found = append(found, n)
	}
	return found
}

// A file of three records may be cut off or changed anywhere: that is an error. A new store does not
// touch the file.
func TestFileStoreDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	saveEntries(t, search.NewFileStore(path, 0), 0, 1, 2)
	whole := []byte(testtools.ReadFile(t, path))
	key, vector := storeEntry(3)
	check := func(damaged []byte, what string) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := search.NewFileStore(path, 0).Load(t.Context(), []string{key})
		require.ErrorContains(t, err, "delete it", what)
		require.ErrorContains(t, search.NewFileStore(path, 0).Save(t.Context(), []string{key}, [][]float32{vector}), "delete it", what)
	}
	for at := range whole {
		check(whole[:at], fmt.Sprint("cut at ", at))
		damaged := bytes.Clone(whole)
		damaged[at] ^= 0x10
		check(damaged, fmt.Sprint("changed at ", at))
	}
	check(append(bytes.Clone(whole), "junk"...), "junk at the end")
	small := search.NewFileStore(path, int64(len(whole))-1)
	require.NoError(t, os.WriteFile(path, whole, 0o600))
	_, err := small.Load(t.Context(), []string{key})
	require.ErrorContains(t, err, "allow more")
	assert.Equal(t, []int{0, 1, 2}, entriesIn(t, path, 3))
}

// The file stays within its bound, and the newest vectors stay in it.
func TestFileStoreBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	maxBytes := int64(8 + 10*storeRecord)
	s := search.NewFileStore(path, maxBytes)
	for n := range 100 {
		saveEntries(t, s, n)
		require.LessOrEqual(t, testtools.Must(os.Stat(path))(t).Size(), maxBytes, "bytes after %d were saved", n+1)
		found := entriesIn(t, path, n+1)
		require.Contains(t, found, n, "after %d were saved", n+1)
		require.GreaterOrEqual(t, len(found), min(n+1, 5), "after %d were saved, the file has %v", n+1, found)
	}
	files, _ := os.ReadDir(filepath.Dir(path))
	assert.Len(t, files, 1)
	keys, vectors := make([]string, 20), make([][]float32, 20)
	for n := range keys {
		keys[n], vectors[n] = storeEntry(1000 + n)
	}
	err := s.Save(context.Background(), keys, vectors)
	assert.Error(t, err, "20 records in a file for 10")
}

// A store keeps everything that is saved, even if several goroutines use it at the same time. Several
// stores may share a file, as several processes do. A store may lose what another store saves at the
// same time. The entries that are there are right, and the file is whole at every moment: each store reads it
// while the others write.
func TestFileStoreConcurrent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	saveConcurrently(t, path, func(s search.VectorStore) search.VectorStore { return s })
	assert.Len(t, entriesIn(t, path, 120), 120)

	path = filepath.Join(t.TempDir(), "vectors")
	saveConcurrently(t, path, func(search.VectorStore) search.VectorStore { return search.NewFileStore(path, 0) })
	found := entriesIn(t, path, 120)
	assert.NotEmpty(t, found)
	assert.EqualValues(t, 8+len(found)*storeRecord, testtools.Must(os.Stat(path))(t).Size(), "bytes")
	assert.Len(t, testtools.Must(os.ReadDir(filepath.Dir(path)))(t), 1)
}

func saveConcurrently(t *testing.T, path string, storeOf func(search.VectorStore) search.VectorStore) {
	t.Helper()
	var wait sync.WaitGroup
	shared := search.NewFileStore(path, 0)
	for worker := range 6 {
		wait.Go(func() {
			s := storeOf(shared)
			for n := range 20 {
				key, vector := storeEntry(worker*20 + n)
				assert.NoError(t, s.Save(context.Background(), []string{key}, [][]float32{vector}))
				got, err := s.Load(context.Background(), []string{key})
				assert.NoError(t, err)
				assert.Equal(t, [][]float32{vector}, got)
			}
		})
	}
	wait.Wait()
}

// largeEntry is an entry of 64 KiB.
func largeEntry(n int) (key string, vector []float32) {
	key, _ = storeEntry(n)
	vector = make([]float32, 16<<10)
	vector[0] = float32(n)
	return key, vector
}

func flush(t *testing.T, s search.VectorStore) {
	t.Helper()
	require.NoError(t, s.(interface{ Flush() error }).Flush())
}

// A large file is not written at every Save. A crash loses at most an eighth of the file. After Flush
// it loses nothing.
func TestFileStoreFlush(t *testing.T) {
	testtools.SkipWithoutGoroutines(t)
	path := filepath.Join(t.TempDir(), "vectors")
	s := search.NewFileStore(path, 0)
	var keys []string
	writes, size := 0, int64(0)
	for n := range 200 {
		key, vector := largeEntry(n)
		keys = append(keys, key)
		require.NoError(t, s.Save(context.Background(), []string{key}, [][]float32{vector}))
		info := testtools.Must(os.Stat(path))(t)
		if info.Size() != size {
			writes, size = writes+1, info.Size()
		}
		require.GreaterOrEqual(t, size, int64(n+1)*(64<<10)*7/8, "bytes of the file after %d were saved", n+1)
	}
	assert.Less(t, writes, 60, "how often the file was written")
	flush(t, s)
	vectors := testtools.Must(search.NewFileStore(path, 0).Load(context.Background(), keys))(t)
	for n := range keys {
		_, want := largeEntry(n)
		require.Equal(t, want, vectors[n], "entry %d", n)
	}
	assert.Equal(t, vectors[:1], testtools.Must(s.Load(context.Background(), keys[:1]))(t), "a vector that is loaded after Flush")
	flush(t, s)
	flush(t, search.NewFileStore(filepath.Join(t.TempDir(), "none"), 0))
}

func TestFileStoreMistakes(t *testing.T) {
	folder := t.TempDir()
	key, vector := storeEntry(0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	saveEntries(t, search.NewFileStore(filepath.Join(folder, "there"), 0), 1)
	for _, test := range []struct {
		name string
		err  error
	}{
		{"a folder", search.NewFileStore(folder, 0).Save(context.Background(), []string{key}, [][]float32{vector})},
		{"a short key", search.NewFileStore(filepath.Join(folder, "a"), 0).Save(context.Background(), []string{"k"}, [][]float32{vector})},
		{"a nil vector", search.NewFileStore(filepath.Join(folder, "c"), 0).Save(context.Background(), []string{key}, [][]float32{nil})},
		{"fewer vectors than keys", search.NewFileStore(filepath.Join(folder, "d"), 0).Save(context.Background(), []string{key}, nil)},
		{"a cancelled context", search.NewFileStore(filepath.Join(folder, "there"), 0).Save(ctx, []string{key}, [][]float32{vector})},
	} {
		assert.Error(t, test.err, "%s", test.name)
	}
}
