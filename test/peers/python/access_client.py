"""A machine that asks for access, written from the description of the protocol and nothing else.

Usage: access_client.py URL NAME DIR SECONDS NAMESPACE...

Makes an RSA key, posts it without a credential, asks again each SECONDS until the answer is there, unseals it, writes DIR/kubeconfig,
and says for each NAMESPACE how many pods it sees, or with which status it was refused.
"""

import base64
import json
import os
import socket
import ssl
import sys
import time
import urllib.error
import urllib.request

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

url, name, folder, seconds, *namespaces = sys.argv[1:]
requests = url + "/apis/access.pratique.dev/v1alpha1/accessrequests"


def call(address, context, body=None, token=None):
    headers = {"Accept": "application/json"}
    data = None
    if body is not None:
        headers["Content-Type"] = "application/json"
        data = json.dumps(body).encode()
    if token is not None:
        headers["Authorization"] = "Bearer " + token
    request = urllib.request.Request(address, data=data, headers=headers)
    with urllib.request.urlopen(request, context=context, timeout=10) as reply:
        return json.load(reply)


def make_key():
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public = key.public_key().public_bytes(
        serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH
    )
    return key, public.decode() + " " + socket.gethostname()


def unseal(key, status):
    oaep = padding.OAEP(padding.MGF1(hashes.SHA512()), hashes.SHA512(), None)
    secret = AESGCM(key.decrypt(base64.b64decode(status["key"]), oaep))

    def opened(field):
        sealed = base64.b64decode(status[field])
        return secret.decrypt(sealed[:12], sealed[12:], None).decode()

    return opened("token"), opened("ca")


def write_kubeconfig(token, ca):
    cluster = {"server": url, "certificate-authority-data": base64.b64encode(ca.encode()).decode()}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "default", "cluster": cluster}],
        "users": [{"name": "default", "user": {"token": token}}],
        "contexts": [{"name": "default", "context": {"cluster": "default", "user": "default"}}],
        "current-context": "default",
    }
    path = os.path.join(folder, "kubeconfig")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        json.dump(config, file)


# It has no CA yet.
blind = ssl._create_unverified_context()
key, public = make_key()
call(requests, blind, {
    "apiVersion": "access.pratique.dev/v1alpha1",
    "kind": "AccessRequest",
    "metadata": {"name": name},
    "spec": {"pubKey": public},
})
while True:
    status = call(requests + "/" + name, blind).get("status", {})
    if status.get("ready"):
        break
    print("waiting for approval", flush=True)
    time.sleep(float(seconds))

token, ca = unseal(key, status)
write_kubeconfig(token, ca)
verified = ssl.create_default_context(cadata=ca)
for namespace in namespaces:
    try:
        pods = call("%s/api/v1/namespaces/%s/pods" % (url, namespace), verified, token=token)["items"]
        print("%s: %d pods %s" % (namespace, len(pods), " ".join(pod["metadata"]["name"] for pod in pods)), flush=True)
    except urllib.error.HTTPError as error:
        print("%s: refused %d" % (namespace, error.code), flush=True)
