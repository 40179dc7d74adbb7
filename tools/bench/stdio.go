package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const officialPackage = "@modelcontextprotocol/server-filesystem@2026.8.31"

// official finds or installs the official server and returns its command line without directories.
func official(tmp string) ([]string, error) {
	const index = "node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
	if p, err := filepath.Abs(filepath.Join("e2e", index)); err == nil {
		if _, err := os.Stat(p); err == nil {
			return []string{"node", p}, nil
		}
	}
	c := exec.Command("npm", "install", "--no-audit", "--no-fund", "--silent", officialPackage)
	c.Dir = tmp
	if b, err := c.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("npm install %s: %v %s", officialPackage, err, bytes.TrimSpace(b))
	}
	return []string{"node", filepath.Join(tmp, index)}, nil
}

func overStdio(tmp, binary string, rounds int, quick bool, only string) ([]row, error) {
	small := filepath.Join(tmp, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		return nil, err
	}
	file := filepath.Join(small, "four.txt")
	if err := os.WriteFile(file, []byte(strings.Repeat("All work and no play, line by line....\n", 106)[:4096]), 0o644); err != nil {
		return nil, err
	}
	much := effort{rounds: max(rounds, 24), warm: 300, calls: 100, turn: 20}
	if quick {
		much, rounds = effort{rounds: 2, warm: 20, calls: 20, turn: 20}, 2
	}
	ours := []string{binary, "serve", "--confine=off"}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var rows []row
	r, err := reads("`read_text_file` of 4 KiB over stdio", "echo tool of the bare SDK, equal reply", append(ours, small), []string{self, "-echo", file}, file, much)
	if err != nil {
		return nil, err
	}
	r.bound, r.limit = "≤ 1.4", 1.4
	rows = append(rows, r)
	audit := append(append([]string{}, ours...), "--audit", filepath.Join(tmp, "audit.jsonl"), small)
	if r, err = reads("`read_text_file` with the JSONL audit on", "the same with it off", audit, append(ours, small), file, much); err != nil {
		return nil, err
	}
	r.bound, r.limit = "≤ 1.15", 1.15
	rows = append(rows, r)
	if r, err = projectReads(tmp, ours, small, file, much); err != nil {
		return nil, err
	}
	rows = append(rows, r)
	if only == "reads" {
		theirs, err := official(tmp)
		if err != nil {
			return nil, err
		}
		r, err := rate(ours, theirs, small, file, much)
		return append(rows, r), err
	}
	more, err := contents(tmp, binary, rounds, quick)
	if err != nil {
		return nil, err
	}
	rows = append(rows, more...)

	theirs, err := official(tmp)
	if err != nil {
		const why = "the official server could not be installed"
		for _, what := range []string{"start to the first tools/list", "reads of 4 KiB a second", "search_files over 50,000 files", "directory_tree of 49,500 files", "idle memory"} {
			rows = append(rows, row{what: what, rival: "official server", missing: why})
		}
		return rows, nil
	}
	more, err = againstOfficial(tmp, ours, theirs, small, file, rounds, much, quick)
	return append(rows, more...), err
}

// projectReads compares the two forms of the tools on one file.
func projectReads(tmp string, ours []string, small, file string, much effort) (row, error) {
	config := filepath.Join(tmp, "rootbound.yaml")
	if err := os.WriteFile(config, []byte("projects: [{id: small, dir: "+small+", rights: rw}]\n"), 0o644); err != nil {
		return row{}, err
	}
	r, err := readsOf("`read_text_file` in the project form", "the same in the classic form", append(append([]string{}, ours...), "--tools=project", "--config", config),
		append(append([]string{}, ours...), "--tools=classic", "--config", config), map[string]string{"project_id": "small", "relative_path": filepath.Base(file)},
		map[string]string{"root": "small", "path": filepath.Base(file)}, much)
	r.bound, r.limit = "≤ 1.1", 1.1
	return r, err
}

// reads calls read_text_file in turn on both servers.
func reads(what, rival string, ours, theirs []string, file string, much effort) (row, error) {
	args := map[string]string{"path": file}
	return readsOf(what, rival, ours, theirs, args, args, much)
}

// readsOf begins each round with new processes, because two processes of one program can differ by a fifth for as long as
// they live.
func readsOf(what, rival string, ours, theirs []string, ourArgs, theirArgs map[string]string, much effort) (row, error) {
	o, t := side{argv: ours, args: ourArgs}, side{argv: theirs, args: theirArgs}
	for range much.rounds {
		if err := takeTurns(&o, &t, much); err != nil {
			return row{}, err
		}
	}
	progress(what+" against "+rival, o.median()/t.median())
	return row{what: what, rival: rival, ratio: o.median() / t.median(), rate: t.sum() / o.sum(),
		note: fmt.Sprintf("ours %.0f µs, p99 %.0f µs; rival %.0f µs, p99 %.0f µs", o.median()/1e3, o.at(.99)/1e3, t.median()/1e3, t.at(.99)/1e3)}, nil
}

// effort is how long reads are measured: in each round that many calls of each side, so many of them in a turn, behind so many
// that warm it.
type effort struct{ rounds, warm, calls, turn int }

// inARow is for what a sustained caller gets. The first call of a turn wakes a process that has slept, which the short turns
// that make two sides comparable would count once in twenty calls.
func (e effort) inARow() effort {
	return effort{rounds: (e.rounds + 1) / 2, warm: e.warm, calls: 10 * e.calls, turn: 2 * e.calls}
}

// side is what is called in one half of a row, and how long it took.
type side struct {
	argv []string
	args map[string]string
	p    *peer
	times
}

// takeTurns calls read_text_file on both sides, a turn each before the other's, behind the calls that warm
// them.
func takeTurns(o, t *side, much effort) error {
	for _, s := range []*side{o, t} {
		p, err := start(s.argv...)
		if err != nil {
			return err
		}
		defer p.stop()
		s.p = p
	}
	for n := -much.warm; n < much.calls; n += much.turn {
		for _, s := range []*side{o, t} {
			for range much.turn {
				begin := time.Now()
				if _, err := s.p.tool("read_text_file", s.args); err != nil {
					return err
				}
				if n >= 0 {
					s.times = append(s.times, time.Since(begin))
				}
			}
		}
		o, t = t, o
	}
	return nil
}

const rival = "official server 2026.8.31"

// rate compares how many reads a second one caller gets.
func rate(ours, theirs []string, small, file string, much effort) (row, error) {
	r, err := reads("reads of 4 KiB", rival, append(append([]string{}, ours...), small), append(append([]string{}, theirs...), small), file, much.inARow())
	return row{what: "reads of 4 KiB a second", rival: rival, bound: "≥ 2.5", limit: 2.5, atLeast: true, ratio: r.rate, note: r.note}, err
}

func againstOfficial(tmp string, ours, theirs []string, small, file string, rounds int, much effort, quick bool) ([]row, error) {
	var rows []row
	var so, st times
	var mo, mt []int
	for n := range rounds {
		for k := range 2 {
			argv, into, mem := ours, &so, &mo
			if (n+k)%2 == 0 {
				argv, into, mem = theirs, &st, &mt
			}
			begin := time.Now()
			p, err := start(append(append([]string{}, argv...), small)...)
			if err != nil {
				return nil, err
			}
			if _, err := p.call("tools/list", json.RawMessage(`{}`)); err != nil {
				return nil, err
			}
			*into = append(*into, time.Since(begin))
			time.Sleep(200 * time.Millisecond) // idle means that nothing is left to do
			kib, err := p.resident()
			p.stop()
			if err != nil {
				return nil, err
			}
			*mem = append(*mem, kib)
		}
	}
	rows = append(rows, row{what: "start to the first tools/list", rival: rival, bound: "≤ 1/8", limit: 1. / 8, ratio: so.median() / st.median(),
		note: fmt.Sprintf("ours %.1f ms, rival %.0f ms", so.median()/1e6, st.median()/1e6)})
	r, err := rate(ours, theirs, small, file, much)
	if err != nil {
		return nil, err
	}
	rows = append(rows, r)

	dirs, each := 500, 100
	treeDirs, treeFiles := 400, 49_500
	if quick {
		dirs, each, treeDirs, treeFiles = 5, 100, 4, 495
	}
	wide := filepath.Join(tmp, "wide")
	if err := grow(wide, dirs, dirs*each); err != nil {
		return nil, err
	}
	r, err = once(ours, theirs, wide, rounds, "search_files", map[string]any{"path": wide, "pattern": "**/*777.txt"}, func(line []byte) (int, error) {
		return strings.Count(textOf(line), "\n") + 1, nil
	}, true)
	if err != nil {
		return nil, err
	}
	r.what, r.rival, r.bound, r.limit = fmt.Sprintf("`search_files` over %d files", dirs*each), rival, "≤ 1/60", 1./60
	rows = append(rows, r)
	tree := filepath.Join(tmp, "tree")
	if err := grow(tree, treeDirs, treeFiles); err != nil {
		return nil, err
	}
	r, err = once(ours, theirs, tree, rounds, "directory_tree", map[string]any{"path": tree}, func(line []byte) (int, error) {
		return strings.Count(textOf(line), `"name"`), nil
	}, true)
	if err != nil {
		return nil, err
	}
	r.what, r.rival, r.bound, r.limit = fmt.Sprintf("`directory_tree` of %d files in %d directories", treeFiles, treeDirs), rival, "≤ 1, equal entries", 1
	rows = append(rows, r)
	ratio := float64(middle(mo)) / float64(middle(mt))
	rows = append(rows, row{what: "idle memory (resident)", rival: rival, bound: "≤ 1/4", limit: 0.25, ratio: ratio,
		note: fmt.Sprintf("ours %.1f MiB, rival %.1f MiB", float64(middle(mo))/1024, float64(middle(mt))/1024)})
	return rows, nil
}

// once calls one tool in turn on both servers and compares how much they found.
func once(ours, theirs []string, dir string, rounds int, tool string, args any, count func([]byte) (int, error), equal bool) (row, error) {
	a, err := start(append(append([]string{}, ours...), dir)...)
	if err != nil {
		return row{}, err
	}
	defer a.stop()
	b, err := start(append(append([]string{}, theirs...), dir)...)
	if err != nil {
		return row{}, err
	}
	defer b.stop()
	var o, t times
	var no, nt int
	for n := range rounds + 1 {
		for k := range 2 {
			p, into, found := a, &o, &no
			if (n+k)%2 == 0 {
				p, into, found = b, &t, &nt
			}
			begin := time.Now()
			line, err := p.tool(tool, args)
			if err != nil {
				return row{}, err
			}
			if n > 0 {
				*into = append(*into, time.Since(begin))
			}
			if *found, err = count(line); err != nil {
				return row{}, err
			}
		}
	}
	r := row{ratio: o.median() / t.median(), note: fmt.Sprintf("ours %.1f ms for %d entries, rival %.1f ms for %d", o.median()/1e6, no, t.median()/1e6, nt)}
	progress(tool, r.ratio)
	if equal && no != nt {
		r.missing = fmt.Sprintf("the answers differ: ours %d entries, rival %d", no, nt)
	}
	return r, nil
}

func textOf(line []byte) string {
	var m struct {
		Result struct {
			Content []struct{ Text string }
		}
	}
	if json.Unmarshal(line, &m) != nil || len(m.Result.Content) == 0 {
		return ""
	}
	return m.Result.Content[0].Text
}

func grow(dir string, dirs, files int) error {
	for d := range dirs {
		if err := os.MkdirAll(filepath.Join(dir, fmt.Sprintf("d%03d", d)), 0o755); err != nil {
			return err
		}
	}
	for f := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("d%03d", f%dirs), fmt.Sprintf("file-%05d.txt", f)), nil, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func middle(n []int) int {
	var t times
	for _, v := range n {
		t = append(t, time.Duration(v))
	}
	return int(t.median())
}
