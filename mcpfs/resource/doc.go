// Package resource shows the objects of approved projects as MCP resources, by URIs of the form rootbound://{project}/{+path}.
//
// A URI holds a project's id and a path inside that project and nothing of the host: URIs reach the logs of proxies. It is
// decoded exactly once, by this package; what comes out is a plain relative path, which the guard takes like that of a
// tool. So a read has one decision and one record, and what is denied, unknown or missing looks the same.
//
// Answers are bounded (contract §6). A file that is too long is refused with a word on the tool that reads it in parts; a
// listing that was cut says where the tool goes on.
package resource
