package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// found is a command with its relative paths made absolute. A server is started in a directory of its tree, and who names
// ./my-server or dist/index.js means the directory that the probe was started in. The program is such a path if it has a slash, an argument if it
// has a slash or a dot and is the name of a regular file; whatever else it is stays as it is written.
func found(command []string) []string {
	out := slices.Clone(command)
	for i, a := range out {
		if filepath.IsAbs(a) || strings.HasPrefix(a, "{") || !strings.Contains(a, "/") && (i == 0 || !strings.Contains(a, ".")) {
			continue
		}
		if st, err := os.Stat(a); i > 0 && (err != nil || !st.Mode().IsRegular()) {
			continue
		}
		if abs, err := filepath.Abs(a); err == nil {
			out[i] = abs
		}
	}
	return out
}

// scripts are endings of files that an interpreter is given.
const scripts = ".js .mjs .cjs .ts .py .rb .pl .php .jar .sh "

// missing are the arguments that look like a script and are no file here, where found looks for them.
func missing(command []string) (names []string) {
	for _, a := range command[min(1, len(command)):] {
		if ext := filepath.Ext(a); ext == "" || !strings.Contains(scripts, ext+" ") || filepath.IsAbs(a) || strings.HasPrefix(a, "-") || strings.Contains(a, "{") {
			continue
		}
		if _, err := os.Stat(a); err != nil {
			names = append(names, a)
		}
	}
	return names
}
