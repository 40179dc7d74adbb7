package resource

import "strings"

// textType is the MIME type of a text. Only types that no client runs are told from plain text: what a project holds is
// nobody's page, and text/html would be an invitation. known is what the media types say of the name.
func textType(name, known string) string {
	if strings.HasPrefix(known, "image/") {
		return known // a drawing that is text
	}
	dot := strings.LastIndexByte(name, '.')
	if dot > strings.LastIndexByte(name, '/')+1 {
		switch strings.ToLower(name[dot:]) {
		case ".md", ".markdown":
			return "text/markdown"
		case ".json":
			return "application/json"
		case ".csv":
			return "text/csv"
		}
	}
	return "text/plain"
}
