package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
	"github.com/rootbound/rootbound/internal/config/schema"
)

func initCommand(w world) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: "init [DIR…]", Short: "Write a commented configuration file",
		Long: `Writes a configuration file with a project for each directory named, every setting with its default as a comment, and the
line that lets an editor complete and check it. Projects are granted for reading; what else they need is a word of yours.
A file that is there is never replaced. Without --config it is ROOTBOUND_CONFIG, else rootbound/rootbound.yaml in
XDG_CONFIG_HOME or ~/.config.
` + exitHelp,
		Example: `  rootbound init ~/src/app ~/notes
  rootbound init --config ./rootbound.yaml .
  rootbound init && rootbound config check --config ~/.config/rootbound/rootbound.yaml`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, dirs []string) error {
			path, err := initPath(w, file)
			if err != nil {
				return err
			}
			source, warnings, err := schema.Template(config.Input{Dirs: dirs, Getenv: fileOnly(w.getenv)})
			if err != nil {
				return &failure{exitOf(err), err.Error()}
			}
			w.say(warnings...)
			if err := writeNew(path, source); err != nil {
				if errors.Is(err, fs.ErrExist) {
					return failed("%s is there already; it is not replaced", rootbound.Clean(path))
				}
				return failed("%s cannot be written: %s", rootbound.Clean(path), rootbound.Clean(err.Error()))
			}
			w.say("Wrote " + rootbound.Clean(path) + ". Serve it with: rootbound serve --config " + rootbound.Clean(path))
			return nil
		},
	}
	c.Flags().StringVar(&file, "config", "", "`FILE` to write (also ROOTBOUND_CONFIG)")
	return c
}

func initPath(w world, file string) (string, error) {
	if file == "" {
		file = w.getenv("ROOTBOUND_CONFIG")
	}
	if file != "" {
		path, err := filepath.Abs(file)
		if err != nil {
			return "", failed("%s", rootbound.Clean(err.Error()))
		}
		return path, nil
	}
	path := w.usualPath()
	if path == "" {
		return "", misused("there is no home directory; name the file with --config")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", failed("%s", rootbound.Clean(err.Error()))
	}
	return path, nil
}

func (w world) usualPath() string {
	base := w.getenv("XDG_CONFIG_HOME")
	if home := w.getenv("HOME"); !filepath.IsAbs(base) && filepath.IsAbs(home) {
		base = filepath.Join(home, ".config")
	}
	if !filepath.IsAbs(base) {
		return ""
	}
	return filepath.Join(base, "rootbound", "rootbound.yaml")
}

// usual is the file named, else the one that init writes without being told where. It is what a person's commands take; a
// server is always told.
func (w world) usual(file string) string {
	if file != "" || w.getenv("ROOTBOUND_CONFIG") != "" {
		return file
	}
	path := w.usualPath()
	if _, err := os.Stat(path); path == "" || err != nil {
		return ""
	}
	w.say("Notice: no file was named; the configuration is " + rootbound.Clean(path))
	return path
}

// writeNew writes a file that must not exist yet, whole or not at all: a link never replaces.
func writeNew(path string, b []byte) error {
	if _, err := os.Lstat(path); err == nil {
		return fs.ErrExist
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".rootbound-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	defer tmp.Close()
	if _, err := tmp.Write(b); err != nil {
		return err
	}
	if err := tmp.Sync(); err != nil {
		return err
	}
	return os.Link(tmp.Name(), path)
}
