// Package setting is what the commands of the program have in common: the streams and the environment it stands in, how it
// ends, what flags, environment and configuration come to, and what is opened for them outside the projects.
package setting
