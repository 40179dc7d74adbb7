// Package show writes what the file tools answer as text: entries, sizes, trees, paths in the caller's spelling, and what was
// cut and how to go on. It decides nothing and reads nothing; scripts parse these texts, so their shapes stay.
package show
