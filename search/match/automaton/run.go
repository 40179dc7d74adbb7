package automaton

import (
	"bytes"
	"math"
)

// A step of the automaton waits for the one before it. Where several stretches of a text run side by side, a processor
// does not wait.
const (
	lanes   = 4
	nowhere = math.MaxInt
	pause   = 1 << 16 // nodes, after which it is asked whether to go on
)

// lane is a stretch of whole lines that is run.
type lane struct {
	from, end int
	at        int    // what comes next
	state     uint32 // before it
	hit       int    // where the lane stands since its line may match; nowhere
}

func (l *lane) open() bool { return l.at < l.end && l.hit == nowhere }

// Load lays out text for Next. begin tells that a line begins where it does.
func (a *Automaton) Load(text []byte, begin bool) {
	a.text, a.begin, a.lane, a.stopped = text, begin, 0, false
	a.all = [lanes]lane{{end: len(text), state: a.at(0, begin), hit: nowhere}}
	a.lanes = a.all[:1]
	if a.idle || len(text) < lanes*a.bounds.Lane {
		return
	}
	for k := 1; k < lanes; k++ {
		last := &a.lanes[k-1]
		half := max(len(text)*k/lanes, last.from)
		i := bytes.IndexByte(text[half:], '\n')
		if i < 0 || half+i+1 == len(text) {
			return
		}
		last.end = half + i + 1
		a.lanes = a.all[:k+1]
		a.lanes[k] = lane{from: last.end, end: len(text), at: last.end, state: a.line, hit: nowhere}
	}
}

// at is the state at a place in the text: at the beginning of a line or inside of one.
func (a *Automaton) at(from int, begin bool) uint32 {
	switch {
	case begin:
		return a.line
	case from > 0 && isWord[a.text[from-1]]:
		return a.inside[1]
	}
	return a.inside[0]
}

// Next is a position in, or at the end of, the first line at or behind low that may match; -1 for none. low does not go
// back, and is where a line begins unless it is 0. Once Lost, the answer means nothing.
func (a *Automaton) Next(low int) int {
	for ; a.lane < len(a.lanes); a.lane++ {
		l := &a.lanes[a.lane]
		if l.at < low || l.hit != nowhere && l.hit < low {
			l.at, l.state, l.hit = min(low, l.end), a.line, nowhere
		}
		for l.open() && !a.lost {
			if a.together(); a.work > pause && a.On != nil {
				a.stopped = !a.On(a.work)
				a.work = 0
			}
			if a.stopped {
				return -1
			}
		}
		if l.hit != nowhere || a.lost {
			return l.hit
		}
	}
	return -1
}

// Accepts reports that a line, or a part of one, may match.
func (a *Automaton) Accepts(line []byte, begin bool) bool {
	if a.lost {
		return true
	}
	a.Load(line, begin)
	return a.Next(0) >= 0 || a.lost
}

// together moves the open lanes on, until none has a fast way to go.
func (a *Automaton) together() {
	var open [lanes]*lane
	n := 0
	for k := a.lane; k < len(a.lanes); k++ {
		if a.lanes[k].open() {
			open[n] = &a.lanes[k]
			n++
		}
	}
	switch n {
	case lanes:
		a.four(open[0], open[1], open[2], open[3])
	case 1:
		a.one(open[0])
	default:
		n = 2
		a.two(open[0], open[1])
	}
	for _, l := range open[:n] {
		a.slow(l)
	}
}

func (a *Automaton) one(l *lane) {
	if a.idle && l.state == rowIdle*a.stride {
		at := a.skip(a.text[:l.end], l.at)
		a.passed += at - l.at
		l.at = at
	}
	table, special, class := a.table, a.special, &a.p.class
	s, p, j := l.state, a.text[l.at:l.end], 0
	for ; j < len(p); j++ {
		t := table[s+uint32(class[p[j]])]
		if t <= special {
			break
		}
		s = t
	}
	l.state = s
	l.at += j
	a.passed += j
}

func (a *Automaton) two(l0, l1 *lane) {
	table, special, class := a.table, a.special, &a.p.class
	n := min(l0.end-l0.at, l1.end-l1.at)
	p0, p1 := a.text[l0.at:l0.at+n], a.text[l1.at:l1.at+n]
	s0, s1 := l0.state, l1.state
	j := 0
	for ; j < len(p0) && j < len(p1); j++ {
		t0 := table[s0+uint32(class[p0[j]])]
		t1 := table[s1+uint32(class[p1[j]])]
		if t0 <= special || t1 <= special {
			break
		}
		s0, s1 = t0, t1
	}
	l0.state, l1.state = s0, s1
	l0.at += j
	l1.at += j
	a.passed += 2 * j
}

func (a *Automaton) four(l0, l1, l2, l3 *lane) {
	table, special, class := a.table, a.special, &a.p.class
	n := min(l0.end-l0.at, l1.end-l1.at, l2.end-l2.at, l3.end-l3.at)
	p0, p1 := a.text[l0.at:l0.at+n], a.text[l1.at:l1.at+n]
	p2, p3 := a.text[l2.at:l2.at+n], a.text[l3.at:l3.at+n]
	s0, s1, s2, s3 := l0.state, l1.state, l2.state, l3.state
	j := 0
	for ; j < len(p0) && j < len(p1) && j < len(p2) && j < len(p3); j++ {
		t0 := table[s0+uint32(class[p0[j]])]
		t1 := table[s1+uint32(class[p1[j]])]
		t2 := table[s2+uint32(class[p2[j]])]
		t3 := table[s3+uint32(class[p3[j]])]
		if t0 <= special || t1 <= special || t2 <= special || t3 <= special {
			break
		}
		s0, s1, s2, s3 = t0, t1, t2, t3
	}
	l0.state, l1.state, l2.state, l3.state = s0, s1, s2, s3
	l0.at += j
	l1.at += j
	l2.at += j
	l3.at += j
	a.passed += 4 * j
}

// slow takes one step of a lane that the fast loop may not take.
func (a *Automaton) slow(l *lane) {
	if a.lost {
		return
	}
	if !l.open() {
		a.close(l)
		return
	}
	class := uint32(a.p.class[a.text[l.at]])
	to := a.table[l.state+class]
	if to > a.special {
		return
	}
	if to == rowUnknown {
		if a.full() {
			if a.flush(); !a.lost {
				a.restart()
			}
			return
		}
		to = a.step(l.state, class)
	}
	switch to {
	case rowAccepted * a.stride:
		l.hit = l.at
		return
	case rowDead * a.stride:
		n := bytes.IndexByte(a.text[l.at:l.end], '\n')
		if n < 0 {
			l.at = l.end
			return
		}
		l.at += n
		a.passed += n
		to = a.line
	}
	l.state = to
	l.at++
	a.close(l)
}

// close looks whether the last line of the text, which has no newline, matches at its end.
func (a *Automaton) close(l *lane) {
	if l.at == l.end && l.end == len(a.text) && l.hit == nowhere && l.from < l.end && a.text[l.end-1] != '\n' {
		if a.step(l.state, uint32(a.p.classes)) == rowAccepted*a.stride {
			l.hit = l.end
		}
	}
}

// restart puts the lanes back to where their lines begin, since states are forgotten.
func (a *Automaton) restart() {
	for k := range a.lanes {
		l := &a.lanes[k]
		start := bytes.LastIndexByte(a.text[l.from:l.at], '\n') + 1
		if l.hit == nowhere {
			l.at = l.from + start
			l.state = a.at(l.at, l.at > 0 || a.begin)
		}
	}
}

// skip is the first position at or behind i of a byte that leads away from the state inside.
func (a *Automaton) skip(text []byte, i int) int {
	leaves := &a.leaves
	for ; i+8 <= len(text); i += 8 {
		p := text[i : i+8 : i+8]
		if leaves[p[0]] || leaves[p[1]] || leaves[p[2]] || leaves[p[3]] || leaves[p[4]] || leaves[p[5]] || leaves[p[6]] || leaves[p[7]] {
			break
		}
	}
	for i < len(text) && !leaves[text[i]] {
		i++
	}
	return i
}
