package fileop

import (
	"bytes"
	"context"
	"testing"

	"github.com/rootbound/rootbound/beneath"
)

// A mark of a file that was changed through a memory mapping, which leaves its version, may lie in a line: then it is as if
// nothing were known.
func TestAMarkInsideALineIsNotBelieved(t *testing.T) {
	file := bytes.Repeat([]byte("12345678\n"), 1000)
	read := func(known []Mark) Text {
		t.Helper()
		got, err := ReadTextFrom(context.Background(), bytes.NewReader(file), beneath.Info{Size: int64(len(file))}, Lines(500, 3), 1<<20, known)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	want := read(nil)
	for _, known := range [][]Mark{{{400, 399 * 9}}, {{400, 399*9 + 1}}, {{400, 399*9 - 1}}, {{400, 1 << 30}}, {{2, 9}, {400, 399*9 + 4}}} {
		if got := read(known); !bytes.Equal(got.Data, want.Data) || got.FirstLine != want.FirstLine || got.Offset != want.Offset {
			t.Errorf("%v: line %d at %d: %.20q", known, got.FirstLine, got.Offset, got.Data)
		}
	}
}
