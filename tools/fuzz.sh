#!/bin/sh
# Runs every fuzz target of the module for the given time.
set -eu
time=${1:-30s}
go test -list '^Fuzz' ./... | while read -r a b _; do
	case $a in
	Fuzz*) targets="${targets:-} $a" ;;
	ok)
		for f in ${targets:-}; do
			echo "fuzz $b $f $time"
			go test -run '^$' -fuzz "^$f\$" -fuzztime "$time" "$b"
		done
		targets=
		;;
	esac
done
