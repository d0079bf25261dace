package lock_test

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/eino-toolsearch/toolsearch/internal/testtools"
	"github.com/eino-toolsearch/toolsearch/lock"
	"github.com/eino-toolsearch/toolsearch/search"
)

// document makes a document as a catalog does. parameters is a JSON schema; "" means none.
func document(t testing.TB, namespace, name, description, parameters string) search.Document {
	t.Helper()
	info := &schema.ToolInfo{Name: name, Desc: description}
	if parameters != "" {
		s := &jsonschema.Schema{}
		require.NoError(t, s.UnmarshalJSON([]byte(parameters)))
		info.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(s)
	}
	return search.DocumentOf(info, func(*schema.ToolInfo) search.Annotation { return search.Annotation{Namespace: namespace} })
}

const cityParameters = `{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},"required":["city"]}`

// approved returns the catalog that tests begin with.
func approved(t testing.TB) []search.Document {
	return []search.Document{
		document(t, "sky", "get_weather", "Current weather of a city", cityParameters),
		document(t, "mail", "send_mail", "Sends an e-mail", `{"type":"object","properties":{"to":{"type":"string"}}}`),
		document(t, "", "ping", "", ""),
	}
}

func lockOf(t testing.TB, docs ...search.Document) *lock.File {
	t.Helper()
	f := &lock.File{}
	require.NoError(t, f.Approve(docs...))
	return f
}

func bytesOf(t testing.TB, f *lock.File) string {
	t.Helper()
	return string(testtools.Must(lock.Bytes(f))(t))
}

func TestVerify(t *testing.T) {
	weather, mail, ping := approved(t)[0], approved(t)[1], approved(t)[2]
	withSchema := func(name string, s *jsonschema.Schema) search.Document {
		return search.Document{Name: name, Info: &schema.ToolInfo{Name: name, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)}}
	}
	unwritable := withSchema("endless", &jsonschema.Schema{Default: math.Inf(1)})
	garbled := withSchema("garbled", &jsonschema.Schema{Title: "a\xff"})
	deep := &jsonschema.Schema{}
	for range 1000 {
		deep = &jsonschema.Schema{Items: deep}
	}
	bottomless := withSchema("bottomless", deep)
	instead := func(docs ...search.Document) []search.Document { return append(docs, mail, ping) } // of the weather
	also := func(docs ...search.Document) []search.Document { return append(docs, mail, ping, weather) }
	named := func(namespace, name, description string) search.Document {
		return document(t, namespace, name, description, cityParameters)
	}
	const text = "Current weather of a city"
	reordered := `{"required":["city"],"properties":{"city":{"description":"Name of the city","type":"string"}},"type":"object"}`
	for _, tt := range []struct {
		name string
		docs []search.Document
		want []string
	}{
		{"as approved", also(), nil},
		{"keys in another order", instead(document(t, "sky", "get_weather", text, reordered)), nil},
		{"no Info", []search.Document{mail, weather, {Name: "ping"}}, nil},
		{"a description", instead(named("sky", "get_weather", "Current weather")), []string{"get_weather of sky: changed: description"}},
		{"a parameter", instead(document(t, "sky", "get_weather", text, strings.Replace(cityParameters, "Name", "The name", 1))),
			[]string{"get_weather of sky: changed: parameters"}},
		{"both", instead(document(t, "sky", "get_weather", "Weather", "")), []string{"get_weather of sky: changed: description, parameters"}},
		{"a tool more", also(named("sky", "get_forecast", "Weather of tomorrow")), []string{"get_forecast of sky: new"}},
		{"a tool fewer", []search.Document{ping, weather}, []string{"send_mail of mail: missing"}},
		{"another name in another case", also(named("sky", "Get_Weather", "The weather")), []string{"Get_Weather of sky: new"}},
		{"a copy under another name", also(named("sky", "get_weather2", text)),
			[]string{"get_weather2 of sky: copied: the definition of get_weather of sky"}},
		{"a copy in another namespace", also(named("evil", "get_weather", text)),
			[]string{"get_weather of evil: copied: the definition of get_weather of sky"}},
		{"a copy with other stops and hidden characters", also(named("evil", "weather", "Current  WEATHER of a\u200b city.")),
			[]string{"weather of evil: copied: the definition of get_weather of sky"}},
		{"a copy in the place of an approved tool", []search.Document{weather, ping, named("mail", "send_mail", text)},
			[]string{"send_mail of mail: changed: description, parameters: the definition of get_weather of sky"}},
		{"renamed", instead(named("sky", "weather", text)),
			[]string{"get_weather of sky: missing", "weather of sky: copied: the definition of get_weather of sky"}},
		{"likes without a description", also(document(t, "", "pong", "", "")), []string{"pong: new"}},
		{"no name", also(search.Document{}), []string{": refused: it has no name"}},
		{"a name that is not UTF-8", also(search.Document{Name: "a\xff"}),
			[]string{`a\xff: refused: its name, namespace or description is not UTF-8`}},
		{"a long name", also(search.Document{Name: "z" + strings.Repeat("y", 1<<10)}),
			[]string{"z" + strings.Repeat("y", 127) + "…: refused: its name or namespace is longer than 1024 bytes"}},
		{"a long description", also(search.Document{Name: "z", Description: strings.Repeat("y", 1<<16+1)}),
			[]string{"z: refused: its description is longer than 65536 bytes"}},
		{"a schema that is not JSON", also(unwritable), []string{"endless: refused: its schema is not JSON"}},
		{"a schema without a bottom", also(bottomless), []string{"bottomless: refused: its schema is wrong, too large, or nested too deep"}},
		{"a schema that is not UTF-8", also(garbled), []string{"garbled: refused: its schema has text that is not UTF-8"}},
		{"nothing", nil, []string{"ping: missing", "send_mail of mail: missing", "get_weather of sky: missing"}},
		{"names that try the terminal", also(named("evil\u202e", "a\x1b[31m\nb", "")), []string{`a\u001b[31m\nb of evil\u202e: new`}},
	} {
		var got []string
		for _, f := range lockOf(t, approved(t)...).Verify(tt.docs) {
			got = append(got, f.String())
		}
		assert.Equal(t, tt.want, got, tt.name)
	}
}

func TestDiff(t *testing.T) {
	long := strings.Repeat("It has a lot to say. ", 30)
	ping := document(t, "", "ping", "Says pong to whoever asks", "")
	copied := ping
	copied.Namespace = "evil"
	f := lockOf(t, document(t, "sky", "get_weather", long+"City.", cityParameters), document(t, "", "old", "Old", ""), ping)
	findings := f.Verify([]search.Document{
		document(t, "sky", "get_weather", long+"\u202eTown.\x1b[2J",
			`{"type":"object","properties":{"city":{"type":"number"},"key\n":{"type":"string"}}}`),
		copied, document(t, "evil", "pang", "Bangs", `{"type":"object"}`), ping,
	})
	var got strings.Builder
	for _, finding := range findings {
		got.WriteString(finding.String() + "\n" + finding.Diff())
	}
	assert.Equal(t, `old: missing
description
  - Old
parameters
  - {"properties":{},"type":"object"}
pang of evil: new
description
  + Bangs
parameters
  + {"type":"object"}
ping of evil: copied: the definition of ping
name
  - ping
  + ping of evil
get_weather of sky: changed: description, parameters
description
  - … has a lot to say. It has a lot to say. City.
  + … has a lot to say. It has a lot to say. \u202eTown.\u001b[2J
parameters.properties.city.description
  - "Name of the city"
parameters.properties.city.type
  - "string"
  + "number"
parameters.properties.key\n
  + {"type":"string"}
parameters.required
  - ["city"]
`, got.String())
}

// A diff of a hostile definition stays short.
func TestDiffIsBounded(t *testing.T) {
	parameters := func(text string) string {
		var b strings.Builder
		for i := range 1000 {
			fmt.Fprintf(&b, `,"p%d":{"description":"%s"}`, i, strings.Repeat(text, 100))
		}
		return `{"properties":{` + b.String()[1:] + `}}`
	}
	f := lockOf(t, document(t, "", "a", "", parameters("x")))
	findings := f.Verify([]search.Document{document(t, "", "a", strings.Repeat("\u200b", 20_000), parameters("y"))})
	require.Len(t, findings, 1)
	assert.Less(t, len(findings[0].Diff()), 40_000)
	assert.Contains(t, findings[0].Diff(), "and 981 more changes\n")
}

func TestApproveTakesAllOrNothing(t *testing.T) {
	f := lockOf(t, approved(t)...)
	before := bytesOf(t, f)
	other := document(t, "", "new", "A new tool", "")
	assert.ErrorContains(t, f.Approve(other, search.Document{Name: "a\xff"}), `lock: a\xff: its name, namespace or description is not UTF-8`)
	assert.ErrorContains(t, f.Approve(other, document(t, "", "new", "Another", "")), "lock: new: two tools of that name")
	assert.Equal(t, before, bytesOf(t, f))
	assert.NoError(t, f.Approve(other, other), "the same tool twice")
	assert.True(t, f.Remove(lock.ID{Name: "new"}))
	assert.False(t, f.Remove(lock.ID{Name: "new"}), "removed again")
	assert.Equal(t, before, bytesOf(t, f))
}

// opened returns a Lock of a file with the documents, and the file's path.
func opened(t testing.TB, onBlocked func(context.Context, lock.Finding), docs ...search.Document) (*lock.Lock, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), lock.FileName)
	require.NoError(t, lockOf(t, docs...).WriteFile(path))
	return testtools.Must(lock.Open(path, onBlocked))(t), path
}

func TestFilter(t *testing.T) {
	var blocked []string
	l, path := opened(t, func(_ context.Context, f lock.Finding) { blocked = append(blocked, f.String()) }, approved(t)...)
	passes := func(doc search.Document) bool { return l.Filter(t.Context(), doc) }
	for range 3 {
		for _, doc := range approved(t) {
			assert.True(t, passes(doc), doc.Name)
		}
	}
	const to = `{"type":"object","properties":{"to":{"type":"string"}}}`
	changed := document(t, "mail", "send_mail", "Sends an e-mail, and a copy to us", to)
	again := document(t, "mail", "send_mail", "Sends an e-mail, and a copy to us", to)
	for _, doc := range []search.Document{changed, changed, again, {Name: "a\xff"}, {Name: "a\xff"}} {
		assert.False(t, passes(doc), doc.Name)
	}
	moved := approved(t)[0]
	assert.True(t, passes(moved))
	moved.Namespace = "evil"
	assert.False(t, passes(moved), "the same Info under another namespace")
	assert.Equal(t, []string{
		"send_mail of mail: changed: description",
		`a\xff: refused: its name, namespace or description is not UTF-8`,
		"get_weather of evil: copied: the definition of get_weather of sky",
	}, blocked)

	require.NoError(t, os.WriteFile(path, []byte("{"), 0o600))
	assert.ErrorContains(t, l.Reload(), "lock: "+path+": not JSON near byte 1: unexpected EOF")
	assert.True(t, passes(approved(t)[0]), "the last good file stays")
	require.NoError(t, lockOf(t, changed).WriteFile(path))
	assert.False(t, passes(changed), "before it is read again")
	require.NoError(t, l.Reload())
	assert.True(t, passes(changed), "approved")
	assert.False(t, passes(approved(t)[0]), "approved no more")
	_, err := lock.Open(filepath.Join(t.TempDir(), "none"), nil)
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestAnd(t *testing.T) {
	l, _ := opened(t, nil, approved(t)...)
	var asked []string
	filter := l.And(func(_ context.Context, doc search.Document) bool {
		asked = append(asked, doc.Name)
		return doc.Name != "ping"
	})
	assert.True(t, filter(t.Context(), approved(t)[0]))
	assert.False(t, filter(t.Context(), approved(t)[2]))
	assert.False(t, filter(t.Context(), search.Document{Name: "new"}))
	assert.Equal(t, []string{"get_weather", "ping"}, asked)
	assert.True(t, l.And(nil)(t.Context(), approved(t)[2]))
}

func TestOnBlockedMayPanic(t *testing.T) {
	calls := 0
	l, _ := opened(t, func(context.Context, lock.Finding) { calls++; panic("no pager") })
	for range 2 {
		assert.False(t, l.Filter(t.Context(), search.Document{Name: "new"}))
	}
	assert.Equal(t, 1, calls)
}

// An unchanged catalog costs no hash: an unchanged verdict allocates nothing.
func TestVerdictsAreKept(t *testing.T) {
	docs := approved(t)
	docs[0].Info.Desc += "!" // and one of them is blocked
	l, _ := opened(t, nil, approved(t)...)
	ask := func() {
		for i := range docs {
			l.Filter(context.Background(), docs[i])
		}
	}
	ask()
	assert.Zero(t, testing.AllocsPerRun(100, ask))
}

// A server that sends new definitions without end does not fill the memory: a verdict goes with its
// definition.
func TestVerdictsKeepNoDefinition(t *testing.T) {
	l, _ := opened(t, nil)
	const all = 5000
	for i := range all {
		l.Filter(t.Context(), document(t, "", fmt.Sprint("tool_", i), strings.Repeat("x", 1000), ""))
	}
	for range 1000 {
		runtime.GC()
		if lock.VerdictsOf(l) < all/10 {
			break
		}
	}
	assert.Less(t, lock.VerdictsOf(l), all/10)
}

func TestLockIsSafeForConcurrentUse(t *testing.T) {
	var reported atomic.Int32
	l, _ := opened(t, func(context.Context, lock.Finding) { reported.Add(1) }, approved(t)...)
	docs := append(approved(t), document(t, "", "new", "A new tool", ""))
	var passed, blocked atomic.Int32
	var workers sync.WaitGroup
	for range 8 {
		workers.Go(func() {
			for range 50 {
				for _, doc := range docs {
					if l.Filter(context.Background(), doc) {
						passed.Add(1)
					} else {
						blocked.Add(1)
					}
				}
				_ = l.Reload()
			}
		})
	}
	workers.Wait()
	assert.Equal(t, int32(8*50*3), passed.Load())
	assert.Equal(t, int32(8*50), blocked.Load())
	assert.Equal(t, int32(1), reported.Load())
}

func TestFindingLogsItself(t *testing.T) {
	var b strings.Builder
	logger := slog.New(slog.NewTextHandler(&b, nil))
	copied := document(t, "evil\n", "weather", "Current weather of a city", cityParameters)
	findings := lockOf(t, approved(t)...).Verify(append(approved(t), copied))
	require.Len(t, findings, 1)
	logger.Warn("blocked", "tool", findings[0])
	want := `level=WARN msg=blocked tool.kind=copied tool.namespace=evil\n tool.tool=weather tool.original="get_weather of sky"` + "\n"
	assert.True(t, strings.HasSuffix(b.String(), want), b.String())
}

// Random catalogs.

func randomText(random *rand.Rand, most int) string {
	letters := []rune("ab Z09_-.\"\\/<>&\n\t\x01\x7f\u0085\u200b\u202e\u2028é查\ufeff\ufffd\U000e0041\U0001f600")
	text := make([]rune, random.IntN(most))
	for i := range text {
		text[i] = testtools.Pick(random, letters)
	}
	return string(text)
}

func randomDocument(random *rand.Rand, number int) search.Document {
	s := &jsonschema.Schema{
		Type: "object", Description: randomText(random, 20), Properties: jsonschema.NewProperties(),
		Enum:    []any{randomText(random, 9), random.Float64(), nil, true, 3},
		Default: map[string]any{randomText(random, 5): []any{}},
	}
	for range random.IntN(3) {
		s.Properties.Set(randomText(random, 9), &jsonschema.Schema{Title: randomText(random, 9), Properties: jsonschema.NewProperties()})
	}
	info := &schema.ToolInfo{Name: fmt.Sprint(randomText(random, 9), "_", number), Desc: randomText(random, 60),
		ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)}
	annotation := search.Annotation{Namespace: randomText(random, 5)}
	return search.DocumentOf(info, func(*schema.ToolInfo) search.Annotation { return annotation })
}

func TestPropertiesOfFiles(t *testing.T) {
	random := rand.New(rand.NewPCG(11, 14))
	for range testtools.Rounds(500, 50) {
		docs := make([]search.Document, 1+random.IntN(6))
		for i := range docs {
			docs[i] = randomDocument(random, i)
		}
		f := lockOf(t, docs...)
		require.Empty(t, f.Verify(docs), "what was approved")
		text := bytesOf(t, f)
		random.Shuffle(len(docs), func(i, j int) { docs[i], docs[j] = docs[j], docs[i] })
		require.Equal(t, text, bytesOf(t, lockOf(t, docs...)), "in another order")
		require.NotRegexp(t, `[^\P{C}\n]`, text, "hidden characters in the file")
		read := testtools.Must(lock.Read(strings.NewReader(text)))(t)
		require.Equal(t, text, bytesOf(t, read), "read and written again")

		// One letter more in one tool.
		changed := docs[0]
		own := *changed.Info
		changed.Info = &own
		want := []string{lock.Changed}
		switch random.IntN(3) {
		case 0:
			own.Name, want = own.Name+"x", []string{lock.New, lock.Copied}
		case 1:
			own.Desc += testtools.Pick(random, []string{"x", "\u200b"})
		case 2:
			copied := *testtools.Must(own.ToJSONSchema())(t)
			copied.Description += testtools.Pick(random, []string{"x", "\u200b"})
			own.ParamsOneOf = schema.NewParamsOneOfByJSONSchema(&copied)
		}
		findings := f.Verify([]search.Document{changed})
		at := slices.IndexFunc(findings, func(f lock.Finding) bool { return f.ID == lock.ID{Namespace: changed.Namespace, Name: own.Name} })
		require.GreaterOrEqual(t, at, 0, "a changed letter of %q", own.Name)
		require.Contains(t, want, findings[at].Kind)
		require.NotRegexp(t, `[^\P{C}\n]`, findings[at].String()+findings[at].Diff(), "hidden characters for the terminal")
	}
}
