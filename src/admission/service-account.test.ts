import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { pods } from "../apis/pod.ts";
import type { AdmissionRequest } from "./admission.ts";
import { serviceAccount } from "./service-account.ts";

const mountPath = "/var/run/secrets/kubernetes.io/serviceaccount";
const name = "kube-api-access-bbbbb";
const mount = { name, readOnly: true, mountPath };
const volume = {
  name,
  projected: {
    defaultMode: 420,
    sources: [
      { serviceAccountToken: { expirationSeconds: 3607, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
  },
};

function podOf(spec: object, metadata: object = {}): ApiObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", ...metadata },
    spec: { containers: [{ name: "c", image: "i" }], ...spec },
  };
}

/** The spec that a Pod has behind admission by the accounts of its namespace. */
async function specOf(
  pod: ApiObject,
  accounts: Readonly<Record<string, object>> = { default: {} },
): Promise<Readonly<Record<string, unknown>>> {
  const plugin = serviceAccount({
    accountOf: (_namespace, account) =>
      Object.hasOwn(accounts, account)
        ? { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account }, ...accounts[account] }
        : undefined,
    pause: async () => undefined,
    random: (size) => Buffer.alloc(size),
  });
  const request: AdmissionRequest = {
    operation: "CREATE",
    resource: pods,
    subresource: "",
    namespace: "ns",
    name: "p",
    object: pod,
    oldObject: undefined,
    user: { username: "u", groups: [] },
    dryRun: false,
    warn: () => undefined,
    annotate: () => undefined,
  };
  const object = (await plugin.mutate?.(request, undefined as never)) ?? pod;
  await plugin.validate?.({ ...request, object });
  return object["spec"] as Readonly<Record<string, unknown>>;
}

describe("the token of its account", () => {
  it("is mounted into each container of a Pod, with CA and namespace", async () => {
    const init = { name: "i", image: "i", volumeMounts: [{ name: "own", mountPath: "/own" }] };
    const spec = await specOf(podOf({ initContainers: [init], volumes: [{ name: "own", emptyDir: {} }] }));
    expect(spec).toEqual({
      serviceAccountName: "default",
      serviceAccount: "default",
      initContainers: [{ ...init, volumeMounts: [...init.volumeMounts, mount] }],
      containers: [{ name: "c", image: "i", volumeMounts: [mount] }],
      volumes: [{ name: "own", emptyDir: {} }, volume],
    });
  });

  it("is left out of a container that has something else at its path, and the volume where all have", async () => {
    const own = { name: "own", mountPath };
    const taken = { name: "t", image: "i", volumeMounts: [own] };
    const free = { name: "f", image: "i" };
    const volumes = [{ name: "own", emptyDir: {} }];
    const some = await specOf(podOf({ containers: [taken, free], volumes }));
    expect(some["containers"]).toEqual([taken, { ...free, volumeMounts: [mount] }]);
    expect((await specOf(podOf({ containers: [taken], volumes })))["volumes"]).toEqual(volumes);
  });

  it("is mounted from a volume of that name that the Pod brings along, and once where admission is asked again", async () => {
    const brought = { name: "kube-api-access-mine", emptyDir: {} };
    const spec = await specOf(podOf({ volumes: [brought] }));
    expect([spec["volumes"], spec["containers"]]).toEqual([
      [brought],
      [{ name: "c", image: "i", volumeMounts: [{ ...mount, name: brought.name }] }],
    ]);
    const once = await specOf(podOf({}));
    expect(await specOf(podOf(once))).toEqual(once);
  });

  it.each([
    ["neither says anything", undefined, undefined, true],
    ["the account says no", undefined, false, false],
    ["the account says no and the Pod yes", true, false, true],
    ["the Pod says no and the account yes", false, true, false],
    ["the Pod says no", false, undefined, false],
  ])("where %s", async (_title, ofPod, ofAccount, isMounted) => {
    const pod = podOf(ofPod === undefined ? {} : { automountServiceAccountToken: ofPod });
    const account = ofAccount === undefined ? {} : { automountServiceAccountToken: ofAccount };
    expect(Object.hasOwn(await specOf(pod, { default: account }), "volumes")).toBe(isMounted);
  });
});

describe("a mirror Pod", () => {
  const mirror = { annotations: { "kubernetes.io/config.mirror": "x" } };

  it("stays as it is", async () => {
    const pod = podOf({}, mirror);
    expect(await specOf(pod)).toEqual(pod["spec"]);
  });

  it.each([
    ["reference service accounts", { serviceAccountName: "default" }],
    ["reference secrets", { volumes: [{ name: "v", secret: { secretName: "s" } }] }],
    ["reference secrets", { imagePullSecrets: [{ name: "s" }] }],
    ["reference secrets", { containers: [{ name: "c", image: "i", envFrom: [{ secretRef: { name: "s" } }] }] }],
    ["use ServiceAccountToken volume projections", { volumes: [volume] }],
  ])("may not %s: %j", async (what, spec) => {
    await expect(specOf(podOf(spec, mirror))).rejects.toThrow(`pods "p" is forbidden: a mirror pod may not ${what}`);
  });
});

describe("an account that limits Secrets", () => {
  const account = {
    metadata: { name: "default", annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } },
    secrets: [{ name: "listed" }],
    imagePullSecrets: [{ name: "pull" }],
  };
  const container = (more: object): object => ({ containers: [{ name: "c", image: "i", ...more }] });
  const variable = (secret: string): object => ({ name: "E", valueFrom: { secretKeyRef: { name: secret, key: "k" } } });

  it.each([
    [{ volumes: [{ name: "v", secret: { secretName: "other" } }] }, 'volume with secret.secretName="other"'],
    [container({ env: [variable("other")] }), 'container c with envVar E referencing secret.secretName="other"'],
    [container({ envFrom: [{ secretRef: { name: "other" } }] }), "container c with envFrom referencing"],
    [{ imagePullSecrets: [{ name: "other" }] }, 'imagePullSecrets[0].name="other"'],
  ])("refuses %j", async (spec, why) => {
    await expect(specOf(podOf(spec), { default: account })).rejects.toThrow(`pods "p" is forbidden: ${why}`);
  });

  it("takes Pods whose Secrets it lists, and one that does not limit takes them all", async () => {
    const spec = {
      ...container({ env: [variable("listed")] }),
      volumes: [{ name: "v", secret: { secretName: "listed" } }],
    };
    expect(await specOf(podOf(spec), { default: account })).toMatchObject({ imagePullSecrets: [{ name: "pull" }] });
    const others = podOf({ volumes: [{ name: "v", secret: { secretName: "other" } }] });
    expect(await specOf(others)).toMatchObject({ serviceAccountName: "default" });
  });
});
