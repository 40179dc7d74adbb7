// Package resource shows the objects of approved projects as MCP resources, by URIs of the form rootbound://{project}/{+path}.
//
// A URI holds a project's id and a path inside that project and nothing of the host: URIs reach the logs of proxies. It is
// decoded exactly once, by this package; what comes out is a plain relative path, which the guard takes like that of a
// tool.
package resource
