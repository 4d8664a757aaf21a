// TLS bootstrap of a kubelet: client and serving certificates by CSR, approved by policy and by a person, and renewed.
import { X509Certificate } from "node:crypto";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { machine } from "./actor.mjs";
import { startHub } from "./hub.mjs";
import { equal, eventually } from "./stage.mjs";

const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const inventory = `
apiVersion: v1
kind: ConfigMap
metadata: { name: pratique-node-inventory, namespace: kube-system }
data:
  node-1: node-1.example, 10.0.0.1`;
const flags = ["--bootstrap-kubeconfig", "bootstrap-kubelet.conf", "--cert-dir", "pki", "--kubeconfig", "kubelet.conf"];

export async function run(stage) {
  stage.text(
    "The admin lists the names and addresses of nodes. `pratique join` and `pratique agent` send the requests of a kubelet.",
  );

  stage.step("The admin writes the inventory and creates a bootstrap token");
  const hub = await startHub(stage, { flags: ["--serving-approval", "inventory"] });
  const { admin } = hub;
  await admin.create("inventory.yaml", "/api/v1/namespaces/kube-system/configmaps", inventory);
  const token = (await admin.run(["token", "create", "--ttl", "1h"])).stdout.trim();

  stage.step("node-1 has a bootstrap kubeconfig with the token; the hub approves its client certificate by policy");
  const first = await bootstrapped("node-1", "10.0.0.1");
  await admin.kubectl(["get", "csr"], { path: csrs });

  stage.step(
    "node-1 requests a serving certificate with its client certificate; the inventory proves name and address",
  );
  await first.run(["agent", "--dir", ".", "--once"]);
  await serves(first, "10.0.0.1");

  stage.step("node-2 is not in the inventory: its serving certificate waits for the admin");
  const second = await bootstrapped("node-2", "10.0.0.2");
  const agent = second.start(["agent", "--dir", "."]);
  const request = await admin.undecided();
  await admin.run(["pending"]);
  await admin.run(["approve", request]);
  await eventually("the serving certificate", () => existsSync(join(second.home, "pki/kubelet-server-current.pem")));
  agent.stop();
  await agent.ends();
  await serves(second, "10.0.0.2");

  stage.step("The token is deleted. node-1 renews with the certificate that it has, and with a new key");
  await admin.run(["token", "delete", token.split(".")[0]]);
  const before = await certificate(first, "client");
  await first.run(["join", ...flags, "--node-name", "node-1", "--force"]);
  const after = await certificate(first, "client");
  equal("the subject of the new certificate", after.subject, before.subject);
  equal("the new certificate has the old key", after.publicKey.equals(before.publicKey), false);
  const requests = (await admin.api("GET", csrs)).body.items.map(({ spec }) => spec);
  const own = requests.filter(
    ({ username, signerName }) => username.endsWith("node-1") && signerName.includes("client"),
  );
  equal("requests of node-1 for client certificates", own.length, 1);
  equal("code of a request with the new certificate", (await first.api("GET", "/api/v1/nodes/node-1")).code, 200);
  stage.proven("system:node:node-1 itself requested the new certificate, and the hub approved it by policy");

  stage.step("The admin lists what was issued to whom, and who approved it");
  await admin.run(["credentials"]);
  await hub.stop();

  /** A node with a client certificate, which then creates its Node object as a kubelet does. */
  async function bootstrapped(name, address) {
    const node = await machine(stage, name);
    const text = await hub.kubeconfig(join(name, "bootstrap-kubelet.conf"), { token });
    if (name === "node-1") stage.showFile(name, "bootstrap-kubelet.conf", text);
    await node.run([
      "join",
      ...flags,
      "--node-name",
      name,
      "--serving-name",
      `${name}.example`,
      "--serving-address",
      address,
    ]);
    equal("the subject", (await certificate(node, "client")).subject, `O=system:nodes\nCN=system:node:${name}`);
    await node.create("node.yaml", "/api/v1/nodes", `apiVersion: v1\nkind: Node\nmetadata: { name: ${name} }`);
    return node;
  }

  async function serves({ who, ...node }, address) {
    const names = `DNS:${who}.example, IP Address:${address}`;
    equal("names in the serving certificate", (await certificate(node, "server")).subjectAltName, names);
    stage.proven(`the serving certificate of ${who} is for ${names}`);
  }
}

const certificate = async ({ home }, purpose) =>
  new X509Certificate(await readFile(join(home, "pki", `kubelet-${purpose}-current.pem`)));
