package decision

import "strings"

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
