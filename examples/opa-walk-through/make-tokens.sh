#!/bin/sh
# Prints a token file for an API server: three users with new tokens. A reader of it can act as any of them.
set -eu
token() {
  od -An -N16 -tx1 /dev/urandom | tr -d ' \n'
}
echo "$(token),ann,1001,\"admin\""
echo "$(token),carl,1002,\"conf\""
echo "$(token),nora,1003"
