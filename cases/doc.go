// Package cases runs the published case lists through the real server process.
//
// testdata/attacks.yaml is a specification of its own: each case makes a fresh world on disk, starts the server over
// stdio, performs one call while files, links, mounts or the client's roots are moved under it, and judges what came
// back and what changed. sixteen.yaml is the deterministic table of root boundaries in both protocol eras, reports.yaml
// restates public bug reports of filesystem servers, root-uris.json holds root URIs as real clients send them.
//
// The package has tests only. Run as root it works in a private mount namespace; a case that the machine cannot express
// is skipped, and each skip must stand in skips.txt with its reason.
package cases
