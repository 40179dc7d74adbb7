package rootbound_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	docLink = regexp.MustCompile(`\[([^\]\n]+)\]\(([^)\s]+)\)`)
	docTest = regexp.MustCompile("^`((?:Test|Example|Fuzz)[A-Za-z0-9_]*)`$")
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
)

// TestDocsLinkToWhatExists follows every relative link of the pages: the file is there, the heading is there, and where the
// link's text is the name of a test or example, that function stands in the file. A page cannot claim a test that is gone.
func TestDocsLinkToWhatExists(t *testing.T) {
	pages, err := filepath.Glob("*.md")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, more...) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range docLink.FindAllStringSubmatch(string(text), -1) {
			label, target := m[1], m[2]
			if strings.Contains(target, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			if file == "" {
				file = page
			} else {
				file = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
			}
			if info, err := os.Stat(file); err != nil {
				t.Errorf("%s: %s does not exist", page, target)
				continue
			} else if info.IsDir() {
				continue
			}
			there, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if anchor != "" && !hasHeading(string(there), anchor) {
				t.Errorf("%s: %s has no heading #%s", page, file, anchor)
			}
			if name := docTest.FindStringSubmatch(label); name != nil && !strings.Contains(string(there), "func "+name[1]+"(") {
				t.Errorf("%s: %s is not in %s", page, name[1], file)
			}
		}
	}
}

// hasHeading compares as the web page would: lower case, blanks to hyphens, other signs dropped.
func hasHeading(page, anchor string) bool {
	for _, h := range heading.FindAllStringSubmatch(page, -1) {
		slug := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', r >= '0' && r <= '9', r >= 'a' && r <= 'z':
				return r
			}
			return -1
		}, strings.ToLower(h[1]))
		if slug == anchor {
			return true
		}
	}
	return false
}
