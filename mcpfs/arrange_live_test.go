package mcpfs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/serve"
	"github.com/rootbound/rootbound/mcpfs"
)

func full(t *testing.T) *live {
	return start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.Full)}, NoSlow: true}, clientOptions{})
}

func (l *live) lacks(names ...string) {
	l.t.Helper()
	for _, n := range names {
		if _, err := os.Lstat(l.path(n)); err == nil {
			l.t.Errorf("%s exists", n)
		}
	}
}

func TestCopyFile(t *testing.T) {
	l := full(t)
	l.file("a.txt", "A")
	l.file("d/x", "x")
	l.file("d/e/y", "y")
	text, s := l.ok("copy_file", args{"source": "a.txt", "destination": "b.txt"})
	if text != "Successfully copied a.txt to b.txt" || s["files"] != 1.0 || s["version"] == nil || l.read("b.txt") != "A" {
		t.Errorf("%q %v", text, s)
	}
	if _, e := l.no("copy_file", args{"source": "a.txt", "destination": "b.txt"}); e["reason"] != "exists" {
		t.Error(e)
	}
	l.file("a.txt", "AA")
	if _, e := l.no("copy_file", args{"source": "a.txt", "destination": "b.txt", "overwrite": true, "expected_version": "nothing like it"}); e["reason"] != "version_conflict" {
		t.Error(e)
	}
	if _, e := l.no("copy_file", args{"source": "a.txt", "destination": "b.txt", "overwrite": true, "expected_version": "absent"}); e["reason"] != "exists" {
		t.Error(e)
	}
	if _, s = l.ok("copy_file", args{"source": "a.txt", "destination": "b.txt", "overwrite": true, "expected_version": s["version"]}); l.read("b.txt") != "AA" {
		t.Error(s)
	}
	text, s = l.ok("copy_file", args{"source": "d", "destination": "n/m/d", "create_parents": true})
	if text != "Successfully copied d to n/m/d" || s["files"] != 2.0 || s["version"] != nil || l.read("n/m/d/e/y") != "y" {
		t.Errorf("%q %v", text, s)
	}
	if _, e := l.no("copy_file", args{"source": "d", "destination": "none/d"}); e["reason"] != "parent_missing" {
		t.Error(e)
	}
	if _, e := l.no("copy_file", args{"source": "d", "destination": "d/e/f"}); e["reason"] != "path_invalid" {
		t.Error(e)
	}
	l.lacks("none")
}

func TestDeleteFile(t *testing.T) {
	l := full(t)
	for _, f := range []string{"a.txt", "d/x", "d/e/y", "k/z"} {
		l.file(f, f)
	}
	must(t, os.Mkdir(l.path("empty"), 0o755))
	must(t, os.Symlink("d", l.path("link")))
	_, s := l.ok("read_text_file", args{"path": "a.txt"})
	l.file("a.txt", "changed")
	if _, e := l.no("delete_file", args{"path": "a.txt", "expected_version": s["version"]}); e["reason"] != "version_conflict" {
		t.Error(e)
	}
	_, s = l.ok("read_text_file", args{"path": "a.txt"})
	if text, s := l.ok("delete_file", args{"path": "a.txt", "expected_version": s["version"]}); text != "Successfully deleted a.txt" || s["entries"] != 1.0 {
		t.Errorf("%q %v", text, s)
	}
	if text, _ := l.ok("delete_file", args{"path": "link", "recursive": true}); text != "Successfully deleted link" {
		t.Errorf("%q", text)
	}
	if text, e := l.no("delete_file", args{"path": "d"}); e["reason"] != "is_a_directory" || !strings.Contains(text, "recursive") {
		t.Error(text)
	}
	if text, s := l.ok("delete_file", args{"path": "d", "recursive": true}); text != "Successfully deleted d and the 3 entries in it" || s["entries"] != 4.0 {
		t.Errorf("%q %v", text, s)
	}
	l.ok("delete_file", args{"path": "empty"})
	l.lacks("a.txt", "link", "d", "empty")
	if _, e := l.no("delete_file", args{"path": l.path("."), "recursive": true}); e["reason"] != "path_invalid" {
		t.Error(e)
	}
	if _, e := l.no("delete_file", args{"path": filepath.Dir(l.path(".")), "recursive": true}); e["reason"] != "outside_root" {
		t.Error(e)
	}
	if l.read("k/z") != "k/z" {
		t.Error("k/z")
	}
	if _, e := one(t).no("delete_file", args{"path": "a", "root": "p"}); e["reason"] != "not_found" && e["reason"] != "right_missing" {
		t.Error(e)
	}
}

func TestAppendFile(t *testing.T) {
	l := start(t, serve.Options{Projects: []rootbound.Project{project(t, "p", rootbound.ReadWrite)}, NoSlow: true, Limits: mcpfs.Limits{Edit: 100}}, clientOptions{})
	l.file("crlf.txt", "\ufeffone\r\ntwo")
	l.file("raw", "\xff\xfe\x00")
	text, s := l.ok("append_file", args{"path": "crlf.txt", "content": "\nthree"})
	if text != "Successfully appended to crlf.txt" || s["version"] == nil || l.read("crlf.txt") != "\ufeffone\r\ntwo\nthree" {
		t.Errorf("%q %v %q", text, s, l.read("crlf.txt"))
	}
	l.ok("append_file", args{"path": "raw", "content": "é"})
	if l.read("raw") != "\xff\xfe\x00é" {
		t.Errorf("%q", l.read("raw"))
	}
	l.ok("append_file", args{"path": "crlf.txt", "content": "", "expected_version": s["version"]})
	if _, e := l.no("append_file", args{"path": "crlf.txt", "content": "x", "expected_version": "absent"}); e["reason"] != "exists" {
		t.Error(e)
	}
	if _, e := l.no("append_file", args{"path": "crlf.txt", "content": strings.Repeat("x", 90)}); e["reason"] != "too_large" {
		t.Error(e)
	}
	if _, e := l.no("append_file", args{"path": "n/new", "content": "x"}); e["reason"] != "parent_missing" {
		t.Error(e)
	}
	l.ok("append_file", args{"path": "n/new", "content": "x", "create_parents": true, "expected_version": "absent"})
	l.ok("append_file", args{"path": "n/new", "content": "y", "create_parents": true})
	if l.read("n/new") != "xy" {
		t.Errorf("%q", l.read("n/new"))
	}
	if _, e := l.no("append_file", args{"path": "big", "content": strings.Repeat("x", 101)}); e["reason"] != "too_large" {
		t.Error(e)
	}
	l.lacks("big")
}

func TestCreateParents(t *testing.T) {
	l := full(t)
	l.ok("write_file", args{"path": "a/b/c.txt", "content": "x", "create_parents": true})
	l.ok("move_file", args{"source": "a/b/c.txt", "destination": "m/n/o", "create_parents": true})
	if l.read("m/n/o") != "x" {
		t.Error(l.read("m/n/o"))
	}
	if _, e := l.no("write_file", args{"path": "x/.git/hooks/y", "content": "x", "create_parents": true}); e["reason"] != "rule_denied" {
		t.Error(e)
	}
	if _, e := l.no("write_file", args{"path": "x/y", "content": "x", "create_parents": false}); e["reason"] != "parent_missing" {
		t.Error(e)
	}
	if _, e := l.no("write_file", args{"path": "x/y", "content": "x", "create_parents": "yes"}); e["reason"] != "argument_invalid" {
		t.Error(e)
	}
	l.lacks("x")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
