package search

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

// The file of a FileStore is a list of records, the oldest first. All numbers are
// little-endian:
//
//	"tsv1"  key (32 bytes)  dimensions (uint32)  that many float32  CRC-32C of all before
//
// The file is read up to the first damaged record. It is written whole under a temporary
// name and then renamed, so at any moment either the old file or the new one is there.

const (
	recordMark       = "tsv1"
	recordHead       = len(recordMark) + len(storeKey{}) + 4
	recordTail       = 4
	defaultStoreSize = 256 << 20

	// Every Save writes a file of up to freeRewrite bytes. A larger file is written when
	// 1/unsavedParts of it is new.
	freeRewrite  = 1 << 20
	unsavedParts = 8

	staleTemporary = time.Hour // a temporary file of this age is no longer being written
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FileStore is a VectorStore in one file. It is safe for concurrent use.
//
// It holds the file's vectors in memory from the first Load or Save until Flush. A build
// calls Flush when it ends. Every Save writes a file of up to 1 MiB. A larger file is
// written when an eighth of it is new. A crash leaves either the old file or the new one;
// at most that eighth must be embedded again.
//
// Processes may share the file. If two processes write it at the same time, the vectors
// that one of them added may have to be embedded again.
type FileStore struct {
	// MaxBytes is how large the file may grow. Anything after the first MaxBytes of a larger
	// file is not read. If the file would become larger, only the newest vectors that fit
	// into half of MaxBytes are kept. Zero means 256 MiB, which is 125,000 vectors of 512
	// dimensions. MaxBytes must not be changed while the store is used.
	MaxBytes int64

	path string

	mu      sync.Mutex
	file    os.FileInfo // when the file was last read or written; nil means never
	vectors map[storeKey][]float32
	keys    []storeKey // of vectors, the oldest first
	size    int64      // of a file with all vectors
	unsaved int64      // the part of size that the file does not have
}

type storeKey [32]byte

// NewFileStore returns the store in the file at path. The file and its folder need not
// exist. The first write makes them, readable by their owner only. A file that is damaged,
// cut off or of another format is read up to the first invalid record.
func NewFileStore(path string) *FileStore { return &FileStore{path: path} }

// Load implements VectorStore.
func (s *FileStore) Load(ctx context.Context, keys []string) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
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

// Save implements VectorStore.
func (s *FileStore) Save(ctx context.Context, keys []string, vectors [][]float32) error {
	if len(keys) != len(vectors) {
		return fmt.Errorf("%d keys for %d vectors", len(keys), len(vectors))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
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
	if added > s.limit() {
		return fmt.Errorf("%d bytes of vectors in a store of %d", added, s.limit())
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
	if s.size > s.limit() {
		s.dropOldest(max(s.limit()/2, added))
	}
	if s.unsaved == 0 || s.size > freeRewrite && s.unsaved < s.size/unsavedParts {
		return nil
	}
	return s.write()
}

// Flush writes the vectors that the file does not have yet and frees the memory. A build
// calls it when it ends. A program that calls Save itself must call Flush after the last
// Save.
func (s *FileStore) Flush() (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unsaved > 0 {
		err = s.write()
	}
	s.file, s.vectors, s.keys, s.size, s.unsaved = nil, nil, nil, 0, 0
	return err
}

func (s *FileStore) limit() int64 {
	if s.MaxBytes <= 0 {
		return defaultStoreSize
	}
	return s.MaxBytes
}

func recordSize(vector []float32) int64 { return int64(recordHead + 4*len(vector) + recordTail) }

func readStoreKey(text string) (key storeKey, err error) {
	if len(text) != 2*len(key) {
		return key, fmt.Errorf("the key %q is not %d hexadecimal digits", naming.Cut(text, 80), 2*len(key))
	}
	_, err = hex.Decode(key[:], []byte(text))
	return key, err
}

func (s *FileStore) put(key storeKey, vector []float32) {
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
func (s *FileStore) dropOldest(limit int64) {
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
func (s *FileStore) read(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.vectors == nil {
		s.vectors = make(map[storeKey][]float32)
	}
	f, err := os.Open(s.path)
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
	if s.file != nil && os.SameFile(s.file, info) && s.file.Size() == info.Size() && s.file.ModTime().Equal(info.ModTime()) {
		return nil
	}
	data := make([]byte, min(info.Size(), s.limit()))
	n, err := io.ReadFull(f, data)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF { // it may have become shorter
		return err
	}
	s.file = info
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

// write replaces the file by one with all vectors.
func (s *FileStore) write() (err error) {
	data := make([]byte, 0, s.size)
	for _, key := range s.keys {
		from, vector := len(data), s.vectors[key]
		data = append(append(data, recordMark...), key[:]...)
		data = binary.LittleEndian.AppendUint32(data, uint32(len(vector)))
		data, _ = binary.Append(data, binary.LittleEndian, vector) // fails only for other types
		data = binary.LittleEndian.AppendUint32(data, crc32.Checksum(data[from:], castagnoli))
	}
	path := s.path
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a link stays a link
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	left, _ := filepath.Glob(path + ".*.tmp") // left by killed processes
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
	s.file, err = os.Stat(path)
	return err
}
