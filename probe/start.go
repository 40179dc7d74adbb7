package probe

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/rootbound/rootbound/probe/truth"
	"github.com/rootbound/rootbound/probe/wire"
)

// passed are the variables of this process that a server gets as they are.
var passed = []string{"PATH", "LANG", "LC_ALL", "TZ", "USER", "LOGNAME", "SHELL", "GOMAXPROCS", "NODE_PATH", "PYTHONPATH"}

// options say how the server is started in a world.
func (r *suite) options(w *truth.World, dirs *[]string, era string) (wire.Options, error) {
	argv, err := arguments(found(r.server.Command), dirs)
	if err != nil {
		return wire.Options{}, &unfit{err.Error()}
	}
	for i := range argv {
		argv[i] = w.Fill(argv[i])
	}
	home := w.Dir + "/home"
	o := wire.Options{Argv: argv, Dir: w.Dir + "/cwd", URL: r.server.URL, Version: revision(era)}
	o.Env = []string{r.mark, "HOME=" + home, "XDG_STATE_HOME=" + home + "/state", "XDG_CONFIG_HOME=" + home + "/config",
		"XDG_CACHE_HOME=" + home + "/cache", "XDG_RUNTIME_DIR=" + home + "/run", "TMPDIR=" + w.Dir + "/tmp"}
	for _, e := range slices.Concat(passed, r.server.Env) {
		if v, ok := os.LookupEnv(e); ok {
			e += "=" + v
		}
		if strings.Contains(e, "=") {
			o.Env = append(o.Env, w.Fill(e))
		}
	}
	if o.URL != "" {
		port, err := r.freePort()
		if err != nil {
			return o, err
		}
		o.URL = strings.ReplaceAll(o.URL, "{port}", port)
		for _, list := range [][]string{o.Argv, o.Env} {
			for i := range list {
				list[i] = strings.ReplaceAll(list[i], "{port}", port)
			}
		}
	}
	return o, nil
}

// freePort is a port where nobody listens and that this run has not used. It lies below those that systems hand out by
// themselves, or another process would get it before the server does.
func (r *suite) freePort() (string, error) {
	const first, last = 20000, 32000
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ports == nil {
		r.ports = map[int]bool{}
	}
	var err error
	for range 100 {
		port := first + rand.IntN(last-first)
		if r.ports[port] {
			continue
		}
		l, failed := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if failed != nil {
			err = failed
			continue
		}
		r.ports[port] = true
		return strconv.Itoa(port), l.Close()
	}
	return "", fmt.Errorf("no free port: %w", err)
}

func grants(argument string) bool {
	return strings.Contains(argument, "{app}") || strings.Contains(argument, "{docs}") || strings.Contains(argument, "{ws}")
}

// arguments is the command line with dirs, unless nil, instead of the directories it grants: the first argument that
// holds one is the pattern for each, and a flag that stands before every one of them belongs to it.
func arguments(command []string, dirs *[]string) ([]string, error) {
	argv := slices.Clone(command)
	if dirs == nil {
		return argv, nil
	}
	first := slices.IndexFunc(argv, grants)
	switch {
	case first < 0 && len(*dirs) == 0:
		return argv, nil
	case first < 0:
		return nil, errors.New("the command grants no directory that could be exchanged")
	}
	from := first // where the pattern begins
	if first > 0 && strings.HasPrefix(argv[first-1], "-") && slices.Contains(argv[first+1:], argv[first-1]) {
		from-- // --dir {app} --dir {docs}
	}
	pattern, out := argv[from:first+1], slices.Clone(argv[:from])
	for _, d := range *dirs {
		for _, a := range pattern {
			out = append(out, strings.NewReplacer("{app}", d, "{docs}", d, "{ws}", d).Replace(a))
		}
	}
	for i := first + 1; i < len(argv); i++ {
		switch {
		case from < first && i+1 < len(argv) && argv[i] == argv[from] && grants(argv[i+1]):
			i++
		case !grants(argv[i]):
			out = append(out, argv[i])
		}
	}
	return out, nil
}
