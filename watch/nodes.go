package watch

import "github.com/rootbound/rootbound/beneath"

// node is a directory that is watched: who it is, and by which name of which parent it was met. 56 bytes and the name.
type node struct {
	name        string
	ino         uint64
	fs          uint32 // which of nodes.systems
	id          beneath.WatchID
	parent      int32
	child       int32  // the first of a list
	next, prior int32  // in the parent's list
	round       uint32 // of the last scan that met it
}

const none = int32(-1)

// nodes is the tree of one watch's directories. Node 0 is the watched one.
type nodes struct {
	all     []node
	free    int32 // list by next
	count   int
	by      table // number of the watch → index + 1
	systems [][2]uint64
	round   uint32
}

func (t *nodes) find(id beneath.WatchID) int32 {
	v, _ := t.by.get(id)
	return int32(v) - 1
}

func (t *nodes) is(k int32, id beneath.ObjectID) bool {
	n := &t.all[k]
	return n.ino == id.Ino && t.systems[n.fs] == [2]uint64{id.Dev, id.Mount}
}

func (t *nodes) system(id beneath.ObjectID) uint32 {
	s := [2]uint64{id.Dev, id.Mount}
	for i := len(t.systems) - 1; i >= 0; i-- {
		if t.systems[i] == s {
			return uint32(i)
		}
	}
	t.systems = append(t.systems, s)
	return uint32(len(t.systems) - 1)
}

// put makes a node below parent, none for node 0.
func (t *nodes) put(parent int32, name string, id beneath.WatchID, object beneath.ObjectID) int32 {
	var k int32
	if t.count < len(t.all) {
		k = t.free
		t.free = t.all[k].next
	} else {
		k = int32(len(t.all))
		t.all = append(t.all, node{})
	}
	t.count++
	t.all[k] = node{name: name, ino: object.Ino, fs: t.system(object), id: id, parent: none, child: none, next: none, prior: none, round: t.round}
	t.hang(k, parent)
	t.by.set(id, uint32(k)+1)
	return k
}

func (t *nodes) hang(k, parent int32) {
	n := &t.all[k]
	n.parent = parent
	if parent == none {
		return
	}
	n.next, n.prior = t.all[parent].child, none
	if n.next != none {
		t.all[n.next].prior = k
	}
	t.all[parent].child = k
}

func (t *nodes) unhang(k int32) {
	n := &t.all[k]
	switch {
	case n.parent == none:
	case n.prior == none:
		t.all[n.parent].child = n.next
	default:
		t.all[n.prior].next = n.next
	}
	if n.next != none {
		t.all[n.next].prior = n.prior
	}
	n.next, n.prior, n.parent = none, none, none
}

// over reports whether k is n or above it.
func (t *nodes) over(k, n int32) bool {
	for ; n != none; n = t.all[n].parent {
		if n == k {
			return true
		}
	}
	return false
}

// drop forgets k and all below it, and tells gone their numbers.
func (t *nodes) drop(k int32, gone func(beneath.WatchID)) {
	t.unhang(k)
	for at := k; ; {
		for t.all[at].child != none {
			at = t.all[at].child
		}
		n := &t.all[at]
		up := n.parent
		t.unhang(at)
		t.by.delete(n.id)
		id := n.id
		*n = node{next: t.free, parent: none, child: none, prior: none}
		t.free = at
		t.count--
		gone(id)
		if at == k {
			return
		}
		at = up
	}
}

// stale lists the topmost nodes at or below k that the present round did not meet.
func (t *nodes) stale(k int32, list []int32) []int32 {
	for at := k; ; {
		n := &t.all[at]
		if n.round != t.round {
			list = append(list, at)
		} else if n.child != none {
			at = n.child
			continue
		}
		for at != k && t.all[at].next == none {
			at = t.all[at].parent
		}
		if at == k {
			return list
		}
		at = t.all[at].next
	}
}

// path is the way from node 0 to k and name in it, "" for node 0 itself.
func (t *nodes) path(k int32, name string) string {
	size := len(name) + 1
	for at := k; at > 0; at = t.all[at].parent {
		size += len(t.all[at].name) + 1
	}
	b := make([]byte, size)
	end := size
	push := func(s string) {
		if s == "" {
			return
		}
		if end < size {
			end--
			b[end] = '/'
		}
		end -= len(s)
		copy(b[end:], s)
	}
	push(name)
	for at := k; at > 0; at = t.all[at].parent {
		push(t.all[at].name)
	}
	return string(b[end:])
}
