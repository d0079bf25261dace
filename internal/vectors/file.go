package vectors

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// A File of vectors is a list of records, the oldest first. All numbers are
// little-endian:
//
//	"tsv1"  key (32 bytes)  dimensions (uint32)  that many float32  CRC-32C of all before
//
// The file is read up to the first damaged record. It is written whole under a temporary
// name and then renamed, so at any moment either the old file or the new one is there.

const (
	recordMark = "tsv1"
	recordHead = len(recordMark) + len(storeKey{}) + 4
	recordTail = 4

	// Every save writes a file of up to freeRewrite bytes. A larger file is written when
	// 1/unsavedParts of it is new.
	freeRewrite  = 1 << 20
	unsavedParts = 8

	staleTemporary = time.Hour // a temporary file of this age is no longer being written
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A File holds the vectors of one file. search.FileStore describes it. It is safe for concurrent
// use.
type File struct {
	Path string // must be set, and not be changed

	mu      sync.Mutex
	limit   int64       // bytes, of the last call
	info    os.FileInfo // when the file was last read or written; nil means never
	vectors map[storeKey][]float32
	keys    []storeKey // of vectors, the oldest first
	size    int64      // of a file with all vectors
	unsaved int64      // the part of size that is not in the file
}

type storeKey [32]byte

// Load returns the vector under each key, in the order of the keys, or nil where there is none. It
// reads the file up to limit bytes.
func (s *File) Load(ctx context.Context, limit int64, keys []string) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	if err := s.read(ctx); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(keys))
	for i, text := range keys {
		key, err := readStoreKey(text)
		if err != nil {
			return nil, err
		}
		vectors[i] = slices.Clone(s.vectors[key])
	}
	return vectors, nil
}

// Save keeps a vector under each key. If the file would become larger than limit bytes, only the
// newest vectors that fit into half of limit are kept.
func (s *File) Save(ctx context.Context, limit int64, keys []string, vectors [][]float32) error {
	if len(keys) != len(vectors) {
		return fmt.Errorf("%d keys for %d vectors", len(keys), len(vectors))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = limit
	if err := s.read(ctx); err != nil {
		return err
	}
	added := int64(0)
	for _, vector := range vectors {
		if len(vector) == 0 || len(vector) > maxDimensions {
			return fmt.Errorf("a vector of %d dimensions", len(vector))
		}
		added += recordSize(vector)
	}
	if added > s.limit {
		return fmt.Errorf("%d bytes of vectors in a store of %d", added, s.limit)
	}
	for i, text := range keys {
		key, err := readStoreKey(text)
		if err != nil {
			return err
		}
		if !slices.Equal(s.vectors[key], vectors[i]) {
			s.put(key, slices.Clone(vectors[i]))
			s.unsaved += recordSize(vectors[i])
		}
	}
	if s.size > s.limit {
		s.dropOldest(max(s.limit/2, added))
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

func recordSize(vector []float32) int64 { return int64(recordHead + 4*len(vector) + recordTail) }

func readStoreKey(text string) (key storeKey, err error) {
	if len(text) != 2*len(key) {
		return key, fmt.Errorf("the key %q is not %d hexadecimal digits", naming.Cut(text, 80), 2*len(key))
	}
	_, err = hex.Decode(key[:], []byte(text))
	return key, err
}

func (s *File) put(key storeKey, vector []float32) {
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

// read adds the file's vectors, unless the file is unchanged since it was last read or
// written.
func (s *File) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.vectors == nil {
		s.vectors = make(map[storeKey][]float32)
	}
	f, err := os.Open(s.Path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s.info != nil && os.SameFile(s.info, info) && s.info.Size() == info.Size() && s.info.ModTime().Equal(info.ModTime()) {
		return nil
	}
	data := make([]byte, min(info.Size(), s.limit))
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { // it may have become shorter
		return err
	}
	s.info = info
	for data = data[:n]; ; {
		key, vector := parseRecord(data)
		if vector == nil {
			return nil
		}
		if _, known := s.vectors[key]; !known {
			s.put(key, vector)
		}
		data = data[recordSize(vector):]
	}
}

// parseRecord returns the record that data begins with. The vector is nil if data does not
// begin with a valid record.
func parseRecord(data []byte) (key storeKey, vector []float32) {
	if len(data) < recordHead || string(data[:len(recordMark)]) != recordMark {
		return key, nil
	}
	dimensions := binary.LittleEndian.Uint32(data[recordHead-4:])
	if dimensions == 0 || dimensions > maxDimensions || len(data) < recordHead+4*int(dimensions)+recordTail {
		return key, nil
	}
	numbers, tail := data[recordHead:][:4*dimensions], data[recordHead+4*int(dimensions):]
	if crc32.Checksum(data[:len(data)-len(tail)], castagnoli) != binary.LittleEndian.Uint32(tail) {
		return key, nil
	}
	vector = make([]float32, dimensions)
	_, _ = binary.Decode(numbers, binary.LittleEndian, vector) // cannot fail: the sizes match
	return storeKey(data[len(recordMark):]), vector
}

// write replaces the file with a file of all vectors.
func (s *File) write() (err error) {
	data := make([]byte, 0, s.size)
	for _, key := range s.keys {
		from, vector := len(data), s.vectors[key]
		data = append(append(data, recordMark...), key[:]...)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(vector)))
		data, _ = binary.Append(data, binary.LittleEndian, vector) // fails only for other types
		data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[from:], castagnoli))
	}
	path := s.Path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays a link
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	left, _ := filepath.Glob(path + ".*.tmp") // of killed processes
	for _, name := range left {
		if info, err := os.Stat(name); err == nil && time.Since(info.ModTime()) > staleTemporary {
			os.Remove(name)
		}
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	if _, err := f.Write(data); err != nil {
		return err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	s.unsaved = 0
	s.info, err = os.Stat(path)
	return err
}
