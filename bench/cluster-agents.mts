// The agents of many clusters in one process, each with its own key, certificate and HTTP/2 connection; told what to do on standard
// input, it writes a line of JSON at the end of each phase. Started by clusters.mjs.
import { connect, type ClientHttp2Session } from "node:http2";
import { createCsr } from "../src/pki/csr.ts";
import { exportPkcs8Pem, generatePrivateKey } from "../src/pki/keys.ts";

interface Order {
  readonly server: string;
  readonly ca: string;
  readonly token: string;
  readonly admin: { readonly cert: string; readonly key: string };
  /** How many register at once, and how many there are in the end. */
  readonly atOnce: number;
  readonly clusters: number;
  readonly leaseSeconds: number;
  readonly beatSeconds: number;
  /** How long they beat. */
  readonly seconds: number;
  /** How many fall silent after their first beat. */
  readonly silent: number;
  /** Whether each watches its ManagedCluster. */
  readonly watches: boolean;
}

interface Reply {
  readonly status: number;
  readonly body: string;
}

interface Spoke {
  readonly name: string;
  readonly session: ClientHttp2Session;
}

const group = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
const csrs = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const label = "open-cluster-management.io/cluster-name";
const bootstrapConnections = 16;
/** How many of those after the first register at a time. */
const laterAtOnce = 100;
const patience = 5;

const order = JSON.parse(await text(process.stdin)) as Order;
const failures = new Map<string, number>();
const booting = Array.from({ length: bootstrapConnections }, () => open({}));
const spokes: Spoke[] = [];
let watched = 0;

const first = await registered(0, order.atOnce, order.atOnce);
say({ phase: "registered", ...first });
const rest = await registered(order.atOnce, order.clusters, laterAtOnce);
say({ phase: "grown", ...rest });
for (const session of booting) session.close();
say({ phase: "living", ...(await live()) });
for (const { session } of spokes) session.destroy();
process.exit(0);

/** Lets clusters register, so many at a time. */
async function registered(from: number, to: number, atATime: number): Promise<object> {
  const begun = performance.now();
  const took: number[] = [];
  let next = from;
  async function worker(): Promise<void> {
    for (let at = next++; at < to; at = next++) {
      const began = performance.now();
      spokes.push(await register(at));
      took.push(performance.now() - began);
    }
  }
  await Promise.all(Array.from({ length: Math.min(atATime, to - from) }, worker));
  const seconds = (performance.now() - begun) / 1000;
  return {
    clusters: took.length,
    seconds: round(seconds),
    perSecond: round(took.length / seconds),
    ...spread(took),
    failures: failed(),
  };
}

/** All that an agent does until its cluster is joined and available. */
async function register(at: number): Promise<Spoke> {
  const name = `bench-${at}`;
  const session = booting[at % booting.length] as ClientHttp2Session;
  const spec = { hubAcceptsClient: false, leaseDurationSeconds: order.leaseSeconds };
  const made = {
    apiVersion: "cluster.open-cluster-management.io/v1",
    kind: "ManagedCluster",
    metadata: { name },
    spec,
  };
  const bearer = { authorization: `Bearer ${order.token}` };
  await wanted(session, { method: "POST", path: group, body: made, headers: bearer });
  const key = generatePrivateKey();
  const commonName = `system:open-cluster-management:${name}:agent`;
  const organizations = [`system:open-cluster-management:${name}`, "system:open-cluster-management:managed-clusters"];
  const request = Buffer.from(createCsr({ key, commonName, organizations })).toString("base64");
  const asked = {
    metadata: { generateName: `${name}-`, labels: { [label]: name } },
    spec: {
      request,
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["digital signature", "key encipherment", "client auth"],
    },
  };
  const sent = JSON.parse(
    (await wanted(session, { method: "POST", path: csrs, body: asked, headers: bearer })).body,
  ) as {
    metadata: { name: string };
  };
  const cert = await issued(session, sent.metadata.name, bearer);
  const own = open({ cert, key: exportPkcs8Pem(key) });
  const cluster = await admitted(own, name);
  await beat({ name, session: own });
  await join(own, name, cluster);
  if (order.watches) watch(own, name);
  return { name, session: own };
}

interface StoredCluster {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string }[] };
}

/** Watches the request until its certificate is there. */
function issued(session: ClientHttp2Session, name: string, headers: Record<string, string>): Promise<string> {
  return new Promise((resolve) => {
    const path = `${csrs}?watch=true&fieldSelector=metadata.name%3D${name}`;
    const stream = session.request({ ":path": path, ...headers });
    let rest = "";
    let certificate: string | undefined;
    stream.on("response", ({ ":status": status }) => {
      if (status !== 200) count(`watch: ${status}`);
    });
    stream.setEncoding("utf8").on("data", (part: string) => {
      const lines = `${rest}${part}`.split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        const { object } = JSON.parse(line) as { object: { status?: { certificate?: string } } };
        certificate ??= object.status?.certificate;
      }
      if (certificate !== undefined) stream.close();
    });
    stream.on("error", () => undefined);
    stream.on("close", () => {
      if (certificate !== undefined) resolve(Buffer.from(certificate, "base64").toString());
      else void sleep(500).then(() => resolve(issued(session, name, headers)));
    });
  });
}

/** Refused until the rights are there. */
async function admitted(session: ClientHttp2Session, name: string): Promise<StoredCluster> {
  for (let pause = 250; ; pause = Math.min(pause * 2, 1000)) {
    const { status, body } = await ask(session, { method: "GET", path: `${group}/${name}` });
    if (status === 200) return JSON.parse(body) as StoredCluster;
    await sleep(pause * (1 + Math.random()));
  }
}

async function join(session: ClientHttp2Session, name: string, seen: StoredCluster): Promise<void> {
  for (let cluster = seen; ; cluster = await admitted(session, name)) {
    const is = (type: string): object => ({
      type,
      status: "True",
      reason: type,
      message: "",
      lastTransitionTime: new Date().toISOString().replace(/\.\d+/, ""),
    });
    const own = ["ManagedClusterJoined", "ManagedClusterConditionAvailable"];
    const others = (cluster.status?.conditions ?? []).filter(({ type }) => !own.includes(type));
    const conditions = [...others, ...own.map(is)];
    const { uid, resourceVersion } = cluster.metadata;
    const body = { metadata: { uid, resourceVersion }, status: { conditions } };
    const headers = { "content-type": "application/merge-patch+json" };
    const { status } = await ask(session, { method: "PATCH", path: `${group}/${name}/status`, body, headers });
    if (status === 200) return;
    if (status === 409) continue;
    count(`PATCH status: ${status}`);
    await sleep(200);
  }
}

function watch(session: ClientHttp2Session, name: string): void {
  const stream = session.request({ ":path": `${group}?watch=true&fieldSelector=metadata.name%3D${name}` });
  watched += 1;
  stream.on("error", () => undefined);
  stream.on("close", () => (watched -= 1));
  stream.resume();
}

/** A heartbeat as an agent makes it: read, then written. */
async function beat({ name, session }: Spoke): Promise<void> {
  const path = `/apis/coordination.k8s.io/v1/namespaces/${name}/leases/managed-cluster-lease`;
  for (;;) {
    const read = await ask(session, { method: "GET", path });
    const { status } =
      read.status === 200 ? await ask(session, { method: "PUT", path, body: renewed(read.body) }) : read;
    if (status === 200) return;
    count(`beat: ${status}`);
    await sleep(200);
  }
}

/** The Lease as it was read, with the time of this moment. */
function renewed(body: string): object {
  const lease = JSON.parse(body) as { spec?: object };
  return { ...lease, spec: { ...lease.spec, renewTime: new Date().toISOString().replace("Z", "000Z") } };
}

/** All beat, but for those that fall silent, each at a moment of its own. */
async function live(): Promise<object> {
  const until = performance.now() + order.seconds * 1000;
  const took: number[] = [];
  const silent = new Map<string, number>();
  const unknown = silentOnes(silent);
  let late = 0;
  await Promise.all(
    spokes.map(async (spoke, at) => {
      let due = performance.now() + Math.random() * order.beatSeconds * 1000;
      for (let turn = 0; due < until; turn += 1) {
        await sleep(Math.max(due - performance.now(), 0));
        late = Math.max(late, performance.now() - due);
        const began = performance.now();
        await beat(spoke);
        took.push(performance.now() - began);
        if (at < order.silent) {
          silent.set(spoke.name, Date.now());
          return;
        }
        // As agents do: the period times 1.00 to 1.25.
        due += order.beatSeconds * 1000 * (1 + Math.random() * 0.25);
      }
    }),
  );
  return {
    clusters: spokes.length,
    connections: spokes.filter(({ session }) => !session.destroyed).length,
    watches: watched,
    seconds: order.seconds,
    beats: took.length,
    perSecond: round(took.length / order.seconds),
    beat: spread(took),
    generatorLateMs: Math.round(late),
    silent: await unknown(),
    failures: failed(),
  };
}

/** Who falls silent, and how long after the time that they are given each shows as unknown, in milliseconds. */
function silentOnes(since: ReadonlyMap<string, number>): () => Promise<object> {
  const session = open(order.admin);
  const overdue: number[] = [];
  const given = patience * order.leaseSeconds * 1000;
  const wrongly = new Set<string>();
  const stream = session.request({ ":path": `${group}?watch=true` });
  stream.on("error", () => undefined);
  const reported = new Set<string>();
  let rest = "";
  stream.setEncoding("utf8").on("data", (part: string) => {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      const { object } = JSON.parse(line) as {
        object: { metadata: { name: string }; status?: { conditions?: { type: string; status: string }[] } };
      };
      const { name } = object.metadata;
      const is = object.status?.conditions?.find(({ type }) => type === "ManagedClusterConditionAvailable");
      if (is?.status !== "Unknown" || reported.has(name)) continue;
      reported.add(name);
      const last = since.get(name);
      if (last === undefined) wrongly.add(name);
      else overdue.push(Date.now() - last - given);
    }
  });
  return async () => {
    stream.close();
    session.destroy();
    return {
      clusters: since.size,
      shownAsUnknown: overdue.length,
      wronglyUnknown: wrongly.size,
      givenMs: given,
      overdue: spread(overdue),
    };
  };
}

interface Ask {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

/** Tried again while the hub is busy. */
async function wanted(session: ClientHttp2Session, what: Ask): Promise<Reply> {
  for (;;) {
    const reply = await ask(session, what);
    if (reply.status < 300) return reply;
    count(`${what.method} ${what.path.split("/")[4]}: ${reply.status}`);
    await sleep(200 * (1 + Math.random()));
  }
}

function ask(session: ClientHttp2Session, { method, path, body, headers = {} }: Ask): Promise<Reply> {
  return new Promise((resolve) => {
    const type = body === undefined ? {} : { "content-type": "application/json" };
    const stream = session.request({ ":method": method, ":path": path, ...type, ...headers });
    let status = 0;
    let reply = "";
    stream.on("response", (head) => (status = head[":status"] ?? 0));
    stream.setEncoding("utf8").on("data", (part: string) => (reply += part));
    stream.on("error", () => undefined);
    stream.on("close", () => resolve({ status, body: reply === "" ? "{}" : reply }));
    stream.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

function open(credential: { readonly cert?: string; readonly key?: string }): ClientHttp2Session {
  const session = connect(order.server, { ca: order.ca, ...credential, settings: { enablePush: false } });
  session.on("error", (error) => count(`connection: ${error.message}`));
  return session;
}

function count(what: string): void {
  failures.set(what, (failures.get(what) ?? 0) + 1);
}

function failed(): object {
  const all = Object.fromEntries(failures);
  failures.clear();
  return all;
}

function spread(numbers: readonly number[]): object {
  const sorted = [...numbers].sort((a, b) => a - b);
  const at = (share: number): number | undefined => {
    const found = sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)];
    return found === undefined ? undefined : round(found);
  };
  return { p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1) };
}

function round(number: number): number {
  return Math.round(number * 10) / 10;
}

function say(line: object): void {
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

async function text(stream: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part);
  return Buffer.concat(parts).toString();
}
