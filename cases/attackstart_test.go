//go:build linux

package cases

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/rootbound/rootbound/internal/rawmcp"
	"github.com/rootbound/rootbound/internal/rig"
)

// prepare reads the conditions of the process out of the setup.
func (r *run) prepare() {
	r.start = start{version: r.s.version, launch: r.s.launch}
	if r.a.LimitMS == 0 {
		r.a.LimitMS = 2000
	}
	if r.a.LoopMS == 0 {
		r.a.LoopMS = 1500
	}
	if len(r.a.Roots) == 0 {
		r.a.Roots = []string{"ws"}
	}
	if r.a.hasStep("fusehang", "") {
		r.start.env = append(r.start.env, fsTimeout(5*time.Second))
	}
	r.start.launch.Trace = r.a.hasStep("trace", "") || r.a.hasStep("at-syscall", "")
}

// perform does one step of the setup, in its order.
func (r *run) perform(s step) error {
	t := r.t
	if s.perCall() {
		r.each = append(r.each, s)
		return nil
	}
	switch s.name {
	case "cwd":
		d, err := os.Open(r.at(s.str(0)))
		if err != nil {
			return err
		}
		r.after(func() { d.Close() })
		r.start.cwdDir = d
	case "env":
		r.start.env = append(r.start.env, s.str(0)+"="+r.expand(s.str(1)))
	case "uid":
		r.start.launch.UID = int(s.num(t, 0))
	case "nofile":
		r.start.launch.NoFile = uint64(s.num(t, 0))
	case "fsize":
		r.start.launch.FSize = uint64(s.num(t, 0))
	case "hide":
		if !mounts() {
			return errNoEffect{"no private mount namespace"}
		}
		r.start.launch.Hide = append(r.start.launch.Hide, s.str(0))
	case "deny-syscall":
		r.start.launch.Deny = append(r.start.launch.Deny, denied{Call: s.str(0), Errno: errnos[s.str(1)]})
	case "trace":
	case "call":
		op := operation{op: s.str(0), path: r.expand(s.str(1))}
		if len(s.args) > 3 {
			op.args, _ = s.args[3].(map[string]any)
		}
		got := r.call(op)
		if got.err != nil {
			return got.err
		}
		if want := s.str(2); got.r.OK() != (want == "allow") {
			return fmt.Errorf("want %s, got %s", want, got.r.Short())
		}
	case "roots":
		list, _ := s.args[0].([]any)
		var uris []string
		for _, p := range list {
			uris = append(uris, fileURI(r.at(fmt.Sprint(p))))
		}
		r.roots.set(uris)
		return r.p.RootsChanged()
	case "refresh":
		time.Sleep(1100 * time.Millisecond) // the product may notice a replaced root up to 1 s late; it tells nobody when it looks
	case "in-callback", "on-open", "at-syscall":
		r.timed = append(r.timed, s)
	default:
		if strings.HasPrefix(s.name, "loop-") {
			r.before()
			l, err := r.world.start(s)
			if err != nil {
				return err
			}
			r.loops = append(r.loops, l)
			r.after(func() { l.halt() })
			return nil
		}
		return r.do(s)
	}
	return nil
}

// serve starts the product with the case's roots.
func (r *run) serve(traced bool) {
	t := r.t
	confine := r.s.confine
	if confine == "" {
		confine = "off"
	}
	flags := []string{"--confine=" + confine, "--no-slow", "--audit", r.state + "/audit.jsonl"}
	var dirs []string
	plain := r.a.Policy.Hardlinks != "deny" && r.a.Policy.Mounts != "deny" && len(r.a.Policy.Deny) == 0
	for _, spec := range r.a.Roots {
		p, ro := strings.CutSuffix(spec, ":ro")
		plain = plain && !ro
		p = r.at(p)
		if _, err := os.Lstat(p); err != nil {
			if err := os.MkdirAll(p, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		dirs = append(dirs, p)
	}
	if rig.Foreign() {
		flags, plain = nil, true
	} else if r.s.project {
		plain = false
	} else if plain {
		flags = append(flags, "--allow-delete")
	}
	if plain {
		r.start.argv = append(flags, dirs...)
	} else {
		tools := "--tools=classic"
		if r.s.project {
			tools = "--tools=project"
		}
		r.start.argv = append(flags, tools, "--config", r.config(dirs))
	}
	if r.a.hasStep("roots", "") || r.a.hasStep("in-callback", "") {
		var uris []string
		for _, d := range dirs {
			uris = append(uris, fileURI(d))
		}
		r.roots.set(uris)
		r.start.roots, r.start.changes = r.roots.answer, true
	}
	if r.s.chown != 0 {
		r.giveTo(r.s.chown)
	}
	p, err := r.begin(r.start)
	if r.p = p; p != nil && r.s.project {
		p.project = "p0"
	}
	if err != nil { // a refused start is a refusal of everything
		if r.a.Want == "allow" || p == nil {
			t.Fatalf("the server does not start: %v", err)
		}
		r.calls = append(r.calls, answered{r: &rawmcp.Result{IsError: true, Raw: []byte(p.Stderr()), Text: p.Stderr()}})
	}
}

// giveTo makes the world another user's, so that permissions are not what refuses.
func (r *run) giveTo(uid int) {
	for _, dir := range []string{r.dir, r.state} {
		filepath.WalkDir(dir, func(p string, _ os.DirEntry, err error) error {
			if err == nil {
				os.Lchown(p, uid, uid)
			}
			return nil
		})
	}
}

// config writes a configuration file with what directory arguments cannot say.
func (r *run) config(dirs []string) string {
	var projects []map[string]any
	for i, d := range dirs {
		p := map[string]any{"id": fmt.Sprintf("p%d", i), "dir": d, "rights": "full"}
		if strings.HasSuffix(r.a.Roots[i], ":ro") {
			p["rights"] = "ro"
		}
		if r.a.Policy.Mounts == "deny" {
			p["mounts"] = "deny"
		}
		if r.a.Policy.Hardlinks == "deny" {
			p["hardlinks"] = "deny"
		}
		if len(r.a.Policy.Deny) > 0 {
			p["deny"] = r.a.Policy.Deny
		}
		projects = append(projects, p)
	}
	return r.writeConfig(map[string]any{"projects": projects})
}

func (w *world) writeConfig(c map[string]any) string {
	w.t.Helper()
	b, err := yaml.Marshal(c)
	if err != nil {
		w.t.Fatal(err)
	}
	path := w.state + "/rootbound.yaml"
	if err := os.WriteFile(path, b, 0o644); err != nil {
		w.t.Fatal(err)
	}
	return path
}
