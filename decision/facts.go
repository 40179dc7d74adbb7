package decision

import (
	"strings"

	"github.com/rootbound/rootbound"
)

// Verdict is the record's word for an error: Allow for none, Error where nothing was judged wrong, else Deny.
func Verdict(err error) string {
	if err == nil {
		return Allow
	}
	switch rootbound.ReasonOf(err) {
	case rootbound.IOError, rootbound.InternalError, rootbound.Cancelled, rootbound.AuditUnavailable, rootbound.AuthorityUnavailable, "":
		return Error
	}
	return Deny
}

// Facts is the detail of a refusal as a record may hold it. What a refusal repeats for its caller stands in quotation marks
// (rootbound.Quote) and may be a piece of a file, such as the line nearest to an edit's oldText; it is left out.
func Facts(detail string) string {
	if strings.IndexByte(detail, '"') < 0 {
		return detail
	}
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(detail, `"`)
		b.WriteString(before)
		if !found {
			return b.String()
		}
		b.WriteString(`"…"`)
		i := 0
		for i < len(rest) && rest[i] != '"' {
			if rest[i] == '\\' {
				i++
			}
			i++
		}
		detail = rest[min(i+1, len(rest)):]
	}
}
