// Package form holds the file tools as clients see them: names, arguments, answers, schemas and texts, in both forms, and
// what a call asks the guard for. What the tools do is in mcpfs.
package form
