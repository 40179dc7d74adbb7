//go:build !windows

package spelling

import "github.com/rootbound/rootbound"

// IsAbs reports whether a path argument starts at the root of the file system.
func IsAbs(p string) bool { return p != "" && p[0] == '/' }

func isSeparator(c byte) bool { return c == '/' }

// checkOS refuses what is a mistake on POSIX: a Windows path would become a file with that literal name.
func checkOS(p string) *rootbound.Error {
	if len(p) >= 3 && p[1] == ':' && p[2] == '\\' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z' {
		return &rootbound.Error{Reason: rootbound.PathInvalid, Detail: "a Windows path", Next: "Send a path of the machine the server runs on."}
	}
	return nil
}
