import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { established } from "../kits/definitions.ts";
import { hubForFile } from "../kits/hub-for-file.ts";

const folder = new URL("../fixtures/crds/", import.meta.url);
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

const { api, post } = await hubForFile();

const table = async (path: string): Promise<unknown> =>
  (await api(path, { accept: "application/json;as=Table;g=meta.k8s.io;v=v1" })).json();

describe("definitions of well-known projects", () => {
  it("are taken without a warning and established", async () => {
    const files = await readdir(folder);
    expect(files).toHaveLength(3);
    for (const file of files) {
      const body = await readFile(new URL(file, folder));
      const made = await api(`${definitions}?fieldValidation=Strict`, {
        method: "POST",
        type: "application/yaml",
        body,
      });
      expect([made.status, made.headers["warning"], made.text]).toEqual([201, undefined, expect.any(String)]);
      const name = file.replace(/\.yaml$/, "");
      await established(api, name);
    }
  });

  it("hold managed clusters, from joining to being available", async () => {
    const path = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
    const cluster = {
      apiVersion: "cluster.open-cluster-management.io/v1",
      kind: "ManagedCluster",
      metadata: { name: "east" },
      spec: { hubAcceptsClient: true, managedClusterClientConfigs: [{ url: "https://east.example.com" }] },
    };
    expect((await post(path, cluster)).object()["spec"]).toMatchObject({ leaseDurationSeconds: 60 });
    const lastTransitionTime = "2026-01-01T00:00:00Z";
    const condition = (type: string): object => ({
      type,
      status: "True",
      reason: "Managed",
      message: "",
      lastTransitionTime,
    });
    const status = {
      conditions: [condition("ManagedClusterJoined"), condition("ManagedClusterConditionAvailable")],
      capacity: { cpu: 4, memory: "16Gi" },
      version: { kubernetes: "v1.36.0" },
    };
    const told = await api(`${path}/east/status`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: JSON.stringify({ status }),
    });
    expect([told.status, told.object()["status"]]).toEqual([200, status]);
    expect(await table(path)).toMatchObject({
      columnDefinitions: [
        { name: "Name" },
        { name: "Hub Accepted", type: "boolean" },
        { name: "Managed Cluster URLs" },
        { name: "Joined" },
        { name: "Available" },
        { name: "Age", type: "date" },
      ],
      rows: [{ cells: ["east", true, "https://east.example.com", "True", "True", expect.any(String)] }],
    });
    const wrong = { ...cluster, metadata: { name: "west" }, spec: { taints: [{ key: "a", effect: "Never" }] } };
    expect((await post(path, wrong)).json()["message"]).toBe(
      'ManagedCluster.cluster.open-cluster-management.io "west" is invalid: spec.taints[0].effect: Unsupported value: "Never": ' +
        'supported values: "NoSelect", "PreferNoSelect", "NoSelectIfNew"',
    );
  });

  it("hold certificates, which are found by their issuer", async () => {
    const path = "/apis/cert-manager.io/v1/namespaces/default/certificates";
    const certificate = (name: string, issuer: string): object => ({
      apiVersion: "cert-manager.io/v1",
      kind: "Certificate",
      metadata: { name },
      spec: { secretName: name, dnsNames: ["a.example.com"], issuerRef: { name: issuer, kind: "Issuer" } },
    });
    for (const name of ["a", "b"]) expect((await post(path, certificate(name, `of-${name}`))).status).toBe(201);
    const found = await api(`${path}?fieldSelector=spec.issuerRef.name%3Dof-b`);
    expect(found.items().map(({ metadata }) => metadata.name)).toEqual(["b"]);
    expect(await table(path)).toMatchObject({
      rows: [{ cells: ["a", null, "a", "of-a", null, expect.any(String)] }, {}],
    });
    const repeated = { status: { conditions: [1, 2].map(() => ({ type: "Ready", status: "True" })) } };
    const twice = await api(`${path}/a/status`, {
      method: "PATCH",
      type: "application/merge-patch+json",
      body: JSON.stringify(repeated),
    });
    expect(twice.json()["message"]).toContain('status.conditions[1]: Duplicate value: {"type":"Ready"}');
  });

  it("hold routes, with their defaults and rules, in both versions", async () => {
    const path = "/apis/gateway.networking.k8s.io/v1/namespaces/default/httproutes";
    const route = (name: string, rule: object): object => ({
      apiVersion: "gateway.networking.k8s.io/v1",
      kind: "HTTPRoute",
      metadata: { name },
      spec: { parentRefs: [{ name: "gate" }], rules: [rule] },
    });
    const made = await post(path, route("a", { backendRefs: [{ name: "web", port: 80 }] }));
    expect([made.status, made.object()["spec"]]).toEqual([
      201,
      {
        parentRefs: [{ group: "gateway.networking.k8s.io", kind: "Gateway", name: "gate" }],
        rules: [
          {
            backendRefs: [{ group: "", kind: "Service", name: "web", port: 80, weight: 1 }],
            matches: [{ path: { type: "PathPrefix", value: "/" } }],
          },
        ],
      },
    ]);
    const beta = await api(path.replace("/v1/", "/v1beta1/"));
    expect(beta.items()[0]).toMatchObject({ apiVersion: "gateway.networking.k8s.io/v1beta1" });
    const portless = await post(path, route("b", { backendRefs: [{ name: "web" }] }));
    expect(portless.json()["message"]).toContain(
      "spec.rules[0].backendRefs[0]: Invalid value: Must have port for Service reference",
    );
    const times = { timeouts: { request: "1s", backendRequest: "2s" } };
    expect((await post(path, route("c", times))).json()["message"]).toContain(
      "spec.rules[0].timeouts: Invalid value: backendRequest timeout cannot be longer than request timeout",
    );
    const { conditions } = (await api(`${definitions}/httproutes.gateway.networking.k8s.io`)).json()["status"] as {
      conditions: { type: string; status: string }[];
    };
    expect(conditions).toContainEqual(
      expect.objectContaining({ type: "KubernetesAPIApprovalPolicyConformant", status: "True" }),
    );
  });
});
