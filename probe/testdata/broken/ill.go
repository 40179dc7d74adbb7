package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// misbehaveAtStart is for servers that no client can talk to.
func misbehaveAtStart() {
	switch mode {
	case "exits-at-once":
		fmt.Fprintln(os.Stderr, "cannot read my configuration")
		os.Exit(3)
	case "never-answers":
		io.Copy(io.Discard, os.Stdin)
	case "writes-garbage":
		fmt.Println("Server ready!")
	case "floods-at-start":
		flood()
	case "leaves-a-process":
		c := exec.Command("sleep", "600")
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		c.Start()
	}
}

// misbehaveInCall is for servers that fail when they are used.
func misbehaveInCall(s *server) {
	switch mode {
	case "crashes-in-a-call":
		panic("unexpected")
	case "floods-in-a-call":
		s.out.Lock()
		flood()
	case "silent-in-calls":
		time.Sleep(time.Hour)
	case "exits-in-a-call":
		os.Exit(0)
	}
}

// flood writes one line without end.
func flood() {
	part := bytes.Repeat([]byte("x"), 1<<20)
	for {
		if _, err := os.Stdout.Write(part); err != nil {
			os.Exit(1)
		}
	}
}
