//go:build unix

package guard_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// A contained request names its project by id and a plain relative path, and no link carries it into another project.
func TestContainedRequestsStayInTheNamedProject(t *testing.T) {
	h := build(t, guard.Options{}, nil,
		rootbound.Project{ID: "a", Dir: "a", Rights: rootbound.Full},
		rootbound.Project{ID: "b", Dir: "b", Rights: rootbound.Full},
		rootbound.Project{ID: "inner", Dir: "a/inner", Rights: rootbound.ReadOnly},
	)
	h.file("a/f", "a")
	h.file("a/sub/g", "g")
	h.file("b/f", "b")
	h.file("a/inner/f", "inner")
	h.link("a/file", "../b/f")
	h.link("a/dir", "../b")
	h.link("a/abs", filepath.Join(h.dir, "b", "f"))
	h.link("a/nested", "inner")
	h.link("a/near", "sub/g")
	h.link("b/back", "../a/f")
	read := func(id, path string) error {
		return h.do(guard.Request{Op: rootbound.OpRead, Root: id, Path: path, Contained: true}, nil)
	}
	for _, c := range []struct {
		id, path string
		want     rootbound.Reason // empty: allowed
	}{
		{"a", "f", ""}, {"a", "./f", ""}, {"a", "near", ""}, {"b", "f", ""},
		{"a", "inner/f", ""}, // inside the named project, by the rights of the inner one
		{"a", "file", rootbound.OutsideRoot}, {"a", "dir/f", rootbound.OutsideRoot}, {"a", "abs", rootbound.OutsideRoot},
		{"a", "nested/f", rootbound.OutsideRoot}, {"b", "back", rootbound.OutsideRoot}, {"a", "dir/missing", rootbound.OutsideRoot},
		{"a", "dir", rootbound.OutsideRoot}, {"a", "nested", rootbound.OutsideRoot}, {"a", "file/", rootbound.OutsideRoot}, {"a", "file/x", rootbound.OutsideRoot},
		{"a", "", rootbound.PathInvalid}, {"a", "/f", rootbound.PathInvalid}, {"a", filepath.Join(h.dir, "a", "f"), rootbound.PathInvalid},
		{"a", "sub/../f", rootbound.PathInvalid}, {"a", "..", rootbound.PathInvalid}, {"a", "sub//g", rootbound.PathInvalid}, {"a", "f/", rootbound.PathInvalid},
		{"", "f", rootbound.ProjectUnknown}, {"nobody", "f", rootbound.ProjectUnknown},
		{string(h.auth.ID()), "f", rootbound.ProjectUnknown},
	} {
		if got := reason(read(c.id, c.path)); got != c.want {
			t.Errorf("%s %q: %q, want %q", c.id, c.path, got, c.want)
		}
	}
	for path, want := range map[string]rootbound.Reason{"dir/new": rootbound.OutsideRoot, "file": rootbound.OutsideRoot, "dir": rootbound.OutsideRoot, "nested/new": rootbound.OutsideRoot,
		"inner/new": rootbound.RightMissing, "new": ""} {
		err := h.do(guard.Request{Op: rootbound.OpWrite, Root: "a", Path: path, Contained: true}, func(ctx context.Context, on *guard.Target) error {
			_, err := fileop.Write(ctx, on, []byte("new"), fileop.Expected{})
			return err
		})
		if reason(err) != want {
			t.Errorf("write %s: %v, want %q", path, err, want)
		}
	}
	for path, want := range map[string]rootbound.Reason{"dir/m/n": rootbound.OutsideRoot, "nested/m": rootbound.OutsideRoot, "m/n": ""} {
		err := h.do(guard.Request{Op: rootbound.OpMkdir, Root: "a", Path: path, Contained: true}, func(_ context.Context, on *guard.Target) error {
			_, err := on.Mkdir()
			return err
		})
		if reason(err) != want {
			t.Errorf("mkdir %s: %v, want %q", path, err, want)
		}
	}
	for _, c := range [][2]string{{"dir/f", "moved"}, {"f", "dir/moved"}} {
		if err := h.move(guard.Request{Root: "a", DestRoot: "a", Path: c[0], Dest: c[1], Contained: true}); reason(err) != rootbound.OutsideRoot {
			t.Errorf("move %v: %v", c, err)
		}
	}
	h.has("b/f", "b")
	h.gone("b/new")
	h.gone("a/inner/new")
}

// What is no request is refused on the record, and the disk is not looked at: the project's directory is gone.
func TestInvalidRequestsAreRecorded(t *testing.T) {
	h := build(t, guard.Options{}, nil, one(rootbound.Full))
	ctx := h.ctx()
	if err := os.RemoveAll(filepath.Join(h.dir, "p")); err != nil {
		t.Fatal(err)
	}
	bad := &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: "why"}
	err := h.g.Do(ctx, guard.Request{Op: rootbound.OpWrite, Root: "p", Path: "x", Invalid: bad}, func(context.Context, *guard.Target) error {
		t.Error("worked")
		return nil
	})
	var e *rootbound.Error
	if !errors.As(err, &e) || e.Reason != rootbound.ArgumentInvalid || e.Detail != "why" || e.Decision == "" || e.Op != rootbound.OpWrite {
		t.Fatalf("%+v", err)
	}
	for _, r := range h.log.Records() {
		if r.ID == e.Decision && r.Reason == rootbound.ArgumentInvalid && r.Decision == "deny" {
			return
		}
	}
	t.Error("no record of it")
}

// A path that was decoded from a URI is not looked at for encoded names again; every other rule holds for it.
func TestDecodedPathsHaveNoSecondLook(t *testing.T) {
	h := build(t, guard.Options{}, nil, rootbound.Project{ID: "a", Dir: "a", Rights: rootbound.Full})
	h.file("a/%2e%2e", "odd")
	h.file("a/%2e%2e%2ff", "odd")
	for path, want := range map[string][2]rootbound.Reason{ // as sent, and decoded
		"%2e%2e":     {rootbound.PathEncodedTraversal, ""},
		"%2e%2e%2ff": {rootbound.PathEncodedTraversal, ""},
		"%2e%2e/f":   {rootbound.PathEncodedTraversal, rootbound.NotADirectory},
		"x%00":       {rootbound.PathEncodedTraversal, rootbound.NotFound},
		"..":         {rootbound.PathInvalid, rootbound.PathInvalid},
		"/f":         {rootbound.PathInvalid, rootbound.PathInvalid},
		"a//b":       {rootbound.PathInvalid, rootbound.PathInvalid},
		"x\x00":      {rootbound.PathInvalid, rootbound.PathInvalid},
	} {
		for i, decoded := range []bool{false, true} {
			r := guard.Request{Op: rootbound.OpRead, Root: "a", Path: path, Contained: true, Decoded: decoded}
			if got := reason(h.do(r, nil)); got != want[i] {
				t.Errorf("%q decoded %t: %q, want %q", path, decoded, got, want[i])
			}
		}
	}
}

// A read that takes directories too lists them by the right list, and the record says so.
func TestReadsThatListDirectories(t *testing.T) {
	h := build(t, guard.Options{}, nil,
		rootbound.Project{ID: "a", Dir: "a", Rights: rootbound.Read},
		rootbound.Project{ID: "b", Dir: "b", Rights: rootbound.List},
	)
	for _, p := range []string{"a", "b"} {
		h.file(p+"/d/f", "text")
	}
	for _, c := range []struct {
		id, path string
		listing  bool
		want     rootbound.Reason
		op       rootbound.Operation
	}{
		{"a", "d/f", true, "", rootbound.OpRead}, {"a", "d", true, rootbound.RightMissing, rootbound.OpList}, {"a", "d", false, rootbound.IsADirectory, rootbound.OpRead},
		{"b", "d", true, "", rootbound.OpList}, {"b", "d/f", true, rootbound.RightMissing, rootbound.OpRead}, {"b", ".", true, "", rootbound.OpList},
		{"b", "none", true, rootbound.NotFound, rootbound.OpRead},
	} {
		r := guard.Request{Op: rootbound.OpRead, Root: c.id, Path: c.path, Contained: true, Listing: c.listing}
		if got := reason(h.do(r, nil)); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
		all := h.log.Records()
		if last := all[len(all)-1]; last.Operation != c.op {
			t.Errorf("%+v: recorded as %s", c, last.Operation)
		}
	}
}
