//go:build !unix

package mcp

import "os/exec"

// inGroup does nothing. Only the command itself is killed; its children see their input end.
func inGroup(*exec.Cmd) {}
