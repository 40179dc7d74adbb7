package setting

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/rootbound/rootbound"
)

// World is what the program stands in; tests make their own.
type World struct {
	In       io.ReadCloser
	Out      io.WriteCloser
	Err      io.Writer
	Getenv   func(string) string
	Terminal func() bool // stdin is a person
}

// Say prints lines for the person who started the program.
func (w World) Say(lines ...string) {
	for _, l := range lines {
		fmt.Fprintln(w.Err, l)
	}
}

// Agrees asks whoever sits at the terminal; no answer is no.
func (w World) Agrees(question string) bool {
	fmt.Fprint(w.Err, question+" [y/N] ")
	answer, _ := bufio.NewReader(w.In).ReadString('\n')
	a := strings.ToLower(strings.TrimSpace(answer))
	return a == "y" || a == "yes"
}

// UsualPath is the configuration file that init writes without being told where; "" where there is no home directory.
func (w World) UsualPath() string {
	base := w.Getenv("XDG_CONFIG_HOME")
	if home := w.Getenv("HOME"); !filepath.IsAbs(base) && filepath.IsAbs(home) {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "rootbound", "rootbound.yaml")
}

// Usual is the file named, else the one that init writes without being told where. It is what a person's commands take; a
// server is always told.
func (w World) Usual(file string) string {
	if file != "" || w.Getenv("ROOTBOUND_CONFIG") != "" {
		return file
	}
	path := w.UsualPath()
	if _, err := os.Stat(path); path == "" || err != nil {
		return ""
	}
	w.Say("Notice: no file was named; the configuration is " + rootbound.Clean(path))
	return path
}
