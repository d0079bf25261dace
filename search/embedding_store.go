package search

import (
	"context"

	"github.com/eino-toolsearch/toolsearch/internal/vectors"
)

// Stores: where vectors are kept from one process to the next.

// A VectorStore keeps vectors under keys. A key is made of the text and of
// EmbeddingOptions.Model, so the vector under a key never changes. One store may serve any
// number of catalogs and models.
//
// One build calls its store from one goroutine at a time. A store that several catalogs
// share must be safe for concurrent use. One call has at most 1000 keys.
//
// A store may put off writing until the build ends. If it also has a method Flush() error,
// the build calls Flush once after the last Save, even if the build fails.
type VectorStore interface {
	// Load returns the vector under each key, in the order of the keys. A vector is nil if
	// the store does not have it.
	Load(ctx context.Context, keys []string) ([][]float32, error)

	// Save keeps a vector under each key. It must not change or keep the slices.
	Save(ctx context.Context, keys []string, vectors [][]float32) error
}

const defaultStoreSize = 256 << 20

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

	file vectors.File
}

// NewFileStore returns the store in the file at path. The file and its folder need not
// exist. The first write makes them, readable by their owner only. A file that is damaged,
// cut off or of another format is read up to the first invalid record.
func NewFileStore(path string) *FileStore { return &FileStore{file: vectors.File{Path: path}} }

// Load implements VectorStore.
func (s *FileStore) Load(ctx context.Context, keys []string) ([][]float32, error) {
	return s.file.Load(ctx, s.limit(), keys)
}

// Save implements VectorStore.
func (s *FileStore) Save(ctx context.Context, keys []string, vectors [][]float32) error {
	return s.file.Save(ctx, s.limit(), keys, vectors)
}

// Flush writes the vectors that the file does not have yet and frees the memory. A build
// calls it when it ends. A program that calls Save itself must call Flush after the last
// Save.
func (s *FileStore) Flush() error { return s.file.Flush() }

func (s *FileStore) limit() int64 {
	if s.MaxBytes <= 0 {
		return defaultStoreSize
	}
	return s.MaxBytes
}
