package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"embed"
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
	defer context.AfterFunc(ctx, s.stop)()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if s.url = strings.TrimSpace(line); !strings.HasPrefix(s.url, "http://") {
		s.stop()
		return nil, fmt.Errorf("the embedding server did not start; it said %q: %w", s.url, err)
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
			hash.Write(data)
			err = os.WriteFile(filepath.Join(fresh, name), data, 0o600)
		}
		if err != nil {
			return "", err
		}
	}
	installed := filepath.Join(folder, fmt.Sprintf("server-%x", hash.Sum(nil)[:8]))
	if _, err := os.Stat(installed); err == nil {
		return installed, nil
	}
	npm := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = fresh
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return installed, os.Rename(fresh, installed)
}

// missing says which program that the server needs is not installed.
func missing() error {
	_, node := exec.LookPath("node")
	_, npm := exec.LookPath("npm")
	if err := errors.Join(node, npm); err != nil {
		return fmt.Errorf("the embedding server needs Node.js 18 or later: %w", err)
	}
	return nil
}
