package probe

import "github.com/rootbound/rootbound/probe/truth"

// past is the tree of a case that was asked, how it looked at the end, and where its outcome stands.
type past struct {
	w    *truth.World
	last truth.Look // nil: changes are not looked for any more
	at   int
}

// kept says in the evidence where the tree of a case is that did not hold, if it is kept.
func (r *suite) kept(w *truth.World, o *Outcome) bool {
	if !r.o.Keep || o.Verdict != Fell && o.Verdict != Failed {
		return false
	}
	o.Evidence = append(o.Evidence, "the tree is kept in "+w.Dir)
	return true
}

// small is how many bytes of files a tree may hold to stay until the end of the run. A file system spends the more time on
// a new file the more were removed just before: ext4 looks for a number that was not given back lately.
const small = 256 << 10

// clear looks once more at what is outside in each tree, for what a server left behind may have done there since, and
// removes them.
func (r *suite) clear(out []Outcome) {
	for _, t := range r.trees {
		o := &out[t.at]
		if t.last != nil {
			late, _ := t.w.Changes(t.last, t.w.Look())
			for _, l := range late {
				o.Evidence = append(o.Evidence, "outside, after the server's end, "+l)
			}
			if len(late) > 0 && o.Verdict != Fell {
				o.Verdict = Fell
				if r.o.Told != nil {
					r.o.Told(len(out), len(out), *o)
				}
				if r.kept(t.w, o) {
					continue
				}
			}
		}
		remove(t.w, o) // also where it was: what was left behind may have made it anew
	}
}

func remove(w *truth.World, o *Outcome) {
	if err := w.Remove(); err != nil {
		o.Evidence = append(o.Evidence, "the tree could not be removed: "+err.Error())
	}
}
