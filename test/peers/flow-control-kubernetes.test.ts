import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import {
  flowControlGroup,
  flowRequests,
  levelOf,
  refusedLevels,
  refusedSchemas,
  schemaOf,
} from "../kits/flow-control.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { kubePrograms, startKubernetes, type Kubernetes } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

const schemas = `${flowControlGroup}/flowschemas`;
const levels = `${flowControlGroup}/prioritylevelconfigurations`;

/** What a refusal says. */
function refusalOf(reply: Reply): unknown {
  const { message, reason, code, details } = reply.json();
  return { message, reason, code, details };
}

peerSuite(
  [...kubePrograms, "../current/bin/kube-apiserver", "../current/bin/kube-controller-manager"],
  "flow control beside kube-apiserver 1.36",
  () => {
    let hub: TestHub;
    let kube: Kubernetes;
    let clients: readonly [ApiClient, ApiClient];

    beforeAll(async () => {
      [hub, kube] = await Promise.all([startTestHub(), startKubernetes(undefined, {}, {}, "current")]);
      clients = [apiClient(hub), apiClient(kube)];
    }, 900_000);
    afterAll(async () => {
      for (const client of clients ?? []) client.close();
      await Promise.all([hub?.close(), kube?.stop()]);
    });
    afterEach(async () => {
      for (const path of [schemas, levels]) await both((client) => client(`${path}/mine`, { method: "DELETE" }));
    });

    const both = <T>(ask: (client: ApiClient) => Promise<T>): Promise<readonly [T, T]> =>
      Promise.all([ask(clients[0]), ask(clients[1])]);

    test.each([schemas, levels])("%s has the same objects from the start", async (path) => {
      const [mine, theirs] = await both(async (client) =>
        (await client(path)).items().map(({ metadata, spec }) => ({
          name: metadata.name,
          annotations: metadata.annotations,
          generation: metadata.generation,
          spec,
        })),
      );
      expect(mine).toEqual(theirs);
    });

    /** The names of the objects that the headers of an answer name. */
    const steering = async (
      client: ApiClient,
      { user, groups, path }: (typeof flowRequests)[number],
    ): Promise<unknown> => {
      const headers = {
        "impersonate-user": user,
        "impersonate-group": [...groups, "system:authenticated"],
      };
      const reply = await client(path, { headers });
      const nameOf = async (kind: string, uid: unknown): Promise<string | undefined> =>
        (await client(kind)).items().find(({ metadata }) => metadata.uid === uid)?.metadata.name;
      return [
        await nameOf(schemas, reply.headers["x-kubernetes-pf-flowschema-uid"]),
        await nameOf(levels, reply.headers["x-kubernetes-pf-prioritylevel-uid"]),
      ];
    };

    test.each(flowRequests)("$path of $user is steered by the same objects", async (request) => {
      const [mine, theirs] = await both((client) => steering(client, request));
      expect(mine).toEqual(theirs);
      expect(mine).not.toContain(undefined);
    });

    test("a schema of an operator steers the same requests", async () => {
      const spec = { priorityLevelConfiguration: { name: "system" }, matchingPrecedence: 50 };
      for (const reply of await both((client) => client(schemas, { method: "POST", body: schemaOf("mine", spec) }))) {
        expect(reply.status).toBe(201);
      }
      const [first] = flowRequests;
      const asked = { ...(first ?? { groups: [], path: "" }), user: "jane", path: "/api/v1/namespaces/default/pods/p" };
      await eventually("the schema in force", async () =>
        JSON.stringify(await steering(clients[1], asked)) === '["mine","system"]' ? true : undefined,
      );
      expect(await steering(clients[0], asked)).toEqual(["mine", "system"]);
    });

    test("objects have the same defaults", async () => {
      for (const [path, body] of [
        [schemas, schemaOf("mine")],
        [levels, levelOf("mine")],
      ] as const) {
        const [mine, theirs] = await both(
          async (client) => (await client(path, { method: "POST", body })).object()["spec"],
        );
        expect(mine).toEqual(theirs);
      }
    });

    describe("are refused in the same words", () => {
      test.each(Object.entries(refusedSchemas))("a schema %s", async (_title, body) => {
        const [mine, theirs] = await both((client) => client(schemas, { method: "POST", body }));
        expect(refusalOf(mine)).toEqual(refusalOf(theirs));
      });

      test.each(Object.entries(refusedLevels))("levels %s", async (_title, body) => {
        const [mine, theirs] = await both((client) => client(levels, { method: "POST", body }));
        expect(refusalOf(mine)).toEqual(refusalOf(theirs));
      });
    });

    test.each([schemas, levels])("%s has the same columns", async (path) => {
      const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
      const [mine, theirs] = await both(async (client) => {
        const table = (await client(path, { accept })).json();
        const columns = table["columnDefinitions"] as readonly { name: string; type: string }[];
        return {
          columns: columns.map(({ name, type }) => [name, type]),
          rows: (table["rows"] as readonly { cells: readonly unknown[] }[])
            // Ages differ, and the hub does not say whether a level is missing.
            .map(({ cells }) =>
              cells.filter((_cell, index) => !["Age", "MissingPL"].includes(columns[index]?.name ?? "")),
            )
            .toSorted((one, other) => (String(one[0]) < String(other[0]) ? -1 : 1)),
        };
      });
      expect(mine).toEqual(theirs);
    });
  },
);
