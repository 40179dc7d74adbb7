package setting

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// Word is a text as one word of a command that a person may paste.
func Word(s string) string {
	s = rootbound.Clean(s)
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=,-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
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
