package fileop

import (
	"strings"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/beneath"
)

// AbsentVersion is the expected version of a file that must not exist.
const AbsentVersion = "absent"

// partialMark ends the version of a read that did not give the whole file (contract §5, Bytes). It is no character of
// beneath's versions.
const partialMark = "~part"

// PartialVersion marks a full version as known from a cut read.
func PartialVersion(full string) string {
	if full == "" || strings.HasSuffix(full, partialMark) {
		return full
	}
	return full + partialMark
}

// Expected is what a caller believes a file to be. The zero value expects nothing. A value, comparable.
type Expected struct {
	version string // full form
	partial bool
	absent  bool
}

// ParseVersion reads an expected_version argument: "" expects nothing, "absent" that nothing exists, else the version
// of an earlier read or stat, opaque.
func ParseVersion(s string) Expected {
	if s == AbsentVersion {
		return Expected{absent: true}
	}
	full, partial := strings.CutSuffix(s, partialMark)
	return Expected{version: full, partial: partial && full != ""}
}

// Check compares with what is there now, nil for nothing. whole says that the change replaces the file as a whole and
// so may not rest on a part of it: version_partial. Else version_conflict, or exists for "absent".
func (e Expected) Check(now *beneath.Info, whole bool) error {
	switch {
	case e.absent && now != nil:
		return &rootbound.Error{Reason: rootbound.Exists, Detail: "expected to be absent",
			Next: "Choose another name, or expect the version of what is there, or none, to replace it."}
	case e.absent || e.version == "":
		return nil
	case e.partial && whole:
		return &rootbound.Error{Reason: rootbound.VersionPartial}
	case now == nil:
		return &rootbound.Error{Reason: rootbound.VersionConflict, Detail: "nothing is there any more",
			Next: "Expect absent, or no version, to make it anew."}
	case now.Version() != e.version:
		return &rootbound.Error{Reason: rootbound.VersionConflict}
	}
	return nil
}
