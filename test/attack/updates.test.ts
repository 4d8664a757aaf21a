import { generateKeyPairSync } from "node:crypto";
import * as fc from "fast-check";
import type { ClientHttp2Session } from "node:http2";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isJsonObject } from "../../src/apimachinery/json-value.ts";
import { apiVersionOf } from "../../src/apimachinery/object.ts";
import { createCsr } from "../../src/pki/csr.ts";
import { generatePrivateKey } from "../../src/pki/keys.ts";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import { storedResources } from "../../src/apis/builtin.ts";
import type { Resource } from "../../src/apis/resource.ts";
import { openHttp2, sendHttp2 } from "../kits/wire.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";
import { answer } from "./verdict.ts";

let hub: AttackedHub;
let session: ClientHttp2Session;

const rbac = "rbac.authorization.k8s.io";
const request = createCsr({ key: generatePrivateKey(), commonName: "jane", organizations: [] });
/** One object of each kind with something in every part, by plural. */
const samples: Readonly<Record<string, object>> = {
  configmaps: { data: { a: "b" }, binaryData: { c: "AAAA" }, immutable: false },
  events: {
    involvedObject: { kind: "Pod", name: "a", namespace: "default" },
    reason: "r",
    message: "m",
    count: 1,
    source: { component: "c" },
  },
  namespaces: { spec: { finalizers: ["kubernetes"] } },
  nodes: {
    spec: { taints: [{ key: "a", effect: "NoSchedule" }], podCIDR: "10.0.0.0/24" },
    status: {
      conditions: [{ type: "Ready", status: "True" }],
      addresses: [{ type: "InternalIP", address: "10.0.0.1" }],
    },
  },
  pods: {
    spec: {
      nodeName: "n",
      containers: [{ name: "c", image: "i", env: [{ name: "A", value: "b" }], ports: [{ containerPort: 80 }] }],
      tolerations: [{ key: "a" }],
    },
  },
  secrets: { type: "Opaque", data: { a: "AAAA" } },
  serviceaccounts: { secrets: [{ name: "s" }], imagePullSecrets: [{ name: "p" }] },
  certificatesigningrequests: {
    spec: {
      request: Buffer.from(request).toString("base64"),
      signerName: "kubernetes.io/kube-apiserver-client",
      usages: ["client auth"],
    },
  },
  csinodes: {
    spec: { drivers: [{ name: "d.example.com", nodeID: "n", topologyKeys: ["a/b"], allocatable: { count: 2 } }] },
  },
  leases: { spec: { holderIdentity: "h", leaseDurationSeconds: 40, renewTime: "2026-11-21T00:00:00.000000Z" } },
  roles: { rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"], resourceNames: ["a"] }] },
  clusterroles: {
    rules: [{ nonResourceURLs: ["/x"], verbs: ["get"] }],
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] },
  },
  rolebindings: {
    subjects: [{ kind: "User", name: "u", apiGroup: rbac }],
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "view" },
  },
  clusterrolebindings: {
    subjects: [{ kind: "Group", name: "g", apiGroup: rbac }],
    roleRef: { apiGroup: rbac, kind: "ClusterRole", name: "view" },
  },
};

/** Inert: they speak of a kind that is not there. */
const inert = { apiGroups: ["none.example"], apiVersions: ["v1"], resources: ["nones"], operations: ["CREATE"] };
const webhook = {
  name: "w.hooks.example",
  clientConfig: { url: "https://127.0.0.1:1/x" },
  rules: [inert],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  matchConditions: [{ name: "c", expression: "object.a == 'b'" }],
};
const admission: Readonly<Record<string, object>> = {
  mutatingwebhookconfigurations: { webhooks: [webhook] },
  validatingwebhookconfigurations: { webhooks: [webhook] },
  validatingadmissionpolicies: {
    spec: {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: { resourceRules: [inert] },
      variables: [{ name: "v", expression: "object.a" }],
      validations: [{ expression: "variables.v == 'b'", messageExpression: "'m' + string(params.b)" }],
      auditAnnotations: [{ key: "k", valueExpression: "'v'" }],
    },
  },
  validatingadmissionpolicybindings: {
    spec: {
      policyName: "nobody",
      validationActions: ["Deny"],
      paramRef: { name: "p", parameterNotFoundAction: "Deny" },
      matchResources: { resourceRules: [inert] },
    },
  },
  mutatingadmissionpolicies: {
    spec: {
      paramKind: { apiVersion: "v1", kind: "ConfigMap" },
      matchConstraints: { resourceRules: [inert] },
      variables: [{ name: "v", expression: "object.a" }],
      reinvocationPolicy: "Never",
      mutations: [
        { patchType: "ApplyConfiguration", applyConfiguration: { expression: "Object{}" } },
        { patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'add', path: '/a', value: params.b}]" } },
      ],
    },
  },
  mutatingadmissionpolicybindings: {
    spec: {
      policyName: "nobody",
      paramRef: { name: "p", parameterNotFoundAction: "Deny" },
      matchResources: { resourceRules: [inert] },
    },
  },
  flowschemas: {
    spec: {
      priorityLevelConfiguration: { name: "none" },
      matchingPrecedence: 9000,
      distinguisherMethod: { type: "ByUser" },
      rules: [
        {
          subjects: [{ kind: "User", user: { name: "nobody" } }],
          nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }],
          resourceRules: [
            { verbs: ["get"], apiGroups: ["none.example"], resources: ["nones"], namespaces: ["default"] },
          ],
        },
      ],
    },
  },
  prioritylevelconfigurations: {
    spec: {
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 1,
        lendablePercent: 0,
        borrowingLimitPercent: 0,
        limitResponse: { type: "Queue", queuing: { queues: 8, handSize: 2, queueLengthLimit: 5 } },
      },
    },
  },
};

const pubKey = sshPublicKeyOf(generateKeyPairSync("ed25519").publicKey, "attacked").text;
const access: Readonly<Record<string, object>> = {
  accessprofiles: {
    spec: {
      namespace: "default",
      roles: [{ kind: "ClusterRole", name: "view", clusterWide: true }],
      sourceNetworks: ["10.0.0.0/8"],
      bootstrapToken: { ttlSeconds: 600, groups: ["system:bootstrappers:a"] },
      rules: [{ expression: "object.spec.hostname == 'a'", effect: "Refuse", message: "m" }],
    },
  },
  credentialrevocations: { spec: { user: "somebody-else", reason: "r", expiresAt: "2099-01-01T00:00:00Z" } },
  issuedcredentials: {
    spec: { identity: { username: "system:node:a", purpose: "Client" } },
    status: {
      issued: [{ credentialID: "X509SHA256=ab", notBefore: "2026-01-01T00:00:00Z", notAfter: "2099-01-01T00:00:00Z" }],
      count: 1,
      lastSeen: "2026-01-01T00:00:00Z",
    },
  },
  recoverypolicies: {
    spec: { nodeNames: ["a", "b-*"], windowSeconds: 3600, times: 2, perSeconds: 7200, networks: ["10.0.0.0/8"] },
  },
  accessrequests: { spec: { pubKey, profile: "none", hostname: "h", claims: { a: "b" } } },
  customresourcedefinitions: {
    spec: {
      group: "attack.example",
      scope: "Namespaced",
      names: { plural: "samples", kind: "Sample", shortNames: ["smp"] },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", properties: { spec: { type: "object" } } } },
          subresources: { status: {} },
          additionalPrinterColumns: [{ name: "A", type: "string", jsonPath: ".spec.a" }],
        },
      ],
    },
  },
};
/** Kinds that choose the names of their objects. */
const names: Readonly<Record<string, string>> = { customresourcedefinitions: "samples.attack.example" };

interface Target {
  readonly resource: Resource;
  /** With the subresources after it that can be written. */
  readonly paths: readonly string[];
  readonly object: object;
}

const targets: Target[] = [];

beforeAll(async () => {
  hub = await startAttackedHub();
  session = await openHttp2(hub.target, hub.admin);
  for (const resource of storedResources) {
    const { group, version, scope, plural } = resource;
    const place = `/${group === "" ? "api" : "apis"}/${apiVersionOf(group, version)}${scope === "Namespaced" ? "/namespaces/default" : ""}/${plural}`;
    const name = names[plural] ?? "sample";
    const metadata = { name, labels: { a: "b" }, annotations: { c: "d" }, finalizers: ["example.com/hold"] };
    const { json, status } = await call(hub, hub.admin, {
      path: place,
      body: { metadata, ...samples[plural], ...admission[plural], ...access[plural] },
    });
    if (status !== 201) continue;
    // Those that a kubelet answers are not among them: their object is not what is sent.
    const writable = Object.entries(resource.subresources).filter(
      ([, part]) =>
        !("connects" in part) &&
        (part.verbs as readonly string[]).some((verb) => verb === "update" || verb === "create"),
    );
    targets.push({
      resource,
      object: json,
      paths: [`${place}/${name}`, ...writable.map(([part]) => `${place}/${name}/${part}`)],
    });
  }
});
afterAll(async () => {
  session.destroy();
  await hub.close();
});
checkHubAfterEach(() => hub);

/** All places in a value, as keys from its top. */
function placesIn(value: unknown, above: readonly string[] = []): readonly (readonly string[])[] {
  const below =
    Array.isArray(value) || isJsonObject(value)
      ? Object.entries(value).flatMap(([key, one]) => placesIn(one, [...above, key]))
      : [];
  return [above, ...below];
}

/** The value with another one at a place, or, where that is undefined, with nothing there. */
function replaced(value: unknown, [key, ...rest]: readonly string[], by: unknown): unknown {
  if (key === undefined) return by;
  if (Array.isArray(value))
    return value.map((one: unknown, index) => (String(index) === key ? replaced(one, rest, by) : one));
  return Object.fromEntries(
    Object.entries(value as object).map(([name, one]) => [
      name,
      name === key ? replaced(one, rest, by) : (one as unknown),
    ]),
  );
}

const odd = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>(
    undefined,
    null,
    "",
    "x",
    -1,
    0,
    1e21,
    2 ** 53,
    0.5,
    true,
    [],
    {},
    [null],
    [[]],
    { a: null },
    "\u0000",
    "\ud800",
    "9".repeat(40),
    "True",
    "2026-13-45T99:99:99Z",
    "a/b/c",
    "*",
    "__proto__",
  ),
);

test("there is an object of every kind to be changed", () => {
  expect(targets.map(({ resource }) => resource.plural)).toEqual(storedResources.map(({ plural }) => plural));
});

test("any change to any object is answered, through every door", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.nat(),
      fc.nat(),
      fc.array(fc.tuple(fc.nat(), odd), { minLength: 1, maxLength: 3 }),
      async (which, door, changes) => {
        const { object, paths } = targets[which % targets.length] as Target;
        const changed = changes.reduce<unknown>((value, [at, by]) => {
          const places = placesIn(value);
          return replaced(value, places[at % places.length] ?? [], by);
        }, object);
        const path = `${paths[door % paths.length]}?dryRun=All`;
        const body = JSON.stringify(changed) ?? "";
        for (const [method, type] of [
          ["PUT", "application/json"],
          ["POST", "application/json"],
          ["PATCH", "application/merge-patch+json"],
          ["PATCH", "application/strategic-merge-patch+json"],
        ] as const) {
          const reply = await sendHttp2(session, { method, path, headers: [["content-type", type]], body });
          // A resourceVersion that is no number is answered in this way by Kubernetes, too.
          if (reply.status === 500 && reply.text.includes('"message":"strconv.ParseUint: parsing ')) continue;
          expect([method, path, answer(reply)]).toEqual([method, path, "answered"]);
        }
      },
    ),
    { numRuns: 250, seed: 20261121 },
  );
});

test("the objects are what they were before", async () => {
  for (const { object, paths } of targets) {
    const { json } = await call(hub, hub.admin, { path: paths[0] ?? "" });
    expect(json["spec"]).toEqual((object as typeof json)["spec"]);
    expect(json["data"]).toEqual((object as typeof json)["data"]);
  }
});
