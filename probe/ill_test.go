//go:build linux

package probe_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rootbound/rootbound/probe"
)

// TestIllServersAreReported: what crashes, floods, talks nonsense or is silent is told so, in time, and nothing of it stays.
func TestIllServersAreReported(t *testing.T) {
	for mode, want := range map[string]string{
		"exits-at-once":   "exit status 3: cannot read my configuration",
		"never-answers":   "no answer",
		"writes-garbage":  `no JSON-RPC message: "Server ready!`,
		"floods-at-start": "without bound",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			if mode == "never-answers" {
				timeout = time.Second
			}
			_, err := probe.Judge(t.Context(), tiny(t, mode), probe.Options{Timeout: timeout, Dir: t.TempDir()})
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
	for mode, want := range map[string]string{
		"crashes-in-a-call":    "the server ended: exit status 2",
		"floods-in-a-call":     "without bound",
		"silent-in-calls":      "no answer within 2s",
		"exits-in-a-call":      "the server ended: exit status 0",
		"half-a-line":          "no answer within 2s",
		"garbage-in-a-call":    "no JSON-RPC message",
		"closes-its-output":    "it closed its output",
		"wrong-ids":            "no answer within 2s",
		"asks-and-never-reads": "questions before it reads an answer",
		"floods-with-notices":  "messages that answer nothing",
		"says-done":            "the file's text did not come back",
		"writes-at-its-end":    "outside, {w}/out/secret.txt changed: content",
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			timeout := 20 * time.Second
			switch {
			case strings.Contains(want, "2s"):
				timeout = 2 * time.Second
			case mode == "writes-at-its-end":
				timeout = 5 * time.Minute // and ten seconds for its end
			}
			r := judge(t, tiny(t, mode), probe.Options{Only: []string{"S02"}, Timeout: timeout})
			if o := r.Cases[0]; o.Verdict != probe.Fell || !strings.Contains(strings.Join(o.Evidence, " "), want) {
				t.Errorf("%s %v, want %q", o.Verdict, o.Evidence, want)
			}
		})
	}
	for _, mode := range []string{"floods-stderr", "ignores-signals", "leaves-a-process", "asks-what-nobody-has", "answers-twice"} {
		t.Run(mode, func(t *testing.T) { // odd, and yet they keep their boundary
			r := judge(t, tiny(t, mode), probe.Options{Only: []string{"S02", "T21"}})
			for _, o := range r.Cases {
				if o.Verdict != probe.Held {
					t.Errorf("%s %s: %s %v", o.ID, o.Verdict, o.Got, o.Evidence)
				}
			}
			list, _ := filepath.Glob("/proc/[0-9]*/environ")
			for _, f := range list {
				env, _ := os.ReadFile(f)
				if mode == "leaves-a-process" && strings.Contains(string(env), "ROOTBOUND_PROBE="+pid()+"-") {
					t.Errorf("%s is left of the run", filepath.Dir(f))
				}
			}
		})
	}
}

// TestLastWordsAreTold: who probes an own server reads why it ended, and nothing that steers a terminal.
func TestLastWordsAreTold(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "http://127.0.0.1:{port}/mcp"} {
		s := tiny(t, "ends-with-a-trace")
		s.Command, s.URL = append(s.Command, "no-such-script.js", "-x.js", "{app}/x.js"), url
		_, err := probe.Judge(t.Context(), s, probe.Options{Timeout: 20 * time.Second, Start: time.Minute, Dir: t.TempDir()})
		if err == nil {
			t.Fatal("a server that ended was probed")
		}
		for _, want := range []string{"ended: exit status 1: Error: Cannot find module 'x'", "There is no file no-such-script.js in the directory",
			"\nThe server's stderr ends with:\n  loading\n", "\n  Error: Cannot find module 'x'\n      at load (loader:1)·[2J\n  y", "…\n  Runtime v1"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("lacks %q: %v", want, err)
			}
		}
		if lines := strings.Count(err.Error(), "\n"); lines != 21 || strings.Contains(err.Error(), "file -x.js") || len(err.Error()) > 5000 {
			t.Errorf("%d lines: %v", lines, err)
		}
	}
}

// TestToolsOfNobodyTellHowToGoOn: a server whose tools are not understood is told what a profile is.
func TestToolsOfNobodyTellHowToGoOn(t *testing.T) {
	t.Parallel()
	_, err := probe.Judge(t.Context(), tiny(t, "odd-tools"), probe.Options{Timeout: 20 * time.Second, Dir: t.TempDir()})
	if err == nil {
		t.Fatal("tools without a meaning were probed")
	}
	for _, want := range []string{"understood: fetch(where, what) ", "--profile FILE", "read: {tool: fetch, args: {where: \"{path}\"}}", "docs/probe.md"} {
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("lacks %q: %v", want, err)
		}
	}
}

// TestLeaksAreFoundWhereverTheyAre: a refusal is no refusal when what was refused comes by another way.
func TestLeaksAreFoundWhereverTheyAre(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"tells-on-stderr", "tells-in-a-notification", "tells-as-progress", "tells-in-an-errors-data", "tells-in-structure",
		"tells-in-a-second-answer", "tells-in-a-question"} {
		r := judge(t, tiny(t, mode), probe.Options{Only: []string{"T21"}})
		if o := r.Cases[0]; o.Verdict != probe.Fell || !strings.Contains(strings.Join(o.Evidence, " "), "from outside came") {
			t.Errorf("%s: %s %v", mode, o.Verdict, o.Evidence)
		}
	}
	// What was taken back is no canary; it may not come either, in whatever part of the answer.
	r := judge(t, tiny(t, "tells-in-structure"), probe.Options{Only: []string{"S16"}})
	if o := r.Cases[0]; o.Verdict != probe.Fell || !strings.Contains(strings.Join(o.Evidence, " "), "gave the text of the file") {
		t.Errorf("in the structure: %s %v", o.Verdict, o.Evidence)
	}
	// What the probe itself sent is no leak, wherever it comes back.
	for _, o := range judge(t, tiny(t, "repeats-what-was-sent"), probe.Options{Only: []string{"S07", "S08", "S09", "S10", "T01", "T14", "T2*", "N*", "D0[1-3]"}}).Cases {
		if o.Want == "deny" && o.Verdict != probe.Held {
			t.Errorf("repeats-what-was-sent: %s %s: %s %v", o.ID, o.Verdict, o.Got, o.Evidence)
		}
	}
}

// TestWhatIsDoneLaterCounts: a process that a server left behind writes outside after the case.
func TestWhatIsDoneLaterCounts(t *testing.T) {
	t.Parallel()
	told := map[string]string{}
	r := judge(t, tiny(t, "writes-later"), probe.Options{Only: []string{"S01", "S02"}, Jobs: 1, Timeout: 60 * time.Second,
		Told: func(_, _ int, o probe.Outcome) { told[o.ID] = o.Verdict }})
	if o := r.Cases[0]; o.Verdict != probe.Fell || !slices.ContainsFunc(o.Evidence, func(e string) bool {
		return strings.Contains(e, "after the server's end, {w}/out/late.txt was made")
	}) {
		t.Errorf("%s: %v", o.Verdict, o.Evidence)
	}
	if r.Summary.Fell != 1 || told["S01"] != probe.Fell {
		t.Errorf("%+v, told %v", r.Summary, told)
	}
}

// TestSearchIsAskedForWhatItUnderstands: a search of contents is asked for contents, and one that finds nothing is not asked.
func TestSearchIsAskedForWhatItUnderstands(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]string{"searches-contents": probe.Held, "finds-nothing": probe.Skipped} {
		r := judge(t, tiny(t, mode), probe.Options{Only: []string{"T16", "T17"}})
		for _, o := range r.Cases {
			if o.Verdict != want {
				t.Errorf("%s: %s %s: %s %v", mode, o.ID, o.Verdict, o.Got, o.Evidence)
			}
		}
		if said := strings.Contains(transcript(r.Cases[0]), "main.txt: rbpi"); said != (mode == "searches-contents") {
			t.Errorf("%s: %s", mode, transcript(r.Cases[0]))
		}
	}
}

func transcript(o probe.Outcome) string {
	var b strings.Builder
	for _, l := range o.Transcript {
		b.WriteString(l.Who + " " + l.Text + "\n")
	}
	return b.String()
}

// TestKeep: the trees of what fell stay, and only those.
func TestKeep(t *testing.T) {
	dir := t.TempDir()
	r := judge(t, tiny(t, "lexical-check"), probe.Options{Only: []string{"S02", "S10"}, Keep: true, Dir: dir})
	left, _ := filepath.Glob(dir + "/*/out/secret.txt")
	if len(left) != 1 || r.Summary.Fell != 1 || !slices.ContainsFunc(r.Cases[1].Evidence, func(e string) bool {
		return e == "the tree is kept in "+filepath.Dir(filepath.Dir(left[0]))
	}) {
		t.Errorf("left %v, %+v", left, r.Cases)
	}
}
