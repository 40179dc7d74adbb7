//go:build linux

package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/rootbound/rootbound/internal/rawmcp"
)

// record is what the cases read of the audit log, by the published names.
type record struct {
	Phase     string `json:"phase"`
	Tool      string `json:"tool"`
	Operation string `json:"operation"`
	Decision  string `json:"decision"`
	Reason    string `json:"reason"`
	Detail    string `json:"detail"`
	Authority struct {
		Generation uint64 `json:"generation"`
		State      string `json:"state"`
		Source     string `json:"source"`
	} `json:"authority"`
	Server struct {
		Confine string `json:"confine"`
		Tier    string `json:"tier"`
	} `json:"server"`
	Roots []struct {
		URI    string `json:"uri"`
		Root   string `json:"root"`
		Reason string `json:"reason"`
		Detail string `json:"detail"`
		Warn   string `json:"warn"`
	} `json:"roots"`
}

// records reads what was written so far; a half line at the end is left out.
func (p *product) records() []record {
	b, _ := os.ReadFile(p.audit)
	var out []record
	for line := range bytes.Lines(b) {
		var r record
		if json.Unmarshal(line, &r) == nil {
			out = append(out, r)
		}
	}
	return out
}

// recorded ends the server, so that what it held back is written, and gives all records.
func (p *product) recorded() []record {
	p.Close(time.Minute)
	return p.records()
}

// tier compares the resolver that the records name.
func (r *run) tier(want string) error {
	if err := r.aliveOnce(30 * time.Second); err != nil {
		return err
	}
	if res, _, err := r.p.call(2*time.Second, "get_file_info", rawmcp.Args{"path": r.dir + "/ws/alive"}); err != nil || !res.OK() {
		return fmt.Errorf("%s %v", res.Short(), err)
	}
	all := r.p.recorded()
	if len(all) == 0 {
		return fmt.Errorf("no records")
	}
	if got := all[len(all)-1].Server.Tier; got != want {
		return fmt.Errorf("resolver %q is in use, want %q", got, want)
	}
	return nil
}
