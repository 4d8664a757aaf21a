// A machine joins as with kubeadm: bootstrap token, cluster-info with a JWS, pin of the CA, certificate signing request.
import { existsSync } from "node:fs";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { machine } from "./actor.mjs";
import { startHub } from "./hub.mjs";
import { equal, eventually } from "./stage.mjs";

const autoApproval = "kubeadm:node-autoapprove-bootstrap";
const clusterInfo = "/api/v1/namespaces/kube-public/configmaps/cluster-info";

export async function run(stage) {
  stage.text(
    "The admin hands out one line, which is typed on each machine. The machine verifies the hub before it sends a secret.",
  );

  stage.step("The admin creates a bootstrap token; the hub signs cluster-info with it");
  const hub = await startHub(stage, { flags: ["--audit-log-path", "audit.log"] });
  const { admin } = hub;
  const { stdout } = await admin.run(["token", "create", "--print-join-command", "--description", "demo"]);
  const [, ...line] = stdout.trim().split(/\s+/);
  const token = line[line.indexOf("--token") + 1];
  const [id] = token.split(".");
  const signed = await eventually("a signature in cluster-info", async () => {
    const { data } = (await admin.api("GET", clusterInfo)).body;
    return data[`jws-kubeconfig-${id}`];
  });
  stage.proven(`cluster-info has the detached JWS of token ${id}: ${signed}`);
  const joining = (name, from, to) => {
    const words = line.map((word) => (word === from ? to : word));
    return [...words, "--node-name", name, "--cert-dir", "pki", "--kubeconfig", "kubelet.conf"];
  };

  stage.step(
    "machine-0 is given a wrong pin, then a wrong token: it finds that this is another hub than it was told of",
  );
  const wrong = await machine(stage, "machine-0");
  await wrong.run(joining("machine-0", hub.pin, `sha256:${"0123456789abcdef".repeat(4)}`), 3);
  await wrong.run(joining("machine-0", token, `${id}.0123456789abcdef`), 4);
  equal("machine-0 has a kubeconfig", existsSync(wrong.file), false);
  const events = await auditEvents(stage, admin);
  const readers = events
    .filter(({ verb, requestURI }) => verb === "get" && requestURI.startsWith(clusterInfo))
    .map(({ user }) => user.username);
  equal("users who read cluster-info", new Set(readers), new Set(["kubernetes-admin", "system:anonymous"]));
  equal(
    "requests with the token",
    events.filter(({ user }) => user.username === `system:bootstrap:${id}`),
    [],
  );
  stage.proven("by the audit log of the hub, machine-0 read cluster-info anonymously and sent no token");

  stage.step("machine-1 has the right line and joins; the hub approves its request by policy");
  const first = await machine(stage, "machine-1");
  await first.run(joining("machine-1"));
  equal(
    "mode of the key",
    ((await stat(join(first.home, "pki/kubelet-client-current.pem"))).mode & 0o777).toString(8),
    "600",
  );
  await isNode(stage, first);
  const secrets = "/api/v1/namespaces/kube-system/secrets";
  await first.kubectl(["get", "secrets", "-n", "kube-system"], {
    path: secrets,
    refused: 'cannot list resource "secrets"',
  });

  stage.step("The admin deletes the binding that approves automatically, and decides from now on");
  const binding = `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${autoApproval}`;
  await admin.kubectl(["delete", "clusterrolebinding", autoApproval], { method: "DELETE", path: binding });
  const second = await machine(stage, "machine-2");
  const joins = second.start(joining("machine-2"));
  const request = await admin.undecided();
  const [fingerprint] = await joins.says(/SHA256:[\w+/]{43}/, "the fingerprint of its key");
  const pending = await admin.run(["pending"]);
  equal("pending shows the fingerprint of the key of machine-2", pending.stdout.includes(fingerprint), true);
  await admin.run(["approve", request]);
  await joins.ends();
  await isNode(stage, second);

  stage.step("machine-3 is unknown to the admin, who denies its request");
  const third = await machine(stage, "machine-3");
  const refused = third.start(joining("machine-3"));
  await admin.run(["deny", await admin.undecided(), "--reason", "UnknownMachine", "--message", "not in the inventory"]);
  const { stderr } = await refused.ends(4);
  equal("machine-3 is told the reason", stderr.includes("UnknownMachine: not in the inventory"), true);
  equal("machine-3 has a kubeconfig", existsSync(third.file), false);
  stage.proven("machine-3 is told the reason, and has no credential");
  await hub.stop();
}

/** Asks the hub who a machine is. */
async function isNode(stage, { who, api }) {
  const review = { kind: "SelfSubjectReview", apiVersion: "authentication.k8s.io/v1" };
  const { body } = await api("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", review);
  const { username, groups } = body.status.userInfo;
  equal("the user name", username, `system:node:${who}`);
  stage.proven(`the hub authenticates ${who} as ${username}, groups ${groups.join(", ")}`);
}

/** The events of the audit log so far. They are written with a delay, so a last request marks the end. */
async function auditEvents(stage, admin) {
  await admin.api("GET", "/version?mark");
  return eventually("the audit log", async () => {
    const lines = (await readFile(join(stage.folder, "audit.log"), "utf8")).trimEnd().split("\n");
    return lines.at(-1).includes("/version?mark") && lines.map((line) => JSON.parse(line));
  });
}
