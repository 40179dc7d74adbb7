package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// goRows are the Go benchmarks that measure themselves against a rival and report the metric "ratio".
var goRows = []struct {
	pkg, bench, time string
	row              row
	allocs           float64
}{
	{"./beneath", "BenchmarkOpenDepth8", "200x", row{what: "`beneath`: open, check, close at depth 8", rival: "raw openat, fstat, close", bound: "≤ 1.5", limit: 1.5}, 0},
	{"./beneath", "BenchmarkOpenLinkDepth4", "200x", row{what: "`beneath`: the same through one link at depth 4", rival: "raw openat, fstat, close", bound: "≤ 5", limit: 5}, 0},
	{"./beneath", "BenchmarkWalkTierDepth8", "200x", row{what: "`beneath`: own walk, without openat2, depth 8", rival: "os.Root", bound: "≤ 1", limit: 1}, 0},
	{"./guard", "BenchmarkDoDepth8", "200x", row{what: "`guard`: rules, root check, record in memory, depth 8", rival: "raw openat, fstat, close", bound: "≤ 4, ≤ 15 allocations", limit: 4}, 15},
	{"./guard", "BenchmarkRead100Rules", "500x", row{what: "a read through the door with 100 rules", rival: "the same without any", bound: "≤ 1.3", limit: 1.3}, 0},
	{"./internal/serve", "BenchmarkReload1000Projects", "20x", row{what: "a configuration of 1,000 projects read again, until it is in force", rival: "a cold start from it", bound: "≤ 1", limit: 1}, 0},
	{"./internal/serve", "BenchmarkPages", "524x", row{what: "`read_text_file`, 2,000 lines at a time through 32 MiB", rival: "the same without the cache", bound: "≤ 0.5", limit: 0.5}, 0},
	{"./internal/serve", "BenchmarkSwitch100Subscriptions", "100x", row{what: "a switch of the workspace with 100 subscriptions, to the first answered read", rival: "the same with none", bound: "≤ 2", limit: 2}, 0},
	{"./guard", "BenchmarkTreeWithRules", "9x", row{what: "sorted walk of 100,000 files with default rules", rival: "filepath.WalkDir", bound: "≤ 1.2", limit: 1.2}, 0},
	{"./guard", "BenchmarkDeleteTree", "9x", row{what: "deletion of a tree of 10,000 files with default rules", rival: "rm -r", bound: "≤ 2", limit: 2}, 0},
	{"./watch", "BenchmarkMemory", "3x", row{what: "`watch`: memory of a process that watches 100,000 directories", rival: "a bare inotify program that maps each to its path", bound: "≤ 1.5", limit: 1.5}, 0},
	{"./guard", "BenchmarkNotify", "200x", row{what: "from a write to the call of a watch's function, judged by rules, four directories deep", rival: "a bare inotify program that finds the path", bound: "≤ 3", limit: 3}, 0},
	{"./internal/undo", "BenchmarkApply50", "15x", row{what: "`patch.Apply` of 50 files of 4 KiB, journalled and kept", rival: "50 durable atomic writes by hand", bound: "≤ 1.5", limit: 1.5}, 0},
	{"./internal/undo", "BenchmarkKeptWrite", "200x", row{what: "a durable write of 4 KiB whose old bytes are kept", rival: "the same, not kept", bound: "≤ 1.5", limit: 1.5}, 0},
}

func inGo(quick bool) ([]row, error) {
	var out []row
	for _, g := range goRows {
		n := g.time
		if quick {
			n = "3x"
		}
		m, text, err := benchmark(g.pkg, g.bench, n)
		if err != nil {
			return nil, err
		}
		r := g.row
		ratio, ok := m["ratio"]
		if !ok {
			return nil, fmt.Errorf("%s reports no ratio:\n%s", g.bench, text)
		}
		r.ratio = ratio
		progress(r.what, ratio)
		var notes []string
		for unit, v := range m {
			if unit != "ratio" && unit != "ns/op" {
				notes = append(notes, fmt.Sprintf("%s %.4g", unit, v))
			}
		}
		r.note = strings.Join(sorted(notes), ", ")
		if g.allocs > 0 && m["allocs"] > g.allocs {
			r.limit, r.note = 1e-9, r.note+" — too many allocations"
		}
		out = append(out, r)
	}
	return out, nil
}

func benchmark(pkg, name, n string) (map[string]float64, string, error) {
	b, err := exec.Command("go", "test", pkg, "-run", "^$", "-bench", "^"+name+"$", "-benchtime", n, "-timeout", "20m").CombinedOutput()
	if err != nil {
		return nil, "", fmt.Errorf("%s: %v\n%s", name, err, b)
	}
	m := map[string]float64{}
	for s := bufio.NewScanner(bytes.NewReader(b)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], name) {
			continue
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				m[f[i+1]] = v
			}
		}
	}
	return m, string(b), nil
}
