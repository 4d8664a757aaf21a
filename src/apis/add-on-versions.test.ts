import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { addOnInVersion } from "./add-on-versions.ts";

const [older, newer] = ["addon.open-cluster-management.io/v1alpha1", "addon.open-cluster-management.io/v1beta1"];
const installNamespace = "addon.open-cluster-management.io/v1alpha1-install-namespace";

const addOn = (apiVersion: string, fields: object, metadata: object = {}): ApiObject => ({
  kind: "ManagedClusterAddOn",
  apiVersion,
  metadata: { name: "cert-policy", namespace: "east", ...metadata },
  ...fields,
});

/** The same add-on in both versions. */
const inOlder = addOn(older, {
  spec: { installNamespace: "policies", configs: [{ resource: "configs", name: "one" }] },
  status: {
    conditions: [{ type: "Available", status: "True" }],
    kubeClientDriver: "csr",
    configReferences: [
      { resource: "configs", name: "one", namespace: "n", desiredConfig: { name: "one", namespace: "n" } },
    ],
    registrations: [
      { signerName: "kubernetes.io/kube-apiserver-client", subject: { user: "agent", groups: ["g"] } },
      { signerName: "example.com/signer", subject: { user: "other", organizationUnit: ["unit"] } },
    ],
  },
});
const inNewer = addOn(
  newer,
  {
    spec: { configs: [{ resource: "configs", name: "one" }] },
    status: {
      conditions: [{ type: "Available", status: "True" }],
      configReferences: [{ resource: "configs", desiredConfig: { name: "one", namespace: "n" } }],
      registrations: [
        { type: "kubeClient", kubeClient: { subject: { user: "agent", groups: ["g"] }, driver: "csr" } },
        {
          type: "customSigner",
          customSigner: { signerName: "example.com/signer", subject: { user: "other", organizationUnits: ["unit"] } },
        },
      ],
    },
  },
  { annotations: { [installNamespace]: "policies" } },
);

describe("an add-on", () => {
  it("is in each version what it is in the other", () => {
    expect(addOnInVersion(inOlder, newer)).toEqual(inNewer);
    expect(addOnInVersion(inNewer, older)).toEqual(inOlder);
  });

  it("has no status in one version that it has not in the other", () => {
    const bare = addOn(newer, { spec: {} });
    expect(addOnInVersion(bare, older)).toEqual(addOn(older, { spec: {} }));
    expect(addOnInVersion(addOnInVersion(bare, older), newer)).toEqual(bare);
  });

  it("keeps the annotations of others", () => {
    const annotations = { "example.com/a": "b" };
    expect(addOnInVersion(addOn(newer, { spec: {} }, { annotations }), older).metadata.annotations).toEqual(
      annotations,
    );
  });

  it("is the same after the way there and back, whatever its agents register as", () => {
    const subject = fc.record(
      { user: fc.string(), groups: fc.array(fc.string(), { minLength: 1 }) },
      { requiredKeys: ["user"] },
    );
    const registration = fc.oneof(
      subject.map((one) => ({ type: "kubeClient", kubeClient: { subject: one, driver: "csr" } })),
      fc
        .tuple(
          subject,
          fc.string().filter((signer) => signer !== "kubernetes.io/kube-apiserver-client"),
        )
        .map(([one, signerName]) => ({ type: "customSigner", customSigner: { signerName, subject: one } })),
    );
    fc.assert(
      fc.property(fc.array(registration), (registrations) => {
        const object = addOn(newer, { spec: {}, status: { namespace: "n", registrations } });
        expect(addOnInVersion(addOnInVersion(object, older), newer)).toEqual(object);
      }),
      { numRuns: 100 },
    );
  });

  it("of a shape that nobody expects is converted all the same", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (spec, status) => {
        const object = addOn(newer, { spec, status });
        expect(addOnInVersion(addOnInVersion(object, older), newer).apiVersion).toBe(newer);
      }),
      { numRuns: 100 },
    );
  });
});
