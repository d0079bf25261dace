//go:build !unix

package main

import "os/exec"

// inGroup does nothing: Ctrl-C reaches the servers too, and only a server itself is killed.
func inGroup(*exec.Cmd) {}
