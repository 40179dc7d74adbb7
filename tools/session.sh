#!/bin/sh
# Shows a session on this repository: the server as a host starts it, one listing, one read, one refused escape.
set -u
bin=$1
show() {
	echo "\$ rootbound call --dir . $*"
	"$bin" call --dir . "$@" 2>&1 | head -n 12 | cut -c1-160
	echo
}
show list_directory path=.
show read_text_file path=go.mod head=3
show read_text_file path=../../../etc/passwd
echo "For a host's mcp.json:"
cat <<J
{
  "mcpServers": {
    "filesystem": {
      "command": "$(cd "$(dirname "$bin")" && pwd)/$(basename "$bin")",
      "args": ["serve", "$(pwd)"]
    }
  }
}
J
