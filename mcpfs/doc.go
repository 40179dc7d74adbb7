// Package mcpfs gives any go-sdk server the file tools: fourteen tools with the names, parameters and text forms that
// hosts and prompts know, and more that copy, delete and append, every one of them behind guard.Guard.
//
// A handler decodes its arguments strictly, lets the guard decide and resolve, works on the handles it was given and
// formats the answer. Nothing in this package opens a path. Answers are bounded (contract §6); one that was cut says so
// in its text and in structuredContent (truncated, next), where next holds the arguments to send beside the same ones.
package mcpfs
