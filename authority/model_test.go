package authority

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rootbound/rootbound"
	"pgregory.net/rapid"
)

// model is contract §4 in a few lines, for one caller at a time: what is in force, since when, and who holds what.
type model struct {
	client  *client
	a       *Authority
	list    []string // what the client would answer; nil: not a list
	fails   error
	gen     rootbound.Generation
	cur     []string // approved, nil: none
	source  string
	when    time.Time
	asks    int
	heard   bool
	later   bool
	lacking bool
	revoked map[string]bool
	all     bool
	uses    []held

	projects []string        // of the configuration
	active   []string        // nil: all
	reached  []string        // what the client's list named when cur was judged
	ceiling  bool            // it changed since
	held     map[string]bool // ever granted
}

// force are the projects in force.
func (m *model) force() (out []string) {
	for _, d := range m.projects {
		if m.active == nil || slices.Contains(m.active, d) {
			out = append(out, d)
		}
	}
	return out
}

// changed is what a change of these projects means for the generation.
func (m *model) changed(ids []string) {
	if len(ids) == 0 {
		return
	}
	m.ceiling = true
	concerns := func(d string) bool { return m.source != "roots" || slices.Contains(m.reached, d) }
	if m.cur != nil && slices.ContainsFunc(ids, concerns) {
		m.end(rootbound.GenerationStale)
	}
}

// retired is the reason for a project that is not in force.
func (m *model) retired(d string) bool { return m.held[d] && !slices.Contains(m.force(), d) }

type held struct {
	u    *Use
	gen  rootbound.Generation
	dirs []string
	why  rootbound.Reason // empty: current
}

// wrong is how a run fails: it has to leave the bubble's goroutine before rapid may hear of it.
type wrong string

func fatalf(format string, args ...any) { panic(wrong(fmt.Sprintf(format, args...))) }

var names = []string{"a", "b", "c"}

func (m *model) end(why rootbound.Reason) {
	m.cur = nil
	for i := range m.uses {
		if m.uses[i].why == "" {
			m.uses[i].why = why
		}
	}
}

// answer is the table of contract §2 for mode narrow.
func (m *model) answer() (dirs []string, source string, reason rootbound.Reason) {
	left := func(in []string) (out []string) {
		for _, d := range in {
			if !m.revoked[d] {
				out = append(out, d)
			}
		}
		return out
	}
	declared := m.client.cap.Declared && !m.lacking
	if declared {
		m.asks++
	}
	inForce := m.force()
	defer func() {
		if reason == "" && len(dirs) == 0 {
			switch {
			case slices.ContainsFunc(names, func(d string) bool {
				return m.revoked[d] && slices.Contains(m.projects, d) && (source != "roots" || slices.Contains(m.list, d))
			}):
				reason = rootbound.RevokedByUser
			case slices.ContainsFunc(names, func(d string) bool { return m.retired(d) && (source != "roots" || slices.Contains(m.list, d)) }):
				reason = rootbound.ProjectRetired
			case source == "roots":
				reason = rootbound.NoOverlap
			default:
				reason = rootbound.NoScope
			}
		}
	}()
	switch {
	case declared && errors.Is(m.fails, ErrUnsupported) && !m.heard:
		m.lacking = true
		fallthrough
	case !declared:
		dirs, source = left(inForce), "ceiling"
		if m.lacking {
			source = "roots_unsupported"
		}
	case m.fails != nil && errors.Is(m.fails, ErrMalformed), m.fails == nil && m.list == nil:
		return nil, "", rootbound.RootsMalformed
	case m.fails != nil:
		return nil, "", rootbound.AuthorityUnavailable
	case len(m.list) == 0 && m.a.terms.Load().EmptyIsCeiling && !m.later:
		m.heard = true
		dirs, source = left(inForce), "empty_first"
	case len(m.list) == 0:
		m.heard = true
		return nil, "", rootbound.RootsEmpty
	default:
		m.heard, m.later = true, true
		known := slices.DeleteFunc(slices.Clone(m.list), func(d string) bool { return !slices.Contains(inForce, d) })
		dirs, source = left(known), "roots"
	}
	return dirs, source, ""
}

// publish takes what answer gave.
func (m *model) publish(dirs []string) {
	m.gen++
	for _, d := range dirs {
		m.held[d] = true
	}
}

// judged follows every good answer.
func (m *model) judged(dirs []string, source string, sent time.Time) {
	m.cur, m.source, m.when, m.ceiling = dirs, source, sent, false
	m.reached = slices.Clone(m.list)
}

func (m *model) acquire(mutates bool) {
	u, err := m.a.Acquire(context.Background(), mutates)
	want := rootbound.Reason("")
	asking := m.client.cap.Declared && !m.lacking
	switch {
	case m.all:
		want = rootbound.RevokedByUser
	case m.cur != nil && !m.ceiling && (!asking || m.client.cap.ListChanged || !mutates && time.Since(m.when) <= maxAge):
	default:
		sent := time.Now()
		dirs, source, reason := m.answer()
		if want = reason; reason != "" {
			m.end(rootbound.GenerationStale)
			break
		}
		if m.cur == nil || !slices.Equal(sorted(m.cur), sorted(dirs)) {
			m.end(rootbound.GenerationStale)
			m.publish(dirs)
		}
		m.judged(dirs, source, sent)
	}
	m.compare(u, err, want, m.cur)
}

func (m *model) compare(u *Use, err error, want rootbound.Reason, dirs []string) {
	if want != "" {
		var e *rootbound.Error
		if !errors.As(err, &e) || e.Reason != want {
			fatalf("got %v, want %s", err, want)
		}
		return
	}
	if err != nil {
		fatalf("%v, want %v", err, dirs)
	}
	s := u.Snapshot()
	var got []string
	for _, g := range s.Grants {
		got = append(got, string(g.ID))
	}
	if !slices.Equal(sorted(got), sorted(dirs)) || s.Generation != m.gen || s.Source != m.source {
		fatalf("got %v, generation %d, %s; want %v, %d, %s", got, s.Generation, s.Source, dirs, m.gen, m.source)
	}
	for _, d := range names {
		if _, retired := s.Retired(rootbound.RootID(d)); !m.ceiling && retired != m.retired(d) {
			fatalf("%s: retired %v; held %v, in force %v", d, retired, m.held[d], m.force())
		}
	}
	m.uses = append(m.uses, held{u, m.gen, dirs, ""})
}

func subset(rt *rapid.T, of []string) []string {
	out := []string{}
	for _, d := range of {
		if rapid.Bool().Draw(rt, d) {
			out = append(out, d)
		}
	}
	return out
}

// differing are the names that only one of two lists has.
func differing(a, b []string) (out []string) {
	for _, d := range names {
		if slices.Contains(a, d) != slices.Contains(b, d) {
			out = append(out, d)
		}
	}
	return out
}

func sorted(s []string) []string { s = slices.Clone(s); slices.Sort(s); return slices.Compact(s) }

func TestAgainstTheModel(t *testing.T) {
	top := tree(t, "a", "b", "c", "out")
	rapid.Check(t, func(rt *rapid.T) {
		var failed any
		synctest.Test(t, func(t *testing.T) {
			defer func() { failed = recover() }()
			var projects []rootbound.Project
			for _, n := range names {
				projects = append(projects, project(n, top+"/"+n, rootbound.ReadWrite))
			}
			c := &client{cap: Capability{Declared: rapid.IntRange(0, 4).Draw(rt, "declared") > 0, ListChanged: rapid.Bool().Draw(rt, "listChanged")}, ans: answer()}
			m := &model{client: c, list: []string{}, revoked: map[string]bool{}, held: map[string]bool{}, projects: names}
			t.Cleanup(func() { // also of a run that failed, of which rapid makes many
				for _, h := range m.uses {
					h.u.Release()
				}
			})
			empty := rapid.Bool().Draw(rt, "on-empty=ceiling")
			ceil := ceiling(t, projects...)
			m.a = c.authority(t, ceil, func(o *Options) { o.EmptyIsCeiling = empty })
			actions := map[string]func(*rapid.T){
				"list": func(rt *rapid.T) {
					m.list = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "out"}), rapid.SampledFrom([]int{0, 1, 1, 1, 2}).Draw(rt, "least"), 3, rapid.ID).Draw(rt, "list")
					if m.list == nil {
						m.list = []string{}
					}
					m.fails = nil
					ans := answer()
					for _, d := range m.list {
						ans.Roots = append(ans.Roots, RootEntry{URI: uri(top, d)})
					}
					c.set(func(c *client) { c.ans, c.err = ans, nil })
				},
				"fail": func(rt *rapid.T) {
					m.fails = rapid.SampledFrom([]error{errors.New("x"), ErrMalformed, ErrUnsupported, nil}).Draw(rt, "error")
					m.list = nil
					c.set(func(c *client) { c.ans, c.err = &Answer{}, m.fails })
				},
				"list_changed": func(rt *rapid.T) {
					if !m.a.MarkStale(rootbound.GenerationStale, time.Second) {
						fatalf("not settled")
					}
					m.end(rootbound.GenerationStale)
					m.lacking, m.later = false, m.later || m.heard
				},
				"revoke": func(rt *rapid.T) {
					n := rapid.SampledFrom([]string{"", "a", "b", "c", "a", "b", "c"}).Draw(rt, "id")
					if n == "" {
						m.all = true
						m.a.Revoke()
					} else {
						m.revoked[n] = true
						m.a.Revoke(rootbound.RootID(n))
					}
					m.end(rootbound.RevokedByUser)
				},
				"unrevoke": func(rt *rapid.T) {
					m.all = false
					clear(m.revoked)
					m.a.Unrevoke()
					m.end(rootbound.GenerationStale)
				},
				"replace": func(rt *rapid.T) {
					next := subset(rt, names)
					var list []rootbound.Project
					for _, p := range projects {
						if slices.Contains(next, string(p.ID)) {
							list = append(list, p)
						}
					}
					if err := ceil.Replace(list); err != nil {
						fatalf("replace: %v", err)
					}
					before := m.projects
					m.projects = next
					m.changed(differing(before, next))
				},
				"activate": func(rt *rapid.T) {
					next := subset(rt, m.projects)
					ids := []rootbound.RootID{}
					for _, d := range next {
						ids = append(ids, rootbound.RootID(d))
					}
					if rapid.Bool().Draw(rt, "all") {
						next, ids = nil, nil
					}
					if err := ceil.Activate(ids); err != nil {
						fatalf("activate: %v", err)
					}
					before := m.force()
					m.active = next
					m.changed(differing(before, m.force()))
				},
				"read":   func(rt *rapid.T) { m.acquire(false) },
				"mutate": func(rt *rapid.T) { m.acquire(true) },
				"sleep": func(rt *rapid.T) {
					time.Sleep(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, 3 * time.Second}).Draw(rt, "for"))
				},
				"current": func(rt *rapid.T) {
					u, err := m.a.Current()
					asking := m.client.cap.Declared && !m.lacking
					switch {
					case m.all:
						m.compare(u, err, rootbound.RevokedByUser, nil)
					case m.cur == nil && asking:
						m.compare(u, err, rootbound.AuthorityUnavailable, nil)
					case m.cur == nil:
						dirs, source, reason := m.answer()
						if reason == "" {
							m.publish(dirs)
							m.judged(dirs, source, time.Now())
						}
						m.compare(u, err, reason, m.cur)
					default:
						m.compare(u, err, "", m.cur)
					}
				},
				"release": func(rt *rapid.T) {
					if len(m.uses) > 0 {
						i := rapid.IntRange(0, len(m.uses)-1).Draw(rt, "use")
						m.uses[i].u.Release()
						m.uses = slices.Delete(m.uses, i, i+1)
					}
				},
				"": func(rt *rapid.T) {
					for _, h := range m.uses {
						err, ran := h.u.Commit(func() error { return nil }), h.why == ""
						if (err == nil) != ran || (h.u.Stale() == nil) != ran {
							fatalf("generation %d: %v, the model says %q", h.gen, err, h.why)
						}
						if e := new(rootbound.Error); !ran && (!errors.As(err, &e) || e.Reason != h.why) {
							fatalf("generation %d: %v, want %s", h.gen, err, h.why)
						}
						if _, err := h.u.Snapshot().Grants[0].Root.Info(); err != nil {
							fatalf("a held handle is closed: %v", err)
						}
					}
					if c.asked() != m.asks {
						fatalf("%d asks, want %d", c.asked(), m.asks)
					}
				},
			}
			for _, often := range []string{"list", "read", "mutate", "sleep"} { // else most runs would end denied
				for i := range 4 {
					actions[often+string(rune('2'+i))] = actions[often]
				}
			}
			actions["list"](rt)
			rt.Repeat(actions)
			m.a.Close()
			for len(m.uses) > 0 {
				u := m.uses[0].u
				m.uses = m.uses[1:]
				u.Release()
				if n := u.Snapshot().refs.Load(); n < 0 {
					fatalf("%d references", n)
				}
			}
		})
		if failed != nil {
			if wrong, ok := failed.(wrong); ok {
				rt.Fatal(string(wrong))
			}
			panic(failed)
		}
	})
}
