package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rootbound/rootbound/internal/rig"
)

// listedHits is how many lines a listed pattern may match to be measured: all must come in one answer of ours, as they do
// of the rival. What matches nearly every line measures how fast lines are written.
const listedHits = 2000

// listed is a line of search/match/testdata/regexps.txt: how the pattern is filtered, and flags F, i and w.
type listed struct{ class, flags, pattern string }

func (l listed) has(flag string) bool { return strings.Contains(l.flags, flag) }

// args are the same search for both.
func (l listed) args(dir string) (rg []string, ours map[string]any) {
	rg = []string{"--no-config", "--hidden", "-j2", "--no-heading", "--line-number", "--color=never"}
	for _, f := range []string{"F", "i", "w"} {
		if l.has(f) {
			rg = append(rg, "-"+f)
		}
	}
	return append(rg, "-e", l.pattern, dir), map[string]any{"path": dir, "pattern": l.pattern, "literal": l.has("F"), "ignore_case": l.has("i"), "word": l.has("w")}
}

func readListed() ([]listed, error) {
	b, err := os.ReadFile("search/match/testdata/regexps.txt")
	if err != nil {
		return nil, err
	}
	var all []listed
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSuffix(line, "\n")
		if f := strings.SplitN(line, " ", 3); len(f) == 3 && line[0] != '#' {
			all = append(all, listed{f[0], f[1], f[2]})
		}
	}
	return all, nil
}

// contents measures search_content against ripgrep on the corpus, warm, rules off, each answer compared line by line.
func contents(tmp, binary string, rounds int, quick bool) ([]row, error) {
	literal := row{what: "`search_content`, literal, 400 MB in 100,000 files", rival: "`rg --no-config --hidden -j2`", bound: "≤ 0.8, equal lines", limit: 0.8}
	required := row{what: "the same, listed patterns that need a text, median", rival: literal.rival, bound: "≤ 1, equal lines", limit: 1}
	none := row{what: "the same, the other listed patterns, median", rival: literal.rival, bound: "≤ 2, equal lines", limit: 2}
	memory := row{what: "resident memory during these searches", rival: "the idle server, in MiB more", bound: "≤ 64", limit: 64}
	rg, err := exec.LookPath("rg")
	if err != nil {
		var rows []row
		for _, r := range []row{literal, required, none, memory} {
			r.missing = "ripgrep (rg) is not installed"
			rows = append(rows, r)
		}
		return rows, nil
	}
	all, err := readListed()
	if err != nil {
		return nil, err
	}
	corpus := rig.Corpus{Dir: filepath.Join(tmp, "corpus")}
	if quick {
		corpus.Part, rounds = 50, 2
	}
	if err := corpus.Make(); err != nil {
		return nil, err
	}
	defer os.RemoveAll(corpus.Dir)
	config := filepath.Join(tmp, "contents.yaml")
	text := fmt.Sprintf("projects: [{id: corpus, dir: %q, rights: ro, presets: {credentials: off, execution: off}}]\nlimits: {search: %d, text: 16 MiB, search_time: 10m}\n", corpus.Dir, 2*listedHits)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		return nil, err
	}
	p, err := start(binary, "serve", "--confine=off", "--tools=classic", "--config", config)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if _, err := p.call("tools/list", json.RawMessage(`{}`)); err != nil {
		return nil, err
	}
	time.Sleep(200 * time.Millisecond) // idle means that nothing is left to do
	idle, err := p.resident()
	if err != nil {
		return nil, err
	}

	needle := listed{"literal", "F", "needle_zq81 here"}
	if literal.ratio, literal.note, err = duel(p, rg, needle, corpus.Dir, rounds); err != nil {
		return nil, err
	}
	progress(literal.what, literal.ratio)
	ratios, worst, long := map[string][]float64{}, map[string]string{}, 0
	for _, l := range all {
		ratio, _, err := duel(p, rg, l, corpus.Dir, max(1, rounds/2))
		if err == errLong {
			long++
			continue
		} else if err != nil {
			return nil, err
		}
		progress("pattern "+l.pattern, ratio)
		class := l.class
		if class == "literal" {
			class = "required"
		}
		if ratio >= slices.Max(append([]float64{0}, ratios[class]...)) {
			worst[class] = l.pattern
		}
		ratios[class] = append(ratios[class], ratio)
	}
	for class, r := range map[string]*row{"required": &required, "none": &none} {
		of := ratios[class]
		if len(of) == 0 {
			return nil, fmt.Errorf("no listed pattern of the class %s was measured", class)
		}
		slices.Sort(of)
		r.ratio = of[len(of)/2]
		r.note = fmt.Sprintf("%d patterns, the worst %.2f for `%s`", len(of), of[len(of)-1], strings.ReplaceAll(worst[class], "|", "\\|"))
	}
	none.note += fmt.Sprintf("; %d more of the list match over %d lines", long, listedHits)
	peak, err := p.peak()
	if err != nil {
		return nil, err
	}
	memory.ratio = float64(peak-idle) / 1024
	memory.note = fmt.Sprintf("idle %.1f MiB, at most %.1f MiB, with answers of up to %d lines", float64(idle)/1024, float64(peak)/1024, listedHits)
	return []row{literal, required, none, memory}, nil
}

// errLong says that a pattern matches too many lines to be compared.
var errLong = fmt.Errorf("more than %d lines", listedHits)

// duel lets both search in turn and compares what they find.
func duel(p *peer, rg string, l listed, dir string, rounds int) (ratio float64, note string, err error) {
	theirArgs, ourArgs := l.args(dir)
	var o, t times
	found := 0
	for n := range rounds + 1 {
		var ours, theirs []string
		for k := range 2 {
			begin := time.Now()
			if (n+k)%2 == 0 { // in the first round before ours, so that what is too long is not asked of it
				c := exec.Command(rg, theirArgs...)
				var out bytes.Buffer
				c.Stdout = &out
				if err := c.Run(); err != nil && c.ProcessState.ExitCode() != 1 { // 1: nothing found
					return 0, "", fmt.Errorf("rg %q: %w", l.pattern, err)
				}
				if n > 0 { // the first round warms both
					t = append(t, time.Since(begin))
				}
				theirs = lines(out.String())
				if len(theirs) > listedHits {
					return 0, "", errLong
				}
				continue
			}
			line, err := p.tool("search_content", ourArgs)
			if err != nil {
				return 0, "", err
			}
			if n > 0 {
				o = append(o, time.Since(begin))
			}
			ours = lines(textOf(line))
		}
		if n == 0 {
			continue
		}
		if !slices.Equal(ours, theirs) {
			only := slices.DeleteFunc(ours, func(s string) bool { _, found := slices.BinarySearch(theirs, s); return found })
			return 0, "", fmt.Errorf("%q: the answers differ: rg has %d lines, ours %d others: %.300q", l.pattern, len(theirs), len(only), only)
		}
		found = len(ours)
	}
	return o.median() / t.median(), fmt.Sprintf("ours %.0f ms, rival %.0f ms, %d lines", o.median()/1e6, t.median()/1e6, found), nil
}

// lines are the lines of an answer, sorted: the rival's come in any order.
func lines(text string) []string {
	if text == "" || text == "No matches found" {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	slices.Sort(all)
	return all
}
