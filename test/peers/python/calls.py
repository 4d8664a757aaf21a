"""Plain calls of the official client, each of which prints one line of JSON: its title and what came of it.

Usage: calls.py KUBECONFIG
"""

import json
import sys

from kubernetes import client, config
from kubernetes.client.rest import ApiException

config.load_kube_config(sys.argv[1])
core = client.CoreV1Api()
space = "default"


def tell(title, call):
    try:
        outcome = call()
    except ApiException as error:
        outcome = [error.status, json.loads(error.body)["reason"]]
    print(json.dumps([title, outcome]), flush=True)


def config_map(name, **data):
    return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name), data=data or None)


tell("list none", lambda: core.list_namespaced_config_map(space, label_selector="none=such").items)
tell("create without kind", lambda: core.create_namespaced_config_map(space, config_map("py", a="1")).kind)
tell("create again", lambda: core.create_namespaced_config_map(space, config_map("py", a="1")))
tell("create a bad name", lambda: core.create_namespaced_config_map(space, config_map("Bad")))
tell("read", lambda: core.read_namespaced_config_map("py", space).data)
tell("list", lambda: [one.metadata.name for one in core.list_config_map_for_all_namespaces(field_selector="metadata.name=py").items])
tell("patch strategically", lambda: core.patch_namespaced_config_map("py", space, {"data": {"b": "2"}}).data)
tell("patch by operations", lambda: core.patch_namespaced_config_map("py", space, [{"op": "remove", "path": "/data/a"}]).data)
tell("replace", lambda: core.replace_namespaced_config_map("py", space, config_map("py", c="3")).data)


def replace_stale():
    stale = config_map("py", d="4")
    stale.metadata.resource_version = "1"
    return core.replace_namespaced_config_map("py", space, stale)


tell("replace an old one", replace_stale)
tell("delete", lambda: core.delete_namespaced_config_map("py", space).status)
tell("delete again", lambda: core.delete_namespaced_config_map("py", space))
tell("delete all", lambda: core.delete_collection_namespaced_config_map(space, label_selector="none=such").kind)
tell("dry run", lambda: core.create_namespaced_config_map(space, config_map("py-dry"), dry_run="All").metadata.name)
tell("read what was dry", lambda: core.read_namespaced_config_map("py-dry", space))

review = client.V1TokenReview(spec=client.V1TokenReviewSpec(token="nobody"))
tell("review a token", lambda: client.AuthenticationV1Api().create_token_review(review).status.authenticated)
access = client.V1SubjectAccessReview(
    spec=client.V1SubjectAccessReviewSpec(
        user="ada",
        groups=["system:masters"],
        resource_attributes=client.V1ResourceAttributes(namespace=space, verb="get", resource="pods"),
    )
)
tell("review an access", lambda: client.AuthorizationV1Api().create_subject_access_review(access).status.allowed)
tell("nodes", lambda: core.list_node().items)
tell("namespaces", lambda: space in [one.metadata.name for one in core.list_namespace().items])
tell("roles", lambda: client.RbacAuthorizationV1Api().read_cluster_role("view").kind)
tell("version", lambda: client.VersionApi().get_code().major)

things = ("example.com", "v1", space, "things")
custom = client.CustomObjectsApi()


def thing(name, **spec):
    return {"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": spec}


tell("create a custom object", lambda: custom.create_namespaced_custom_object(*things, thing("py", size=1))["kind"])
tell("list custom objects", lambda: [one["metadata"]["name"] for one in custom.list_namespaced_custom_object(*things)["items"]])
tell("create a wrong custom object", lambda: custom.create_namespaced_custom_object(*things, thing("bad", size="big")))
tell("read a custom object", lambda: custom.get_namespaced_custom_object(*things, "py")["spec"])


def replace_custom():
    there = custom.get_namespaced_custom_object(*things, "py")
    there["spec"] = {"size": 3}
    return custom.replace_namespaced_custom_object(*things, "py", there)["spec"]


tell("replace a custom object", replace_custom)
tell("delete a custom object", lambda: custom.delete_namespaced_custom_object(*things, "py")["status"])
tell("read a custom object again", lambda: custom.get_namespaced_custom_object(*things, "py"))
