import { afterEach, describe, expect, it } from "vitest";
import { mandatoryFlowControl, suggestedFlowControl } from "../../src/apis/flow-control-objects.ts";
import { apiClient, type Reply } from "../kits/api-client.ts";
import { flowControlGroup, levelOf, refusedLevels, refusedSchemas, schemaOf } from "../kits/flow-control.ts";
import { hubForFile } from "../kits/hub-for-file.ts";
import { startTestHub } from "../kits/hub.ts";

const schemas = `${flowControlGroup}/flowschemas`;
const levels = `${flowControlGroup}/prioritylevelconfigurations`;
const pods = "/api/v1/namespaces/default/pods";

const { hub, api, post } = await hubForFile({ users: { jane: [] } });
const jane = apiClient(hub, { token: hub.token("jane") });
const anonymous = apiClient(hub, "anonymous");

afterEach(async () => {
  await api(`${schemas}/mine`, { method: "DELETE" });
  await api(`${levels}/mine`, { method: "DELETE" });
});

const text = (reply: Reply): string => String(reply.json()["message"]);

/** The names of the objects that the headers of a reply name. */
async function steeredBy({ headers }: Reply): Promise<readonly (string | undefined)[]> {
  const nameOf = async (path: string, uid: unknown): Promise<string | undefined> =>
    (await api(path)).items().find(({ metadata }) => metadata.uid === uid)?.metadata.name;
  return [
    await nameOf(schemas, headers["x-kubernetes-pf-flowschema-uid"]),
    await nameOf(levels, headers["x-kubernetes-pf-prioritylevel-uid"]),
  ];
}

describe("a hub that has started", () => {
  it("has the mandatory and the suggested objects, each with its annotation", async () => {
    for (const [path, field] of [
      [schemas, "schemas"],
      [levels, "levels"],
    ] as const) {
      const wanted = { ...mandatoryFlowControl[field], ...suggestedFlowControl[field] };
      const items = (await api(path)).items();
      expect(Object.fromEntries(items.map(({ metadata, spec }) => [metadata.name, spec]))).toEqual(wanted);
      for (const { metadata } of items) {
        expect(metadata.annotations).toEqual({ "apf.kubernetes.io/autoupdate-spec": "true" });
      }
    }
  });

  it("names in each answer, also in one that refuses, what steered the request", async () => {
    expect(await steeredBy(await api(pods))).toEqual(["exempt", "exempt"]);
    const refused = await jane(pods);
    expect([refused.status, await steeredBy(refused)]).toEqual([403, ["global-default", "global-default"]]);
    expect(await steeredBy(await anonymous("/readyz"))).toEqual(["probes", "exempt"]);
  });
});

describe("an object", () => {
  it("steers requests as soon as its write is answered", async () => {
    expect((await post(levels, levelOf("mine"))).status).toBe(201);
    expect((await post(schemas, schemaOf("mine", { priorityLevelConfiguration: { name: "mine" } }))).status).toBe(201);
    expect(await steeredBy(await jane(`${pods}/p`))).toEqual(["mine", "mine"]);
    expect(await steeredBy(await jane("/version"))).toEqual(["global-default", "global-default"]);
    await api(`${schemas}/mine`, { method: "DELETE" });
    expect(await steeredBy(await jane(`${pods}/p`))).toEqual(["global-default", "global-default"]);
  });

  it("of a level without seats rejects its requests, and no others", async () => {
    const none = { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: "Reject" } };
    await post(levels, levelOf("mine", none));
    await post(schemas, schemaOf("mine", { priorityLevelConfiguration: { name: "mine" } }));
    const rejected = await jane(`${pods}/p`);
    expect([rejected.status, await steeredBy(rejected)]).toEqual([429, ["mine", "mine"]]);
    expect((await jane("/version")).status).toBe(200);
    expect((await api(pods)).status).toBe(200);
    const counted = (await api("/metrics")).text;
    expect(counted).toContain(
      'apiserver_flowcontrol_rejected_requests_total{flow_schema="mine",priority_level="mine",reason="concurrency-limit"} 1',
    );
  });

  it("that names a level which does not exist is not in force", async () => {
    await post(schemas, schemaOf("mine", { priorityLevelConfiguration: { name: "missing" } }));
    expect(await steeredBy(await jane(`${pods}/p`))).toEqual(["global-default", "global-default"]);
  });

  it("has the defaults of Kubernetes", async () => {
    expect((await post(schemas, schemaOf("mine"))).object()["spec"]).toMatchObject({ matchingPrecedence: 1000 });
    expect((await post(levels, levelOf("mine"))).object()["spec"]).toEqual({
      type: "Limited",
      limited: {
        nominalConcurrencyShares: 30,
        lendablePercent: 0,
        limitResponse: { type: "Queue", queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 } },
      },
    });
  });
});

describe("an object that is refused", () => {
  it.each(Object.entries(refusedSchemas))("is a schema %s", async (_title, body) => {
    const reply = await post(schemas, body);
    expect([reply.status, text(reply)]).toEqual([
      422,
      expect.stringContaining('FlowSchema.flowcontrol.apiserver.k8s.io "mine"'),
    ]);
  });

  it.each(Object.entries(refusedLevels))("is one of levels %s", async (_title, body) => {
    const reply = await post(levels, body);
    expect([reply.status, text(reply)]).toEqual([422, expect.stringContaining("PriorityLevelConfiguration")]);
  });

  it.each([
    [schemas, "catch-all", { matchingPrecedence: 9000 }, "spec of 'catch-all' must equal the fixed value"],
    [
      levels,
      "catch-all",
      { limited: { nominalConcurrencyShares: 50 } },
      "spec of 'catch-all' must equal the fixed value",
    ],
  ])("is a change of %s/%s", async (path, name, spec, why) => {
    const reply = await api(`${path}/${name}`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { spec },
    });
    expect([reply.status, text(reply)]).toEqual([422, expect.stringContaining(why)]);
  });
});

it("a suggested object that an operator changed stays changed after a restart, and one that was deleted is there again", async () => {
  const first = await startTestHub();
  const admin = apiClient(first);
  const type = "application/merge-patch+json";
  const change = (name: string, annotations: object): Promise<Reply> =>
    admin(`${levels}/${name}`, {
      method: "PATCH",
      type,
      body: { metadata: { annotations }, spec: { limited: { nominalConcurrencyShares: 77 } } },
    });
  await change("global-default", { "apf.kubernetes.io/autoupdate-spec": "false" });
  await change("system", {});
  await admin(`${schemas}/catch-all`, { method: "DELETE" });
  admin.close();
  await first.close("keep");
  const second = await startTestHub({ dir: first.dir });
  const client = apiClient(second);
  const specOf = async (path: string): Promise<unknown> => (await client(path)).object()["spec"];
  expect(await specOf(`${levels}/global-default`)).toMatchObject({ limited: { nominalConcurrencyShares: 77 } });
  expect(await specOf(`${levels}/system`)).toEqual(suggestedFlowControl.levels["system"]);
  expect(await specOf(`${schemas}/catch-all`)).toEqual(mandatoryFlowControl.schemas["catch-all"]);
  client.close();
  await second.close();
});
