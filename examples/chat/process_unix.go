//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inGroup gives a server a process group of its own. Ctrl-C in the terminal then ends an answer
// and not the server, and killing the server kills what it started, such as node under npx.
func inGroup(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
}
