package authority

import (
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/authority/roots"
	"github.com/rootbound/rootbound/beneath"
)

// A root on a dead mount costs one second once, spoils no other, and is not tried again before the kernel lets go.
func TestHungRoots(t *testing.T) {
	top := tree(t, "a", "b", "dead")
	synctest.Test(t, func(t *testing.T) {
		c := declared(uri(top, "dead"), uri(top, "a"), uri(top, "b"))
		a := c.authority(t, ceiling(t, project("p", top, rootbound.ReadWrite)))
		back := make(chan struct{})
		var tried atomic.Int64
		var late atomic.Pointer[beneath.Root]
		a.open.Dir = func(p string) (*beneath.Root, error) {
			r, err := beneath.OpenRoot(p)
			if strings.HasSuffix(p, "dead") {
				tried.Add(1)
				late.Store(r)
				<-back
			}
			return r, err
		}
		check := func(took time.Duration, want ...string) {
			t.Helper()
			r := <-start(t.Context(), a, false)
			if got := paths(ok(t, r)); !slices.Equal(got, want) || r.took != took {
				t.Errorf("granted %v after %v", got, r.took)
			}
			a.Invalidate(rootbound.GenerationStale)
		}
		check(roots.OpenFor, top+"/a", top+"/b")
		if v := a.Status().Verdicts[0]; v.Reason != rootbound.RootUnusable || v.Detail != "timeout" {
			t.Errorf("%+v", v)
		}
		check(0, top+"/a", top+"/b")
		if tried.Load() != 1 {
			t.Errorf("tried %d times", tried.Load())
		}
		close(back)
		synctest.Wait()
		if _, err := late.Load().Info(); err == nil {
			t.Error("what came too late is still open")
		}
		check(0, top+"/dead", top+"/a", top+"/b")
	})
}
