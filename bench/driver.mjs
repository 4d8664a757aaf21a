// Loads that kload does not know: lists of many objects, apply of custom resources, new kinds, requests for access. Prints one JSON line, as kload does.
// node bench/driver.mjs KUBECONFIG MODE COUNT
import { readFileSync } from "node:fs";
import { connect } from "node:http2";
import { constants, createDecipheriv, generateKeyPairSync, privateDecrypt } from "node:crypto";
import { adminOf } from "./kubeconfig.mjs";

const namespace = "bench-list";
const collection = `/api/v1/namespaces/${namespace}/configmaps`;
const group = "bench.pratique.dev";
const table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const pageSize = 500;
const accessRequests = "/apis/access.pratique.dev/v1alpha1/accessrequests";
/** What the machines that ask for access have, once it was made. */
let machine;
/** How long a new kind may take to be served. */
const servedMs = 60_000;

const [kubeconfig, mode, count] = process.argv.slice(2);
const admin = adminOf(readFileSync(kubeconfig, "utf8"));
/** As large as the window of Go's clients, so that long lists do not wait for the reader. */
const windowBytes = 4 * 1024 * 1024;
const settings = { initialWindowSize: windowBytes };
const session = connect(admin.server, { ca: admin.ca, cert: admin.cert, key: admin.key, settings });
session.on("connect", () => session.setLocalWindowSize(windowBytes));
session.on("error", (error) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
});

/** Each mode: what to have first, how many at once, and one operation, which rejects when it fails. */
const modes = {
  fill: {
    atOnce: 16,
    prepare: () => ensure("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }),
    one: (index) => create(collection, configMap(index)),
  },
  "list-paged": { atOnce: 2, one: () => pages("application/json") },
  "list-table": { atOnce: 2, one: () => pages(table) },
  "apply-custom": {
    atOnce: 16,
    prepare: async () => {
      await ensure("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      await serve("applied");
    },
    one: (index) => apply("applied", `a-${process.pid}-${index}`),
  },
  "access-ask": { atOnce: 50, prepare: accessProfile, one: (index) => askAccess(index) },
  // From the approval to the opened token; the requests are there before.
  "access-issue": {
    atOnce: 50,
    prepare: async (total) => {
      await accessProfile();
      await inTurn(total, 50, askAccess);
      await followAnswers();
    },
    one: (index) => credential(index),
  },
  "sar-webhook": { atOnce: 16, one: reviewOfStranger },
  "new-kind": {
    atOnce: 1,
    one: async (index) => {
      const plural = `k${process.pid}x${index}s`;
      await serve(plural);
      const made = await create(`/apis/${group}/v1/${plural}`, custom(plural, "first"));
      await send("DELETE", `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${plural}.${group}`);
      return made;
    },
  },
};

await run(modes[mode], Number(count));
machine?.anonymous.close();
// A watch would hold it open.
session.destroy();

async function run({ prepare, one, atOnce }, total) {
  await prepare?.(total);
  const times = [];
  let next = 0;
  let errors = 0;
  let firstError;
  const begun = performance.now();
  const worker = async () => {
    while (next < total) {
      const index = next;
      next += 1;
      const start = performance.now();
      try {
        await one(index);
        times.push(performance.now() - start);
      } catch (error) {
        errors += 1;
        firstError ??= error.message;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  const seconds = (performance.now() - begun) / 1000;
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  const figures = {
    mode,
    ok: times.length,
    errors,
    perSecond: times.length / seconds,
    p50ms: at(0.5),
    p99ms: at(0.99),
  };
  process.stdout.write(`${JSON.stringify({ ...figures, firstError })}\n`);
}

/** The profile of all machines, and one key for all of them: what is measured is the hub, and not how keys are made. */
async function accessProfile() {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const { n, e } = publicKey.export({ format: "jwk" });
  const field = (bytes) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    return Buffer.concat([length, bytes]);
  };
  const number = (text) => field(Buffer.concat([Buffer.alloc(1), Buffer.from(text, "base64url")]));
  const exponent = field(Buffer.from(e, "base64url"));
  const wire = Buffer.concat([field(Buffer.from("ssh-rsa")), exponent, number(n)]);
  // Machines come without a credential.
  const anonymous = connect(admin.server, { ca: admin.ca });
  machine = { privateKey, pubKey: `ssh-rsa ${wire.toString("base64")}`, anonymous, waiting: new Map() };
  await ensure("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: "bench-vms" } });
  await ensure("/apis/access.pratique.dev/v1alpha1/accessprofiles", {
    metadata: { name: "bench" },
    spec: { namespace: "bench-vms", roles: [{ kind: "ClusterRole", name: "view" }] },
  });
}

function vmName(index) {
  return `vm-${process.pid}-${index}`;
}

async function askAccess(index) {
  const object = { metadata: { name: vmName(index) }, spec: { pubKey: machine.pubKey, profile: "bench" } };
  const { status, body } = await send("POST", accessRequests, object, { over: machine.anonymous });
  if (status !== 201) throw new Error(`${status} ${body.slice(0, 300)}`);
}

/** Tells each machine that its answer is there; it then reads it by itself. */
async function followAnswers() {
  const { body } = await send("GET", `${accessRequests}?limit=1`);
  const { resourceVersion } = JSON.parse(body).metadata;
  const stream = session.request({ ":path": `${accessRequests}?watch=true&resourceVersion=${resourceVersion}` });
  let rest = "";
  stream.setEncoding("utf8").on("data", (part) => {
    const lines = `${rest}${part}`.split("\n");
    rest = lines.pop();
    for (const line of lines) {
      const { object } = JSON.parse(line);
      if (object.status?.ready === true) machine.waiting.get(object.metadata.name)?.();
    }
  });
  stream.on("error", () => undefined);
}

async function credential(index) {
  const name = vmName(index);
  const ready = new Promise((resolve) => machine.waiting.set(name, resolve));
  const patch = { status: { accepted: true } };
  const type = { "content-type": "application/merge-patch+json" };
  await expect(200, send("PATCH", `${accessRequests}/${name}/status`, patch, type));
  await ready;
  machine.waiting.delete(name);
  const body = await expect(200, send("GET", `${accessRequests}/${name}`, undefined, { over: machine.anonymous }));
  const { status } = JSON.parse(body);
  const padding = constants.RSA_PKCS1_OAEP_PADDING;
  const sealedKey = Buffer.from(status.key, "base64");
  const key = privateDecrypt({ key: machine.privateKey, padding, oaepHash: "sha512" }, sealedKey);
  const bytes = Buffer.from(status.token, "base64");
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, 12)).setAuthTag(bytes.subarray(-16));
  const token = decipher.update(bytes.subarray(12, -16), undefined, "utf8") + decipher.final("utf8");
  if (token.split(".").length !== 3) throw new Error("what was sealed is no token");
}

/** Does `one` for each number below `total`, so many at once. */
async function inTurn(total, atOnce, one) {
  let next = 0;
  const worker = async () => {
    while (next < total) {
      next += 1;
      await one(next - 1);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

function configMap(index) {
  const name = `cm-${String(index).padStart(6, "0")}`;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, labels: { shard: String(index % 10) } },
    data: { text: "x".repeat(1024) },
  };
}

function custom(plural, name) {
  const spec = {
    size: 3,
    note: "n".repeat(200),
    parts: [
      { name: "a", weight: 1 },
      { name: "b", weight: 2 },
    ],
  };
  return { apiVersion: `${group}/v1`, kind: kindOf(plural), metadata: { name }, spec };
}

function kindOf(plural) {
  return `K${plural.slice(1)}`;
}

async function apply(plural, name) {
  const path = `/apis/${group}/v1/${plural}/${name}?fieldManager=bench`;
  return expect(201, send("PATCH", path, custom(plural, name), { "content-type": "application/apply-patch+yaml" }));
}

/** Asks about somebody about whom nobody was asked before; what the policy makes of the group is known. */
async function reviewOfStranger(index) {
  const [group, verb] = [index % 2 === 0 ? "admin" : "conf", index % 4 < 2 ? "list" : "delete"];
  const resourceAttributes = { namespace: "default", verb, version: "v1", resource: "pods" };
  const spec = { user: `u-${process.pid}-${index}`, groups: [group], resourceAttributes };
  const body = await expect(201, send("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", { spec }));
  const { allowed } = JSON.parse(body).status;
  if (allowed !== (group === "admin" || verb === "list")) throw new Error(`${group} ${verb}: ${body.slice(0, 300)}`);
}

/** All pages of the list; each is one request, the whole walk one operation. */
async function pages(accept) {
  let token = "";
  let seen = 0;
  do {
    const query = `?limit=${pageSize}${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`;
    const { bytes, head } = await drained(collection + query, accept);
    // Only the head is read: to parse all of it would measure this program.
    token = /"continue":\s?"([^"]+)"/.exec(head)?.[1] ?? "";
    seen += bytes;
  } while (token !== "");
  if (seen < 100_000) throw new Error(`the pages hold ${seen} bytes together, which is too little to be the list`);
}

/** Defines a kind and waits until it is served. */
async function serve(plural) {
  const definition = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Cluster",
      names: { plural, singular: plural.slice(0, -1), kind: kindOf(plural), listKind: `${kindOf(plural)}List` },
      versions: [{ name: "v1", served: true, storage: true, schema: { openAPIV3Schema: schema() } }],
    },
  };
  await ensure("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition);
  const until = performance.now() + servedMs;
  for (;;) {
    const { status } = await send("GET", `/apis/${group}/v1/${plural}?limit=1`);
    if (status === 200) return;
    if (performance.now() > until) throw new Error(`${plural} is not served after ${servedMs} ms: ${status}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
}

function schema() {
  const part = {
    type: "object",
    required: ["name"],
    properties: { name: { type: "string", maxLength: 63 }, weight: { type: "integer", minimum: 0, default: 1 } },
  };
  const spec = {
    type: "object",
    properties: {
      size: { type: "integer", minimum: 1, maximum: 100 },
      note: { type: "string", maxLength: 1000 },
      parts: { type: "array", items: part, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
    },
  };
  return { type: "object", properties: { spec } };
}

async function ensure(path, object) {
  const { status, body } = await send("POST", path, object);
  if (status !== 201 && status !== 409) throw new Error(`POST ${path}: ${status} ${body.slice(0, 300)}`);
}

async function create(path, object) {
  const { status, body } = await send("POST", path, object);
  if (status === 201 || status === 409) return;
  throw new Error(`POST ${path}: ${status} ${body.slice(0, 300)}`);
}

async function expect(wanted, sending) {
  const { status, body } = await sending;
  if (status !== wanted) throw new Error(`${status} ${body.slice(0, 300)}`);
  return body;
}

/** The size of a reply, and its first kilobytes, where the metadata of a list is. */
function drained(path, accept) {
  return new Promise((resolve, reject) => {
    const stream = session.request({ ":path": path, accept });
    let bytes = 0;
    let head = "";
    let status = 0;
    stream.on("response", (reply) => (status = reply[":status"]));
    stream.on("data", (part) => {
      bytes += part.length;
      if (head.length < 8192) head += part.toString("latin1");
    });
    stream.on("end", () =>
      status === 200 ? resolve({ bytes, head }) : reject(new Error(`${status} ${head.slice(0, 300)}`)),
    );
    stream.on("error", reject);
    stream.end();
  });
}

function send(method, path, object, { over = session, ...headers } = {}) {
  return new Promise((resolve, reject) => {
    const type = object === undefined ? {} : { "content-type": "application/json" };
    const stream = over.request({ ":method": method, ":path": path, ...type, ...headers });
    const parts = [];
    let status = 0;
    stream.on("response", (reply) => (status = reply[":status"]));
    stream.on("data", (part) => parts.push(part));
    stream.on("end", () => resolve({ status, body: Buffer.concat(parts).toString() }));
    stream.on("error", reject);
    stream.end(object === undefined ? undefined : JSON.stringify(object));
  });
}
