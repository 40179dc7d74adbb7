package beneath

import (
	"os"
	"strings"
)

// Mounted is what this process has mounted where: proc(5), /proc/pid/mountinfo. Immutable.
type Mounted []mounted

type mounted struct{ dev, root, at string }

// ReadMounted is what is mounted now; nil where the system does not tell.
func ReadMounted() (all Mounted) {
	lines, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(lines)) {
		if f := strings.SplitN(line, " ", 6); len(f) == 6 {
			all = append(all, mounted{f[2], unescaped(f[3]), unescaped(f[4])})
		}
	}
	return all
}

// Elsewhere tells where else an absolute canonical path, or some of what is below it, can be seen by another mount of its
// file system.
func (all Mounted) Elsewhere(path string) (places []string) {
	home := -1
	for i := range all { // of two at one place the later hides the other
		if _, ok := behindOf(path, all[i].at); ok && (home < 0 || len(all[i].at) >= len(all[home].at)) {
			home = i
		}
	}
	if home < 0 {
		return nil
	}
	rest, _ := behindOf(path, all[home].at)
	inside := strings.TrimRight(all[home].root, "/") + rest
	for i := range all {
		if i == home || all[i].dev != all[home].dev {
			continue
		}
		if rest, ok := behindOf(inside, all[i].root); ok {
			places = append(places, strings.TrimRight(all[i].at, "/")+rest)
		} else if _, ok := behindOf(all[i].root, inside); ok {
			places = append(places, all[i].at)
		}
	}
	return places
}

// behindOf is what of path comes behind dir, "" or with a slash before it.
func behindOf(path, dir string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, strings.TrimRight(dir, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}
