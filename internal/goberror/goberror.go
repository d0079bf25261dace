// Package goberror encodes a value and an error with gob. Gob does not take every error, so only the
// text of the error is kept.
package goberror

import (
	"bytes"
	"encoding/gob"
	"errors"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
)

// Encode encodes a value and the text of an error, which may be nil.
func Encode(value any, failure error) ([]byte, error) {
	var b bytes.Buffer
	encoder := gob.NewEncoder(&b)
	if err := encoder.Encode(foreign.ErrorText(failure)); err != nil {
		return nil, err
	}
	err := encoder.Encode(value)
	return b.Bytes(), err
}

// Decode decodes what Encode encoded. It stores the value where value points, and returns an error
// with the text as failure, or nil if the text was empty.
func Decode(data []byte, value any) (failure, err error) {
	decoder := gob.NewDecoder(bytes.NewReader(data))
	var text string
	if err := decoder.Decode(&text); err != nil {
		return nil, err
	}
	if err := decoder.Decode(value); err != nil {
		return nil, err
	}
	if text != "" {
		failure = errors.New(text)
	}
	return failure, nil
}
