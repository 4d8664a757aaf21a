import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import {
  applied,
  bindingOf,
  mutationCases,
  policyOf,
  refusedBindings,
  refusedPolicies,
} from "../kits/mutating-policies.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

const registration = "/apis/admissionregistration.k8s.io/v1";
const policies = `${registration}/mutatingadmissionpolicies`;
const bindings = `${registration}/mutatingadmissionpolicybindings`;
const inDefault = "/api/v1/namespaces/default";

/** A policy that is created last, and says on each object that those before it are in force. */
function marker(mark: string): { readonly policy: object; readonly binding: object } {
  const mutations = [applied(`Object{metadata: Object.metadata{annotations: {"mark": "${mark}"}}}`)];
  const { spec } = policyOf({ mutations }) as { spec: object };
  const metadata = { name: `zz-mark-${mark}` };
  return { policy: { metadata, spec }, binding: { metadata, spec: { policyName: metadata.name } } };
}

/** Texts in which Go names its own types or the library of JSON patches, which the hub words in its own way. */
const ownWords: readonly (readonly [RegExp, string])[] = [
  [/(JSON Patch: ).*/s, "$1…"],
  [/(expected string, got ).*/s, "$1…"],
  [/(Go struct field )\w+\./, "$1…."],
];

function worded(text: unknown): string {
  return ownWords.reduce((said, [pattern, replacement]) => said.replace(pattern, replacement), String(text));
}

/** A reply without what is of this moment, without what the hub words in its own way, and without the defaults of Pods that it does not have. */
function shown(reply: Reply): unknown {
  const body = reply.json();
  if (body["kind"] === "Status") {
    const { message, reason, code, details } = body;
    const { causes, ...about } = (details ?? {}) as { readonly causes?: readonly Readonly<Record<string, unknown>>[] };
    const told = causes?.map((cause) => ({
      reason: cause["reason"] === "" ? undefined : cause["reason"],
      field: cause["field"],
      message: worded(cause["message"]),
    }));
    return { status: reply.status, message: worded(message), reason, code, about, told };
  }
  const {
    uid: _uid,
    creationTimestamp: _time,
    generation: _count,
    managedFields,
    ...metadata
  } = reply.object().metadata;
  const owners = (managedFields as readonly Record<string, unknown>[] | undefined)?.map(
    ({ time: _when, ...rest }) => rest,
  );
  const { data, spec } = body as { readonly data?: object; readonly spec?: { readonly containers?: unknown } };
  return { status: reply.status, metadata: { ...metadata, managedFields: owners }, data, containers: spec?.containers };
}

peerSuite(
  [...kubePrograms, "../current/bin/kube-apiserver", "../current/bin/kube-controller-manager"],
  "policies that mutate beside kube-apiserver 1.36",
  () => {
    let hub: TestHub;
    let kube: Kubernetes;
    let clients: readonly ApiClient[] = [];
    let count = 0;

    const both = (path: string, method: string, body?: object): Promise<readonly Reply[]> =>
      Promise.all(clients.map((client) => client(path, { method, ...(body === undefined ? {} : { body }) })));

    beforeAll(async () => {
      const plugins = { "disable-admission-plugins": "ServiceAccount" };
      [hub, kube] = await Promise.all([
        startTestHub({ disableAdmissionPlugins: ["ServiceAccount"] }),
        startKubernetes(undefined, {}, plugins, "current"),
      ]);
      clients = [apiClient(hub), apiClient(kube)];
    }, 600_000);
    afterAll(async () => {
      for (const client of clients) client.close();
      await Promise.all([hub?.close(), kube?.stop()]);
    });
    beforeEach(() => {
      count += 1;
    });
    afterEach(async () => {
      for (const path of [bindings, policies]) await both(path, "DELETE");
    });

    const created = async (path: string, body: object): Promise<void> => {
      for (const reply of await both(path, "POST", body)) expect([reply.status, reply.text]).toEqual([201, reply.text]);
    };

    test.each(Object.entries(mutationCases))("%s", async (_title, { spec, binding, before = {}, object, pods }) => {
      for (const body of Object.values(before)) await both(`${inDefault}/configmaps`, "POST", body);
      const { policy: markPolicy, binding: markBinding } = marker(String(count));
      for (const body of [policyOf(spec), markPolicy]) await created(policies, body);
      for (const body of [bindingOf(binding), markBinding]) await created(bindings, body);
      const path = `${inDefault}/${pods === true ? "pods" : "configmaps"}?dryRun=All&fieldManager=test`;
      const [ours, theirs] = clients.map((client) => () => client(path, { method: "POST", body: object }));
      const mine = shown((await ours?.()) as Reply);
      const isThere = (reply: Reply): boolean =>
        reply.status === 201
          ? reply.object().metadata.annotations?.["mark"] === String(count)
          : JSON.stringify(shown(reply)) === JSON.stringify(mine);
      let last: Reply | undefined;
      await eventually(
        "the policy in force",
        async () => {
          last = await theirs?.();
          return last !== undefined && isThere(last) ? true : undefined;
        },
        8,
      ).catch(() => undefined);
      expect(mine).toEqual(shown(last as Reply));
    });

    describe("are refused in the same words", () => {
      test.each(Object.entries(refusedPolicies))("%s", async (_title, body) => {
        const [mine, other] = await both(policies, "POST", body);
        expect(shown(mine as Reply)).toEqual(shown(other as Reply));
      });

      test.each(Object.entries(refusedBindings))("a binding %s", async (_title, body) => {
        const [mine, other] = await both(bindings, "POST", body);
        expect(shown(mine as Reply)).toEqual(shown(other as Reply));
      });
    });

    test("have the same columns", async () => {
      await created(
        policies,
        policyOf({ mutations: [applied("Object{}")], paramKind: { apiVersion: "v1", kind: "Secret" } }),
      );
      await created(bindings, bindingOf({ paramRef: { name: "p", parameterNotFoundAction: "Allow" } }));
      for (const path of [policies, bindings]) {
        const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
        const tables = await Promise.all(clients.map(async (client) => (await client(path, { accept })).json()));
        const [mine, other] = tables.map((table) => ({
          columns: (table["columnDefinitions"] as readonly { name: string; type: string }[]).map(({ name, type }) => [
            name,
            type,
          ]),
          cells: (table["rows"] as readonly { cells: readonly unknown[] }[]).map(({ cells }) => cells.slice(0, -1)),
        }));
        expect(mine).toEqual(other);
      }
    });
  },
);
