package wire

import (
	"bytes"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// sockets are the TCP addresses at which processes of a group listen, as far as /proc tells (proc_pid_fd(5), proc_net(5)).
// At most three.
func sockets(group int) (where []string) {
	inodes := map[string]bool{}
	for _, pid := range processes() {
		if member(pid, group) {
			links, _ := filepath.Glob("/proc/" + strconv.Itoa(pid) + "/fd/*")
			for _, l := range links {
				to, _ := os.Readlink(l)
				if inode, ok := strings.CutPrefix(to, "socket:["); ok {
					inodes[strings.TrimSuffix(inode, "]")] = true
				}
			}
		}
	}
	for _, table := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		b, _ := os.ReadFile(table)
		for line := range bytes.Lines(b) {
			const local, state, inode, listens = 1, 3, 9, "0A"
			f := strings.Fields(string(line))
			if len(f) <= inode || f[state] != listens || !inodes[f[inode]] || len(where) == 3 {
				continue
			}
			if a := socketAddress(f[local]); a != "" && !slices.Contains(where, a) {
				where = append(where, a)
			}
		}
	}
	return where
}

// socketAddress reads ADDRESS:PORT, where the address is words of 32 bits in the machine's order (little-endian wherever
// this runs) and the port a number, all in hexadecimal.
func socketAddress(s string) string {
	addr, port, _ := strings.Cut(s, ":")
	ip, err := hex.DecodeString(addr)
	n, perr := strconv.ParseUint(port, 16, 16)
	if err != nil || perr != nil || len(ip)%4 != 0 {
		return ""
	}
	for i := 0; i < len(ip); i += 4 {
		slices.Reverse(ip[i : i+4])
	}
	return net.JoinHostPort(net.IP(ip).String(), strconv.FormatUint(n, 10))
}

// member looks at the fifth field of proc_pid_stat(5), the third behind the name in parentheses.
func member(pid, group int) bool {
	b, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	return len(fields) > 2 && fields[2] == strconv.Itoa(group)
}
