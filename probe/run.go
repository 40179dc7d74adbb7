package probe

import (
	"context"
	"strings"
)

// T is what Run needs of a *testing.T. The package testing itself is not linked into programs that use probe.
type T[S any] interface {
	Helper()
	Context() context.Context
	TempDir() string
	Run(name string, sub func(S)) bool
	Log(args ...any)
	Fatal(args ...any)
	Error(args ...any)
	Skip(args ...any)
}

// Run puts the cases to a server as subtests of t, FAMILY/ID/ERA: what fell is an error with its evidence, what cannot be
// asked is a skip. It fails when the server cannot be probed at all, and when every case was skipped. A full
// deterministic run takes some seconds; the trees are made below t.TempDir.
//
//	func TestKeepsItsBoundary(t *testing.T) {
//		probe.Run(t, probe.Server{Command: []string{"./my-server", "{app}", "{docs}"}})
//	}
func Run[S T[S]](t S, server Server, options ...Options) *Report {
	t.Helper()
	var o Options
	if len(options) > 0 {
		o = options[0]
	}
	if o.Dir == "" {
		o.Dir = t.TempDir()
	}
	r, err := Judge(t.Context(), server, o)
	if err != nil {
		t.Fatal(err)
		return r
	}
	for _, c := range r.Cases {
		t.Run(c.Family+"/"+c.ID+"/"+c.Era, func(t S) {
			switch c.Verdict {
			case Fell:
				t.Error(c.What + ": " + strings.Join(c.Evidence, "; ") + "\nWhy it matters: " + c.Why)
			case Failed:
				t.Error(c.What + ": could not be asked: " + c.Got)
			case Skipped:
				t.Skip(c.Got)
			}
		})
	}
	if r.Summary.Held+r.Summary.Fell+r.Summary.Error == 0 {
		t.Error("every case was skipped: nothing was shown")
	}
	return r
}
