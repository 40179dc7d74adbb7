package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/rootbound/rootbound/probe"
)

// junit writes one test case an outcome, one suite a family.
func junit(w io.Writer, r *probe.Report) error {
	type text struct {
		Message string `xml:"message,attr"`
		Body    string `xml:",chardata"`
	}
	type testcase struct {
		Name    string  `xml:"name,attr"`
		Class   string  `xml:"classname,attr"`
		Seconds float64 `xml:"time,attr"`
		Failure *text   `xml:"failure,omitempty"`
		Skipped *text   `xml:"skipped,omitempty"`
		Error   *text   `xml:"error,omitempty"`
	}
	type suite struct {
		Name     string     `xml:"name,attr"`
		Tests    int        `xml:"tests,attr"`
		Failures int        `xml:"failures,attr"`
		Errors   int        `xml:"errors,attr"`
		Skipped  int        `xml:"skipped,attr"`
		Seconds  float64    `xml:"time,attr"`
		Cases    []testcase `xml:"testcase"`
	}
	var suites []*suite
	for _, o := range r.Cases {
		if len(suites) == 0 || suites[len(suites)-1].Name != o.Family {
			suites = append(suites, &suite{Name: o.Family})
		}
		s := suites[len(suites)-1]
		c := testcase{Name: o.ID + " " + o.What, Class: "probe." + o.Family + "." + o.Era, Seconds: float64(o.ElapsedMS) / 1000}
		s.Tests++
		s.Seconds += c.Seconds
		body := &text{clean(reason(&o)), clean(strings.Join(append(o.Evidence, "Why it matters: "+o.Why), "\n"))}
		switch o.Verdict {
		case probe.Fell:
			s.Failures++
			c.Failure = body
		case probe.Skipped:
			s.Skipped++
			c.Skipped = &text{Message: clean(o.Got)}
		case probe.Failed:
			s.Errors++
			c.Error = body
		}
		s.Cases = append(s.Cases, c)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(struct {
		XMLName  xml.Name `xml:"testsuites"`
		Name     string   `xml:"name,attr"`
		Tests    int      `xml:"tests,attr"`
		Failures int      `xml:"failures,attr"`
		Errors   int      `xml:"errors,attr"`
		Suites   []*suite `xml:"testsuite"`
	}{Name: clean(r.Server.Title()), Tests: len(r.Cases), Failures: r.Summary.Fell, Errors: r.Summary.Error, Suites: suites}); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// clean drops what XML cannot hold, and what steers the terminal or the page that shows it.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && steers(r) || r == 0xfffe || r == 0xffff {
			return '·'
		}
		return r
	}, strings.ToValidUTF8(s, "�"))
}

// sarif writes what fell, and what could not be asked, as results of SARIF 2.1.0. A boundary has no line in a source
// file: a result's place is the server as a logical location, and the repository's top where a viewer wants a file.
func sarif(w io.Writer, r *probe.Report) error {
	type message struct {
		Text string `json:"text"`
	}
	type rule struct {
		ID    string         `json:"id"`
		Short message        `json:"shortDescription"`
		Full  message        `json:"fullDescription"`
		Help  message        `json:"help"`
		URI   string         `json:"helpUri,omitempty"`
		Props map[string]any `json:"properties"`
	}
	type result struct {
		Rule      string            `json:"ruleId"`
		Level     string            `json:"level"`
		Message   message           `json:"message"`
		Locations []any             `json:"locations"`
		Prints    map[string]string `json:"partialFingerprints"`
	}
	rules, results, seen := []rule{}, []result{}, map[string]bool{}
	for _, o := range r.Cases {
		if !seen[o.ID] {
			seen[o.ID] = true
			ref := o.Ref
			if !strings.HasPrefix(ref, "https://") {
				ref = ""
			}
			rules = append(rules, rule{o.ID, message{o.What}, message{o.Why}, message{strings.TrimSpace(o.Why + "\n" + o.Mend)}, ref,
				map[string]any{"tags": []string{"security", o.Family}}})
		}
		level := map[string]string{probe.Fell: "error", probe.Failed: "warning"}[o.Verdict]
		if level == "" {
			continue
		}
		results = append(results, result{o.ID, level, message{fmt.Sprintf("%s (%s): %s", o.What, o.Era, strings.Join(append(o.Evidence, o.Got), "; "))},
			[]any{map[string]any{
				"physicalLocation": map[string]any{"artifactLocation": map[string]string{"uri": "."}, "region": map[string]int{"startLine": 1}},
				"logicalLocations": []any{map[string]string{"name": r.Server.Name, "kind": "module"}},
			}}, map[string]string{"case/v1": o.ID + "/" + o.Era}})
	}
	return printed(w, map[string]any{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []any{map[string]any{
			"tool":    map[string]any{"driver": map[string]any{"name": "rootbound probe", "informationUri": "https://github.com/rootbound/rootbound", "rules": rules}},
			"results": results,
		}},
	})
}
