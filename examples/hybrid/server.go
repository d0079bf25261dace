package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/cloudwego/eino-ext/components/embedding/openai"
)

// model names the model of the vectors in the store.
const model = "universal-sentence-encoder-lite-en/512"

//go:embed server/server.mjs server/package.json server/package-lock.json
var serverFiles embed.FS

// A server is the embedding server, which is a separate process.
type server struct {
	url     string // base address of its API
	process *exec.Cmd
	stdin   io.Closer // closing it makes the process exit
}

// startServer starts the server. It first installs the server under folder if it is missing.
func startServer(ctx context.Context, folder string) (*server, error) {
	installed, err := install(ctx, folder)
	if err != nil {
		return nil, fmt.Errorf("installing the embedding server: %w", err)
	}
	process := exec.Command("node", "server.mjs")
	process.Dir = installed
	process.Stderr = os.Stderr
	stdin, err := process.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := process.Start(); err != nil {
		return nil, err
	}
	s := &server{process: process, stdin: stdin}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case s.url = <-line:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil && !strings.HasPrefix(s.url, "http://") {
		err = fmt.Errorf("the embedding server did not start; it said %q", s.url)
	}
	if err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// stop ends the process and waits for its end.
func (s *server) stop() {
	s.stdin.Close()
	timer := time.AfterFunc(5*time.Second, func() { s.process.Process.Kill() })
	defer timer.Stop()
	s.process.Wait()
}

// embedder returns eino-ext's adapter for the server's API.
func (s *server) embedder(ctx context.Context) (*openai.Embedder, error) {
	return openai.NewEmbedder(ctx, &openai.EmbeddingConfig{
		BaseURL: s.url, APIKey: "none is needed", Model: model,
		HTTPClient: &http.Client{Timeout: time.Minute, Transport: &http.Transport{}}, // no proxy: the server is on loopback
	})
}

// install puts the server and its dependencies into a folder named after a hash of its files,
// and returns the folder. It installs under another name and renames, so the folder is always
// complete.
func install(ctx context.Context, folder string) (string, error) {
	names := []string{"server.mjs", "package.json", "package-lock.json"}
	hash := sha256.New()
	for _, name := range names {
		data, err := serverFiles.ReadFile("server/" + name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(hash, "%d %s", len(data), data)
	}
	installed := filepath.Join(folder, "server-"+hex.EncodeToString(hash.Sum(nil)[:8]))
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(folder, "install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(fresh)
	for _, name := range names {
		data, err := serverFiles.ReadFile("server/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(fresh, name), data, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	if err := os.Rename(fresh, installed); err != nil {
		if _, other := os.Stat(installed); other == nil { // another process was quicker
			return installed, nil
		}
		return "", err
	}
	return installed, nil
}

// missing says which program that the server needs is not installed.
func missing() error {
	var list []error
	for _, name := range []string{"node", "npm"} {
		if _, err := exec.LookPath(name); err != nil {
			list = append(list, fmt.Errorf("the embedding server needs %s (Node.js 18 or later): %w", name, err))
		}
	}
	return errors.Join(list...)
}
