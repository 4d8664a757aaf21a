"""Lists the pods of a namespace again and again, with the kubeconfig that `pratique request` wrote.

Usage: watch_pods.py [KUBECONFIG [SECONDS]]

Prints namespace, name and address of each. Needs nothing but Python.
"""

import base64
import json
import re
import ssl
import sys
import time
import urllib.request

file = sys.argv[1] if len(sys.argv) > 1 else "kubeconfig"
seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 5.0
with open(file) as opened:
    text = opened.read()


def value_of(key, otherwise=None):
    """A value of a kubeconfig with one cluster and one user."""
    found = re.search(r'^[ -]*%s: *"?([^"\n]+)"?$' % key, text, re.MULTILINE)
    value = found.group(1) if found else otherwise
    if value is None:
        sys.exit("%s has no %s" % (file, key))
    return value


ca = base64.b64decode(value_of("certificate-authority-data")).decode()
context = ssl.create_default_context(cadata=ca)
url = "%s/api/v1/namespaces/%s/pods" % (value_of("server"), value_of("namespace", "default"))

while True:
    # Read each time: the token is renewed by `pratique agent`.
    with open(value_of("tokenFile")) as opened:
        headers = {"Authorization": "Bearer " + opened.read().strip(), "Accept": "application/json"}
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), context=context, timeout=10) as reply:
        for pod in json.load(reply)["items"]:
            address = pod.get("status", {}).get("podIP", "-")
            print(pod["metadata"]["namespace"], pod["metadata"]["name"], address, flush=True)
    time.sleep(seconds)
