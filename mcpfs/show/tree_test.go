package show

import (
	"strings"
	"testing"

	"github.com/rootbound/rootbound/fileop"
)

func TestTreeText(t *testing.T) {
	nodes := []fileop.Branch{{Name: "a", Depth: 1, Dir: true, Before: true}, {Name: "b", Depth: 2}, {Name: "c", Depth: 1, Dir: true, Closed: true}, {Name: "d", Depth: 1, Dir: true}}
	text, used := Tree(nodes, 1<<20)
	want := `[{"name":"a","type":"directory","continued":true,"children":[{"name":"b","type":"file"}]},` +
		`{"name":"c","type":"directory","truncated":true,"children":[]},{"name":"d","type":"directory","children":[]}]`
	if got := strings.NewReplacer("\n", "", " ", "").Replace(text); used != 4 || got != want {
		t.Errorf("%d %s", used, got)
	}
	// one byte is too little for anything, and a page brings something new all the same
	if text, used := Tree(nodes, 1); used != 2 || !strings.HasSuffix(text, "]") {
		t.Errorf("%d %s", used, text)
	}
}
