import { resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { peerSuite, type PeerProgram } from "../kits/peers.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { agreement } from "./conformance/agreement.ts";
import { answerOf, type Answer } from "./conformance/answer.ts";
import { things } from "./conformance/definitions.ts";
import { differences } from "./conformance/differences.ts";
import { report, rowsOf, type Pair } from "./conformance/report.ts";
import { table } from "./conformance/table.ts";

const programs: readonly PeerProgram[] = [
  ...kubePrograms,
  "../current/bin/kube-apiserver",
  "../current/bin/kube-controller-manager",
];

const page = resolve(import.meta.dirname, "../../docs/conformance.md");

/** Those that make what the table relies on; others would change objects between two requests. */
const controllers = "namespace,serviceaccount,serviceaccount-token,root-ca-cert-publisher";

peerSuite(programs, "the table of requests", () => {
  let hub: TestHub;
  let kubernetes: Kubernetes;
  let pairs: ReadonlyMap<string, Pair>;

  beforeAll(async () => {
    [hub, kubernetes] = await Promise.all([startTestHub(), startKubernetes(controllers, {}, {}, "current")]);
    const clients = [apiClient(hub), apiClient(kubernetes)] as const;
    await Promise.all(clients.map(prepared));
    const [ours = [], theirs = []] = await Promise.all(clients.map(answers));
    pairs = new Map(table.map(({ id }, at) => [id, pair(ours[at], theirs[at])]));
    for (const client of clients) client.close();
  }, 240_000);

  afterAll(async () => {
    await Promise.all([hub?.close(), kubernetes?.stop()]);
  });

  test("has rows of a name each, and each was answered by both", () => {
    const ids = table.map(({ id }) => id);
    expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
    expect(pairs.size).toBe(table.length);
    expect(table.length).toBeGreaterThan(2500);
  });

  test("has one answer from both, but for the differences that are known", () => {
    const known = new Set(differences.flatMap(rowsOf));
    const differing = table.flatMap(({ id }) => (agrees(pairs.get(id)) ? [] : [id]));
    const strange = differing.filter((id) => !known.has(id));
    expect(Object.fromEntries(strange.map((id) => [id, pairs.get(id)]))).toEqual({});
    expect([...known].filter((id) => !differing.includes(id))).toEqual([]);
    expect(known.size).toBeLessThan(150);
  });

  test("is what docs/conformance.md says", async () => {
    await expect(report(pairs)).toMatchFileSnapshot(page);
  });
});

function pair(hub: Answer | undefined, kubernetes: Answer | undefined): Pair {
  if (hub === undefined || kubernetes === undefined) throw new TypeError("a row has no answer");
  return { hub, kubernetes };
}

function agrees(pair: Pair | undefined): boolean {
  return pair !== undefined && agreement(pair.kubernetes, pair.hub) !== undefined;
}

/** So many rows are under way at once. */
const width = 8;

async function answers(api: ApiClient): Promise<readonly Answer[]> {
  const found: Answer[] = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let at = next++; at < table.length; at = next++) {
        const row = table[at];
        if (row !== undefined) found[at] = await answerOf(api, row, at);
      }
    }),
  );
  return found;
}

/** A kind of its own, a namespace to work in, and one that never ends. */
async function prepared(api: ApiClient): Promise<void> {
  await api("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", { method: "POST", body: things });
  await eventually("things to be served", async () =>
    (await api("/apis/example.com/v1/things")).status === 200 ? true : undefined,
  );
  for (const name of ["conformance", "ending"]) {
    await api("/api/v1/namespaces", { method: "POST", body: { metadata: { name } } });
    await eventually(`the account of ${name}`, async () => {
      const { status } = await api(`/api/v1/namespaces/${name}/serviceaccounts/default`);
      return status === 200 ? true : undefined;
    });
  }
  const stays = { metadata: { name: "stays", finalizers: ["example.com/stay"] } };
  await api("/api/v1/namespaces/ending/configmaps", { method: "POST", body: stays });
  await api("/api/v1/namespaces/ending", { method: "DELETE" });
}
