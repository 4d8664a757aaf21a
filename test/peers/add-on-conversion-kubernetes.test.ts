import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { Agent, request } from "node:https";
import { afterAll, beforeAll, expect, test } from "vitest";
import { clusterWebhookName } from "../../src/operator/manifests/webhook-configurations.ts";
import type { Reply } from "../kits/api-client.ts";
import { startRealClusterHub, type RealClusterHub } from "../kits/peers-clusters.ts";
import { kubePrograms } from "../kits/peers-kube.ts";
import { eventually } from "../kits/peers-process.ts";
import { peerSuite } from "../kits/peers.ts";

const group = "addon.open-cluster-management.io";
const [older, newer] = ["v1alpha1", "v1beta1"] as const;
const installNamespace = `${group}/v1alpha1-install-namespace`;
const limitMs = 120_000;
/** In seconds, as the machine may be busy. */
const patience = 90;

type Version = typeof older | typeof newer;

const pathOf = (version: Version): string => `/apis/${group}/${version}/namespaces/default/managedclusteraddons`;

peerSuite(kubePrograms, "add-ons in both versions, on a real control plane", () => {
  let hub: RealClusterHub;
  beforeAll(async () => {
    hub = await startRealClusterHub(["--older-add-ons"]);
    // The definition is served a moment after its CA is there.
    await eventually(
      `add-ons in ${older}; ours wrote ${hub.said()}`,
      async () => ((await hub.admin(pathOf(older))).status === 200 ? true : undefined),
      patience,
    );
  }, 240_000);
  afterAll(async () => {
    await hub?.stop();
  });

  const create = (version: Version, name: string, fields: object): Promise<Reply> =>
    hub.admin(pathOf(version), {
      method: "POST",
      body: { apiVersion: `${group}/${version}`, kind: "ManagedClusterAddOn", metadata: { name }, ...fields },
    });
  const report = (version: Version, name: string, status: object): Promise<Reply> =>
    hub.admin(`${pathOf(version)}/${name}/status`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: { status },
    });
  const read = async (version: Version, name: string): Promise<unknown> =>
    (await hub.admin(`${pathOf(version)}/${name}`)).object();

  test(
    "what is written in one version is read in the other",
    async () => {
      const configs = [{ group: "g", resource: "configs", name: "one" }];
      expect((await create(older, "first", { spec: { installNamespace: "policies", configs } })).status).toBe(201);
      const signerName = "kubernetes.io/kube-apiserver-client";
      const subject = { user: "agent", groups: ["g"] };
      const said = await report(older, "first", { kubeClientDriver: "csr", registrations: [{ signerName, subject }] });
      expect([said.status, said.text]).toEqual([200, expect.anything()]);
      expect(await read(newer, "first")).toMatchObject({
        apiVersion: `${group}/${newer}`,
        metadata: { annotations: { [installNamespace]: "policies" } },
        spec: { configs },
        status: { registrations: [{ type: "kubeClient", kubeClient: { driver: "csr", subject } }] },
      });

      const annotations = { [installNamespace]: "elsewhere" };
      const made = await create(newer, "second", { metadata: { name: "second", annotations }, spec: {} });
      expect(made.status).toBe(201);
      const customSigner = { signerName: "example.com/s", subject: { user: "u", organizationUnits: ["o"] } };
      await report(newer, "second", { registrations: [{ type: "customSigner", customSigner }] });
      expect(await read(older, "second")).toMatchObject({
        apiVersion: `${group}/${older}`,
        spec: { installNamespace: "elsewhere" },
        status: { registrations: [{ signerName: "example.com/s", subject: { organizationUnit: ["o"] } }] },
      });
      const rows = await hub.kube.kubectl.ok("get", `managedclusteraddons.${older}.${group}`, "-o", "name");
      expect(rows.trim().split("\n")).toEqual([
        `managedclusteraddon.${group}/first`,
        `managedclusteraddon.${group}/second`,
      ]);
    },
    limitMs,
  );

  test(
    "a watch in one version follows what is written in the other",
    async () => {
      const stream = await hub.admin.stream(`${pathOf(older)}?watch=true&fieldSelector=metadata.name=followed`);
      try {
        await create(newer, "followed", { spec: {} });
        expect(await stream.next()).toMatchObject({ type: "ADDED", object: { apiVersion: `${group}/${older}` } });
      } finally {
        stream.close();
      }
    },
    limitMs,
  );

  const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

  /** Removes the configuration that has kube-apiserver ask about add-ons; returns it as it may be created anew. */
  async function unguarded(): Promise<object> {
    const path = `${configurations}/${clusterWebhookName}`;
    const { apiVersion, kind, metadata, webhooks } = (await hub.admin(path)).object() as {
      readonly [key: string]: unknown;
      readonly metadata: { readonly name?: string; readonly labels?: object };
    };
    expect((await hub.admin(path, { method: "DELETE" })).status).toBe(200);
    return { apiVersion, kind, metadata: { name: metadata.name, labels: metadata.labels }, webhooks };
  }

  test(
    "an add-on that cannot be converted does not break the list of the others",
    async () => {
      await create(newer, "odd", { spec: {} });
      await create(newer, "plain", { spec: {} });
      const status = `{"namespace":"n","__proto__":{"namespace":"x"},"more":${"[".repeat(2000)}${"]".repeat(2000)}}`;
      const nested = (): Promise<Reply> =>
        hub.admin(`${pathOf(newer)}/odd/status`, {
          method: "PATCH",
          type: "application/merge-patch+json",
          body: Buffer.from(`{"status":${status}}`),
        });
      const refused = await nested();
      expect([refused.status, refused.text]).toEqual([500, expect.stringContaining("managedclusteraddonvalidators")]);
      // One that was written before the webhook was asked.
      const guards = await unguarded();
      await eventually(
        "the add-on to be written without the webhook",
        async () => ((await nested()).status === 200 ? true : undefined),
        patience,
      );
      expect((await hub.admin(configurations, { method: "POST", body: guards })).status).toBe(201);
      const list = await hub.admin(pathOf(older));
      const names = list.items().map(({ metadata }) => metadata.name);
      expect([list.status, names]).toEqual([200, expect.arrayContaining(["odd", "plain"])]);
      const many = { registrations: Array.from({ length: 1001 }, () => ({})) };
      expect((await report(newer, "plain", many)).status).toBe(422);
    },
    limitMs,
  );

  interface Answer {
    readonly status: number;
    readonly text: string;
  }

  /** What somebody sends who is not kube-apiserver. */
  async function convert(body: string): Promise<Answer> {
    const agent = new Agent({ ca: await readFile(join(hub.kube.dir, "webhook", "ca.crt"), "utf8") });
    return new Promise((resolve, reject) => {
      const sent = request(`${hub.webhookUrl}/convert`, { method: "POST", agent }, (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
        response.on("end", () => {
          agent.destroy();
          resolve({ status: response.statusCode ?? 0, text });
        });
      });
      sent.on("error", reject);
      sent.end(body);
    });
  }

  test(
    "the webhook converts nothing else, whoever asks",
    async () => {
      const review = (objects: readonly object[]): string =>
        JSON.stringify({
          apiVersion: "apiextensions.k8s.io/v1",
          kind: "ConversionReview",
          request: { uid: "u", desiredAPIVersion: `${group}/${newer}`, objects },
        });
      for (const garbage of ["", "{", "[]", "null", '"x"', "{}", "[".repeat(100_000)]) {
        expect([garbage.slice(0, 5), (await convert(garbage)).status]).toEqual([garbage.slice(0, 5), 400]);
      }
      const foreign = await convert(review([{ apiVersion: "v1", kind: "Secret", metadata: { name: "s" } }]));
      expect([foreign.status, JSON.parse(foreign.text)]).toEqual([
        200,
        expect.objectContaining({
          response: { uid: "u", convertedObjects: [], result: { status: "Failure", message: expect.any(String) } },
        }),
      ]);
      const one = { apiVersion: `${group}/${older}`, kind: "ManagedClusterAddOn", metadata: {} };
      const many = await convert(review(Array.from({ length: 25_000 }, () => one)));
      expect([many.status, many.text.length < 1000, many.text]).toEqual([
        200,
        true,
        expect.stringContaining("at once"),
      ]);
      expect((await convert(" ".repeat(3 * 1024 * 1024 + 1))).status).toBe(413);
    },
    limitMs,
  );

  test(
    "without the webhook the older version is refused, and the stored one is served",
    async () => {
      await create(newer, "kept", { spec: {} });
      const away = [{ op: "replace", path: "/spec/conversion/webhook/clientConfig/url", value: "https://127.0.0.1:1" }];
      const definition = ["crd", `managedclusteraddons.${group}`, "--type=json", "-p", JSON.stringify(away)];
      await hub.kube.kubectl.ok("patch", ...definition);
      await eventually(
        "the older version to be refused",
        async () => ((await hub.admin(`${pathOf(older)}/kept`)).status === 500 ? true : undefined),
        patience,
      );
      const refused = await create(older, "never", { spec: {} });
      expect([refused.status, refused.text]).toEqual([500, expect.stringContaining("conversion webhook")]);
      expect(await read(newer, "kept")).toMatchObject({ metadata: { name: "kept" } });
      expect((await hub.admin(`${pathOf(newer)}/never`)).status).toBe(404);
    },
    limitMs,
  );
});
