// Authorization: Node, RBAC and a policy in Rego behind a webhook decide in a chain, and each denial says why.
import { cp } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { machine } from "./actor.mjs";
import { startAuthorizer, startHub } from "./hub.mjs";
import { equal } from "./stage.mjs";

const policy = fileURLToPath(new URL("../examples/opa-walk-through/policy", import.meta.url));
const pods = "/api/v1/namespaces/default/pods";
const secrets = "/api/v1/namespaces/default/secrets";
const pod = `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  nodeName: node-1
  containers:
    - { name: web, image: example.com/web:1, envFrom: [{ secretRef: { name: web } }] }`;
const review = `
apiVersion: authorization.k8s.io/v1
kind: SubjectAccessReview
spec:
  user: carl
  groups: [conf]
  resourceAttributes: { verb: delete, resource: pods, namespace: default }`;

export async function run(stage) {
  stage.text(
    "ann is in group admin, carl in group conf, nora in none; node-1 is a kubelet. Node, RBAC and Webhook are asked in this order until one allows or denies. Behind the webhook is a policy in Rego.",
  );

  stage.step("The admin tests the policy, checks whom the chain would lock out, and starts authorizer and hub");
  await cp(policy, join(stage.folder, "policy"), { recursive: true });
  const webhook = await startAuthorizer(stage, ["--query", "data.k8s.decision", "--policy", "policy"]);
  const flags = ["--authorization-mode", "Node,RBAC,Webhook", "--authorization-webhook-config-file", webhook];
  const hub = await startHub(stage, { flags, users: { ann: ["admin"], carl: ["conf"], nora: [] } });
  const { admin } = hub;
  const [ann, carl, nora] = ["ann", "carl", "nora"].map((user) => hub.person(user));

  stage.step("Webhook: the policy lets ann create and carl list, and gives the reasons of the refusals");
  await ann.create("pod.yaml", pods, pod);
  await carl.kubectl(["get", "pods"], { path: pods });
  const web = { method: "DELETE", path: `${pods}/web` };
  await carl.kubectl(["delete", "pod", "web"], { ...web, refused: "conf may list" });
  await nora.kubectl(["get", "pods"], { path: pods, refused: "neither in group admin nor in group conf" });

  stage.step("Node: node-1 joins, and may read the Secret that its pod uses, but no other");
  for (const name of ["web", "other"]) {
    const { code } = await admin.api("POST", secrets, { apiVersion: "v1", kind: "Secret", metadata: { name } });
    equal(`code of creating Secret ${name}`, code, 201);
  }
  const { stdout } = await admin.run(["token", "create", "--print-join-command"]);
  const node = await machine(stage, "node-1");
  const line = stdout.trim().split(/\s+/).slice(1);
  await node.run([...line, "--node-name", "node-1", "--cert-dir", "pki", "--kubeconfig", "kubelet.conf"]);
  await node.kubectl(["get", "secret", "web"], { path: `${secrets}/web` });
  const refused = "no relationship found between node 'node-1' and this object";
  await node.kubectl(["get", "secret", "other"], { path: `${secrets}/other`, refused });

  stage.step("RBAC: why may nora not delete the pod? The answer has the commands that would allow exactly that");
  const why = ["why", "--as", "nora", "delete", "pods/web", "-n", "default"];
  const proposed = (await admin.run(why, 1)).stdout.match(/(?<=^ +kubectl ).+$/gm) ?? [];
  equal("the commands that `pratique why` proposes", proposed.length, 2);
  for (const words of proposed.map((command) => command.split(" "))) await admin.kubectl(words, byHttps(words));
  await admin.run(why);
  await admin.run(["who-can", "delete", "pods/web", "-n", "default"]);
  await nora.kubectl(["delete", "pod", "web"], web);

  stage.step("SubjectAccessReview: a program asks the same chain");
  const reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
  await admin.create("review.yaml", reviews, review, ["-o", "jsonpath={.status}"]);
  await hub.stop();
}

/** The request of `kubectl create role|rolebinding NAME …`, where kubectl is not installed. */
function byHttps([, resource, name]) {
  const apiGroup = "rbac.authorization.k8s.io";
  const rules = [{ apiGroups: [""], resources: ["pods"], resourceNames: ["web"], verbs: ["delete"] }];
  const bound = { roleRef: { apiGroup, kind: "Role", name }, subjects: [{ apiGroup, kind: "User", name: "nora" }] };
  const body = { metadata: { name }, ...(resource === "role" ? { rules } : bound) };
  return { method: "POST", path: `/apis/${apiGroup}/v1/namespaces/default/${resource}s`, body };
}
