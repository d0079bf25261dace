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
	"log"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const address = "127.0.0.1:8080" // the demo knows no passwords, so keep it local

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	folder := filepath.Join(os.TempDir(), "toolsearch-webservice")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		log.Fatal(err)
	}
	handler, err := newService(ctx, demo{}, files(folder), slog.Default())
	if err != nil {
		log.Fatal(err)
	}
	// No WriteTimeout, which would end long answers: the service sets a deadline for each event.
	server := &http.Server{Addr: address, Handler: handler, ReadTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	context.AfterFunc(ctx, func() { server.Close() })
	log.Printf("Open http://%s in a browser. Ctrl-C ends the program; the conversations stay in %s.", address, folder)
	if err := server.ListenAndServe(); err != http.ErrServerClosed {
		log.Fatal(err)
	}
}
