// Package house holds the tests of how the module is laid out: which room may import which, what an importer of a public
// room gets, how large rooms and files are, and that the habits of the house are kept. It has tests only.
package house
