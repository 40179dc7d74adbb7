package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// Parting is an error together with the last part of what the server wrote to stderr, as it came.
type Parting struct {
	Err    error
	Stderr string
}

func (p *Parting) Error() string {
	text := p.Err.Error()
	if words := telling(p.Stderr); words != "" && errors.Is(p.Err, ErrGone) {
		text += ": " + words
	}
	return text
}

func (p *Parting) Unwrap() error { return p.Err }

// ended is for a process that has been waited for.
func (c *child) ended() error {
	return &Parting{fmt.Errorf("%w: %s", ErrGone, c.cmd.ProcessState), c.tail.String()}
}

// fault is how runtimes begin the line that says what went wrong, which traces and versions follow.
var fault = regexp.MustCompile(`(?i)error\b|exception\b|panic\b|fatal\b|cannot\b|no such\b`)

// telling is the line that says most about an end: the last one that names a fault and is not indented, else the last.
func telling(s string) string {
	words := ""
	found := false
	for line := range strings.Lines(s) {
		named := fault.MatchString(line) && strings.TrimLeft(line, " \t") == line
		if line = strings.TrimSpace(line); line != "" && (named || !found) {
			words, found = line, found || named
		}
	}
	return strings.ToValidUTF8(string(clip([]byte(words), 240)), "")
}
