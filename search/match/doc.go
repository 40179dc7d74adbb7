// Package match finds a pattern in the lines of one file's bytes. It opens nothing and knows no paths.
//
// A pattern is RE2 syntax as in regexp/syntax, or a literal. It is matched within one line, a line being what stands
// between two "\n"; a "\r" before it belongs to the line. '^' and '$' (and \A, \z) are the borders of the line, and a
// last line without "\n" counts. An empty match counts as a match of its line.
//
// What ripgrep 13 without options finds is found here too, but for this:
//   - \d, \s, \w, \b are ASCII as RE2 has them, there they are Unicode; [[:alpha:]] and \pL are the same in both.
//   - A byte that is no UTF-8 is one character U+FFFD here, which '.' and negated classes match and which stands beside
//     a word; there nothing matches it.
//   - \A and \z are the borders of the line, there of what the program happens to hold in memory.
//   - A file with a NUL in its first 64 KiB is skipped as binary in both. A later NUL ends the search before its line,
//     there before the block that holds it.
//   - A line longer than 256 KiB is searched in parts that overlap, and Stats says so.
package match
