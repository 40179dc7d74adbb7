package beneath_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// workspace makes a small directory with a link to the outside.
func workspace() (dir string, remove func()) {
	dir, err := os.MkdirTemp("", "workspace")
	if err != nil {
		log.Fatal(err)
	}
	for _, err := range []error{
		os.Mkdir(filepath.Join(dir, "docs"), 0o755),
		os.WriteFile(filepath.Join(dir, "docs", "note.txt"), []byte("hello\n"), 0o644),
		os.Symlink("docs/note.txt", filepath.Join(dir, "latest")),
		os.Symlink("/etc", filepath.Join(dir, "way-out")),
	} {
		if err != nil {
			log.Fatal(err)
		}
	}
	return dir, func() { _ = os.RemoveAll(dir) }
}

// Open a workspace and read beneath it. Links are followed as far as they stay inside; what is returned knows where it
// was reached.
func Example() {
	dir, remove := workspace()
	defer remove()

	root, err := beneath.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Release()
	set := beneath.NewSet([]beneath.Member{{Root: root}}, nil)

	file, err := set.Open(beneath.Ref{Path: "latest"}, beneath.File)
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	content, err := io.ReadAll(io.NewSectionReader(file, 0, file.Info().Size))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %s", file.At().Path, content)

	for _, path := range []string{"way-out/passwd", "../x", "docs/none.txt"} {
		_, err := set.Open(beneath.Ref{Path: path}, beneath.File)
		var refusal *rootbound.Error
		if errors.As(err, &refusal) {
			fmt.Println(path, refusal.Reason)
		}
	}
	// Output:
	// docs/note.txt: hello
	// way-out/passwd outside_root
	// ../x outside_root
	// docs/none.txt not_found
}

// Replace a file as a whole: the old bytes or the new ones, never a mixture, and only if it is still the file that was
// looked at.
func ExampleEntry_Stage() {
	dir, remove := workspace()
	defer remove()
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Release()
	set := beneath.NewSet([]beneath.Member{{Root: root}}, nil)

	entry, err := set.Entry(beneath.Ref{Path: "docs/note.txt"}, true)
	if err != nil {
		log.Fatal(err)
	}
	defer entry.Close()
	old, err := entry.Open(beneath.File)
	if err != nil {
		log.Fatal(err)
	}
	defer old.Close()

	staged, err := entry.Stage(old, func(string, beneath.ObjectID) error { return nil })
	if err != nil {
		log.Fatal(err)
	}
	defer staged.Close() // removes the temporary file if it was not published
	if _, err := staged.Write([]byte("goodbye\n")); err != nil {
		log.Fatal(err)
	}
	if err := staged.Sync(); err != nil {
		log.Fatal(err)
	}
	was := old.Info()
	if _, err := staged.Publish(&was); err != nil {
		log.Fatal(err)
	}
	if err := entry.SyncDir(); err != nil {
		log.Fatal(err)
	}

	now, err := os.ReadFile(filepath.Join(dir, "docs", "note.txt"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", now)
	// Output: goodbye
}

// Walk what lies below a directory, in byte order of the names. Links are seen and not followed.
func ExampleObject_Walk() {
	dir, remove := workspace()
	defer remove()
	root, err := beneath.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Release()
	set := beneath.NewSet([]beneath.Member{{Root: root}}, nil)

	top, err := set.Open(beneath.Ref{}, beneath.Dir)
	if err != nil {
		log.Fatal(err)
	}
	defer top.Close()
	err = top.Walk(context.Background(), func(n *beneath.Node) (beneath.Step, error) {
		fmt.Println(n.At().Path, n.Type())
		return beneath.Into, nil
	}, nil)
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// docs d---------
	// docs/note.txt ----------
	// latest L---------
	// way-out L---------
}
