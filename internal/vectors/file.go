package vectors

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// A File of vectors is a mark, the CRC-32C of the rest, and a record for each vector, the oldest first:
// its key, its dimensions (uint32), and that many float32. All numbers are little-endian. The file is
// written whole under a temporary name and then renamed, so at any moment either the old file or the new
// one is there.

const (
	fileMark = "tsv2"
	fileHead = len(fileMark) + 4
	keyBytes = 64
	maxLinks = 40 // as many as Linux follows

	// Every save writes a file of up to freeRewrite bytes. A larger file is written when
	// 1/unsavedParts of it is new.
	freeRewrite  = 1 << 20
	unsavedParts = 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A File holds the vectors of one file. search.NewFileStore describes it.
type File struct {
	Path     string // must be set, and not be changed, like MaxBytes
	MaxBytes int64

	mu      sync.Mutex
	info    os.FileInfo // when the file was last read or written; nil means never
	vectors map[string][]float32
	keys    []string // of vectors, the oldest first
	size    int64    // of all records
	unsaved int64    // the part of size that is not in the file
}

// Load returns the vector under each key, in the order of the keys, or nil where there is none.
func (s *File) Load(ctx context.Context, keys []string) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(keys))
	for i, key := range keys {
		vectors[i] = slices.Clone(s.vectors[key])
	}
	return vectors, nil
}

// Save keeps a vector under each key.
func (s *File) Save(ctx context.Context, keys []string, vectors [][]float32) error {
	if len(keys) != len(vectors) {
		return fmt.Errorf("%d keys for %d vectors", len(keys), len(vectors))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.read(ctx); err != nil {
		return err
	}
	limit, added := s.MaxBytes-int64(fileHead), int64(0)
	for i, vector := range vectors {
		if len(keys[i]) != keyBytes {
			return fmt.Errorf("a key of %d bytes; it has %d", len(keys[i]), keyBytes)
		}
		if len(vector) == 0 || len(vector) > maxDimensions {
			return fmt.Errorf("a vector of %d dimensions", len(vector))
		}
		added += recordSize(vector)
	}
	if added > limit {
		return fmt.Errorf("%d bytes of vectors in a store of %d", added, limit)
	}
	for i, key := range keys {
		if !slices.Equal(s.vectors[key], vectors[i]) {
			s.put(key, slices.Clone(vectors[i]))
			s.unsaved += recordSize(vectors[i])
		}
	}
	if s.size > limit {
		s.dropOldest(max(limit/2, added))
	}
	if s.unsaved == 0 || s.size > freeRewrite && s.unsaved < s.size/unsavedParts {
		return nil
	}
	return s.write()
}

// Flush writes the vectors that the file does not have yet and frees the memory.
func (s *File) Flush() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaved > 0 {
		err = s.write()
	}
	s.info, s.vectors, s.keys, s.size, s.unsaved = nil, nil, nil, 0, 0
	return err
}

func recordSize(vector []float32) int64 { return int64(keyBytes + 4 + 4*len(vector)) }

func (s *File) put(key string, vector []float32) {
	if s.vectors == nil {
		s.vectors = make(map[string][]float32)
	}
	if old, known := s.vectors[key]; known {
		s.size -= recordSize(old)
	} else {
		s.keys = append(s.keys, key)
	}
	s.vectors[key] = vector
	s.size += recordSize(vector)
}

// dropOldest drops vectors until at most limit bytes are left. It marks all of them as
// unsaved, because the file must be written again.
func (s *File) dropOldest(limit int64) {
	dropped := 0
	for ; s.size > limit; dropped++ {
		s.size -= recordSize(s.vectors[s.keys[dropped]])
		delete(s.vectors, s.keys[dropped])
	}
	s.keys = slices.Delete(s.keys, 0, dropped)
	s.unsaved = s.size
}

// read adds the file's vectors, unless the file is unchanged since it was last read or written.
func (s *File) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	info, err := os.Stat(s.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()):
		return nil
	case info.Size() > s.MaxBytes:
		return fmt.Errorf("%s has %d bytes, more than %d; allow more, or delete it", s.Path, info.Size(), s.MaxBytes)
	}
	data, err := os.ReadFile(s.Path)
	if err != nil {
		return err
	}
	if len(data) < fileHead || string(data[:len(fileMark)]) != fileMark ||
		binary.LittleEndian.Uint32(data[len(fileMark):]) != crc32.Checksum(data[fileHead:], castagnoli) {
		return fmt.Errorf("%s is damaged, or no file of vectors; delete it", s.Path)
	}
	for data = data[fileHead:]; len(data) > keyBytes+4; {
		vector := make([]float32, min(int(binary.LittleEndian.Uint32(data[keyBytes:])), (len(data)-keyBytes-4)/4))
		_, _ = binary.Decode(data[keyBytes+4:], binary.LittleEndian, vector) // cannot fail: the sizes match
		if key := string(data[:keyBytes]); s.vectors[key] == nil {
			s.put(key, vector)
		}
		data = data[recordSize(vector):]
	}
	s.info = info
	return nil
}

// write replaces the file with a file of all vectors.
func (s *File) write() (err error) {
	data := make([]byte, fileHead, int64(fileHead)+s.size)
	for _, key := range s.keys {
		data = append(data, key...)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(s.vectors[key])))
		data, _ = binary.Append(data, binary.LittleEndian, s.vectors[key]) // fails only for other types
	}
	copy(data, fileMark)
	binary.LittleEndian.PutUint32(data[len(fileMark):], crc32.Checksum(data[fileHead:], castagnoli))
	path := s.Path // a symbolic link stays, and its target is replaced, even if that is not there yet
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // it is gone if everything went well
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	s.unsaved = 0
	s.info, err = os.Stat(s.Path)
	return err
}
