// Package e2e drives the real server process with real clients: the TypeScript SDK v1 and v2, the Go SDK, in both protocol
// eras, on a copy of this repository; and compares it with the official server on equal trees. It has tests only. What it
// needs from npm is pinned in package-lock.json and installed by `make e2e`; without it those tests are skipped.
package e2e
