package text

import (
	"slices"
	"strings"

	udiff "github.com/aymanbagabas/go-udiff"
)

// maxExact bounds the changed lines for which the shortest script is looked for: its time and memory grow with the square.
const maxExact = 700

// runsOf compares texts line by line. Up to maxExact changed lines it takes, among equally short scripts, the one the
// official server shows; beyond, go-udiff's, whose cost is bounded.
func runsOf(old, new []string) []run {
	if slices.Equal(old, new) {
		return nil
	}
	if r, ok := shortest(old, new); ok {
		return r
	}
	return bounded(old, new)
}

// step is a link of the script that leads to a point of the edit graph.
type step struct {
	kind  runKind
	count int
	prev  *step
}

// reach is the farthest point on one diagonal: old lines used up, and how.
type reach struct {
	old  int
	last *step
}

func (p *reach) extend(kind runKind, n int) {
	if p.last != nil && p.last.kind == kind {
		p.last = &step{kind, p.last.count + n, p.last.prev}
		return
	}
	p.last = &step{kind, n, p.last}
}

// shortest is Myers' greedy algorithm ("An O(ND) Difference Algorithm and Its Variations", 1986), forward, deletions
// preferred where two ways lead equally far. A diagonal that met an edge of the graph bounds those beyond it; its inner
// neighbour meets the same edge with the next line, so the bounds keep step with the parity of d.
func shortest(old, new []string) ([]run, bool) {
	n, m := len(old), len(new)
	// points are counted in lines used up; diagonal k = old - new, kept at best[k+off]
	limit := min(n+m, maxExact)
	off := limit + 2
	best := make([]*reach, 2*off+1)
	slide := func(p *reach, k int) (done bool, newUsed int) {
		i, j := p.old, p.old-k
		c := 0
		for i < n && j < m && old[i] == new[j] {
			i, j, c = i+1, j+1, c+1
		}
		if c > 0 {
			p.last = &step{same, c, p.last}
		}
		p.old = i
		return i == n && j == m, j
	}
	start := &reach{}
	if done, _ := slide(start, 0); done {
		return start.runs(), true
	}
	best[off] = start
	low, high := -limit, limit
	for d := 1; d <= limit; d++ {
		for k := max(low, -d); k <= min(high, d); k += 2 {
			del, ins := best[k-1+off], best[k+1+off]
			best[k-1+off] = nil
			canIns := ins != nil && ins.old-k >= 1 && ins.old-k <= m
			canDel := del != nil && del.old < n
			var p reach
			switch {
			case !canIns && !canDel:
				best[k+off] = nil
				continue
			case !canDel || canIns && del.old < ins.old:
				p = *ins
				p.extend(plus, 1)
			default:
				p = *del
				p.old++
				p.extend(minus, 1)
			}
			done, used := slide(&p, k)
			if done {
				return p.runs(), true
			}
			best[k+off] = &p
			if p.old == n {
				high = min(high, k-1)
			}
			if used == m {
				low = max(low, k+1)
			}
		}
	}
	return nil, false
}

func (p *reach) runs() []run {
	var out []run
	for s := p.last; s != nil; s = s.prev {
		out = append(out, run{kind: s.kind, count: s.count})
	}
	slices.Reverse(out)
	locate(out)
	return out
}

// locate fills in where runs begin.
func locate(runs []run) {
	i, j := 0, 0
	for k := range runs {
		r := &runs[k]
		r.old, r.new = i, j
		if r.kind != plus {
			i += r.count
		}
		if r.kind != minus {
			j += r.count
		}
	}
}

func bounded(old, new []string) []run {
	lineAt := make(map[int]int, len(old)+1) // offset of a line's first byte to its number
	at := 0
	for i, l := range old {
		lineAt[at] = i
		at += len(l)
	}
	lineAt[at] = len(old)
	var out []run
	done := 0
	add := func(kind runKind, n int) {
		if n > 0 {
			out = append(out, run{kind: kind, count: n})
		}
	}
	for _, e := range udiff.Lines(strings.Join(old, ""), strings.Join(new, "")) {
		from, to := lineAt[e.Start], lineAt[e.End]
		add(same, from-done)
		add(minus, to-from)
		add(plus, len(splitLines([]byte(e.New))))
		done = to
	}
	add(same, len(old)-done)
	locate(out)
	return out
}
