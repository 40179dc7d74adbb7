package watch

import "github.com/rootbound/rootbound/beneath"

// table maps numbers of watches, which are given out in rising order, to numbers that are not 0. It costs 4 bytes for each
// where they are dense.
type table struct{ pages map[beneath.WatchID]*page }

const pageSize = 128

type page struct {
	used  int
	value [pageSize]uint32
}

func (t *table) get(id beneath.WatchID) (uint32, bool) {
	p := t.pages[id/pageSize]
	if p == nil {
		return 0, false
	}
	v := p.value[id%pageSize]
	return v, v != 0
}

func (t *table) set(id beneath.WatchID, v uint32) {
	p := t.pages[id/pageSize]
	if p == nil {
		if t.pages == nil {
			t.pages = map[beneath.WatchID]*page{}
		}
		p = &page{}
		t.pages[id/pageSize] = p
	}
	if p.value[id%pageSize] == 0 {
		p.used++
	}
	p.value[id%pageSize] = v
}

func (t *table) delete(id beneath.WatchID) {
	p := t.pages[id/pageSize]
	if p == nil || p.value[id%pageSize] == 0 {
		return
	}
	p.value[id%pageSize] = 0
	if p.used--; p.used == 0 {
		delete(t.pages, id/pageSize)
	}
}
