package script

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/rootbound/rootbound/probe/truth"
)

// What a file of cases or a profile may be; both may be somebody else's, and a parser takes long over what is made for that.
const (
	largest = 128 << 10 // bytes
	deepest = 64        // lists and mappings in each other
)

// Decode reads a document of YAML, strictly: unknown fields, and what is larger or deeper than anybody needs, are errors.
func Decode(raw []byte, into any) (err error) {
	switch {
	case len(raw) > largest:
		return fmt.Errorf("larger than %d bytes", largest)
	case nested(string(raw)) > deepest:
		return errors.New("too deeply nested")
	}
	defer func() {
		if recover() != nil {
			err = errors.New("it cannot be read as YAML")
		}
	}()
	err = yaml.UnmarshalWithOptions(raw, into, yaml.Strict())
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		p := at.GetToken().Position
		return fmt.Errorf("line %d, column %d: %s", p.Line, p.Column, at.GetMessage())
	}
	return err
}

// nested counts, rather too high, how deep a document goes: brackets that are open, and dashes and spaces at a line's start.
func nested(text string) int {
	open, most := 0, 0
	for line := range strings.Lines(text) {
		start := len(line) - len(strings.TrimLeft(line, " -?\t"))
		most = max(most, strings.Count(line[:start], "-"), start/2)
		for _, c := range line {
			switch c {
			case '[', '{':
				open++
				most = max(most, open)
			case ']', '}':
				open = max(open-1, 0)
			}
		}
	}
	return most
}

// bounds refuses amounts that no case needs and that would fill a disk or a memory.
func (c *Case) bounds() error {
	deeds := [][]truth.Deed{c.Tree, c.Storm, c.Roots.Do}
	if c.Line < 0 {
		return errors.New("line is negative")
	}
	for _, s := range c.Steps {
		deeds = append(deeds, s.Do)
		if s.Publish != nil {
			deeds = append(deeds, s.Publish.Do)
		}
		if s.Copies < 0 || s.Copies > 1000 || s.Fill < 0 || s.Fill > 64<<20 {
			return errors.New("copies go up to 1000, fill to 64 MiB")
		}
		if d, err := time.ParseDuration(s.Pause); s.Pause != "" && (err != nil || d < 0 || d > time.Minute) {
			return fmt.Errorf("pause %q is no time up to a minute", s.Pause)
		}
	}
	for _, list := range deeds {
		for _, d := range list {
			if err := d.Bounds(); err != nil {
				return err
			}
		}
	}
	return nil
}
