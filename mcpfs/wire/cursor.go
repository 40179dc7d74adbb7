package wire

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"reflect"

	"github.com/rootbound/rootbound"
)

// Cursors makes and reads the cursors of one question: a tool with the arguments that shape its answer. A checksum keeps a
// cursor of another question, or one that was changed on its way, from an answer that is silently wrong. It is no control:
// where a cursor leads is judged like any other place.
type Cursors struct{ question []byte }

// CursorsOf are those of a tool (or method) with these arguments, as they were sent; nil: none.
func CursorsOf(tool string, shaping map[string]any) Cursors {
	b, err := json.Marshal(shaping) // keys in order
	if err != nil {
		panic(err) // they came out of JSON
	}
	return Cursors{append([]byte(tool+"\x00"), b...)}
}

// At is the cursor that goes on behind a place.
func (c Cursors) At(place string) string {
	sum := crc32.Update(crc32.ChecksumIEEE(c.question), crc32.IEEETable, []byte("\x00"+place))
	return base64.RawURLEncoding.EncodeToString(append(binary.BigEndian.AppendUint32(nil, sum), place...))
}

// Place is where a cursor goes on; ok is false if it is none of these. The empty cursor is the beginning.
func (c Cursors) Place(cursor string) (place string, ok bool) {
	if cursor == "" {
		return "", true
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 4 {
		return "", false
	}
	place = string(b[4:])
	return place, c.At(place) == cursor // also where another spelling decodes to the same bytes
}

// Cursor reads the argument cursor of a call to which c belongs.
func (a *Arguments) Cursor(c Cursors) string {
	place, ok := c.Place(a.Text("cursor", false))
	if !ok {
		a.Fail(rootbound.NoCursor, "")
	}
	return place
}

// Sent is the value of a field as JSON knows it; nil if it is absent, or says what an absent one says.
func (a *Arguments) Sent(f Field) any {
	var v any
	if json.Unmarshal(a.raw[f.Name], &v) != nil || v == nil || v == "" || v == false {
		return nil
	}
	if l, ok := v.([]any); ok && len(l) == 0 {
		return nil
	}
	var schema struct{ Default any }
	if json.Unmarshal([]byte(f.Schema), &schema) == nil && reflect.DeepEqual(v, schema.Default) {
		return nil
	}
	return v
}
