package search

import "github.com/rootbound/rootbound/search/glob"

// Pattern is a compiled glob; package glob says what it understands.
type Pattern = glob.Pattern

// Excludes is a list of compiled patterns. The zero value excludes nothing.
type Excludes = glob.Excludes

// Bounds of what is compiled: bytes of one pattern, and patterns of one list.
const (
	MaxPattern  = glob.MaxPattern
	MaxPatterns = glob.MaxPatterns
)

// Compile reads a pattern: argument_invalid, with the forms that exist, for what is not one.
func Compile(pattern string) (*Pattern, error) { return glob.Compile(pattern) }

// CompileExcludes reads the excludes of a search: each is a pattern like that of the search itself, so one without "/"
// means the top level only.
func CompileExcludes(patterns []string) (Excludes, error) { return glob.CompileExcludes(patterns) }

// CompileTreeExcludes reads the excludes of a tree: one with "*" is a pattern, one without means that path at any depth.
func CompileTreeExcludes(patterns []string) (Excludes, error) {
	return glob.CompileTreeExcludes(patterns)
}

// CompileGlobs reads the globs of a content search, as grep and git have them; see glob.CompileGlobs.
func CompileGlobs(kind string, patterns []string) (Excludes, error) {
	return glob.CompileGlobs(kind, patterns)
}

// Unclosed reports whether a pattern holds a "[" or "{" that nothing closes: such a character stands for itself, which is
// seldom meant.
func Unclosed(pattern string) bool { return glob.Unclosed(pattern) }
