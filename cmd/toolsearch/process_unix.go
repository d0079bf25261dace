//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// inGroup makes the end of a command the end of all it started: npx starts node, and node
// would go on without it.
func inGroup(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
}
