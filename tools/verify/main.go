// Command verify shows that the guarantees hold because of their controls.
//
// For each guarantee (contract §8: G01 …) it finds the one test of that name, runs it, removes the
// control with sabotage/Gnn.patch in a copy of the working tree, and demands that the test turns red. A patch that does
// not apply or does not build is an error. With -full it also runs every guarantee's test under every sabotage and
// compares the set of those that turn red with sabotage/red-sets.txt; -update writes that file.
//
//	go run ./tools/verify [-full] [-update] [-only G09,G16] [-jobs 2]
package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

func main() {
	full := flag.Bool("full", false, "compute the full red set of each sabotage and compare it with sabotage/red-sets.txt")
	update := flag.Bool("update", false, "with -full: write sabotage/red-sets.txt")
	only := flag.String("only", "", "guarantees to verify, separated by commas; default all")
	jobs := flag.Int("jobs", 2, "copies of the tree that work side by side")
	flag.Parse()
	v := &verifier{full: *full || *update, update: *update}
	if err := v.run(strings.FieldsFunc(*only, func(r rune) bool { return r == ',' }), *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "verify:", err)
		os.Exit(1)
	}
}

// guarantees are those that have a test, in the order of the contract.
var guarantees = []string{
	"G01", "G02", "G03", "G04", "G05", "G06", "G07", "G08", "G09", "G10", "G11", "G12", "G13", "G14", "G15", "G16", "G17",
	"G18", "G19", "G20", "G21", "G22", "G23", "G24", "G25", "G26", "G27", "G28", "G29", "G30", "G31", "G32", "G33",
	"G34", "G35", "G36", "G37", "G38", "G39", "G40", "G41", "G42", "G43", "G44", "G45", "G46", "G47",
}

// row is what became of one guarantee.
type row struct {
	id, pkg, test string
	green         string // without sabotage
	red           string // with it
	set           []string
	note          string
	took          time.Duration
}

func (r *row) failed() bool { return r.note != "" }

type verifier struct {
	full, update bool
	tests        map[string][2]string // guarantee → package, test
	packages     []string
	recorded     map[string][]string
}

func (v *verifier) run(only []string, jobs int) error {
	var err error
	if v.tests, err = find(); err != nil {
		return err
	}
	for _, t := range v.tests {
		if !slices.Contains(v.packages, t[0]) {
			v.packages = append(v.packages, t[0])
		}
	}
	slices.Sort(v.packages)
	if v.recorded, err = readRedSets(); err != nil {
		return err
	}
	var rows []*row
	for _, id := range guarantees {
		if len(only) == 0 || slices.Contains(only, id) {
			rows = append(rows, &row{id: id, pkg: v.tests[id][0], test: v.tests[id][1]})
		}
	}
	queue := make(chan *row)
	var workers sync.WaitGroup
	var failed error
	var mu sync.Mutex
	for n := range max(1, jobs) {
		workers.Go(func() {
			c, err := newCopy(n)
			for r := range queue {
				if err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					r.note = err.Error()
					continue
				}
				began := time.Now()
				v.verify(c, r)
				r.took = time.Since(began).Round(100 * time.Millisecond)
				fmt.Fprintf(os.Stderr, "%s %s %s %s\n", r.id, r.green, r.red, r.note)
			}
		})
	}
	for _, r := range rows {
		queue <- r
	}
	close(queue)
	workers.Wait()
	if failed != nil {
		return failed
	}
	return v.report(rows)
}

// verify fills in one row.
func (v *verifier) verify(c *workCopy, r *row) {
	if r.test == "" {
		r.note = "no test of that name"
		return
	}
	res, err := c.test([]string{r.pkg}, "^"+r.test+"$")
	if err != nil {
		r.note = err.Error()
		return
	}
	r.green = res[r.test]
	if r.green != "pass" {
		r.note = "its test does not pass without sabotage"
		return
	}
	undo, err := c.apply("sabotage/" + r.id + ".patch")
	if err != nil {
		r.note = err.Error()
		return
	}
	defer undo()
	packages, pattern := []string{r.pkg}, "^"+r.test+"$"
	if v.full {
		if err := c.build(); err != nil {
			r.note = "the sabotaged tree does not build: " + err.Error()
			return
		}
		packages, pattern = v.packages, "^TestG[0-9][0-9]"
	}
	if res, err = c.test(packages, pattern); err != nil {
		r.note = err.Error()
		return
	}
	for _, id := range guarantees {
		if t := v.tests[id][1]; t != "" && res[t] == "fail" {
			r.set = append(r.set, id)
		}
	}
	if res[r.test] != "fail" {
		r.red, r.note = "still "+res[r.test], "its test does not see that the control is gone"
		return
	}
	r.red = "red"
	if v.full && !v.update {
		if want := v.recorded[r.id]; !slices.Equal(want, r.set) {
			r.note = fmt.Sprintf("red set is %v, recorded %v", r.set, want)
		}
	}
}

func (v *verifier) report(rows []*row) error {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "GUARANTEE\tTEST\tPACKAGE\tWITH CONTROL\tSABOTAGED\tRED SET\tTIME\tRESULT")
	bad := 0
	for _, r := range rows {
		result := "holds"
		if r.failed() {
			result = "FAIL: " + strings.ReplaceAll(r.note, "\n", " ")
			bad++
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%v\t%s\n", r.id, strings.TrimPrefix(r.test, "Test"+r.id), short(r.pkg), r.green, r.red, strings.Join(r.set, " "), r.took, result)
	}
	w.Flush()
	if v.update {
		if err := writeRedSets(rows, v.recorded); err != nil {
			return err
		}
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d guarantees are not shown to hold", bad, len(rows))
	}
	fmt.Printf("%d guarantees hold, each by its control\n", len(rows))
	return nil
}

func short(pkg string) string {
	if _, room, ok := strings.Cut(pkg, "rootbound/rootbound"); ok {
		return strings.TrimPrefix(room, "/")
	}
	return pkg
}

var named = regexp.MustCompile(`^Test(G[0-9][0-9])[A-Z]`)
