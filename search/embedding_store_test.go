package search_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/search"
)

func storeEntry(n int) (key string, vector []float32) {
	sum := sha256.Sum256(fmt.Append(nil, n))
	return hex.EncodeToString(sum[:]), []float32{float32(n), 0.25, -1}
}

func saveEntries(t *testing.T, s *search.FileStore, entries ...int) {
	t.Helper()
	var keys []string
	var vectors [][]float32
	for _, n := range entries {
		key, vector := storeEntry(n)
		keys, vectors = append(keys, key), append(vectors, vector)
	}
	require.NoError(t, s.Save(context.Background(), keys, vectors))
}

// entriesIn returns which of the first entries a new store over the file has, and checks
// that what it has is right.
func entriesIn(t *testing.T, path string, first int) (found []int) {
	t.Helper()
	var keys []string
	for n := range first {
		key, _ := storeEntry(n)
		keys = append(keys, key)
	}
	vectors, err := search.NewFileStore(path).Load(context.Background(), keys)
	require.NoError(t, err)
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

// Wherever a file of three records is cut off or changed, what is whole is found, nothing
// else is, and what is saved next is found after it. With the save after that one the file
// is whole again.
func TestFileStoreDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	saveEntries(t, search.NewFileStore(path), 0, 1, 2)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	record := len(whole) / 3
	check := func(damaged []byte, what string, want ...int) {
		t.Helper()
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		if got := entriesIn(t, path, 4); len(want) > 0 {
			require.Equal(t, want, got, "%s", what)
		} else {
			require.Empty(t, got, "%s", what)
		}
		saveEntries(t, search.NewFileStore(path), 3)
		require.Equal(t, append(want, 3), entriesIn(t, path, 4), "%s: after one was saved", what)
		saveEntries(t, search.NewFileStore(path), 4)
		require.Equal(t, append(want, 3, 4), entriesIn(t, path, 5), "%s: after two were saved", what)
		data, _ := os.ReadFile(path)
		require.Equal(t, (len(want)+2)*record, len(data), "%s: bytes after two were saved", what)
	}
	for size := range len(whole) {
		check(whole[:size], fmt.Sprint("cut at ", size), []int{0, 1, 2}[:size/record]...)
	}
	for i := range whole {
		damaged := bytes.Clone(whole)
		damaged[i] ^= 0x10
		check(damaged, fmt.Sprint("changed at ", i), slices.Delete([]int{0, 1, 2}, i/record, i/record+1)...)
	}
	for i := range record + 1 {
		check(slices.Insert(bytes.Clone(whole), i, []byte("tsv1 junk")...), fmt.Sprint("junk at ", i), func() []int {
			if i == 0 || i == record {
				return []int{0, 1, 2}
			}
			return []int{1, 2}
		}()...)
	}
	check(bytes.Repeat([]byte("something else\n"), 50), "another file")
}

// The same vectors in the same order are the same bytes, and saving them again adds none.
func TestFileStoreBytes(t *testing.T) {
	var files [][]byte
	for range 2 {
		path := filepath.Join(t.TempDir(), "vectors")
		s := search.NewFileStore(path)
		saveEntries(t, s, 0, 1)
		saveEntries(t, search.NewFileStore(path), 2)
		saveEntries(t, s, 1, 2, 0)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		files = append(files, data)
	}
	assert.Equal(t, files[0], files[1], "two files of the same vectors differ")
	assert.Equal(t, 3*(4+32+4+3*4+4), len(files[0]), "bytes")
}

// The file stays within its bound; the newest vectors stay in it.
func TestFileStoreBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	s := search.NewFileStore(path)
	const record = 4 + 32 + 4 + 3*4 + 4
	s.MaxBytes = 10 * record
	for n := range 100 {
		saveEntries(t, s, n)
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), s.MaxBytes, "bytes after %d were saved", n+1)
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
	assert.Error(t, err, "20 records were saved where there is room for 10")
}

// Several stores over one file, as several processes have them.
func TestFileStoreShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	var wait sync.WaitGroup
	shared := search.NewFileStore(path)
	for worker := range 6 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			s := shared
			if worker%2 == 0 {
				s = search.NewFileStore(path)
			}
			for n := range 20 {
				key, vector := storeEntry(worker*20 + n)
				assert.NoError(t, s.Save(context.Background(), []string{key}, [][]float32{vector}))
				got, err := s.Load(context.Background(), []string{key})
				assert.NoError(t, err)
				assert.Equal(t, [][]float32{vector}, got)
			}
		}()
	}
	wait.Wait()
	assert.Len(t, entriesIn(t, path, 120), 120)
}

func TestFileStoreMistakes(t *testing.T) {
	folder := t.TempDir()
	key, vector := storeEntry(0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	saveEntries(t, search.NewFileStore(filepath.Join(folder, "there")), 1)
	tests := []struct {
		name string
		err  error
	}{
		{"a folder", search.NewFileStore(folder).Save(context.Background(), []string{key}, [][]float32{vector})},
		{"no key", search.NewFileStore(filepath.Join(folder, "a")).Save(context.Background(), []string{"k"}, [][]float32{vector})},
		{"no digits", search.NewFileStore(filepath.Join(folder, "b")).Save(context.Background(), []string{key[1:] + "x"}, [][]float32{vector})},
		{"no vector", search.NewFileStore(filepath.Join(folder, "c")).Save(context.Background(), []string{key}, [][]float32{nil})},
		{"fewer vectors", search.NewFileStore(filepath.Join(folder, "d")).Save(context.Background(), []string{key}, nil)},
		{"no time", search.NewFileStore(filepath.Join(folder, "there")).Save(ctx, []string{key}, [][]float32{vector})},
	}
	for _, test := range tests {
		assert.Error(t, test.err, "%s", test.name)
	}
}
