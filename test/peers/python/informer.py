"""An informer over the official client: keeps the ConfigMaps of one namespace, and prints a line of JSON for each thing it is told.

Usage: informer.py URL CA_FILE TOKEN_FILE NAMESPACE
"""

import json
import sys
import time

import urllib3
from kubernetes import client, watch
from kubernetes.client.rest import ApiException

url, ca_file, token_file, namespace = sys.argv[1:]
cache = {}


def tell(kind, name="", version=""):
    line = {"told": {"type": kind, "name": name, "version": version}, "cache": cache}
    print(json.dumps(line), flush=True)


def put(item):
    name, version = item.metadata.name, item.metadata.resource_version
    known = cache.get(name)
    cache[name] = (item.data or {}).get("seq", "") + "@" + version
    if known is None:
        tell("add", name, version)
    elif known != cache[name]:
        tell("update", name, version)


def drop(name, version):
    if cache.pop(name, None) is not None:
        tell("delete", name, version)


def read_token(configuration):
    with open(token_file) as file:
        configuration.api_key["authorization"] = "Bearer " + file.read()
    configuration.refresh_api_key_hook = None


configuration = client.Configuration()
configuration.host = url
configuration.ssl_ca_cert = ca_file
configuration.retries = False
read_token(configuration)
api = client.CoreV1Api(client.ApiClient(configuration))


def relist():
    listed = api.list_namespaced_config_map(namespace)
    tell("relist", version=listed.metadata.resource_version)
    there = {item.metadata.name for item in listed.items}
    for name in [name for name in cache if name not in there]:
        drop(name, "")
    for item in listed.items:
        put(item)
    return listed.metadata.resource_version


def follow(stream, version):
    for event in stream.stream(api.list_namespaced_config_map, namespace, resource_version=version):
        if event["type"] == "DELETED":
            drop(event["object"].metadata.name, event["object"].metadata.resource_version)
        else:
            put(event["object"])


version = None
while True:
    stream = watch.Watch()
    try:
        version = relist() if version is None else version
        follow(stream, version)
    except ApiException as error:
        version = stream.resource_version or version
        if error.status == 410:
            version = None
        elif error.status == 401:
            # The client calls this before its next request.
            configuration.refresh_api_key_hook = read_token
            tell("refused")
        elif error.status == 0:
            # What the client makes of a TLS handshake that was cut off.
            time.sleep(0.02)
        else:
            raise
    except urllib3.exceptions.HTTPError:
        version = stream.resource_version or version
        time.sleep(0.02)
