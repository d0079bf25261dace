package search

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/eino-toolsearch/toolsearch/internal/naming"
)

// The file of a FileStore is records, one after another, all numbers little-endian:
//
//	"tsv1"  key (32 bytes)  dimensions (uint32)  that many float32  CRC-32C of all before
//
// A record is written once and never changed, the last of a key counts. Nothing else is in
// the file, so there is no header to lose: a reader that meets anything but a whole record
// goes on byte by byte to the next one. What a crash tore costs the vectors it tore, which
// are embedded again.

const (
	recordMark       = "tsv1"
	recordHead       = len(recordMark) + sha256Bytes + 4
	recordTail       = 4
	sha256Bytes      = 32
	maxRecord        = recordHead + 4*maxDimensions + recordTail
	defaultStoreSize = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// A FileStore is a VectorStore in one file. It is safe for concurrent use. Processes may
// share the file: appends do not mix, and at worst a vector is kept twice, or, where one
// process shrinks the file while another writes, has to be embedded again.
type FileStore struct {
	// MaxBytes is how large the file may grow. When it would grow beyond, the newest
	// vectors are kept that take half of it. Zero: 1 GiB, which is 500,000 vectors of 512
	// dimensions. It must not be changed while the store is used.
	MaxBytes int64

	path string

	mu     sync.Mutex
	places map[[sha256Bytes]byte]place
	file   os.FileInfo // as of when places was read, nil before
	size   int64       // up to where places knows the file
	junk   bool        // there is something before or between the records
}

// place is where a record is.
type place struct {
	offset int64
	length int32
}

// NewFileStore returns the store in the file at path. The file and its folder need not
// exist; they are made when there is something to keep, readable by their owner alone. A
// file that is damaged, cut off or something else altogether is a store with less in it.
func NewFileStore(path string) *FileStore { return &FileStore{path: path} }

// Load implements VectorStore. A vector that cannot be read any more is none.
func (s *FileStore) Load(ctx context.Context, keys []string) ([][]float32, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	vectors := make([][]float32, len(keys))
	f, err := os.Open(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return vectors, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := s.read(ctx, f); err != nil {
		return nil, err
	}
	for i, text := range keys {
		key, err := storeKey(text)
		if err != nil {
			return nil, err
		}
		at, known := s.places[key]
		if !known {
			continue
		}
		record := make([]byte, at.length)
		if _, err := f.ReadAt(record, at.offset); err != nil {
			continue
		}
		if found, vector := parseRecord(record); vector != nil && found == key {
			vectors[i] = vector
		}
	}
	return vectors, ctx.Err()
}

// Save implements VectorStore. It writes in one go what the file does not have yet.
func (s *FileStore) Save(ctx context.Context, keys []string, vectors [][]float32) error {
	if len(keys) != len(vectors) {
		return fmt.Errorf("%d keys for %d vectors", len(keys), len(vectors))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(s.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := s.read(ctx, f); err != nil {
		return err
	}
	var records []byte
	for i, text := range keys {
		key, err := storeKey(text)
		if err != nil {
			return err
		}
		if len(vectors[i]) == 0 || len(vectors[i]) > maxDimensions {
			return fmt.Errorf("a vector of %d dimensions", len(vectors[i]))
		}
		record := appendRecord(nil, key, vectors[i])
		if at, known := s.places[key]; !known || !holdsRecord(f, at, record) {
			records = append(records, record...)
		}
	}
	limit := s.MaxBytes
	if limit <= 0 {
		limit = defaultStoreSize
	}
	switch {
	case int64(len(records)) > limit:
		return fmt.Errorf("%d bytes of vectors in a store of %d", len(records), limit)
	case s.file.Size()+int64(len(records)) > limit:
		return s.rewrite(ctx, f, records, min(limit/2, limit-int64(len(records))))
	case s.junk: // a damaged file heals
		return s.rewrite(ctx, f, records, limit-int64(len(records)))
	}
	if len(records) == 0 {
		return nil
	}
	if _, err := f.Write(records); err != nil {
		return err
	}
	return s.read(ctx, f)
}

func storeKey(text string) (key [sha256Bytes]byte, err error) {
	if len(text) != 2*sha256Bytes {
		return key, fmt.Errorf("the key %q is not %d hexadecimal digits", naming.Cut(text, 80), 2*sha256Bytes)
	}
	_, err = hex.Decode(key[:], []byte(text))
	return key, err
}

func appendRecord(record []byte, key [sha256Bytes]byte, vector []float32) []byte {
	record = append(record, recordMark...)
	record = append(record, key[:]...)
	record = binary.LittleEndian.AppendUint32(record, uint32(len(vector)))
	for _, v := range vector {
		record = binary.LittleEndian.AppendUint32(record, math.Float32bits(v))
	}
	return binary.LittleEndian.AppendUint32(record, crc32.Checksum(record, castagnoli))
}

// recordLength reads from the head of a record how long it is; 0 if it is none.
func recordLength(head []byte) int {
	if len(head) < recordHead || string(head[:len(recordMark)]) != recordMark {
		return 0
	}
	dimensions := binary.LittleEndian.Uint32(head[recordHead-4:])
	if dimensions == 0 || dimensions > maxDimensions {
		return 0
	}
	return recordHead + 4*int(dimensions) + recordTail
}

// parseRecord returns a record's key and vector, nil if it is not whole.
func parseRecord(record []byte) (key [sha256Bytes]byte, vector []float32) {
	if length := recordLength(record); length == 0 || length != len(record) {
		return key, nil
	}
	body, sum := record[:len(record)-recordTail], record[len(record)-recordTail:]
	if crc32.Checksum(body, castagnoli) != binary.LittleEndian.Uint32(sum) {
		return key, nil
	}
	copy(key[:], body[len(recordMark):])
	numbers := body[recordHead:]
	vector = make([]float32, len(numbers)/4)
	for i := range vector {
		vector[i] = math.Float32frombits(binary.LittleEndian.Uint32(numbers[4*i:]))
	}
	return key, vector
}

func holdsRecord(f *os.File, at place, record []byte) bool {
	there := make([]byte, len(record))
	_, err := f.ReadAt(there, at.offset)
	return err == nil && bytes.Equal(there, record)
}

// read learns where the records of the file are: of all the file, or, if it is the one
// read last, of what was appended since.
func (s *FileStore) read(ctx context.Context, f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if s.file == nil || !os.SameFile(s.file, info) || info.Size() < s.size {
		s.places, s.size, s.junk = make(map[[sha256Bytes]byte]place), 0, false
	}
	s.file = info
	offset := s.size
	rest := info.Size() - offset
	skipped := false
	r := bufio.NewReaderSize(io.NewSectionReader(f, offset, rest), int(max(int64(recordHead), min(rest+1, int64(maxRecord)))))
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		head, err := r.Peek(recordHead)
		if len(head) == 0 {
			if err == io.EOF {
				return nil
			}
			return err
		}
		record, _ := r.Peek(recordLength(head)) // too short if the file ends before
		if key, vector := parseRecord(record); vector != nil {
			// What is torn at the end may be a record another process is about to finish.
			s.junk = s.junk || skipped
			s.places[key] = place{offset, int32(len(record))}
			offset += int64(len(record))
			s.size = offset
			r.Discard(len(record))
			continue
		}
		skipped = true
		offset++
		r.Discard(1)
	}
}

// rewrite writes a new file of the newest records, at most keep bytes of them, and the
// given ones, and puts it in the place of the old one: there is a whole file at any time.
func (s *FileStore) rewrite(ctx context.Context, f *os.File, records []byte, keep int64) (err error) {
	temporary, err := os.CreateTemp(filepath.Dir(s.path), filepath.Base(s.path)+".*.tmp")
	if err != nil {
		return err
	}
	defer func() {
		temporary.Close()
		if err != nil {
			os.Remove(temporary.Name())
		}
	}()
	for _, at := range s.newest(keep) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.Copy(temporary, io.NewSectionReader(f, at.offset, int64(at.length))); err != nil {
			return err
		}
	}
	if _, err := temporary.Write(records); err != nil {
		return err
	}
	if err := errors.Join(temporary.Sync(), temporary.Close()); err != nil {
		return err
	}
	f.Close() // some systems replace no open file
	if err := os.Rename(temporary.Name(), s.path); err != nil {
		return err
	}
	s.file = nil // the next call reads the new one
	return nil
}

// newest returns the places of the last records that take at most that many bytes, in
// their order.
func (s *FileStore) newest(limit int64) []place {
	places := slices.SortedFunc(maps.Values(s.places), func(a, b place) int { return cmp.Compare(b.offset, a.offset) })
	for i, at := range places {
		if limit -= int64(at.length); limit < 0 {
			places = places[:i]
			break
		}
	}
	slices.Reverse(places)
	return places
}
