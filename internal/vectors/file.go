package vectors

import (
	"cmp"
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

	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// A File of vectors is a mark, the CRC-32C of the rest, and a record for each vector, the oldest first: its key, its
// dimensions (uint32), and that many float32. All numbers are little-endian. The file is written whole under a
// temporary name and then renamed.

const (
	fileMark   = "tsv2"
	fileHead   = len(fileMark) + 4
	keyBytes   = 64
	recordHead = keyBytes + 4

	// Every save writes a file of up to freeRewrite bytes. A larger file is written when 1/unsavedParts of it is new.
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
	records []byte
	places  map[string]int // of the records, by their keys
	unsaved int            // bytes of records that are not in the file
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
		if at, known := s.places[key]; known {
			record := s.records[at : at+recordBytes(s.records[at:])]
			vectors[i] = make([]float32, (len(record)-recordHead)/4)
			_, _ = binary.Decode(record[recordHead:], binary.LittleEndian, vectors[i]) // cannot fail: the sizes match
		}
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
	var added []byte
	for i, vector := range vectors {
		if len(keys[i]) != keyBytes {
			return fmt.Errorf("a key of %d bytes; it has %d", len(keys[i]), keyBytes)
		}
		if len(vector) == 0 || len(vector) > maxDimensions {
			return fmt.Errorf("a vector of %d dimensions", len(vector))
		}
		added = append(added, keys[i]...)
		added = binary.LittleEndian.AppendUint32(added, uint32(len(vector)))
		added, _ = binary.Append(added, binary.LittleEndian, vector) // fails only for other types
	}
	limit := int(s.MaxBytes) - fileHead
	if len(added) > limit {
		return fmt.Errorf("%d bytes of vectors in a store of %d", len(added), limit)
	}
	s.unsaved += s.add(added)
	if newest := s.records; len(newest) > limit {
		for len(newest) > max(limit/2, len(added)) {
			newest = newest[recordBytes(newest):]
		}
		s.records, s.places = nil, nil
		s.unsaved = s.add(newest)
	}
	if s.unsaved == 0 || len(s.records) > freeRewrite && s.unsaved < len(s.records)/unsavedParts {
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
	s.info, s.records, s.places, s.unsaved = nil, nil, nil, 0
	return err
}

func recordBytes(records []byte) int {
	dimensions := min(binary.LittleEndian.Uint32(records[keyBytes:]), maxDimensions)
	return min(recordHead+4*int(dimensions), len(records))
}

// add adds the records whose keys are new, and returns their length.
func (s *File) add(records []byte) int {
	if s.places == nil {
		s.places = make(map[string]int)
	}
	before := len(s.records)
	for len(records) > recordHead {
		n := recordBytes(records)
		key := string(records[:keyBytes])
		if _, known := s.places[key]; !known {
			s.places[key] = len(s.records)
			s.records = append(s.records, records[:n]...)
		}
		records = records[n:]
	}
	return len(s.records) - before
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
	s.add(data[fileHead:])
	s.info = info
	return nil
}

func (s *File) write() (err error) {
	head := binary.LittleEndian.AppendUint32([]byte(fileMark), crc32.Checksum(s.records, castagnoli))
	err = os.MkdirAll(filepath.Dir(toolfile.Target(s.Path)), 0o700)
	if err = cmp.Or(err, toolfile.Replace(s.Path, slices.Concat(head, s.records), 0o600)); err != nil {
		return err
	}
	s.unsaved = 0
	s.info, err = os.Stat(s.Path)
	return err
}
