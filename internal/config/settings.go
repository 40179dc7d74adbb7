package config

import (
	"strconv"
	"time"

	"github.com/rootbound/rootbound/internal/config/held"
	"github.com/rootbound/rootbound/internal/config/source"
)

// Setting is one value that stands outside the projects: its names, its default, and how it is read and shown.
type Setting struct {
	Key     string // in the file, with dots
	Flag    string // of serve, without dashes; empty: none
	Env     string // environment variable
	Default string // as in the file; empty: see Help
	Help    string // for docs and --help
	Switch  bool   // the flag needs no value

	// What a change does to what may be touched (package held). Free: nothing. Else Wide ranks the values; without a rank
	// every change of the file waits until a person accepts it, which a new setting gets by itself.
	Free bool
	Wide held.Order

	// Live tells whether a server that runs with one value takes another; nil: the next start does, which a new setting gets
	// by itself. confined: the system holds the process inside what it needed at its start.
	Live func(from, to string, confined bool) bool

	value
}

// always: a running server takes every change.
func always(string, string, bool) bool { return true }

// aside: that the client is the one who grants is settled at the start.
func aside(_, to string, _ bool) bool { return to != "client" }

// rotates: a confined process that never set a file aside may not make one beside it.
func rotates(from, to string, confined bool) bool {
	n, ok := sizeOf(from)
	return !confined || ok && n > 0 || from == to
}

// Show is the setting's value in a configuration, as it may stand in the file.
func (s Setting) Show(c *Config) string { return s.get(c) }

// Keep is a copy of c that has the value of another configuration. Neither is changed.
func (s Setting) Keep(c, from *Config) (*Config, error) {
	out := c.clone()
	out.origins[s.Key] = from.origins[s.Key]
	return out, s.set(out, s.get(from))
}

// Shape is how the setting may stand in the file.
func (s Setting) Shape() Shape { return s.shape }

// Shape is how a value may stand in the file.
type Shape struct {
	Kind        ShapeKind
	Words       []string // of ShapeWord
	Least, Most int      // of ShapeCount
}

// ShapeKind is what a value is.
type ShapeKind uint8

// The kinds.
const (
	ShapeText ShapeKind = iota
	ShapeWord
	ShapeSwitch
	ShapeSpan
	ShapeSize
	ShapeCount
)

// value reads a setting from its text and shows it.
type value struct {
	set   func(*Config, string) error
	get   func(*Config) string
	shape Shape
}

// Settings lists every setting, in the order of the file.
func Settings() []Setting {
	return []Setting{
		{Key: "tools", Flag: "tools", Env: "ROOTBOUND_TOOLS",
			Help:  "the form of the tools: classic (paths) or project (project_id and relative_path); default classic where directories are arguments, else project with a file",
			Free:  true,
			value: choice(func(c *Config) *string { return &c.Tools }, "classic", "project")},
		{Key: "relative", Flag: "relative", Env: "ROOTBOUND_RELATIVE", Default: "unique",
			Help:  "where a relative path may start with several projects: unique, first, explicit",
			Free:  true,
			Live:  always,
			value: choice(func(c *Config) *string { return &c.Relative }, "unique", "first", "explicit")},

		{Key: "roots.mode", Flag: "roots", Env: "ROOTBOUND_ROOTS",
			Help:  "what the client's roots mean: narrow, client, ignore, require; default narrow with projects, else client",
			Wide:  held.Words("require", "narrow", "ignore", "client"),
			Live:  aside,
			value: choice(func(c *Config) *string { return &c.Roots.Mode }, "narrow", "client", "ignore", "require")},
		{Key: "roots.timeout", Flag: "roots-timeout", Env: "ROOTBOUND_ROOTS_TIMEOUT", Default: "5s",
			Help:  "longest time one call waits for the client's roots",
			Free:  true,
			Live:  always,
			value: span(func(c *Config) *time.Duration { return &c.Roots.Timeout }, 10*time.Millisecond, 5*time.Minute)},
		{Key: "roots.on_empty", Flag: "on-empty", Env: "ROOTBOUND_ON_EMPTY", Default: "deny",
			Help:  "what an empty first answer means: deny, ceiling",
			Wide:  held.Words("deny", "ceiling"),
			Live:  always,
			value: choice(func(c *Config) *string { return &c.Roots.OnEmpty }, "deny", "ceiling")},
		{Key: "roots.ask_modern", Flag: "ask-modern", Env: "ROOTBOUND_ASK_MODERN", Default: "auto",
			Help:  "ask for roots inside calls of protocol 2026-07-28: auto, never",
			Wide:  held.Words("auto", "never"),
			Live:  always,
			value: choice(func(c *Config) *string { return &c.Roots.AskModern }, "auto", "never")},
		{Key: "roots.allow_wide", Flag: "allow-wide-roots", Env: "ROOTBOUND_ALLOW_WIDE_ROOTS", Default: "false", Switch: true,
			Help:  "let a client declare /, a home directory or what contains one",
			Wide:  held.Words("false", "true"),
			Live:  always,
			value: truth(func(c *Config) *bool { return &c.Roots.AllowWide })},

		{Key: "audit.path", Flag: "audit", Env: "ROOTBOUND_AUDIT",
			Help:  "file for the decision records, one JSON object a line; default none",
			value: text(func(c *Config) *string { return &c.Audit.Path })},
		{Key: "audit.fsync", Env: "ROOTBOUND_AUDIT_FSYNC", Default: "mutations",
			Help:  "which records are waited for until they are on the disk: never, mutations, always",
			Wide:  held.Words("always", "mutations", "never"),
			Live:  always,
			value: choice(func(c *Config) *string { return &c.Audit.Fsync }, "never", "mutations", "always")},
		{Key: "audit.paths", Env: "ROOTBOUND_AUDIT_PATHS", Default: "plain",
			Help:  "how paths, URIs and digests stand in the records: plain, hash",
			Wide:  held.Words("hash", "plain"),
			value: choice(func(c *Config) *string { return &c.Audit.Paths }, "plain", "hash")},
		{Key: "audit.max_size", Env: "ROOTBOUND_AUDIT_MAX_SIZE", Default: "64 MiB",
			Help:  "size at which the file is set aside; 0: never",
			Live:  rotates,
			value: size(func(c *Config) *int64 { return &c.Audit.MaxSize })},
		{Key: "audit.keep", Env: "ROOTBOUND_AUDIT_KEEP", Default: "10",
			Help:  "files set aside that are kept; 0: all",
			Live:  always,
			value: count(func(c *Config) *int { return &c.Audit.Keep }, 0, 100_000)},

		{Key: "limits.text", Env: "ROOTBOUND_LIMIT_TEXT", Default: "1 MiB",
			Help:  "bytes of text one read returns",
			Wide:  held.Amount(sizeOf),
			Live:  always,
			value: size(func(c *Config) *int64 { return &c.Limits.Text })},
		{Key: "limits.media", Env: "ROOTBOUND_LIMIT_MEDIA", Default: "4 MiB",
			Help:  "bytes of the largest media file one read returns; a reply carries it twice, in base64",
			Wide:  held.Amount(sizeOf),
			Live:  always,
			value: size(func(c *Config) *int64 { return &c.Limits.Media })},
		{Key: "limits.tree", Env: "ROOTBOUND_LIMIT_TREE", Default: "50000",
			Help:  "nodes of one tree",
			Wide:  held.Amount(numberOf),
			Live:  always,
			value: count(func(c *Config) *int { return &c.Limits.Tree }, 1, 10_000_000)},
		{Key: "limits.list", Env: "ROOTBOUND_LIMIT_LIST", Default: "1000",
			Help:  "entries of one page of a list",
			Wide:  held.Amount(numberOf),
			Live:  always,
			value: count(func(c *Config) *int { return &c.Limits.List }, 1, 1_000_000)},
		{Key: "limits.search", Env: "ROOTBOUND_LIMIT_SEARCH", Default: "100",
			Help:  "hits of one page of a search",
			Wide:  held.Amount(numberOf),
			Live:  always,
			value: count(func(c *Config) *int { return &c.Limits.Search }, 1, 1_000_000)},
		{Key: "limits.search_bytes", Env: "ROOTBOUND_LIMIT_SEARCH_BYTES", Default: "4 GiB",
			Help:  "bytes that one search of contents reads before it stops and says how to go on",
			Wide:  held.Amount(sizeOf),
			Live:  always,
			value: size(func(c *Config) *int64 { return &c.Limits.SearchBytes })},
		{Key: "limits.search_files", Env: "ROOTBOUND_LIMIT_SEARCH_FILES", Default: "1000000",
			Help:  "files that one search of contents looks into before it stops and says how to go on",
			Wide:  held.Amount(numberOf),
			Live:  always,
			value: count(func(c *Config) *int { return &c.Limits.SearchFiles }, 1, 1_000_000_000)},
		{Key: "limits.search_time", Env: "ROOTBOUND_LIMIT_SEARCH_TIME", Default: "20s",
			Help:  "how long one search of contents or names, or one tree, goes on before it stops and says how to go on; looked at behind each entry",
			Wide:  held.Amount(spanOf),
			Live:  always,
			value: span(func(c *Config) *time.Duration { return &c.Limits.SearchTime }, 100*time.Millisecond, time.Hour)},
		{Key: "limits.edit", Env: "ROOTBOUND_LIMIT_EDIT", Default: "16 MiB",
			Help:  "bytes of a file that is edited, and of a patch",
			Wide:  held.Amount(sizeOf),
			Live:  always,
			value: size(func(c *Config) *int64 { return &c.Limits.Edit })},
		{Key: "limits.trees", Env: "ROOTBOUND_LIMIT_TREES", Default: "50000",
			Help:  "entries of a tree that is moved, copied or deleted; a larger one is refused",
			Wide:  held.Amount(numberOf),
			Live:  always,
			value: count(func(c *Config) *int { return &c.Limits.Trees }, 1, 10_000_000)},
		{Key: "limits.subscriptions", Env: "ROOTBOUND_LIMIT_SUBSCRIPTIONS", Default: "1000",
			Help:  "subscriptions of one session, or of one listen of 2026-07-28",
			Wide:  held.Amount(numberOf),
			Live:  always,
			value: count(func(c *Config) *int { return &c.Limits.Subscriptions }, 1, 100_000)},

		{Key: "undo.max_size", Env: "ROOTBOUND_UNDO_MAX_SIZE", Default: "256 MiB",
			Help:  "bytes of what was replaced or deleted that are kept so that a change can be taken back; 0: nothing is kept",
			Live:  always,
			value: size(func(c *Config) *int64 { return &c.Undo.MaxSize })},
		{Key: "undo.keep", Env: "ROOTBOUND_UNDO_KEEP", Default: "168h",
			Help:  "how long it is kept at most",
			Live:  always,
			value: span(func(c *Config) *time.Duration { return &c.Undo.Keep }, time.Minute, 10*365*24*time.Hour)},
		{Key: "undo.entries", Env: "ROOTBOUND_UNDO_ENTRIES", Default: "1000",
			Help:  "changes that are kept at most",
			Live:  always,
			value: count(func(c *Config) *int { return &c.Undo.Entries }, 1, 100_000)},

		{Key: "confine", Flag: "confine", Env: "ROOTBOUND_CONFINE", Default: "auto",
			Help:  "let the operating system keep the process itself inside the projects: auto, require, off",
			Wide:  held.Words("require", "auto", "off"),
			value: choice(func(c *Config) *string { return &c.Confine }, "auto", "require", "off")},
		{Key: "fs_timeout", Env: "ROOTBOUND_FS_TIMEOUT", Default: "5s",
			Help:  "longest time one call waits for the file system",
			Wide:  held.Amount(spanOf),
			Live:  always,
			value: span(func(c *Config) *time.Duration { return &c.FSTimeout }, 100*time.Millisecond, time.Hour)},
		{Key: "no_slow", Flag: "no-slow", Env: "ROOTBOUND_NO_SLOW", Default: "false", Switch: true,
			Help:  "do not slow down a session that is denied again and again",
			Wide:  held.Words("false", "true"),
			Live:  always,
			value: truth(func(c *Config) *bool { return &c.NoSlow })},
		{Key: "strict_start", Flag: "strict-start", Env: "ROOTBOUND_STRICT_START", Default: "false", Switch: true,
			Help:  "end with code 2 if nothing is granted, not at a terminal only",
			Free:  true,
			value: truth(func(c *Config) *bool { return &c.StrictStart })},
	}
}

// sizeOf, numberOf and spanOf read what a setting shows, so that two values can be ranked.
func sizeOf(s string) (int64, bool) { n, err := source.ParseSize(s); return n, err == nil }

func numberOf(s string) (int64, bool) { n, err := strconv.ParseInt(s, 10, 64); return n, err == nil }

func spanOf(s string) (int64, bool) {
	d, err := time.ParseDuration(s)
	return int64(d), err == nil
}

func text(at func(*Config) *string) value {
	return value{
		func(c *Config, s string) error { *at(c) = s; return nil },
		func(c *Config) string { return *at(c) },
		Shape{Kind: ShapeText},
	}
}

func choice(at func(*Config) *string, words ...string) value {
	return value{
		func(c *Config, s string) (err error) { *at(c), err = source.OneOf(s, words...); return err },
		func(c *Config) string { return *at(c) },
		Shape{Kind: ShapeWord, Words: words},
	}
}

func truth(at func(*Config) *bool) value {
	return value{
		func(c *Config, s string) (err error) { *at(c), err = source.ParseSwitch(s); return err },
		func(c *Config) string { return strconv.FormatBool(*at(c)) },
		Shape{Kind: ShapeSwitch},
	}
}

func span(at func(*Config) *time.Duration, least, most time.Duration) value {
	return value{
		func(c *Config, s string) (err error) { *at(c), err = source.ParseDuration(s, least, most); return err },
		func(c *Config) string { return at(c).String() },
		Shape{Kind: ShapeSpan},
	}
}

func size(at func(*Config) *int64) value {
	return value{
		func(c *Config, s string) (err error) { *at(c), err = source.ParseSize(s); return err },
		func(c *Config) string { return source.FormatSize(*at(c)) },
		Shape{Kind: ShapeSize},
	}
}

func count(at func(*Config) *int, least, most int) value {
	return value{
		func(c *Config, s string) (err error) { *at(c), err = source.ParseCount(s, least, most); return err },
		func(c *Config) string { return strconv.Itoa(*at(c)) },
		Shape{Kind: ShapeCount, Least: least, Most: most},
	}
}
