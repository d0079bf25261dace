// Package cli is what all commands share: a call of the program with its streams, flags and mistakes (cli.go), tables
// for people (table.go), progress (progress.go), and requests to endpoints in the form of OpenAI's (endpoint.go).
package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"text/template"

	"github.com/eino-toolsearch/toolsearch/internal/foreign"
	"github.com/eino-toolsearch/toolsearch/internal/naming"
	"github.com/eino-toolsearch/toolsearch/internal/toolfile"
)

// Exit codes.
const (
	Found   = 0
	Nothing = 1 // nothing was found; an evaluation fell short; there is something to fix
	Failed  = 2
)

// FoundIf is Found or Nothing.
func FoundIf(ok bool) int {
	if ok {
		return Found
	}
	return Nothing
}

// A failure is an error that ends a command.
type failure struct{ error }

// Check ends the command over an error. Only the goroutine of the command may call it.
func Check(err error) {
	if err != nil {
		panic(failure{err})
	}
}

// Must returns a value, or ends the command over an error.
func Must[T any](value T, err error) T {
	Check(err)
	return value
}

// Run runs a command to its exit code, or to the error that ends it.
func Run(command func() int) (code int, err error) {
	defer func() {
		switch recovered := recover().(type) {
		case nil:
		case failure:
			code, err = Failed, recovered.error
		default:
			panic(recovered)
		}
	}()
	return command(), nil
}

// A Call is one call of the program.
type Call struct {
	Name        string // of the command
	Stdin       io.Reader
	Out, Stderr io.Writer // Out keeps the first error until it is flushed
	Color       bool
	Width       int  // of the terminal; 0 means none
	Live        bool // whether Stderr is a terminal, for progress

	step atomic.Pointer[string] // that runs, for progress
}

// Main runs a program until it ends or is interrupted.
func Main(run func(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int) {
	// A signal must also end the servers that were started. A second signal ends the program
	// at once.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// Program makes the Call of a program, and prints the error that ends it.
func Program(name string, stdin io.Reader, stdout, stderr io.Writer, dispatch func(call *Call) (int, error)) int {
	out := bufio.NewWriter(stdout)
	code, err := dispatch(&Call{
		Stdin: stdin, Out: out, Stderr: stderr,
		Color: Colored(stdout, os.Getenv), Width: WidthOf(stdout, os.Getenv), Live: IsTerminal(stderr),
	})
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		return code
	}
	text := err.Error()
	if wrong := (*UsageError)(nil); errors.As(err, &wrong) {
		text += "\nSee " + strings.TrimSuffix("toolsearch "+wrong.Command, " ") + " -h."
	} else {
		for _, prefix := range []string{"eval: ", "lock: ", "toolsearch: "} { // the program's name stands in front instead
			text = strings.TrimPrefix(text, prefix)
		}
	}
	fmt.Fprintln(stderr, name+":", text)
	return Failed
}

// A UsageError is a mistake on the command line.
type UsageError struct {
	Command string // that was used wrongly; "" means the program
	Text    string
}

// Error implements error.
func (e *UsageError) Error() string { return strings.TrimPrefix(e.Command+": "+e.Text, ": ") }

// WrongUsage ends the command over a mistake on its command line.
func (c *Call) WrongUsage(format string, args ...any) {
	Check(&UsageError{c.Name, fmt.Sprintf(format, args...)})
}

// Flags returns an empty set of flags. The help texts describe the flags.
func (c *Call) Flags() *flag.FlagSet {
	flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.Usage = func() {}
	return flags
}

// Parse parses flags anywhere before a "--". It returns the other arguments before the "--", and
// the command of a server after it.
func (c *Call) Parse(flags *flag.FlagSet, args []string) (operands, server []string) {
	if i := slices.Index(args, "--"); i >= 0 {
		if args, server = args[:i], args[i+1:]; len(server) == 0 {
			c.WrongUsage("want the command of a server behind --")
		}
	}
	for len(args) > 0 {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			Check(err)
		case err != nil:
			c.WrongUsage("%v", nearFlag(flags, err))
		}
		if args = flags.Args(); len(args) > 0 {
			operands = append(operands, args[0])
			args = args[1:]
		}
	}
	return operands, server
}

// nearFlag adds near names to the error of a flag that the command does not have.
func nearFlag(flags *flag.FlagSet, err error) error {
	unknown, ok := strings.CutPrefix(err.Error(), "flag provided but not defined: ")
	if !ok {
		return err
	}
	var names []string
	flags.VisitAll(func(f *flag.Flag) { names = append(names, "-"+f.Name) })
	return fmt.Errorf("no flag %s; %s", OneLine(unknown, 60), Near("-"+strings.TrimLeft(unknown, "-"), names))
}

// Near suggests the name that is nearest to a mistyped name, or lists all.
func Near(typed string, names []string) string {
	if name := Nearest(typed, names); name != "" {
		return fmt.Sprintf("did you mean %s?", name)
	}
	return "want " + strings.Join(names, ", ")
}

// Nearest returns the name that is nearest to a mistyped name, or "" if none is near.
func Nearest(typed string, names []string) string {
	for most := 1; most <= min(2, len(typed)/2); most++ {
		for _, name := range names {
			if naming.Edits([]byte(typed), []byte(name), most) <= most {
				return name
			}
		}
	}
	for _, name := range names {
		if len(typed) > 1 && strings.HasPrefix(name, typed) {
			return name
		}
	}
	return ""
}

// Each returns what of makes of each element of a list.
func Each[T, U any](list []T, of func(T) U) []U {
	made := make([]U, len(list))
	for i, element := range list {
		made[i] = of(element)
	}
	return made
}

// Await returns what f, a step of the command, returns. It ends the command over f's error, or over
// ctx's cause as soon as ctx is done. f may run until the program ends: it may read from a terminal, or
// work on hostile input.
func Await[T any](ctx context.Context, c *Call, step string, f func() (T, error)) T {
	done := c.Waiting(step)
	value, err := foreign.Through(ctx, make(foreign.Gate, 1), func(context.Context) (T, error) { return f() })
	done()
	if err != nil && err == ctx.Err() {
		err = context.Cause(ctx)
	}
	return Must(value, err)
}

// ReadFile returns a file's name for messages and its text. "-" is standard input.
func (c *Call) ReadFile(ctx context.Context, path string) (file string, data []byte) {
	file = path
	if path == "-" {
		file = "standard input"
	}
	return file, Await(ctx, c, "reading "+file, func() ([]byte, error) {
		in := c.Stdin
		if path != "-" {
			opened, err := os.Open(path) // it may be a pipe without a writer
			if err != nil {
				return nil, err
			}
			defer opened.Close()
			in = opened
		}
		data, err := toolfile.Read(in)
		if wrong := (*os.PathError)(nil); err != nil && !errors.As(err, &wrong) {
			err = fmt.Errorf("%s: %w", file, err)
		}
		return data, err
	})
}

// PrintJSON prints JSON in which characters that cannot be seen are escapes.
func (c *Call) PrintJSON(v any) {
	var text bytes.Buffer
	Check(json.Indent(&text, Line(v), "", "  "))
	Must(c.Out.Write(Visible(text.Bytes())))
}

// Draw writes a picture to a file: the same values give the same bytes.
func Draw(path, picture string, functions template.FuncMap, values any) {
	var out bytes.Buffer
	Check(template.Must(template.New("picture").Funcs(functions).Parse(picture)).Execute(&out, values))
	Check(os.WriteFile(path, out.Bytes(), 0o644))
}

// Line returns a value as a line of JSON, without HTML's escapes.
func Line(v any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	Check(encoder.Encode(v))
	return text.Bytes()
}
