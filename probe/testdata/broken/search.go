package main

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// search is of contents only, by a regular expression, or finds nothing.
func (p place) search(pattern string) (string, error) {
	if is("finds-nothing") {
		return "no matches", nil
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	err = fs.WalkDir(p.d.root.FS(), p.rel, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		text, err := fs.ReadFile(p.d.root.FS(), name)
		if err != nil {
			return nil
		}
		for line := range strings.Lines(string(text)) {
			if re.MatchString(line) {
				fmt.Fprintf(&b, "%s: %s", name, line)
			}
		}
		return nil
	})
	return b.String(), err
}
