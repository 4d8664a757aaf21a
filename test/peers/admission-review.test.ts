import { afterAll, beforeAll, expect, it } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite, type PeerProgram } from "../kits/peers.ts";
import { startWebhook, type ReviewReply, type ReviewRequest, type WebhookServer } from "../kits/webhook-server.ts";

/** An API with a webhook that hears of everything in one namespace. */
interface Side {
  readonly api: ApiClient;
  readonly webhook: WebhookServer;
}

const namespace = "/api/v1/namespaces/watched";
const merge = "application/merge-patch+json";

const programs: readonly PeerProgram[] = [
  ...kubePrograms,
  "../current/bin/kube-apiserver",
  "../current/bin/kube-controller-manager",
];

peerSuite(programs, "reviews of the hub and of kube-apiserver", () => {
  let kubernetes: Kubernetes;
  let hub: TestHub;
  let sides: readonly Side[] = [];

  beforeAll(async () => {
    [kubernetes, hub] = await Promise.all([startKubernetes(undefined, {}, {}, "current"), startTestHub()]);
    sides = await Promise.all([watchedBy(apiClient(kubernetes)), watchedBy(apiClient(hub))]);
  });

  afterAll(async () => {
    for (const { api, webhook } of sides) {
      api.close();
      await webhook.close();
    }
    await hub.close();
    await kubernetes.stop();
  });

  it.each<[string, (api: ApiClient) => Promise<Reply>, string?]>([
    [
      "creating a ConfigMap",
      (api) =>
        post(api, `${namespace}/configmaps`, { metadata: { name: "a", namespace: "watched" }, data: { k: "1" } }),
    ],
    [
      "creating with a name to be made",
      (api) => post(api, `${namespace}/configmaps`, { metadata: { generateName: "g-", namespace: "watched" } }),
    ],
    [
      "a dry run",
      (api) =>
        post(api, `${namespace}/configmaps?dryRun=All&fieldManager=me`, {
          metadata: { name: "dry", namespace: "watched" },
        }),
    ],
    [
      "a merge patch",
      (api) => api(`${namespace}/configmaps/a`, { method: "PATCH", type: merge, body: { data: { k: "2" } } }),
      `${namespace}/configmaps/a`,
    ],
    [
      "an update",
      (api) =>
        api(`${namespace}/configmaps/a`, {
          method: "PUT",
          body: { metadata: { name: "a", namespace: "watched" }, data: { k: "3" } },
        }),
      `${namespace}/configmaps/a`,
    ],
    [
      "an account's token",
      async (api) => {
        await post(api, `${namespace}/serviceaccounts`, { metadata: { name: "robot" } });
        return post(api, `${namespace}/serviceaccounts/robot/token`, {
          spec: { expirationSeconds: 3600, audiences: ["x"] },
        });
      },
    ],
    ["a pod", (api) => post(api, `${namespace}/pods`, podNamed("p"))],
    [
      "the status of a pod",
      (api) =>
        api(`${namespace}/pods/p/status`, { method: "PATCH", type: merge, body: { status: { message: "fine" } } }),
      `${namespace}/pods/p`,
    ],
    [
      "labels of the namespace",
      (api) => api(namespace, { method: "PATCH", type: merge, body: { metadata: { labels: { more: "1" } } } }),
      namespace,
    ],
    [
      "a deletion",
      (api) =>
        api(`${namespace}/configmaps/a`, {
          method: "DELETE",
          body: { gracePeriodSeconds: 0, propagationPolicy: "Background" },
        }),
      `${namespace}/configmaps/a`,
    ],
  ])("are the same for %s", async (_what, act, changed) => {
    if (changed !== undefined) await Promise.all(sides.map(({ api }) => cached(api, changed)));
    for (const { webhook } of sides) webhook.asked.length = 0;
    const replies = await Promise.all(sides.map(({ api }) => act(api)));
    const [theirs = [], ours = []] = sides.map(({ webhook }) => webhook.asked.filter(isOurs).map(comparable));
    expect(replies[1]?.status).toBe(replies[0]?.status);
    expect(theirs.length).toBeGreaterThan(0);
    expect(ours).toEqual(theirs);
  });

  it.each<[string, (request: ReviewRequest) => ReviewReply]>([
    ["no", () => ({ allowed: false, response: { status: { message: "no" } } })],
    ["a code and a reason", () => ({ allowed: false, response: { status: { code: 403, reason: "Forbidden" } } })],
    ["another uid", () => ({ response: { uid: "other" } })],
    ["a patch without its type", () => ({ response: { patch: "W10=" } })],
    ["a patch of another type", () => ({ response: { patch: "W10=", patchType: "Merge" } })],
    [
      "nothing",
      () => ({ raw: (response) => response.writeHead(200, { "content-type": "application/json" }).end("{}") }),
    ],
    [
      "an error",
      () => ({ raw: (response) => response.writeHead(500, { "content-type": "application/json" }).end("{}") }),
    ],
    ["a patch that moves it", () => ({ patch: [{ op: "replace", path: "/metadata/namespace", value: "default" }] })],
    ["a patch that breaks it", () => ({ patch: [{ op: "add", path: "/data", value: { "bad key": "v" } }] })],
  ])("have the same consequence when the answer is %s", async (_what, reply) => {
    for (const { webhook } of sides) webhook.answer(reply);
    const path = `${namespace}/configmaps`;
    const [theirs, ours] = await Promise.all(
      sides.map(async ({ api }) => {
        const { status, json } = await post(api, path, { metadata: { name: "refused" } });
        return { status, reason: json()["reason"], message: bare(String(json()["message"])) };
      }),
    );
    expect(ours).toEqual(theirs);
  });
});

async function watchedBy(api: ApiClient): Promise<Side> {
  const webhook = await startWebhook();
  await post(api, "/api/v1/namespaces", { metadata: { name: "watched", labels: { watched: "yes" } } });
  await post(api, "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", {
    metadata: { name: "review" },
    webhooks: [
      {
        name: "review.hooks.example",
        clientConfig: { url: webhook.url, caBundle: webhook.caBundle },
        rules: [
          {
            operations: ["*"],
            apiGroups: [""],
            apiVersions: ["v1"],
            resources: ["configmaps", "serviceaccounts/token", "pods", "pods/status", "namespaces"],
          },
        ],
        namespaceSelector: { matchLabels: { watched: "yes" } },
        objectSelector: { matchExpressions: [{ key: "skip", operator: "DoesNotExist" }] },
        sideEffects: "None",
        admissionReviewVersions: ["v1"],
      },
    ],
  });
  // kube-apiserver learns of a configuration a moment later.
  await eventually("the first question", async () => {
    await post(api, `${namespace}/configmaps?dryRun=All`, { metadata: { name: "probe" } });
    return webhook.asked[0];
  });
  await eventually("the account default", async () => {
    const { status } = await api(`${namespace}/serviceaccounts/default`);
    return status === 200 ? true : undefined;
  });
  return { api, webhook };
}

/**
 * Waits until the watch cache holds the object as it is stored. kube-apiserver reviews a change of what its cache holds, and once more of what
 * is stored where that differs. A read that names a version is answered from the cache, when that has come so far.
 */
async function cached(api: ApiClient, path: string): Promise<void> {
  const version = (await api(path)).object().metadata.resourceVersion;
  const { status, text } = await api(`${path}?resourceVersion=${version}`);
  expect([status, text]).toEqual([200, expect.any(String)]);
}

function post(api: ApiClient, path: string, body: object): Promise<Reply> {
  return api(path, { method: "POST", body });
}

function podNamed(name: string): object {
  return {
    metadata: { name, namespace: "watched" },
    spec: {
      automountServiceAccountToken: false,
      containers: [{ name: "c", image: "i" }],
      // What admission of Kubernetes adds, and this hub does not.
      priority: 0,
      preemptionPolicy: "PreemptLowerPriority",
      enableServiceLinks: true,
      tolerations: [],
    },
  };
}

/** Fields that differ for good reasons: who wrote what, random and growing values, and tolerations, which the hub does not add. */
const own: ReadonlySet<string> = new Set([
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
  "managedFields",
  "tolerations",
  // What is worked out for a new pod is there a step earlier than in Kubernetes.
  "phase",
  "qosClass",
]);

/** Controllers write into a new namespace when it suits them. */
function isOurs({ userInfo }: ReviewRequest): boolean {
  return !String((userInfo as { readonly username?: string }).username).startsWith("system:");
}

function comparable({ userInfo: _user, ...request }: ReviewRequest): unknown {
  return cleaned(request);
}

/** Without those fields, and without structures that hold nothing, of which Go writes some out. */
function cleaned(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== "object" || value === null) return value === null || value === "" ? undefined : value;
  const entries = Object.entries(value)
    .filter(([key]) => !own.has(key))
    .map(([key, member]) => [key, cleaned(member)] as const)
    .filter(([, member]) => member !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Without the values that each side makes up, and addresses. */
function bare(message: string): string {
  return (
    message
      // Since 1.22 it is said which of the two went wrong.
      .replace(/received invalid webhook response: |failed to call webhook: /, "")
      .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "<uid>")
      .replaceAll(/https:\/\/127\.0\.0\.1:\d+/g, "<url>")
  );
}
