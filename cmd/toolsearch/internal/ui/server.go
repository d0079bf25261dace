package ui

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"
)

// The server. It listens on the loopback address alone and answers nobody who does not know the address that it
// printed: http://127.0.0.1:PORT/TOKEN/ with index.html and the other files of static, and api/... (answers.go).
//
// Other programs of this machine, and pages of other sites in the same browser, can reach the
// port but do not know the token. It is a part of the path and not a cookie, since a browser
// sends a cookie of 127.0.0.1 to all its ports. A name that some site makes resolve to
// 127.0.0.1 (DNS rebinding) is the wrong Host.

//go:embed static
var static embed.FS

// policy lets the page load its own files and ask its own server, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// headers are those of every answer. Nobody changes their values.
var headers = http.Header{
	"Content-Security-Policy": {policy}, "Cache-Control": {"no-store"}, "X-Content-Type-Options": {"nosniff"},
	"Referrer-Policy": {"no-referrer"}, "Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Resource-Policy": {"same-origin"},
}

// patience is how long a request waits for an answer that is being made, and then for a search. The
// page asks again for an answer, and shows an error for a search. No request comes near the write
// timeout. Tests change it.
var patience = 15 * time.Second

// A Server serves a page on the loopback address.
type Server struct {
	listener net.Listener
	token    string
	http     *http.Server
}

// Listen starts to listen on a port of the loopback address. Port 0 means any free port. Work
// that the page begins ends with ctx.
func Listen(ctx context.Context, p Page, port int) (*Server, error) {
	s, err := newSite(ctx, p)
	if err != nil {
		return nil, err
	}
	files, _ := fs.Sub(static, "static") // it cannot fail: the folder is a part of the binary
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	s.route(mux)
	server, err := Private(ctx, mux, port, http.MethodGet, http.MethodHead)
	if err == nil {
		s.warm()
	}
	return server, err
}

// Private starts to listen as Listen does, for a handler of requests with these methods. The handler does not see the
// token.
func Private(ctx context.Context, handler http.Handler, port int, methods ...string) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, err
	}
	var bits [24]byte
	_, _ = rand.Read(bits[:]) // it never fails
	token := base64.RawURLEncoding.EncodeToString(bits[:])
	return &Server{listener, token, &http.Server{
		Handler:     guarded(handler, listener.Addr().String(), token, methods),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ReadTimeout: 10 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10, // a query of search.MaxQueryBytes takes three times as many bytes, escaped
	}}, nil
}

// URL returns the address of the page. Whoever knows it sees the catalog.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" + s.token + "/" }

// Serve answers requests until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() { _ = s.http.Close() })()
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// guarded answers requests for one host and token.
func guarded(handler http.Handler, host, token string, methods []string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		maps.Copy(header, headers)
		given, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		switch {
		case r.Host != host:
			http.Error(w, "This is not the host of the page.", http.StatusMisdirectedRequest)
		case subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1:
			http.Error(w, "Open the address that toolsearch printed.", http.StatusForbidden)
		case !slices.Contains(methods, r.Method):
			header.Set("Allow", strings.Join(methods, ", "))
			http.Error(w, "The page has no use for this method.", http.StatusMethodNotAllowed)
		case rest == "" && !strings.HasSuffix(r.URL.Path, "/"):
			header.Set("Location", "/"+token+"/")
			w.WriteHeader(http.StatusSeeOther)
		default:
			http.StripPrefix("/"+token, handler).ServeHTTP(w, r)
		}
	})
}
