package lock_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/search"
)

func hashOf(text string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(text))) }

// canonicalParameters are cityParameters as they are hashed.
const canonicalParameters = `{"properties":{"city":{"description":"Name of the city","type":"string"}},"required":["city"],"type":"object"}`

// The format, byte by byte.
func TestFormat(t *testing.T) {
	f := lockOf(t, document(t, "sky", "get_weather", "The \"weather\"\u202e of a city\n", cityParameters), search.Document{Name: "ping"})
	want := `{
  "lock_version": 1,
  "namespaces": {
    "": {
      "ping": {
        "description": "",
        "parameters": {
          "properties": {},
          "type": "object"
        },
        "sha256": "{ping}"
      }
    },
    "sky": {
      "get_weather": {
        "description": "The \"weather\"\u202e of a city\n",
        "parameters": {
          "properties": {
            "city": {
              "description": "Name of the city",
              "type": "string"
            }
          },
          "required": [
            "city"
          ],
          "type": "object"
        },
        "sha256": "{weather}"
      }
    }
  }
}
`
	want = strings.NewReplacer(
		"{ping}", hashOf(`{"description":"","name":"ping","parameters":{"properties":{},"type":"object"}}`),
		"{weather}", hashOf(`{"description":"The \"weather\"`+"\u202e"+` of a city\n","name":"get_weather","parameters":`+
			canonicalParameters+`}`),
	).Replace(want)
	assert.Equal(t, want, bytesOf(t, f))
	assert.Equal(t, "{\n  \"lock_version\": 1,\n  \"namespaces\": {}\n}\n", bytesOf(t, &lock.File{}))
}

// endless is a reader without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestReadRefuses(t *testing.T) {
	text := bytesOf(t, lockOf(t, approved(t)...))
	edit := func(old, new string) string {
		require.Contains(t, text, old)
		return strings.Replace(text, old, new, 1)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "not JSON near byte 0: unexpected EOF"},
		{"half a file", text[:len(text)/2], "not JSON near byte"},
		{"two files", text + text, "more after the JSON value"},
		{"another JSON", `{"tools":[]}`, `not a lock file: want an object with "lock_version"`},
		{"a list", `[]`, "not a lock file"},
		{"a later version", edit(`"lock_version": 1`, `"lock_version": 2`), "lock_version is not 1"},
		{"one more key", edit(`"lock_version": 1,`, `"lock_version": 1, "signed": true,`), `want "lock_version" and "namespaces" alone`},
		{"one more key in a tool", edit(`"description": "Sends an`, `"approved": true, "description": "Sends an`),
			`send_mail of mail: want "description", "parameters" and "sha256" alone`},
		{"a key twice", edit(`"description": "Sends an`, `"description": "Sends it", "description": "Sends an`),
			"the key description twice in an object"},
		{"a tool twice", edit(`"send_mail": {`, `"send_mail": {}, "send_mail": {`), "the key send_mail twice in an object"},
		{"a text of another", edit("Sends an e-mail", "Sends a letter"), "send_mail of mail: its sha256 is not that of the definition beside it"},
		{"a schema of another", edit("Name of the city", "Name of the town"), "get_weather of sky: its sha256 is not"},
		{"a name of another", edit("send_mail", "sent_mail"), "sent_mail of mail: its sha256 is not"},
		{"no name", edit(`"ping"`, `""`), "it has no name"},
		{"nested", strings.Repeat(`[`, 10_000), "nested more than 300 deep"},
	} {
		_, err := lock.Read(strings.NewReader(tt.text))
		assert.ErrorContains(t, err, tt.want, tt.name)
	}
	_, err := lock.Read(endless{})
	assert.ErrorContains(t, err, "more than 64 MiB")
	_, err = lock.Read(io.MultiReader(strings.NewReader(text), strings.NewReader("\n\n")))
	assert.NoError(t, err, "blank lines at the end")
	// Another layout of the JSON, or Windows line ends, change nothing.
	read := testtools.Must(lock.Read(strings.NewReader(strings.ReplaceAll(strings.ReplaceAll(text, "  ", "\t"), "\n", "\r\n"))))(t)
	assert.Equal(t, text, bytesOf(t, read))
}

func TestWriteFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, lock.FileName)
	f := lockOf(t, approved(t)...)
	require.NoError(t, f.WriteFile(path))
	if runtime.GOOS != "windows" {
		require.NoError(t, os.Chmod(path, 0o640))
		link := filepath.Join(dir, "link")
		require.NoError(t, os.Symlink(lock.FileName, link))
		f.Remove(lock.ID{Name: "ping"})
		require.NoError(t, f.WriteFile(link))
		info := testtools.Must(os.Lstat(link))(t)
		assert.NotZero(t, info.Mode()&os.ModeSymlink, "the link stays")
		info = testtools.Must(os.Stat(path))(t)
		assert.Equal(t, os.FileMode(0o640), info.Mode().Perm())
	}
	assert.Equal(t, bytesOf(t, f), bytesOf(t, testtools.Must(lock.ReadFile(path))(t)))
	assert.Empty(t, testtools.Must(filepath.Glob(path+".*"))(t))
	assert.ErrorContains(t, f.WriteFile(filepath.Join(dir, "none", lock.FileName)), "lock: ")
}
