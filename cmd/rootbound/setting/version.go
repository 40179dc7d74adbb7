package setting

import (
	"runtime/debug"
)

// Version is the module's version, or the commit it was built from.
func Version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := b.Main.Version
	if v == "" || v == "(devel)" {
		v = "devel"
		for _, s := range b.Settings {
			if s.Key == "vcs.revision" {
				v += "+" + s.Value[:min(12, len(s.Value))]
			}
		}
	}
	return v
}
