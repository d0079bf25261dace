package toolsearch_test

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

	"github.com/eino-toolsearch/toolsearch"
)

func storeEntry(n int) (key string, vector []float32) {
	sum := sha256.Sum256(fmt.Append(nil, n))
	return hex.EncodeToString(sum[:]), []float32{float32(n), 0.25, -1}
}

func saveEntries(t *testing.T, s *toolsearch.FileStore, entries ...int) {
	t.Helper()
	var keys []string
	var vectors [][]float32
	for _, n := range entries {
		key, vector := storeEntry(n)
		keys, vectors = append(keys, key), append(vectors, vector)
	}
	if err := s.Save(context.Background(), keys, vectors); err != nil {
		t.Fatal(err)
	}
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
	vectors, err := toolsearch.NewFileStore(path).Load(context.Background(), keys)
	if err != nil || len(vectors) != first {
		t.Fatalf("%d vectors, %v, want %d", len(vectors), err, first)
	}
	for n, v := range vectors {
		if v == nil {
			continue
		}
		if _, want := storeEntry(n); !slices.Equal(v, want) {
			t.Fatalf("entry %d is %v, want %v", n, v, want)
		}
		found = append(found, n)
	}
	return found
}

// Wherever a file of three records is cut off or changed, what is whole is found, nothing
// else is, and what is saved next is found after it. With the save after that one the file
// is whole again.
func TestFileStoreDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	saveEntries(t, toolsearch.NewFileStore(path), 0, 1, 2)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	record := len(whole) / 3
	check := func(damaged []byte, what string, want ...int) {
		t.Helper()
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := entriesIn(t, path, 4); !slices.Equal(got, want) {
			t.Fatalf("%s: found %v, want %v", what, got, want)
		}
		saveEntries(t, toolsearch.NewFileStore(path), 3)
		if got := entriesIn(t, path, 4); !slices.Equal(got, append(want, 3)) {
			t.Fatalf("%s: found %v after one was saved, want %v and 3", what, got, want)
		}
		saveEntries(t, toolsearch.NewFileStore(path), 4)
		if got := entriesIn(t, path, 5); !slices.Equal(got, append(want, 3, 4)) {
			t.Fatalf("%s: found %v after two were saved, want %v, 3 and 4", what, got, want)
		}
		if data, _ := os.ReadFile(path); len(data) != (len(want)+2)*record {
			t.Fatalf("%s: %d bytes after two were saved, want %d records of %d", what, len(data), len(want)+2, record)
		}
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
		s := toolsearch.NewFileStore(path)
		saveEntries(t, s, 0, 1)
		saveEntries(t, toolsearch.NewFileStore(path), 2)
		saveEntries(t, s, 1, 2, 0)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, data)
	}
	if !bytes.Equal(files[0], files[1]) {
		t.Error("two files of the same vectors differ")
	}
	if want := 3 * (4 + 32 + 4 + 3*4 + 4); len(files[0]) != want {
		t.Errorf("%d bytes, want %d", len(files[0]), want)
	}
}

// The file stays within its bound; the newest vectors stay in it.
func TestFileStoreBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	s := toolsearch.NewFileStore(path)
	const record = 4 + 32 + 4 + 3*4 + 4
	s.MaxBytes = 10 * record
	for n := range 100 {
		saveEntries(t, s, n)
		if info, err := os.Stat(path); err != nil || info.Size() > s.MaxBytes {
			t.Fatalf("%v bytes, %v, want at most %d", info.Size(), err, s.MaxBytes)
		}
		if found := entriesIn(t, path, n+1); !slices.Contains(found, n) || len(found) < min(n+1, 5) {
			t.Fatalf("after %d were saved, the file has %v", n+1, found)
		}
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("%d files, want the one", len(files))
	}
	keys, vectors := make([]string, 20), make([][]float32, 20)
	for n := range keys {
		keys[n], vectors[n] = storeEntry(1000 + n)
	}
	if err := s.Save(context.Background(), keys, vectors); err == nil {
		t.Error("20 records were saved where there is room for 10")
	}
}

// Several stores over one file, as several processes have them.
func TestFileStoreShared(t *testing.T) {
	path := filepath.Join(t.TempDir(), "vectors")
	var wait sync.WaitGroup
	shared := toolsearch.NewFileStore(path)
	for worker := range 6 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			s := shared
			if worker%2 == 0 {
				s = toolsearch.NewFileStore(path)
			}
			for n := range 20 {
				key, vector := storeEntry(worker*20 + n)
				if err := s.Save(context.Background(), []string{key}, [][]float32{vector}); err != nil {
					t.Error(err)
				}
				if got, err := s.Load(context.Background(), []string{key}); err != nil || !slices.Equal(got[0], vector) {
					t.Errorf("saved %v, loaded %v, %v", vector, got, err)
				}
			}
		}()
	}
	wait.Wait()
	if got := len(entriesIn(t, path, 120)); got != 120 {
		t.Errorf("%d entries, want 120", got)
	}
}

func TestFileStoreMistakes(t *testing.T) {
	folder := t.TempDir()
	key, vector := storeEntry(0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	saveEntries(t, toolsearch.NewFileStore(filepath.Join(folder, "there")), 1)
	tests := []struct {
		name string
		err  error
	}{
		{"a folder", toolsearch.NewFileStore(folder).Save(context.Background(), []string{key}, [][]float32{vector})},
		{"no key", toolsearch.NewFileStore(filepath.Join(folder, "a")).Save(context.Background(), []string{"k"}, [][]float32{vector})},
		{"no digits", toolsearch.NewFileStore(filepath.Join(folder, "b")).Save(context.Background(), []string{key[1:] + "x"}, [][]float32{vector})},
		{"no vector", toolsearch.NewFileStore(filepath.Join(folder, "c")).Save(context.Background(), []string{key}, [][]float32{nil})},
		{"fewer vectors", toolsearch.NewFileStore(filepath.Join(folder, "d")).Save(context.Background(), []string{key}, nil)},
		{"no time", toolsearch.NewFileStore(filepath.Join(folder, "there")).Save(ctx, []string{key}, [][]float32{vector})},
	}
	for _, test := range tests {
		if test.err == nil {
			t.Errorf("%s: no error", test.name)
		}
	}
}
