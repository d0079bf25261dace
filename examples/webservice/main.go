// Webservice is a chat with an agent of 166 tools, as a service with a page for the browser. Watch
// the list of loaded tools below the page's title: restart the program in the middle of a
// conversation, reload the page, and the model still has these tools.
//
//   - Conversations are JSON files: the messages, and a Session with the loaded tools. Long
//     conversations are cut at the front, and the Session keeps the tools that were loaded
//     there.
//   - Each user has tools of their own (Config.Filter).
//   - Answers stream over server-sent events, and so do failures. A run ends when its browser
//     leaves.
//
// It needs no key: the model is a demo that searches for each question and calls the tool it
// finds. Give newService a chat model of eino-ext in its place.
//
//	go run ./examples/webservice
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := run(ctx, os.Args[1:], os.Stderr); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "webservice:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("webservice", flag.ContinueOnError)
	flags.SetOutput(out)
	address := flags.String("address", "127.0.0.1:8080", "address to listen on; the demo knows no passwords, so keep it local")
	folder := flags.String("folder", filepath.Join(os.TempDir(), "toolsearch-webservice"), "folder of the stored conversations")
	if err := flags.Parse(args); err != nil {
		return err
	}
	kept, err := newFiles(*folder)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(out, nil))
	handler, err := newService(ctx, demo{}, kept, log)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		// No WriteTimeout, which would end long answers: the service sets a deadline for each event.
	}
	fmt.Fprintf(out, "Open http://%s in a browser. Ctrl-C ends the program; the conversations stay in %s.\n", listener.Addr(), *folder)
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	// Answers under way have ten seconds. Then Close ends their contexts.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		return errors.Join(err, server.Close())
	}
	return nil
}
