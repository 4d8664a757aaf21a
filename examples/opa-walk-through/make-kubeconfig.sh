#!/bin/sh
# make-kubeconfig.sh SERVER CA-FILE: prints a kubeconfig with one context for each user of tokens.csv.
set -eu
server=$1
ca=$(base64 < "$2" | tr -d '\n')
cat <<END
apiVersion: v1
kind: Config
clusters:
  - { name: here, cluster: { server: "$server", certificate-authority-data: "$ca" } }
contexts:
END
while IFS=, read -r token user rest; do
  echo "  - { name: $user, context: { cluster: here, user: $user } }"
done < tokens.csv
echo "users:"
while IFS=, read -r token user rest; do
  echo "  - { name: $user, user: { token: $token } }"
done < tokens.csv
