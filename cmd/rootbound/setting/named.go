package setting

import (
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/config"
)

// Word is a text as one word of a command that a person may paste.
func Word(s string) string {
	s = rootbound.Clean(s)
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// ApplyOf completes a line that ends with what a change waits for: the file is named, since without it config apply takes
// another one.
func ApplyOf(line, file string) string {
	if strings.HasSuffix(line, config.WaitsForApply) && file != "" {
		line += " --config " + Word(file)
	}
	return line
}

// Named repeats the flags that said what is granted, for a command that is to be run after this one.
func (s *Settings) Named() string {
	out := ""
	for _, f := range []struct{ flag, value string }{{"--config", s.Input.File}, {"--env", s.Input.Env}, {"--allowed-dirs", s.Input.AllowedDirs}} {
		if f.value != "" {
			out += " " + f.flag + " " + Word(f.value)
		}
	}
	for _, d := range s.Input.Dirs {
		out += " --dir " + Word(d)
	}
	return out
}
