//go:build !unix

package main

import "errors"

// restart: there is no way here to begin again in the same process.
func restart(string) error { return errors.ErrUnsupported }
