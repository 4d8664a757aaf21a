import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { ApiObject } from "../../src/apimachinery/object.ts";
import { apiClient, type ApiClient, type Reply } from "../kits/api-client.ts";
import { definition, establish, until, version } from "../kits/definitions.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { startWebhook, type ReviewRequest, type WebhookServer } from "../kits/webhook-server.ts";

let hub: TestHub;
let api: ApiClient;
let webhook: WebhookServer;

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const v1 = "/apis/example.com/v1/namespaces/default/ports";
const v2 = "/apis/example.com/v2/namespaces/default/ports";

const schema = (field: object): object => ({
  openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties: field } } },
});
const ports = (url: string, caBundle: string): ReturnType<typeof definition> =>
  definition({
    plural: "ports",
    kind: "Port",
    versions: [
      version({
        schema: schema({ hostPort: { type: "string" } }),
        selectableFields: [{ jsonPath: ".spec.hostPort" }],
        additionalPrinterColumns: [{ name: "HostPort", type: "string", jsonPath: ".spec.hostPort" }],
      }),
      version({
        name: "v2",
        storage: false,
        schema: schema({ host: { type: "string" }, port: { type: "string" } }),
        selectableFields: [{ jsonPath: ".spec.host" }],
        additionalPrinterColumns: [{ name: "Host", type: "string", jsonPath: ".spec.host" }],
      }),
    ],
    spec: {
      conversion: {
        strategy: "Webhook",
        webhook: { conversionReviewVersions: ["v1"], clientConfig: { url, caBundle } },
      },
    },
  });

const converted = (object: ApiObject, apiVersion: string): ApiObject => {
  const spec = object["spec"] as { hostPort?: string; host?: string; port?: string };
  const [host = "", port = ""] = (spec.hostPort ?? "").split(":");
  return {
    ...object,
    apiVersion,
    spec: apiVersion.endsWith("v2") ? { host, port } : { hostPort: `${spec.host}:${spec.port}` },
  };
};

/** Answers conversions; `change` alters the converted objects, `review` the whole response. */
function answering(
  options: {
    readonly change?: (objects: readonly ApiObject[]) => readonly unknown[];
    readonly response?: object;
  } = {},
): void {
  const { change = (objects) => objects, response = {} } = options;
  webhook.answer((request: ReviewRequest) => ({
    raw: (reply) => {
      const { objects, desiredAPIVersion } = request as unknown as {
        objects: readonly ApiObject[];
        desiredAPIVersion: string;
      };
      reply.end(
        JSON.stringify({
          kind: "ConversionReview",
          apiVersion: "apiextensions.k8s.io/v1",
          response: {
            uid: request.uid,
            result: { status: "Success" },
            convertedObjects: change(objects.map((object) => converted(object, desiredAPIVersion))),
            ...response,
          },
        }),
      );
    },
  }));
}

const post = (path: string, name: string, spec: object): Promise<Reply> =>
  api(path, {
    method: "POST",
    body: { apiVersion: path.split("/").slice(2, 4).join("/"), kind: "Port", metadata: { name }, spec },
  });

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
  webhook = await startWebhook();
  await establish(api, ports(webhook.url, webhook.caBundle));
});

beforeEach(() => answering());

afterAll(async () => {
  api.close();
  await hub.close();
  await webhook.close();
});

describe("objects that a webhook converts", () => {
  it("are written in one version and read in another", async () => {
    const created = await post(v2, "a", { host: "h", port: "1" });
    expect([created.status, created.object()]).toMatchObject([
      201,
      { apiVersion: "example.com/v2", spec: { host: "h", port: "1" } },
    ]);
    expect((await api(`${v1}/a`)).object()).toMatchObject({ apiVersion: "example.com/v1", spec: { hostPort: "h:1" } });
    const read = (await api(`${v2}/a`)).object();
    expect(read).toEqual(created.object());
    const changed = await api(`${v2}/a`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{"spec":{"port":"2"}}',
    });
    expect(changed.object()).toMatchObject({ apiVersion: "example.com/v2", spec: { host: "h", port: "2" } });
    expect((await api(`${v1}/a`)).object()["spec"]).toEqual({ hostPort: "h:2" });
  });

  it("are listed with one question, selected by fields of the version and printed in its columns", async () => {
    for (const name of ["l1", "l2", "l3"]) await post(v1, name, { hostPort: `${name}:9` });
    const before = webhook.asked.length;
    const items = (await api(v2)).items();
    expect(items.find(({ metadata }) => metadata.name === "l2")).toMatchObject({
      apiVersion: "example.com/v2",
      spec: { host: "l2", port: "9" },
    });
    expect(webhook.asked.length - before).toBe(1);
    const selected = await api(`${v2}?fieldSelector=spec.host%3Dl3`);
    expect(selected.items().map(({ metadata }) => metadata.name)).toEqual(["l3"]);
    const table = (await api(v2, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" })).json();
    expect(table).toMatchObject({ columnDefinitions: [{ name: "Name" }, { name: "Host" }] });
    expect(JSON.stringify(table["rows"])).toContain('["l2","l2"]');
  });

  it("are watched in the version asked for, by its fields", async () => {
    const stream = await api.stream(`${v2}?watch=true&fieldSelector=spec.host%3Dw`);
    await post(v1, "other", { hostPort: "x:1" });
    await post(v1, "w", { hostPort: "w:1" });
    expect(await stream.next()).toMatchObject({
      type: "ADDED",
      object: { apiVersion: "example.com/v2", metadata: { name: "w" }, spec: { host: "w", port: "1" } },
    });
    await api(`${v1}/w`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: '{"spec":{"hostPort":"z:1"}}',
    });
    expect(await stream.next()).toMatchObject({
      type: "DELETED",
      object: { apiVersion: "example.com/v2", spec: { host: "w", port: "1" } },
    });
    stream.close();
  });

  it("may get other labels and annotations, and no other metadata", async () => {
    answering({
      change: (objects) =>
        objects.map((object) => ({
          ...object,
          metadata: { ...object.metadata, labels: { by: "webhook" }, finalizers: ["example.com/own"], generation: 99 },
        })),
    });
    const { metadata } = (await post(v2, "m", { host: "h", port: "1" })).object();
    expect([metadata.labels, metadata.finalizers, metadata.generation]).toEqual([{ by: "webhook" }, undefined, 1]);
  });

  const failed = "conversion webhook for example.com/v2, Kind=Port failed: ";
  it.each([
    ["leaves some out", { change: () => [] }, "webhook returned 0 objects, expected 1"],
    [
      "renames them",
      {
        change: (all: readonly ApiObject[]) => all.map((one) => ({ ...one, metadata: { ...one.metadata, name: "b" } })),
      },
      "invalid converted object at index 0: invalid metadata.name",
    ],
    [
      "gives them another uid",
      {
        change: (all: readonly ApiObject[]) => all.map((one) => ({ ...one, metadata: { ...one.metadata, uid: "b" } })),
      },
      "invalid metadata.uid",
    ],
    [
      "makes them another kind",
      { change: (all: readonly ApiObject[]) => all.map((one) => ({ ...one, kind: "Secret" })) },
      "invalid kind",
    ],
    [
      "keeps their version",
      { change: (all: readonly ApiObject[]) => all.map((one) => ({ ...one, apiVersion: "example.com/v2" })) },
      "invalid groupVersion",
    ],
    ["answers another question", { response: { uid: "x" } }, "expected response.uid"],
    ["fails", { response: { result: { status: "Failure", message: "no idea" } } }, "no idea"],
  ])("are refused with 500 when it %s", async (_what, options, message) => {
    answering(options);
    const reply = await post(v2, "f", { host: "h", port: "1" });
    expect([reply.status, reply.json()["message"]]).toEqual([500, expect.stringContaining(failed)]);
    expect(reply.json()["message"]).toContain(message);
    expect((await api(`${v1}/f`)).status).toBe(404);
  });

  it("end a watch with an error when they cannot be converted", async () => {
    const stream = await api.stream(`${v2}?watch=true&fieldSelector=metadata.name%3De`);
    answering({ response: { result: { status: "Failure", message: "gone" } } });
    await post(v1, "e", { hostPort: "e:1" });
    expect(await stream.next()).toMatchObject({ type: "ERROR", object: { code: 500, reason: "InternalError" } });
    expect(await stream.rest()).toEqual([]);
  });

  it("go with their definition, whether or not it can convert", async () => {
    answering({ response: { result: { status: "Failure", message: "gone" } } });
    await api(`${definitions}/ports.example.com`, { method: "DELETE" });
    const path = `${definitions}?fieldSelector=metadata.name=ports.example.com`;
    if ((await api(path)).items().length > 0) await until(api, path, (crd) => crd === undefined);
    expect((await api(v1)).status).toBe(404);
  });
});
