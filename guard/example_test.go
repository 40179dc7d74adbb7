package guard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority"
	"github.com/rootbound/rootbound/decision"
	"github.com/rootbound/rootbound/fileop"
	"github.com/rootbound/rootbound/guard"
)

// Serve a file behind the guard: the context carries the authority, the guard decides, resolves, records and hands out
// the handle that was checked. In a server of the go-sdk, mcpscope puts the authority into the context.
func Example() {
	dir, err := os.MkdirTemp("", "notes")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, content := range map[string]string{"note.txt": "hello\n", ".env": "SECRET=1\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			log.Fatal(err)
		}
	}

	ceiling, err := authority.Open([]rootbound.Project{{ID: "notes", Dir: dir, Rights: rootbound.ReadWrite}}, authority.CeilingOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ceiling.Close()
	who := authority.New(ceiling, authority.Options{Mode: authority.Ignore}) // no client here that could have roots
	defer who.Close()

	record := decision.NewMemory(16)
	g := guard.New(guard.Options{Sink: record})

	use, err := who.Acquire(context.Background(), true)
	if err != nil {
		log.Fatal(err)
	}
	defer use.Release()
	ctx, done := authority.With(context.Background(), use)
	defer done()

	// Read: the target is an io.Reader on the object that was checked.
	err = g.Do(ctx, guard.Read("note.txt"), func(_ context.Context, t *guard.Target) error {
		content, err := io.ReadAll(t)
		if err == nil {
			fmt.Printf("%s of %s: %s", t.Path(), t.Project().ID, content)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	// Write: fileop stages, syncs and publishes under the lease of the target.
	write := guard.Request{Op: rootbound.OpWrite, Root: "notes", Path: "note.txt"}
	err = g.Do(ctx, write, func(ctx context.Context, t *guard.Target) error {
		_, err := fileop.Write(ctx, t, []byte("goodbye\n"), fileop.Expected{})
		return err
	})
	if err != nil {
		log.Fatal(err)
	}

	// What is refused says why, and its text may be shown to the caller as it is.
	for _, path := range []string{"../note.txt", ".env", "none.txt"} {
		_, err := g.Decide(ctx, guard.Read(path))
		var refusal *rootbound.Error
		if errors.As(err, &refusal) {
			fmt.Println(path, refusal.Reason)
		}
	}
	// Output:
	// note.txt of notes: hello
	// ../note.txt outside_root
	// .env rule_denied
	// none.txt not_found
}
