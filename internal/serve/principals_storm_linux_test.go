package serve

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/mcpscope"
)

// Many clients of two principals, in both eras, while directories of both change places with links to the other's and to the
// outside, and a right comes and goes: nobody hears a name or a text that is not his.
func TestPrincipalsInAStorm(t *testing.T) {
	s := newSite(t, Options{})
	projects := map[string]string{"ann": "app", "ben": "lib"}
	for user, own := range projects {
		others := projects[map[string]string{"ann": "ben", "ben": "ann"}[user]]
		s.take(user, rootbound.RootID(others))
		s.write(own+"/door/same.txt", "needle TEXT-"+own+"\n")
		s.write(own+"/door/only-"+own+".txt", "needle TEXT-"+own+"\n")
		s.write(own+"/room/same.txt", "needle TEXT-"+own+"\n")
		for i := range 20 {
			s.write(fmt.Sprintf("%s/more/%d/same.txt", own, i), "needle TEXT-"+own+"\n")
		}
	}
	s.write("outside/same.txt", "needle TEXT-outside\n")
	s.write("outside/only-outside.txt", "needle TEXT-outside\n")
	for user, own := range projects {
		others := projects[map[string]string{"ann": "ben", "ben": "ann"}[user]]
		for link, to := range map[string]string{"swap": others + "/door", "trap": "outside"} {
			if err := os.Symlink(filepath.Join(s.dir, to), filepath.Join(s.dir, own, link)); err != nil {
				t.Fatal(err)
			}
		}
	}
	rounds := 6
	if os.Getenv("RB_LONG") != "" {
		rounds = 100
	}
	calm := make(chan struct{})
	var blowing, calling sync.WaitGroup
	swaps := 0
	blowing.Go(func() {
		for ; ; swaps++ {
			select {
			case <-calm:
				return
			default:
			}
			for _, own := range projects {
				for _, pair := range [][2]string{{"door", "swap"}, {"room", "trap"}, {"more/1", "swap"}, {"more/2", "trap"}} {
					a, b := filepath.Join(s.dir, own, pair[0]), filepath.Join(s.dir, own, pair[1])
					if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
						t.Error(err)
						return
					}
				}
				for _, dir := range []string{"app/more/3", "lib/more/3", "outside"} {
					if err := os.WriteFile(filepath.Join(s.dir, dir, "same.txt"), []byte("needle TEXT-"+strings.Split(dir, "/")[0]+"\n"), 0o644); err != nil {
						t.Error(err)
						return
					}
				}
			}
			if swaps%8 == 0 {
				s.take("ann", "both")
				s.service.scope.Unrevoke(mcpscope.Who{Principal: "ann"}, "both")
			}
		}
	})
	var all []*visitor
	var still []func() // each stream tells on, when no generation ends before it could be looked by
	for i := range 3 {
		for user, own := range projects {
			v := s.visit(user, i%2 == 1)
			all = append(all, v)
			e := v.listen(own, "both")
			still = append(still, func() { e.tells(own + "/calm-" + v.user + fmt.Sprint(i) + ".txt") })
			calling.Go(func() {
				dir := s.dir + "/" + own
				// Until it saw something of its own: a call whose generation ends under it is refused, and so may be all of some rounds.
				for n := 0; n < rounds || !strings.Contains(v.heard(), "TEXT-"+own); n++ {
					v.use("search_content", map[string]any{"path": dir, "pattern": "needle"})
					v.use("search_files", map[string]any{"path": dir, "pattern": "**/same.txt"})
					v.use("directory_tree", map[string]any{"path": dir})
					v.use("read_multiple_files", map[string]any{"paths": []string{dir + "/door/same.txt", dir + "/swap/same.txt", dir + "/room/same.txt", dir + "/trap/same.txt"}})
					v.use("list_directory", map[string]any{"path": dir + "/door"})
					for _, at := range []string{"", "door", "swap/same.txt", "trap"} {
						v.ask("resources/read", `"uri":"rootbound://`+own+`/`+at+`"`)
					}
					v.ask("completion/complete", `"ref":{"type":"ref/resource","uri":"rootbound://{project}/{+path}"},"argument":{"name":"path","value":"swap/"},"context":{"arguments":{"project":"`+own+`"}}`)
				}
			})
		}
	}
	done := make(chan struct{})
	go func() { calling.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(8 * patience):
		t.Error("the clients do not come to an end")
	}
	close(calm)
	blowing.Wait()
	if swaps == 0 {
		t.Error("nothing was moved")
	}
	for _, tells := range still {
		tells()
	}
	for _, v := range all {
		own := projects[v.user]
		if !strings.Contains(v.heard(), "TEXT-"+own) || !strings.Contains(v.heard(), "rootbound://"+own+"/") {
			t.Errorf("%s saw nothing of its own", v.user)
		}
		for _, other := range []string{"app", "lib", "outside"} {
			if other != own {
				v.lacks("TEXT-"+other, "only-"+other, "rootbound://"+other)
			}
		}
		v.lacks(map[string]string{"ann": "calm-ben", "ben": "calm-ann"}[v.user])
	}
}
