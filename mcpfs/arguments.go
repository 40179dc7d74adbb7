package mcpfs

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rootbound/rootbound"
)

// arguments decodes one call's arguments strictly. The first mistake is kept in err and later getters give zero values,
// so that a handler reads all it needs and checks once. Keys nobody asks for are dropped.
type arguments struct {
	tool string
	raw  map[string]json.RawMessage
	err  error
}

func decode(tool string, raw json.RawMessage) *arguments {
	a := &arguments{tool: tool}
	if len(raw) == 0 || string(raw) == "null" {
		return a // taken as {}: what is required will be missed
	}
	if !utf8.Valid(raw) {
		a.fail("not valid UTF-8", "arguments")
	} else if kind(raw) != "an object" {
		a.fail("must be an object, not "+kind(raw), "arguments")
	} else if err := json.Unmarshal(raw, &a.raw); err != nil {
		a.fail("not valid JSON", "arguments")
	}
	return a
}

// fail keeps the first mistake, in the form clients of the classic server know.
func (a *arguments) fail(why, field string) {
	if a.err == nil {
		a.err = &argumentError{tool: a.tool, why: why, field: field}
	}
}

// get gives a field's raw value; ok is false if it is absent, which is a mistake if it is required.
func (a *arguments) get(field string, required bool) (json.RawMessage, bool) {
	if a.err != nil {
		return nil, false
	}
	raw, ok := a.raw[field]
	if !ok && required {
		a.fail("required and missing", field)
	}
	return raw, ok
}

func (a *arguments) text(field string, required bool) string {
	raw, ok := a.get(field, required)
	if !ok {
		return ""
	}
	return a.textOf(raw, field)
}

func (a *arguments) textOf(raw json.RawMessage, field string) string {
	if k := kind(raw); k != "a string" {
		a.fail("must be a string, not "+k, field)
		return ""
	}
	if loneSurrogate(raw) {
		a.fail("holds half of a surrogate pair, which is no character", field)
		return ""
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		a.fail("not a valid string", field)
	}
	return s
}

func (a *arguments) texts(field string, required bool, least int) []string {
	items := a.list(field, required)
	if a.err == nil && required && len(items) < least {
		a.fail("must hold at least "+strconv.Itoa(least)+" item", field)
	}
	out := make([]string, 0, len(items))
	for i, raw := range items {
		out = append(out, a.textOf(raw, field+"["+strconv.Itoa(i)+"]"))
		if a.err != nil {
			return nil
		}
	}
	return out
}

func (a *arguments) list(field string, required bool) []json.RawMessage {
	raw, ok := a.get(field, required)
	if !ok {
		return nil
	}
	var items []json.RawMessage
	if k := kind(raw); k != "a list" {
		a.fail("must be a list, not "+k, field)
	} else if err := json.Unmarshal(raw, &items); err != nil {
		a.fail("not a valid list", field)
	}
	return items
}

func (a *arguments) truth(field string) bool {
	raw, ok := a.get(field, false)
	if !ok {
		return false
	}
	if k := kind(raw); k != "true or false" {
		a.fail("must be true or false, not "+k, field)
	}
	return string(raw) == "true"
}

// whole reads an optional whole number of at least least; -1 stands for absent.
func (a *arguments) whole(field string, least int64) int64 {
	raw, ok := a.get(field, false)
	if !ok {
		return -1
	}
	if k := kind(raw); k != "a number" {
		a.fail("must be a number, not "+k, field)
		return -1
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil { // 5.0 and 1e3 are whole numbers too
		f, ferr := strconv.ParseFloat(string(raw), 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			a.fail("must be a whole number", field)
			return -1
		}
		n = int64(f)
	}
	if n < least {
		a.fail(fmt.Sprintf("must be %d or more", least), field)
		return -1
	}
	return min(n, 1<<53) // past the end of every file, and sums with it do not overflow
}

func (a *arguments) choice(field, standard string, of ...string) string {
	if _, ok := a.get(field, false); !ok {
		return standard
	}
	s := a.text(field, false)
	if a.err == nil && !slices.Contains(of, s) {
		a.fail("must be one of "+strings.Join(of, ", "), field)
	}
	return s
}

// edit is one replacement of edit_file.
type edit struct {
	old, new string
	all      bool
}

func (a *arguments) edits(field string) []edit {
	items := a.list(field, true)
	out := make([]edit, 0, len(items))
	for i, raw := range items {
		at := field + "[" + strconv.Itoa(i) + "]"
		if k := kind(raw); k != "an object" {
			a.fail("must be an object, not "+k, at)
			return nil
		}
		sub := &arguments{tool: a.tool}
		if err := json.Unmarshal(raw, &sub.raw); err != nil {
			a.fail("not a valid object", at)
			return nil
		}
		e := edit{old: sub.text("oldText", true), new: sub.text("newText", true), all: sub.truth("replaceAll")}
		if sub.err != nil {
			inner := sub.err.(*argumentError)
			a.fail(inner.why, at+"."+inner.field)
			return nil
		}
		out = append(out, e)
	}
	return out
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

// argumentError is a call that could not be understood. Its text keeps the classic server's form.
type argumentError struct{ tool, why, field string }

func (e *argumentError) Error() string {
	return "MCP error -32602: Input validation error: Invalid arguments for tool " + e.tool + ": " + e.why + " at " + e.field +
		". " + rootbound.ArgumentInvalid.Next()
}
