//go:build linux

package probe_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/probe"
	"github.com/rootbound/rootbound/probe/script"
)

const (
	officialFile = "testdata/official.json"
	oursFile     = "testdata/ours.json"
	official     = "../e2e/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
)

// kept is a report without what differs from run to run.
func kept(r *probe.Report) *probe.Report {
	out := *r
	out.Server.Command, out.Started, out.ElapsedMS, out.Cases = nil, time.Time{}, 0, nil
	for _, c := range r.Cases {
		out.Cases = append(out.Cases, probe.Outcome{ID: c.ID, Family: c.Family, Era: c.Era, Verdict: c.Verdict, Want: c.Want, What: c.What})
	}
	return &out
}

func load(t *testing.T, file string) *probe.Report {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := &probe.Report{}
	if err := json.Unmarshal(raw, r); err != nil {
		t.Fatal(err)
	}
	return r
}

// committed are the verdicts of a file, by id and era.
func committed(t *testing.T, file string) map[string]string {
	t.Helper()
	want := map[string]string{}
	for _, c := range load(t, file).Cases {
		want[c.ID+" "+c.Era] = c.Verdict
	}
	return want
}

// either are cases of the official server whose verdict is the machine's: reading a device without end it fails at 2 GiB in
// memory, before the probe's patience is over or after it.
var either = map[string]bool{"R05": true}

// compare holds the verdicts against the committed ones, or writes them anew.
func compare(t *testing.T, file string, r *probe.Report) {
	t.Helper()
	if *update {
		out, err := json.MarshalIndent(kept(r), "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := committed(t, file)
	for _, c := range r.Cases {
		w := want[c.ID+" "+c.Era]
		if w == probe.Fell && c.Verdict == probe.Held && c.Family == "race" && !measured[c.ID] {
			t.Logf("%s was not hit this time: %s", c.ID, c.Got) // narrow windows; only the measured rows must be hit
			w = c.Verdict
		}
		if either[c.ID] && c.Verdict == probe.Held && w == probe.Fell {
			t.Logf("%s held this time: %s", c.ID, c.Got)
			w = c.Verdict
		}
		if w != c.Verdict && !strings.HasSuffix(c.Got, "operation not permitted") { // devices need an administrator
			t.Errorf("%s %s %s, committed as %q: %s %s", c.ID, c.Era, c.Verdict, w, c.Got, strings.Join(c.Evidence, "; "))
		}
		delete(want, c.ID+" "+c.Era)
	}
	if len(want) > 0 {
		t.Errorf("committed, and not asked: %v", want)
	}
}

// TestOfficialServer runs every case, races for up to 10 s each, against the pinned package that make e2e installs.
func TestOfficialServer(t *testing.T) {
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(official)
	}
	switch {
	case err == nil && os.Getenv("RB_E2E") != "":
	case os.Getenv("RB_E2E") == "require":
		t.Fatal(err)
	default:
		t.Skip("the official package is not installed (make probe)")
	}
	script, err := filepath.Abs(official)
	if err != nil {
		t.Fatal(err)
	}
	server, odd := probe.Server{Command: []string{node, script, "{app}", "{docs}"}}, unasked
	if !*update {
		want := committed(t, officialFile)
		odd = func(c probe.Outcome) bool { return c.Verdict != want[c.ID+" "+c.Era] && !either[c.ID] }
	}
	r := settled(t, server, probe.Options{Race: 10 * time.Second}, odd)
	compare(t, officialFile, r)
	t.Logf("%+v in %d ms", r.Summary, r.ElapsedMS)
}

// measured is what was found out about that package by hand before there was a probe: the case that asks the same, and
// whether it fell.
var measured = map[string]bool{
	"S01": false, "S02": false, "S03": false, "S04": false, "S05": false, "S08": false, "S09": false, "S10": false, "S11": false, "S12": false,
	"S13": false, "S14": false, "T01": false, "T02": false, "T04": false, "T09": false, "T13": false, "T15": false, "T16": false, "T22": false,
	"T25": false, "I03": false, "I07": false, "I08": false, "N01": false, "N02": false, "N03": false, "N04": false, "N05": false, "N06": false,
	"D01": true, "D02": true, "D03": true, "R01": true, "R02": true, "R03": true, "R05": true, "R06": true, "R07": false,
	"I01": true, "I02": true, "I04": true, "I05": true, "L03": false,
	"L10": false, "L07": false, "L08": false, "L09": false, "L11": false, "L12": false, "L15": true, "L16": true, "L17": true,
	"L19": true, "L20": true, "L21": true, "L01": true, "L39": false, "L40": false, "L41": false, "L06": true, "L02": false,
	"L24": true, "L25": false, "L23": true, "L29": true, "L30": false, "L31": false, "L32": true, "L33": false, "L34": false, "L14": false,
	"L35": false, "L36": true, "L37": true, "L04": true, "L38": false, "L05": true,
	"X01": true, "X02": true, "X03": true, "X04": false, "X05": true,
}

// TestOfficialVerdictsAgree holds the committed verdicts against what was measured by hand.
func TestOfficialVerdictsAgree(t *testing.T) {
	seen := 0
	for _, c := range load(t, officialFile).Cases {
		fell, ok := measured[c.ID]
		if !ok {
			continue
		}
		seen++
		if want := map[bool]string{true: probe.Fell, false: probe.Held}[fell]; c.Verdict != want {
			t.Errorf("%s %s, measured as %s", c.ID, c.Verdict, want)
		}
	}
	if seen != len(measured) {
		t.Errorf("%d of %d rows are among the committed verdicts", seen, len(measured))
	}
}

// TestReadmeDocs keeps the table of the README equal to the committed verdicts.
func TestReadmeDocs(t *testing.T) {
	generated(t, "../README.md", "<!-- probe: generated by make docs from probe/testdata -->\n", "<!-- probe: end -->",
		summary(load(t, officialFile), load(t, oursFile)))
}

// TestCasesDocs keeps the list of cases in docs/probe.md equal to the cases.
func TestCasesDocs(t *testing.T) {
	list, err := script.Cases("")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	family := ""
	for _, c := range list {
		if c.Family != family {
			family = c.Family
			fmt.Fprintf(&b, "\n### %s\n\n| case | situation | wanted | why it matters | how to mend |\n|---|---|---|---|---|\n", family)
		}
		cell := strings.NewReplacer("|", `\|`, "<", "&lt;", "\n", " ").Replace
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", c.ID, cell(c.What), c.Wants(), cell(c.Why), cell(c.Mend))
	}
	generated(t, "../docs/probe.md", "<!-- cases: generated by make docs from probe/script/cases -->\n", "<!-- cases: end -->", b.String()+"\n")
}

// generated keeps the part of a page between two marks equal to a text, or writes it.
func generated(t *testing.T, file, begin, end, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place between %q and %q", file, begin, end)
	}
	whole := head + begin + want + end + tail
	switch {
	case whole == string(text):
	case *update:
		if err := os.WriteFile(file, []byte(whole), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s is stale: run make docs", file)
	}
}

// summary is the sixteen cases one by one, and the other families as counts of cases; a case falls if it falls in an era.
func summary(theirs, mine *probe.Report) string {
	var b strings.Builder
	b.WriteString("| case | the bare minimum | official | rootbound |\n|---|---|---|---|\n")
	worst := func(r *probe.Report, id string) string {
		v := ""
		for _, c := range r.Cases {
			if c.ID == id && (v == "" || c.Verdict == probe.Fell || v == probe.Skipped) {
				v = c.Verdict
			}
		}
		return v
	}
	show := map[string]string{probe.Held: "holds", probe.Fell: "**falls**", probe.Skipped: "cannot be asked"}
	var ids, families []string
	in := map[string][]string{}
	for _, c := range mine.Cases {
		if slices.Contains(ids, c.ID) {
			continue
		}
		ids = append(ids, c.ID)
		if c.Family == "sixteen" {
			fmt.Fprintf(&b, "| %s %s | %s | %s | %s |\n", c.ID, c.What, c.Want, show[worst(theirs, c.ID)], show[worst(mine, c.ID)])
			continue
		}
		if !slices.Contains(families, c.Family) {
			families = append(families, c.Family)
		}
		in[c.Family] = append(in[c.Family], c.ID)
	}
	count := func(r *probe.Report, ids []string) string {
		n := map[string]int{}
		for _, id := range ids {
			n[worst(r, id)]++
		}
		s := fmt.Sprintf("%d hold", n[probe.Held])
		if n[probe.Fell] > 0 {
			s += fmt.Sprintf(", **%d fall**", n[probe.Fell])
		}
		if n[probe.Skipped] > 0 {
			s += fmt.Sprintf(", %d cannot be asked", n[probe.Skipped])
		}
		return s
	}
	for _, f := range families {
		fmt.Fprintf(&b, "| %s, %d cases | all hold | %s | %s |\n", f, len(in[f]), count(theirs, in[f]), count(mine, in[f]))
	}
	fmt.Fprintf(&b, "\nOfficial: `@modelcontextprotocol/server-filesystem` 2026.8.31 (`%s`), legacy era. Each race ran up to %g s against\nit and %g s against this one.\n",
		theirs.Server.Title(), float64(theirs.RaceMS)/1000, float64(mine.RaceMS)/1000)
	return b.String()
}
