import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { WebhookCallError, type WebhookCall } from "../apimachinery/webhook-call.ts";
import type { AdmissionWebhook } from "../apis/admission-webhook.ts";
import { configMaps } from "../apis/config-map.ts";
import { admissionChain, type AdmissionRequest } from "./admission.ts";
import { mutatingWebhooks, validatingWebhooks } from "./webhooks.ts";
import { compiledWebhooks, type WebhookAsked, type WebhookPluginOptions } from "./webhook-ask.ts";

type Answer = (call: WebhookCall, object: ApiObject) => object;

/** Webhooks of one configuration that are asked without a network. */
function bench(webhooks: Readonly<Record<string, Answer>>, fields: Partial<AdmissionWebhook> = {}) {
  const asked: string[] = [];
  const seen: WebhookAsked[] = [];
  const timeouts: number[] = [];
  const annotations: Record<string, string> = {};
  const warnings: string[] = [];
  let time = 0;
  const configured = Object.keys(webhooks).map((name): AdmissionWebhook => ({
    name,
    clientConfig: { url: `https://${name}` },
    rules: [{ operations: ["*"], apiGroups: ["*"], apiVersions: ["*"], resources: ["*"] }],
    failurePolicy: "Fail",
    matchPolicy: "Exact",
    namespaceSelector: {},
    objectSelector: {},
    sideEffects: "None",
    timeoutSeconds: 10,
    admissionReviewVersions: ["v1"],
    reinvocationPolicy: "IfNeeded",
    ...fields,
  }));
  const compiled = compiledWebhooks({ apiVersion: "v1", kind: "C", metadata: { name: "conf" }, webhooks: configured });
  const options: WebhookPluginOptions = {
    webhooks: () => compiled,
    lookups: { namespaceOf: () => undefined, versionsOf: (resource) => [resource] },
    convert: async (object) => object,
    authorize: async () => ({ allowed: false, reason: "" }),
    turn: async () => undefined,
    uuid: () => "u",
    now: () => time,
    failedOpen: () => undefined,
    asked: (one) => void seen.push(one),
    call: async (call) => {
      const name = (call.config.url ?? "").slice("https://".length);
      asked.push(name);
      timeouts.push(call.timeoutMs);
      time += 9000;
      const { object } = (call.body as { readonly request: { readonly object: ApiObject } }).request;
      const response = { uid: "u", allowed: true, ...webhooks[name]?.(call, object) };
      return { apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response };
    },
  };
  const request: AdmissionRequest = {
    operation: "CREATE",
    resource: configMaps,
    subresource: "",
    namespace: "ns",
    name: "a",
    object: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a" } },
    oldObject: undefined,
    user: { username: "u", groups: [] },
    dryRun: false,
    warn: (text) => void warnings.push(text),
    annotate: (key, value) => {
      annotations[key] ??= value;
    },
  };
  const chain = admissionChain([mutatingWebhooks(options), validatingWebhooks(options)]);
  return { chain, request, asked, seen, timeouts, annotations, warnings };
}

function patch(...operations: readonly object[]): object {
  return { patchType: "JSONPatch", patch: Buffer.from(JSON.stringify(operations)).toString("base64") };
}

const nothing: Answer = () => ({});
const labelOnce =
  (key: string): Answer =>
  (_call, { metadata }) =>
    metadata.labels?.[key] === undefined
      ? patch({ op: "add", path: "/metadata/labels", value: { ...metadata.labels, [key]: "1" } })
      : {};

describe("mutating webhooks", () => {
  it("are asked a second time only where another changed something after them, and never a third", async () => {
    const { chain, request, asked } = bench({ "a.x.y": labelOnce("a"), "b.x.y": labelOnce("b"), "c.x.y": nothing });
    const object = await chain.mutate(request);
    expect(object?.metadata.labels).toEqual({ a: "1", b: "1" });
    expect(asked).toEqual(["a.x.y", "b.x.y", "c.x.y", "a.x.y"]);
  });

  it("that go on changing are asked twice and no more", async () => {
    const restless: Answer = (_call, { metadata }) =>
      patch({ op: "add", path: "/metadata/labels", value: { n: `${metadata.labels?.["n"] ?? ""}x` } });
    const { chain, request, asked } = bench({ "a.x.y": restless, "b.x.y": restless });
    const object = await chain.mutate(request);
    expect(asked).toEqual(["a.x.y", "b.x.y", "a.x.y", "b.x.y"]);
    expect(object?.metadata.labels).toEqual({ n: "xxxx" });
  });

  it("that change nothing give back the very object", async () => {
    const { chain, request, annotations } = bench({
      "a.x.y": () => patch({ op: "test", path: "/kind", value: "ConfigMap" }),
    });
    expect(await chain.mutate(request)).toBe(request.object);
    expect(annotations).toEqual({
      "mutation.webhook.admission.k8s.io/round_0_index_0": '{"configuration":"conf","webhook":"a.x.y","mutated":false}',
    });
  });

  it("have 34 seconds together, and then the request is over", async () => {
    const slow = Object.fromEntries("abcdef".split("").map((name) => [`${name}.x.y`, nothing]));
    const { chain, request, timeouts } = bench(slow);
    await expect(chain.mutate(request)).rejects.toMatchObject({ reason: "Timeout", code: 504 });
    expect(timeouts).toEqual([10_000, 10_000, 10_000, 7000]);
  });
});

describe("webhooks", () => {
  it("are told of when they were asked, with how long it took and whether the request ended by them", async () => {
    const { chain, request, seen } = bench({ "a.x.y": nothing, "b.x.y": () => ({ allowed: false }) });
    await expect(chain.mutate(request)).rejects.toThrow("denied the request");
    expect(seen).toEqual([
      { name: "a.x.y", stage: "mutating", operation: "CREATE", isRejected: false, ms: 9000 },
      { name: "b.x.y", stage: "mutating", operation: "CREATE", isRejected: true, ms: 9000 },
    ]);
    seen.length = 0;
    await expect(chain.validate({ ...request, operation: "UPDATE" })).rejects.toThrow("denied the request");
    expect(seen.map(({ name, stage, isRejected }) => [name, stage, isRejected])).toEqual([
      ["a.x.y", "validating", false],
      ["b.x.y", "validating", true],
    ]);
  });

  it("that have side effects are not asked in a dry run", async () => {
    const { chain, request, asked } = bench({ "a.x.y": nothing }, { sideEffects: "Some" });
    await expect(chain.validate({ ...request, dryRun: true })).rejects.toMatchObject({
      code: 400,
      message: 'admission webhook "a.x.y" does not support dry run',
    });
    expect(asked).toEqual([]);
  });

  it("that understand no version we speak cannot be asked", async () => {
    const { chain, request } = bench({ "a.x.y": nothing }, { admissionReviewVersions: ["v9"] });
    await expect(chain.validate(request)).rejects.toThrow("webhook does not accept known AdmissionReview versions");
  });

  it("hand on annotations under their name, but none of a key that cannot be, and their warnings", async () => {
    const answer: Answer = () => ({ auditAnnotations: { good: "1", "bad/key": "2", "": "3" }, warnings: ["w"] });
    const { chain, request, annotations, warnings } = bench({ "a.x.y": answer });
    await chain.validate(request);
    expect(annotations).toEqual({ "a.x.y/good": "1" });
    expect(warnings).toEqual(["w"]);
  });

  it("that fail and are let pass leave a note", async () => {
    const down: Answer = () => {
      throw new WebhookCallError("unreachable", "down");
    };
    const { chain, request, annotations } = bench({ "a.x.y": nothing, "b.x.y": down }, { failurePolicy: "Ignore" });
    await chain.validate(request);
    await chain.mutate(request);
    expect(annotations).toMatchObject({
      "failed-open.validating.webhook.admission.k8s.io/round_0_index_1": "b.x.y",
      "failed-open.mutation.webhook.admission.k8s.io/round_0_index_1": "b.x.y",
    });
  });

  it("never hide a fault of ours behind failurePolicy Ignore", async () => {
    const fault: Answer = () => {
      throw new TypeError("a bug");
    };
    const { chain, request } = bench({ "a.x.y": fault }, { failurePolicy: "Ignore" });
    await expect(chain.validate(request)).rejects.toThrow("a bug");
  });
});
