// Package automaton tells quickly which lines of a text may match a pattern: a deterministic automaton over bytes that is
// built while it runs and forgets what is too much.
//
// It takes every line that matches. It may take some that do not, where characters above ASCII decide, so that what it
// takes is for a real engine to judge. '^', '$', \b and \B are exact.
package automaton
