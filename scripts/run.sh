#!/bin/sh
# Builds rootbound and shows a real session on this repository: each call starts the server and a client and prints the answer.
# Ends with 0 only if the list and the read were served and the escape was refused.
set -eu
cd "$(dirname "$0")/.."
go build -o bin/rootbound ./cmd/rootbound
bin=$PWD/bin/rootbound

show() { printf '\n$ rootbound call --dir . --read-only %s\n' "$*"; }

show list_directory path=.
"$bin" call --dir . --read-only list_directory path=.

show read_text_file path=go.mod head=3
"$bin" call --dir . --read-only read_text_file path=go.mod head=3

show read_text_file path=../../etc/passwd
code=0
said=$("$bin" call --dir . --read-only read_text_file path=../../etc/passwd 2>&1) || code=$?
printf '%s\n' "$said"
case "$code $said" in
"1 "*outside_root*) echo "(refused, exit code 1, as it must be)" ;;
*) echo "run: the escape was not refused (exit code $code)" >&2; exit 1 ;;
esac

quoted() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
cat <<END

Paste this into your host's mcp.json (docs/serve.md names the file for each host):

{
  "mcpServers": {
    "rootbound": {
      "command": "$(quoted "$bin")",
      "args": ["serve", "$(quoted "$PWD")"]
    }
  }
}
END
