#!/bin/sh
# Shows a session on this repository: each call starts the server and a client and prints the answer.
# Ends with 0 only if the list and the read were served and the escape was refused.
set -eu
bin=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")

show() { printf '\n$ rootbound call --dir . --read-only %s\n' "$*"; }
call() { "$bin" call --dir . --read-only "$@"; }

show list_directory path=docs
call list_directory path=docs

show read_text_file path=go.mod head=3
call read_text_file path=go.mod head=3

show read_text_file path=../../../etc/passwd
code=0
said=$(call read_text_file path=../../../etc/passwd 2>&1) || code=$?
printf '%s\n' "$said"
case "$code $said" in
"1 "*outside_root*) echo "(refused, exit code 1, as it must be)" ;;
*) echo "run: the escape was not refused (exit code $code)" >&2; exit 1 ;;
esac

quoted() { printf '%s' "$1" | sed 's/[\\"]/\\&/g'; }
cat <<END

For your host's mcp.json (docs/serve.md names the file of each host):

{
  "mcpServers": {
    "rootbound": {
      "command": "$(quoted "$bin")",
      "args": ["serve", "$(quoted "$PWD")"]
    }
  }
}
END
