// Package uitest drives the page of toolsearch ui in a real browser. It is a module of its own, so
// that nobody else compiles the browser's driver.
//
// The tests skip where there is no Chromium. With TOOLSEARCH_BROWSER=required they fail instead.
// With TOOLSEARCH_SCREENSHOTS=DIR they write a picture of every view, in light and dark, into DIR.
package uitest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// required is the value of TOOLSEARCH_BROWSER with which a missing browser is a failure.
const required = "required"

// command is the path of the command, built once.
var command string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "uitest")
	if err == nil {
		command = filepath.Join(dir, "toolsearch")
		build := exec.Command("go", "build", "-o", command, "./cmd/toolsearch")
		build.Dir = filepath.Join("..", "..")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	code := 1
	if err != nil {
		fmt.Fprintln(os.Stderr, "building the command:", err)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// chromium returns the path of a browser.
func chromium(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	if os.Getenv("TOOLSEARCH_BROWSER") == required {
		require.FailNow(t, "no Chromium, and TOOLSEARCH_BROWSER is "+required)
	}
	t.Skip("no Chromium: the page is not tested in a browser")
	return ""
}

// file writes a file of the test.
func file(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// tool is a line of a catalog.
func tool(name, description, server string) string {
	line, err := json.Marshal(map[string]any{"name": name, "description": description, "server": server})
	if err != nil {
		panic(err) // cannot happen: strings are JSON
	}
	return string(line) + "\n"
}

// serve starts the command and returns the address that it prints. The test ends the command as
// somebody at a terminal does.
func serve(t *testing.T, args ...string) string {
	t.Helper()
	server := exec.Command(command, append([]string{"ui"}, args...)...)
	stdout, err := server.StdoutPipe()
	require.NoError(t, err)
	var stderr bytes.Buffer
	server.Stderr = &stderr
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		assert.NoError(t, server.Process.Signal(os.Interrupt))
		assert.NoError(t, server.Wait(), "the end of the command; it said %s", stderr.String())
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "%s", stderr.String())
	return strings.TrimSpace(line)
}

// A window is a tab of the browser with the page.
type window struct {
	t       *testing.T
	ctx     context.Context
	address string

	mu       sync.Mutex
	requests []string // addresses
	errors   []string // of the console, and violations of the policy
}

// open serves a page and opens it.
func open(t *testing.T, args ...string) *window {
	t.Helper()
	chromium(t)
	w := browse(t, serve(t, args...))
	w.until(`document.querySelector("[role=tabpanel]") !== null`)
	return w
}

// browse opens a page in a new browser. At the end of the test it checks that no request left the origin and that no
// error was logged.
func browse(t *testing.T, address string) *window {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(chromium(t)),
		chromedp.NoSandbox, chromedp.WSURLReadTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	// The driver does not know all of the browser's events, and calls the others errors.
	ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	t.Cleanup(cancel)
	w := &window{t: t, ctx: ctx, address: address}
	chromedp.ListenTarget(ctx, w.watch)
	w.run(network.Enable(), log.Enable(), runtime.Enable())
	w.size(1440, 900)
	t.Cleanup(w.check)
	w.run(chromedp.Navigate(address))
	return w
}

func (w *window) watch(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		w.requests = append(w.requests, e.Request.URL)
	case *runtime.EventExceptionThrown:
		w.errors = append(w.errors, e.ExceptionDetails.Error())
	case *runtime.EventConsoleAPICalled:
		w.errors = append(w.errors, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		w.errors = append(w.errors, e.Entry.Text)
	}
}

func (w *window) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.NotEmpty(w.t, w.requests)
	for _, request := range w.requests {
		if !strings.HasPrefix(request, "data:") {
			assert.True(w.t, strings.HasPrefix(request, w.address), "a request to %s left the page's address", request)
		}
	}
	assert.Empty(w.t, w.errors, "the console")
}

func (w *window) run(actions ...chromedp.Action) {
	w.t.Helper()
	require.NoError(w.t, chromedp.Run(w.ctx, actions...))
}

// until waits for an expression to be true. An expression that throws, for example because an element
// is not there yet, is not true yet.
func (w *window) until(expression string) {
	w.t.Helper()
	expected := fmt.Sprintf("(() => { try { return %s; } catch { return false; } })()", expression)
	err := chromedp.Run(w.ctx, chromedp.Poll(expected, nil, chromedp.WithPollingTimeout(time.Minute)))
	require.NoError(w.t, err, "waiting for %s; the page says %.2000s", expression, w.text("document.body.innerText"))
}

// texts returns the values of an expression that is a list.
func (w *window) texts(expression string) (list []string) {
	w.t.Helper()
	w.run(chromedp.Evaluate("[..."+expression+"].map(String)", &list))
	return list
}

func (w *window) text(expression string) (text string) {
	w.t.Helper()
	w.run(chromedp.Evaluate("String("+expression+")", &text))
	return text
}

// press presses keys, one after the other: the letters of a text, or a key such as kb.Enter.
func (w *window) press(keys ...string) {
	w.t.Helper()
	for _, key := range keys {
		w.run(chromedp.KeyEvent(key))
	}
}

// shortcut presses the key of a character that is not to be typed. Unlike press, it types nothing
// where the page prevents it.
func (w *window) shortcut(key string) {
	w.t.Helper()
	w.run(input.DispatchKeyEvent(input.KeyDown).WithKey(key).WithText(key), input.DispatchKeyEvent(input.KeyUp).WithKey(key))
}

// enter presses Enter in one step. With press, the key's letter comes after the key, and may reach
// and close what the key has just opened.
func (w *window) enter() {
	w.t.Helper()
	w.run(input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithText("\r"), input.DispatchKeyEvent(input.KeyUp).WithKey("Enter"))
}

// view shows another view of the page.
func (w *window) view(name string) {
	w.t.Helper()
	w.run(chromedp.Evaluate(fmt.Sprintf("location.hash = %q", name), nil))
	w.until(fmt.Sprintf(`document.querySelector("#view-%s")?.hidden === false`, name))
}

// size sets the size of the window. A narrow window is a phone's.
func (w *window) size(width, height int64) {
	w.t.Helper()
	w.run(emulation.SetDeviceMetricsOverride(width, height, 1, width < 500))
}

func (w *window) scheme(name string) {
	w.t.Helper()
	w.run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}))
}

// picture writes a picture of the window if pictures are wanted.
func (w *window) picture(name string) {
	w.t.Helper()
	dir := os.Getenv("TOOLSEARCH_SCREENSHOTS")
	if dir == "" {
		return
	}
	var data []byte
	w.run(chromedp.ActionFunc(func(ctx context.Context) (err error) {
		data, err = page.CaptureScreenshot().Do(ctx)
		return err
	}))
	require.NoError(w.t, os.WriteFile(filepath.Join(dir, name+".png"), data, 0o600))
}
