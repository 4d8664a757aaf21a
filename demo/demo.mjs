// The story of Pratique in one terminal, with real processes: a hub, machines that want in, and the person who lets them.
// Exits 1 if any part of it goes otherwise than told. Needs the build in dist/, which `npm ci` makes.
import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { DemoError, openStage } from "./stage.mjs";

const program = fileURLToPath(new URL("../dist/bin/pratique.js", import.meta.url));
const askProgram = fileURLToPath(new URL("ask.mjs", import.meta.url));

if (!existsSync(program)) {
  process.stderr.write("demo: there is no build; run `npm ci` first\n");
  process.exit(1);
}

const begun = performance.now();
const stage = await openStage();
const { title, say, proven, run, start, folder } = stage;
const admin = join(folder, "hub", "admin.kubeconfig");
const auditLog = join(folder, "audit.log");

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.on(signal, () => {
    void stage.close().then(() => process.exit(130));
  });
}

function check(condition, what) {
  if (!condition) throw new DemoError(what);
}

/** A command of Pratique as somebody types it. */
function pratique(who, words, more = {}) {
  const title = ["pratique", ...words].map((word) => (word.includes(" ") ? JSON.stringify(word) : word)).join(" ");
  return { who, title, args: [program, ...words], ...more };
}

/** A command of the operator, who holds the admin kubeconfig. */
const operator = (...words) => pratique("operator", words, { env: { KUBECONFIG: admin } });

/** A request to the hub as the owner of a kubeconfig, by a process of its own. */
async function ask(kubeconfig, method, path, body) {
  const words = [kubeconfig, method, path, ...(body === undefined ? [] : [JSON.stringify(body)])];
  const { stdout } = await run({ args: [askProgram, ...words], shows: () => false });
  return JSON.parse(stdout);
}

async function startHub(port, shows) {
  const words = ["hub", "--data-dir", "hub", "--secure-port", port, "--audit-log-path", "audit.log"];
  const hub = start(pratique("hub", words, shows === undefined ? {} : { shows }));
  await hub.says(/Stop with Ctrl-C/, "the hub to be ready");
  const [, url] = await hub.says(/address\s+(https:\/\/\S+)/, "its address");
  const [, pin] = await hub.says(/CA pin\s+(sha256:[0-9a-f]{64})/, "its pin");
  return { ...hub, url, pin, port: new URL(url).port };
}

/** A machine is a directory of its own and nothing else. */
async function machine(name) {
  const home = join(folder, name);
  await mkdir(home);
  return { name, home, kubeconfig: join(home, "kubelet.conf") };
}

/** The join command that the operator handed over, typed on a machine. */
function joining({ name, home }, words, changed = (word) => word) {
  const own = ["--node-name", name, "--cert-dir", "pki", "--kubeconfig", "kubelet.conf"];
  return pratique(name, [...words.slice(1).map(changed), ...own], { cwd: home });
}

/** Who asked the hub for what, by the hub's own audit log. */
/** The events of the audit log, once one of them is about `path`: lines are gathered for a moment before they are written. */
async function audited(filter, path) {
  for (let attempt = 0; ; attempt += 1) {
    const lines = (await readFile(auditLog, "utf8")).split("\n").filter((line) => line !== "");
    const found = lines.map((line) => JSON.parse(line)).filter(filter);
    if (attempt === auditReads || found.some(({ requestURI }) => requestURI.includes(path))) return found;
    await pause(auditPauseMs);
  }
}
const auditReads = 100;
const auditPauseMs = 100;

async function whoami({ kubeconfig }) {
  const { code, body } = await ask(kubeconfig, "POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
  });
  check(code === 201, `whoami was answered with ${code}: ${body.message}`);
  return body.status.userInfo;
}

async function exitOf(joined, name, expected) {
  const code = await joined.exit();
  check(code === expected, `the join of ${name} ended with ${code}, but ${expected} was expected`);
}

function kubectlPath() {
  const peers = process.env.PEERS_DIR ?? join(homedir(), ".cache", "pratique-peers");
  const places = [join(peers, "bin"), ...(process.env.PATH ?? "").split(delimiter)];
  return places.map((place) => join(place, "kubectl")).find((path) => existsSync(path));
}

async function hubComesUp() {
  title("1. A hub comes up: a Kubernetes API with a CA of its own");
  const hub = await startHub("0");
  const { mode } = await stat(admin);
  check((mode & 0o777) === 0o600, "the admin kubeconfig can be read by others");
  return hub;
}

async function tokenIsMade() {
  title("2. The operator makes a token and gets the one line to type on a machine");
  const { stdout } = await run(operator("token", "create", "--print-join-command", "--description", "demo"));
  return stdout.trim().split(/\s+/);
}

async function wrongPinIsRefused(words) {
  title("3. A machine with a wrong pin finds out that this is not the hub it was told of");
  const lost = await machine("machine-0");
  const wrong = `sha256:${"0123456789abcdef".repeat(4)}`;
  const seen = await run(
    joining(lost, words, (word) => (word.startsWith("sha256:") ? wrong : word)),
    { code: 3 },
  );
  check(/pinned|pin/.test(seen.stderr), "the refusal does not speak of the pin");
  const asked = await audited(
    ({ userAgent = "", stage: at }) => userAgent !== "" && at === "ResponseComplete",
    "cluster-info",
  );
  const joins = asked.filter(({ requestURI }) => requestURI.includes("cluster-info"));
  const proved = asked.filter(({ user }) => user?.username?.startsWith("system:bootstrap:") === true);
  check(joins.length > 0, "the audit log has no request for cluster-info");
  check(proved.length === 0, "the audit log has a request with the token");
  check(
    (await readdir(lost.home)).every((name) => name !== "kubelet.conf"),
    "a kubeconfig was written",
  );
  proven(`the hub's audit log: ${joins.length} read of cluster-info by ${joins[0].user.username}, none with the token`);
}

async function machineJoins(words) {
  title("4. A machine with the right pin joins; its request is approved automatically");
  const first = await machine("machine-1");
  await run(joining(first, words));
  const { mode } = await stat(join(first.home, "pki", "kubelet-client-current.pem"));
  check((mode & 0o077) === 0, "the private key can be read by others");
  return first;
}

async function machineUsesIt(first) {
  title("5. The machine uses its credential");
  const me = await whoami(first);
  say(first.name, `is ${me.username}, in the groups ${me.groups.join(", ")}`);
  check(me.username === "system:node:machine-1" && me.groups.includes("system:nodes"), "that is somebody else");
  const configMaps = "/api/v1/namespaces/kube-system/configmaps";
  const settings = {
    kind: "ConfigMap",
    apiVersion: "v1",
    metadata: { name: "kubelet-config" },
    data: { motd: "welcome" },
  };
  const left = await ask(admin, "POST", configMaps, settings);
  check(left.code === 201, `the operator could not write the settings: ${left.body.message}`);
  const read = await ask(first.kubeconfig, "GET", `${configMaps}/kubelet-config`);
  check(read.code === 200 && read.body.data.motd === "welcome", `reading its settings gave ${read.code}`);
  proven(`may read the settings that the operator left for machines: ${JSON.stringify(read.body.data)}`);
  const secrets = await ask(first.kubeconfig, "GET", "/api/v1/namespaces/kube-system/secrets");
  check(secrets.code === 403, `reading secrets gave ${secrets.code}, but 403 was expected`);
  proven(`may not read secrets: ${secrets.code} ${secrets.body.message}`);
  await kubectlToo(first);
}

async function kubectlToo({ name, kubeconfig }) {
  const kubectl = kubectlPath();
  if (kubectl === undefined) return say("", "kubectl is not on this machine, so its step is left out");
  const words = ["--kubeconfig", kubeconfig, "auth", "whoami"];
  const { stdout } = await run({ who: name, title: `kubectl ${words.join(" ")}`, file: kubectl, args: words });
  check(stdout.includes("system:node:machine-1"), "kubectl sees somebody else");
}

async function personApproves(words) {
  title("6. The operator takes automatic approval away; the next machine waits for a person");
  const binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/kubeadm:node-autoapprove-bootstrap";
  const { code } = await ask(admin, "DELETE", binding);
  check(code === 200, `the binding could not be deleted: ${code}`);
  proven("deleted ClusterRoleBinding kubeadm:node-autoapprove-bootstrap");
  const second = await machine("machine-2");
  const joins = start(joining(second, words));
  const name = await requestOf(joins, second);
  const { stdout } = await run(operator("pending"));
  const [fingerprint] = await joins.says(/SHA256:[\w+/]{43}/, "its fingerprint");
  check(stdout.includes(name) && stdout.includes(fingerprint), "pending shows another key than the machine's");
  proven("the fingerprint is the one that the machine shows");
  await run(operator("approve", `csr/${name}`));
  await exitOf(joins, second.name, 0);
  proven(`${(await whoami(second)).username} is in`);
}

/** The name of a machine's request, once it waits. */
async function requestOf(joins, { name }) {
  const [request] = await joins.says(/node-csr-[\w-]+/, `${name} to ask for a certificate`);
  await joins.says(/waiting for approval/, `${name} to wait for approval`);
  return request;
}

async function personDenies(words) {
  title("7. Nobody knows the next machine, so it stays out");
  const third = await machine("machine-3");
  const joins = start(joining(third, words));
  const name = await requestOf(joins, third);
  await run(operator("deny", `csr/${name}`, "--reason", "UnknownMachine", "--message", "nobody ordered this machine"));
  await exitOf(joins, third.name, 4);
  check(/UnknownMachine/.test(joins.seen.stderr), "the machine was not told why");
  check(!existsSync(third.kubeconfig), "a kubeconfig was written");
  proven("the machine was told why, and holds no credential");
}

async function hubRestarts(hub, first, words) {
  title("8. The hub restarts on the same data directory, and everything is still there");
  const before = await stored();
  await shutDown(hub);
  const again = await startHub(
    hub.port,
    (line) => !/^$|^(To let|and type|Stop with)|^ {2}(pratique|store|kubeconfig) /.test(line),
  );
  check(again.url === hub.url && again.pin === hub.pin, `the hub came back as ${again.url} with ${again.pin}`);
  const after = await stored();
  check(before.length === after.length && before.every((line, index) => line === after[index]), "objects are missing");
  proven(`the same CA, and ${after.length} objects as before, each with its uid`);
  await run(joining(first, words));
  proven(`${(await whoami(first)).username} needs no new credential`);
  return again;
}

async function stored() {
  const kinds = [
    "/api/v1/namespaces",
    "/api/v1/secrets",
    "/api/v1/configmaps",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
  ];
  const lists = [];
  for (const path of kinds) {
    const { code, body } = await ask(admin, "GET", path);
    check(code === 200, `${path} gave ${code}`);
    lists.push(
      ...body.items.map(({ metadata }) => `${path} ${metadata.namespace ?? ""}/${metadata.name} ${metadata.uid}`),
    );
  }
  return lists.toSorted((one, other) => (one < other ? -1 : 1));
}

async function shutDown(hub) {
  hub.stop();
  const code = await hub.exit();
  check(code === 0, `the hub ended with ${code}`);
}

async function story() {
  const hub = await hubComesUp();
  const words = await tokenIsMade();
  await wrongPinIsRefused(words);
  const first = await machineJoins(words);
  await machineUsesIt(first);
  await personApproves(words);
  await personDenies(words);
  const again = await hubRestarts(hub, first, words);
  title("9. The hub shuts down");
  await shutDown(again);
}

try {
  await story();
  await stage.close();
  title(`Done in ${((performance.now() - begun) / 1000).toFixed(1)} s. Now start one of your own: npm start`);
} catch (error) {
  await stage.close();
  stage.failed(error instanceof DemoError ? error.message : String(error?.stack ?? error));
  process.exitCode = 1;
}
