//go:build unix

package mcp

import (
	"os/exec"
	"syscall"
)

// inGroup makes killing a command kill everything it started. npx starts node, for example,
// and node would outlive npx.
func inGroup(process *exec.Cmd) {
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	process.Cancel = func() error { return syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }
}
