// Package storm attacks a file boundary while it works and counts what comes out. It is used by tests only.
package storm
