//go:build unix

package main

import (
	"os"
	"strings"
	"syscall"
)

// restart runs this program again in its place without one variable. It returns only on failure.
func restart(without string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var env []string
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, without+"=") {
			env = append(env, kv)
		}
	}
	return syscall.Exec(self, os.Args, env)
}
