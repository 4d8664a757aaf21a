import { writeFile } from "node:fs/promises";
import { createServer } from "node:https";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bootstrapKubeconfig } from "../../src/client/build-kubeconfig.ts";
import { testCa } from "../kits/authorizer.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { asker, type Answer, type Asker } from "../kits/authorization/ask.ts";
import { chainFlags, startChainHub, type Chain } from "../kits/authorization/chains.ts";
import type { Question } from "../kits/authorization/question.ts";
import { kubePrograms, startKubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

// What becomes of requests whose webhook fails, in chains of kube-apiserver and of the hub: verdict, reason, and whether there is an error.

interface Asked {
  readonly kind: string;
  readonly apiVersion: string;
  readonly spec: { readonly user: string };
}

/** How a service answers, where it does. */
type Behaviour = (response: ServerResponse, asked: Asked) => unknown;

const json = { "content-type": "application/json" };
const says =
  (body: unknown, status = 200, headers: Readonly<Record<string, string>> = json): Behaviour =>
  (response) =>
    response.writeHead(status, headers).end(typeof body === "string" ? body : JSON.stringify(body));
/** A review of the version that was asked, with this status. */
const review =
  (status: unknown, more: object = {}): Behaviour =>
  (response, { kind, apiVersion }) =>
    response.writeHead(200, json).end(JSON.stringify({ kind, apiVersion, status, ...more }));
const failure = (code: number, reason: string): object => ({
  kind: "Status",
  apiVersion: "v1",
  status: "Failure",
  message: "told by the service",
  reason,
  code,
});

const behaviours: Readonly<Record<string, Behaviour>> = {
  hang: () => undefined,
  "hang-in-the-body": (response) => response.writeHead(200, json).write('{"status":'),
  "internal-error": says({ status: { allowed: true } }, 500),
  "internal-error-in-words": says("oh no", 500, { "content-type": "text/plain" }),
  "bad-gateway": says("<html>", 502, { "content-type": "text/html" }),
  unavailable: says(failure(503, "ServiceUnavailable"), 503),
  "not-found": says(failure(404, "NotFound"), 404),
  forbidden: says(failure(403, "Forbidden"), 403),
  unauthorized: says(failure(401, "Unauthorized"), 401),
  "many-requests": says(failure(429, "TooManyRequests"), 429),
  "elsewhere-without-a-place": says("", 302),
  created: (response, { kind, apiVersion }) =>
    response.writeHead(201, json).end(JSON.stringify({ kind, apiVersion, status: { allowed: true } })),
  "no-content": says("", 204),
  accepted: says({ status: { allowed: true } }, 202),
  "nothing-at-all": says(""),
  html: says("<html>allowed</html>", 200, { "content-type": "text/html" }),
  "garbage-called-json": says("}{"),
  "half-of-it": says('{"kind":"SubjectAccessReview","status":{"allowed":true'),
  "more-than-one": says('{"status":{"allowed":true}}{"status":{"allowed":false}}'),
  "a-list": says([{ status: { allowed: true } }]),
  "a-text": says('"allowed"'),
  null: says("null"),
  "a-number": says("7"),
  "another-kind": says({ kind: "TokenReview", apiVersion: "authentication.k8s.io/v1", status: { allowed: true } }),
  "another-version": says({
    kind: "SubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1alpha1",
    status: { allowed: true },
  }),
  "a-status": says(failure(500, "InternalError")),
  "a-status-of-success": says({ kind: "Status", apiVersion: "v1", status: "Success" }),
  "no-kind": says({ status: { allowed: true } }),
  "no-status": review(undefined),
  "null-status": review(null),
  "a-text-as-status": review("allowed"),
  "text-as-verdict": review({ allowed: "true" }),
  "number-as-verdict": review({ allowed: 1 }),
  "null-as-verdict": review({ allowed: null, denied: null, reason: null }),
  "number-as-reason": review({ allowed: true, reason: 7 }),
  "other-letters": review({ Allowed: true }),
  "unknown-fields": review({ allowed: true, sure: true }, { more: { allowed: false } }),
  "twice-the-same-field": says('{"status":{"allowed":true,"allowed":false}}'),
  "error-beside-permission": review({ allowed: true, evaluationError: "not sure" }),
  "error-alone": review({ evaluationError: "not sure" }),
  both: review({ allowed: true, denied: true, reason: "both" }),
  closes: (response) => response.destroy(),
  "closes-in-the-body": (response) => {
    response.writeHead(200, { ...json, "content-length": "1000" }).write('{"status":{"allowed":true}}');
    setImmediate(() => response.destroy());
  },
  allows: review({ allowed: true, reason: "by the service" }),
  denies: review({ allowed: false, denied: true, reason: "by the service" }),
  "has-no-opinion": review({ allowed: false, reason: "by the service" }),
};

const chains: readonly Chain[] = [
  { modes: ["Webhook"], webhookVersion: "v1" },
  { modes: ["Webhook", "RBAC"], webhookVersion: "v1" },
  { modes: ["RBAC", "Webhook"], webhookVersion: "v1beta1" },
].map((chain) => ({ ...chain, shares: { rbac: 0, abac: 0, node: 0 }, weight: 0 }) as Chain);

interface Side {
  readonly chain: Chain;
  readonly asker: Readonly<Record<"kubernetes" | "hub", Asker>>;
  readonly client: Readonly<Record<"kubernetes" | "hub", ApiClient>>;
}

/** What both made of one question. */
interface Compared {
  readonly chain: Chain;
  readonly question: Question;
  readonly kubernetes: object;
  readonly hub: object;
}

/** An answer of `null` is an empty review to kube-apiserver, and none to the hub; docs/conformance.md has it. */
const isKnown = ({ question }: Compared): boolean => question.user === "null";

const limitMs = 300_000;

peerSuite(kubePrograms, "a webhook that fails behind kube-apiserver and behind the hub", () => {
  let sides: readonly Side[] = [];
  const closings: (() => Promise<void> | void)[] = [];

  beforeAll(async () => {
    const service = await startService();
    closings.push(service.close);
    const kubernetes = await startKubernetes("clusterrole-aggregation");
    closings.push(() => kubernetes.stop());
    const webhook = join(kubernetes.dir, "failing.yaml");
    await writeFile(
      webhook,
      bootstrapKubeconfig({ server: `${service.url}/authorize`, ca: { pem: service.caPem }, token: "t" }),
    );
    const files = { webhook, abac: "" };
    sides = await Promise.all(
      chains.map(async (chain): Promise<Side> => {
        const [server, hub] = await Promise.all([
          kubernetes.another(chainFlags(chain, files)),
          startChainHub(chain, files),
        ]);
        closings.push(() => hub.close());
        const side = {
          chain,
          asker: { kubernetes: asker(server), hub: asker(hub) },
          client: { kubernetes: apiClient(server, "admin", "http2"), hub: apiClient(hub, "admin", "http2") },
        };
        for (const one of [...Object.values(side.asker), ...Object.values(side.client)])
          closings.push(() => one.close());
        await bind(side.client.hub);
        return side;
      }),
    );
    const admin = apiClient(kubernetes);
    closings.push(() => admin.close());
    await bind(admin);
    const question = { ...asking("has-no-opinion"), groups: ["readers"] };
    for (const { chain, asker: servers } of sides.filter(({ chain: { modes } }) => modes.includes("RBAC"))) {
      await eventually(`the binding behind ${chain.modes.join()}`, async () =>
        (await servers.kubernetes.ask(question)).allowed === true ? true : undefined,
      );
    }
  }, limitMs);

  afterAll(async () => {
    for (const closing of closings.toReversed()) await closing();
  });

  async function askReviews(): Promise<readonly Compared[]> {
    return Promise.all(
      questions().flatMap((question) =>
        sides.map(async ({ chain, asker: { kubernetes, hub } }) => {
          const [theirs, ours] = await Promise.all([kubernetes.ask(question), hub.ask(question)]);
          return { chain, question, kubernetes: outcome(theirs), hub: outcome(ours) };
        }),
      ),
    );
  }

  async function makeRequests(): Promise<readonly Compared[]> {
    return Promise.all(
      questions().flatMap((question) =>
        sides.map(async ({ chain, client: { kubernetes, hub } }) => {
          const headers = { "impersonate-user": question.user, "impersonate-group": [...question.groups] };
          const get = async (client: ApiClient): Promise<object> =>
            replied(await client("/api/v1/namespaces/default/configmaps", { headers }));
          const [theirs, ours] = await Promise.all([get(kubernetes), get(hub)]);
          return { chain, question, kubernetes: theirs, hub: ours };
        }),
      ),
    );
  }

  test(
    "leaves the same verdict, reason and status, to reviews and to requests",
    async () => {
      // Together, for each waits half a minute for what hangs.
      const all = (await Promise.all([askReviews(), makeRequests()])).flat();
      expect(all).toHaveLength(2 * 2 * chains.length * Object.keys(behaviours).length);
      const unlike = all.filter(({ kubernetes, hub }) => JSON.stringify(kubernetes) !== JSON.stringify(hub));
      expect(unlike.filter((one) => !isKnown(one))).toEqual([]);
      expect(unlike.some(isKnown)).toBe(true);
      const failures = all.filter(({ kubernetes }) => "isError" in kubernetes && kubernetes.isError === true);
      expect(failures.length).toBeGreaterThan(100);
    },
    limitMs,
  );
});

function asking(user: string): Question {
  const resource = { verb: "list", resource: "configmaps", namespace: "default", version: "v1" };
  return { by: "subject", user, groups: [], resource };
}

function questions(): readonly Question[] {
  return Object.keys(behaviours).flatMap((user) =>
    [[], ["readers"]].map((groups): Question => ({ ...asking(user), groups })),
  );
}

/** Words of errors are those of two programs; that there is one is not. */
function outcome({ evaluationError, ...answer }: Answer): object {
  return { ...answer, isError: evaluationError !== undefined };
}

/** The words of a refusal as well; those of an error are the error's. */
function replied({ status, json: body }: Reply): object {
  if (status !== 403) return { status };
  const { reason, message } = body() as { readonly reason?: string; readonly message?: string };
  return { status, reason, message };
}

async function bind(client: ApiClient): Promise<void> {
  const group = "rbac.authorization.k8s.io";
  const body = {
    apiVersion: `${group}/v1`,
    kind: "ClusterRoleBinding",
    metadata: { name: "readers" },
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "admin" },
    subjects: [{ apiGroup: group, kind: "Group", name: "readers" }],
  };
  const reply = await client(`/apis/${group}/v1/clusterrolebindings`, { method: "POST", body });
  expect(reply.status).toBe(201);
}

async function startService(): Promise<{
  readonly url: string;
  readonly caPem: string;
  readonly close: () => Promise<void>;
}> {
  const ca = testCa();
  const { certPem, keyPem } = ca.issue("server auth");
  const server = createServer({ cert: certPem, key: keyPem }, (request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk);
      const asked = JSON.parse(Buffer.concat(chunks).toString()) as Asked;
      const behaviour = behaviours[asked.spec.user] ?? review({ allowed: false });
      behaviour(response, asked);
    })();
  });
  // kube-apiserver takes a connection that has just been closed for a failure of the service.
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
    caPem: ca.pem,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
