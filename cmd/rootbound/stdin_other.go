//go:build !unix

package main

import "os"

func stdin() *os.File { return os.Stdin }
