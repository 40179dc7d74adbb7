package wire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

// Arguments decodes one call's arguments strictly. The first mistake is kept for Err and later getters give zero values,
// so that a handler reads all it needs and checks once. Keys nobody asks for are dropped, unless Only says which there are.
// Not safe for concurrent use.
type Arguments struct {
	tool  string
	raw   map[string]json.RawMessage
	err   *argumentError
	outer *Arguments // of an object in a list: where mistakes are kept
	known []string   // of an object in a list: its keys
	at    string     // its place there, with a dot behind it
}

// Decode reads the arguments of a call to tool; absent ones are taken as {}.
func Decode(tool string, raw json.RawMessage) *Arguments {
	a := &Arguments{tool: tool}
	if len(raw) == 0 || string(raw) == "null" {
		return a // taken as {}: what is required will be missed
	}
	if !utf8.Valid(raw) {
		a.Fail("the arguments are not valid UTF-8", "")
	} else if kind(raw) != "an object" {
		a.Fail("the arguments must be an object, not "+kind(raw), "")
	} else if err := json.Unmarshal(raw, &a.raw); err != nil {
		a.Fail("the arguments are not valid JSON", "")
	}
	return a
}

// Err is the first mistake, nil if there is none: a *rootbound.Error argument_invalid.
func (a *Arguments) Err() error {
	if e := a.mistake(); e != nil {
		return e.refusal()
	}
	return nil
}

func (a *Arguments) mistake() *argumentError {
	for a.outer != nil {
		a = a.outer
	}
	return a.err
}

// Fail keeps the first mistake: why, and at which field; "": why names the place itself.
func (a *Arguments) Fail(why, field string) {
	for ; a.outer != nil; a = a.outer {
		field = a.at + field
	}
	if a.err == nil {
		a.err = &argumentError{tool: a.tool, why: why, field: field}
	}
}

// Only refuses keys that stand in none of the fields, and tells which of those that are required are missing too: one is
// often the other under another name.
func (a *Arguments) Only(fields []Field) {
	if len(a.raw) == 0 {
		return
	}
	var known, missing []string
	for _, f := range fields {
		known = append(known, f.Name)
		if _, ok := a.raw[f.Name]; f.Required && !ok {
			missing = append(missing, f.Name)
		}
	}
	if key, ok := a.strange(known); ok {
		why := rootbound.Quote(key) + " is not an argument of this tool; it takes " + cmp.Or(strings.Join(known, ", "), "none")
		if len(missing) > 0 {
			why += "; missing: " + strings.Join(missing, ", ")
		}
		a.Fail(why, "")
	}
}

// strange is the first key, by name, that is none of the known ones.
func (a *Arguments) strange(known []string) (first string, ok bool) {
	for key := range a.raw {
		if !slices.Contains(known, key) && (!ok || key < first) {
			first, ok = key, true
		}
	}
	return first, ok
}

// get gives a field's raw value; ok is false if it is absent, which is a mistake if it is required.
func (a *Arguments) get(field string, required bool) (json.RawMessage, bool) {
	if a.mistake() != nil {
		return nil, false
	}
	raw, ok := a.raw[field]
	if !ok && required {
		why := "required and missing"
		if key, odd := a.strange(a.known); odd && a.known != nil {
			why = rootbound.Quote(key) + " is none of the fields " + strings.Join(a.known, ", ") + "; " + why
		}
		a.Fail(why, field)
	}
	return raw, ok
}

// Text reads a string; "" stands for absent.
func (a *Arguments) Text(field string, required bool) string {
	raw, ok := a.get(field, required)
	if !ok {
		return ""
	}
	return a.textOf(raw, field)
}

func (a *Arguments) textOf(raw json.RawMessage, field string) string {
	if k := kind(raw); k != "a string" {
		a.Fail("must be a string, not "+k, field)
		return ""
	}
	if loneSurrogate(raw) {
		a.Fail("holds half of a surrogate pair, which is no character", field)
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		a.Fail("not a valid string", field)
	}
	return s
}

// Texts reads a list of strings, of at least least of them if it is required.
func (a *Arguments) Texts(field string, required bool, least int) []string {
	items := a.list(field, required)
	if a.mistake() == nil && required && len(items) < least {
		a.Fail("must hold at least "+strconv.Itoa(least)+" item", field)
	}
	out := make([]string, 0, len(items))
	for i, raw := range items {
		out = append(out, a.textOf(raw, field+"["+strconv.Itoa(i)+"]"))
		if a.mistake() != nil {
			return nil
		}
	}
	return out
}

func (a *Arguments) list(field string, required bool) []json.RawMessage {
	raw, ok := a.get(field, required)
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if k := kind(raw); k != "a list" {
		a.Fail("must be a list, not "+k+unread(raw), field)
	} else if err := json.Unmarshal(raw, &items); err != nil {
		a.Fail("not a valid list", field)
	}
	return items
}

// Truth reads an optional true or false; absent is false.
func (a *Arguments) Truth(field string) bool {
	raw, ok := a.get(field, false)
	if !ok {
		return false
	}
	if k := kind(raw); k != "true or false" {
		a.Fail("must be true or false, not "+k, field)
	}
	return string(raw) == "true"
}

// Whole reads an optional whole number of at least least; -1 stands for absent.
func (a *Arguments) Whole(field string, least int64) int64 {
	raw, ok := a.get(field, false)
	if !ok {
		return -1
	}
	if k := kind(raw); k != "a number" {
		a.Fail("must be a number, not "+k, field)
		return -1
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil { // 5.0 and 1e3 are whole numbers too
		f, ferr := strconv.ParseFloat(string(raw), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			a.Fail("must be a whole number", field)
			return -1
		}
		n = int64(f)
	}
	if n < least {
		a.Fail(fmt.Sprintf("must be %d or more", least), field)
		return -1
	}
	return min(n, 1<<53) // past the end of every file, and sums with it do not overflow
}

// Choice reads an optional string that must be one of a few.
func (a *Arguments) Choice(field, standard string, of ...string) string {
	if _, ok := a.get(field, false); !ok {
		return standard
	}
	s := a.Text(field, false)
	if a.mistake() == nil && !slices.Contains(of, s) {
		a.Fail("must be one of "+strings.Join(of, ", "), field)
	}
	return s
}

// Objects reads a list of objects, each as arguments of its own whose mistakes are mistakes of a. Other keys than the known
// ones are dropped; where something is missing the first of them is named, since it may be meant for it.
func (a *Arguments) Objects(field string, required bool, known ...string) []*Arguments {
	items := a.list(field, required)
	out := make([]*Arguments, 0, len(items))
	for i, raw := range items {
		at := field + "[" + strconv.Itoa(i) + "]"
		if k := kind(raw); k != "an object" {
			a.Fail("must be an object, not "+k, at)
			return nil
		}
		sub := &Arguments{tool: a.tool, outer: a, known: known, at: at + "."}
		if err := json.Unmarshal(raw, &sub.raw); err != nil {
			a.Fail("not a valid object", at)
			return nil
		}
		out = append(out, sub)
	}
	return out
}

// unread says of a string that was meant as a list why it is none: its JSON cannot be read.
func unread(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	if s = strings.TrimSpace(s); strings.HasPrefix(s, "[") || strings.HasPrefix(s, "{") {
		if !json.Valid([]byte(s)) {
			return " whose JSON cannot be read"
		}
		return " that holds JSON"
	}
	return ""
}

func kind(raw json.RawMessage) string {
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '"':
		return "a string"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}

// loneSurrogate finds \ud800–\udfff escapes without their other half: encoding/json would turn them into U+FFFD silently,
// and a file would hold what nobody sent.
func loneSurrogate(raw []byte) bool {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		i++
		if raw[i] != 'u' {
			continue
		}
		v, ok := hex4(raw, i+1)
		switch {
		case !ok || v < 0xd800 || v > 0xdfff:
			continue
		case v >= 0xdc00:
			return true
		}
		low, ok := uint64(0), false
		if i+6 < len(raw) && raw[i+5] == '\\' && raw[i+6] == 'u' {
			low, ok = hex4(raw, i+7)
		}
		if !ok || low < 0xdc00 || low > 0xdfff {
			return true
		}
		i += 10
	}
	return false
}

func hex4(raw []byte, at int) (uint64, bool) {
	if at+4 > len(raw) {
		return 0, false
	}
	v, err := strconv.ParseUint(string(raw[at:at+4]), 16, 32)
	return v, err == nil
}

// argumentError is a call that could not be understood.
type argumentError struct{ tool, why, field string }

// Error keeps the form that clients of the classic server know.
func (e *argumentError) Error() string {
	return "MCP error -32602: Input validation error: Invalid arguments for tool " + e.tool + ": " + e.detail() + ". " + rootbound.ArgumentInvalid.Next()
}

func (e *argumentError) refusal() *rootbound.Error {
	return &rootbound.Error{Reason: rootbound.ArgumentInvalid, Detail: e.detail(), Err: e}
}

// detail is why and where; a mistake that names its place itself has no field.
func (e *argumentError) detail() string {
	if e.field == "" {
		return e.why
	}
	return e.why + " at " + e.field
}
