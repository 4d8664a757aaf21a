import { expect, it } from "vitest";
import { conditionOf, definition, establish, until } from "../kits/definitions.ts";
import { hubForFile } from "../kits/hub-for-file.ts";
import { reported, type Report } from "../kits/reports.ts";

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const { hub, api, post } = await hubForFile();

function told(controller: string, reason: Parameters<typeof reported>[1], name: string): Promise<Report> {
  return reported({ log: hub.log, read: api }, reason, { controller, kind: "CustomResourceDefinition", name });
}

async function conditionNow(name: string, type: string): Promise<unknown> {
  return conditionOf((await api(`${definitions}/${name}`)).object(), type);
}

it("a definition whose names another one has says which, in condition, log and Event, once", async () => {
  await establish(api, definition());
  const second = definition({ plural: "gizmos", names: { shortNames: ["gz"] } });
  expect((await post(definitions, second)).status).toBe(201);
  const { lines, event } = await told("crd-naming", "NamesNotAccepted", "gizmos.example.com");
  expect(lines).toHaveLength(1);
  expect(event).toMatchObject({ type: "Warning", count: 1 });
  expect(event.message).toMatch(
    /^not all names are accepted: "Widget(List)?" is already in use; choose other names, or delete /,
  );
  expect(await conditionNow("gizmos.example.com", "NamesAccepted")).toMatchObject({ status: "False" });
  await api(`${definitions}/widgets.example.com`, { method: "DELETE" });
  const path = `${definitions}?fieldSelector=metadata.name=gizmos.example.com`;
  await until(api, path, (crd) => conditionOf(crd, "NamesAccepted")?.status === "True");
});

it("a definition whose objects cannot be deleted says why, once, and goes when they can", async () => {
  await establish(api, definition({ plural: "stays", kind: "Stay" }));
  const objects = "/apis/example.com/v1/namespaces/default/stays";
  const body = { apiVersion: "example.com/v1", kind: "Stay", metadata: { name: "a" }, spec: {} };
  expect((await post(objects, body)).status).toBe(201);
  const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  const rules = [{ apiGroups: ["example.com"], apiVersions: ["*"], resources: ["stays"], operations: ["DELETE"] }];
  const webhook = {
    name: "stays.example.com",
    // No server listens there.
    clientConfig: { url: "https://127.0.0.1:1/" },
    rules,
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
  };
  const made = await post(configurations, { metadata: { name: "stays" }, webhooks: [webhook] });
  expect([made.status, made.text]).toEqual([201, expect.any(String)]);
  const name = "stays.example.com";
  await api(`${definitions}/${name}`, { method: "DELETE" });
  const { lines, event } = await told("crd-finalizer", "InstanceDeletionFailed", name);
  expect(lines).toHaveLength(1);
  expect(event).toMatchObject({ type: "Warning", count: 1 });
  expect(event.message).toContain("could not delete all instances: ");
  expect(event.message).toContain('failed calling webhook "stays.example.com"');
  expect(await conditionNow(name, "Terminating")).toMatchObject({ status: "True", reason: "InstanceDeletionFailed" });
  const gone = until(api, `${definitions}?fieldSelector=metadata.name=${name}`, (crd) => crd === undefined);
  await api(`${configurations}/stays`, { method: "DELETE" });
  await gone;
});
