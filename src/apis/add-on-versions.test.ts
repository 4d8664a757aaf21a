import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { addOnInVersion, answeredConversion } from "./add-on-versions.ts";
import { arrayAt, stringAt, valueAt } from "./json-fields.ts";

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

const storedAddOn = (apiVersion: string, fields: object = {}): Readonly<Record<string, unknown>> => ({
  apiVersion,
  kind: "ManagedClusterAddOn",
  metadata: { name: "search", namespace: "east", uid: "u1" },
  ...fields,
});

const asked = (desiredAPIVersion: unknown, objects: unknown): Readonly<Record<string, unknown>> => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "ConversionReview",
  request: { uid: "r1", desiredAPIVersion, objects },
});

/** The message of a review that fails, with nothing converted. */
function failure(review: unknown): string {
  const answer = answeredConversion(review);
  expect(answer).toMatchObject({ response: { uid: "r1", convertedObjects: [], result: { status: "Failure" } } });
  return stringAt(answer, "response", "result", "message");
}

const converted = (review: unknown): readonly unknown[] => {
  const answer = answeredConversion(review);
  expect(answer).toMatchObject({ response: { result: { status: "Success" } } });
  return arrayAt(answer, "response", "convertedObjects");
};

/** Undefined where it is refused. */
function answered(review: unknown): unknown {
  try {
    return answeredConversion(review);
  } catch (error) {
    if (error instanceof StatusError) return undefined;
    throw error;
  }
}

const nested = (depth: number): unknown => JSON.parse(`${"[".repeat(depth)}${"]".repeat(depth)}`);

describe("the conversion of add-ons", () => {
  it("answers for each object in its order, whatever version it is in", () => {
    const [one, two] = [storedAddOn(older, { spec: { installNamespace: "n" } }), storedAddOn(newer, { spec: {} })];
    expect(answeredConversion(asked(newer, [one, two]))).toEqual({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "ConversionReview",
      response: {
        uid: "r1",
        convertedObjects: [addOnInVersion(one as never, newer), two],
        result: { status: "Success" },
      },
    });
    expect(converted(asked(older, []))).toEqual([]);
  });

  it.each<[string, unknown]>([
    ["nothing", null],
    ["a text", "{}"],
    ["a list", []],
    ["another kind", { ...asked(newer, []), kind: "AdmissionReview" }],
    ["another version", { ...asked(newer, []), apiVersion: "apiextensions.k8s.io/v1beta1" }],
    ["no request", { ...asked(newer, []), request: null }],
    ["no uid", { ...asked(newer, []), request: { desiredAPIVersion: newer, objects: [] } }],
    ["no objects", asked(newer, { length: 1 })],
    ["a request by inheritance", Object.create(asked(newer, [])) as unknown],
  ])("takes no %s for a review", (_what, review) => {
    expect(() => answeredConversion(review)).toThrow("the body is no ConversionReview");
  });

  it.each<[string, unknown, unknown]>([
    ["of a version that nobody knows", "addon.open-cluster-management.io/v1", [storedAddOn(newer)]],
    ["of a version of another group", "cluster.open-cluster-management.io/v1beta1", [storedAddOn(newer)]],
    ["of no version", undefined, [storedAddOn(newer)]],
    ["of a foreign kind", newer, [storedAddOn(older), { ...storedAddOn(older), kind: "ClusterManagementAddOn" }]],
    ["of a foreign group", newer, [storedAddOn("v1")]],
    ["of a list as an object", newer, [{ ...storedAddOn(older), kind: "ManagedClusterAddOnList" }]],
    ["of what is no object", newer, [7]],
    ["of an object without metadata", newer, [{ ...storedAddOn(older), metadata: "x" }]],
    ["with annotations that are none", newer, [{ ...storedAddOn(older), metadata: { annotations: { a: 1 } } }]],
    ["of what nests without end", newer, [storedAddOn(older, { status: nested(5000) })]],
    [
      "with a key that would be a prototype",
      newer,
      [storedAddOn(older, { status: JSON.parse('{"__proto__":{}}') as object })],
    ],
  ])("fails as a whole for one %s, and does not repeat it", (_what, desired, objects) => {
    expect(failure(asked(desired, objects))).not.toMatch(/ClusterManagementAddOn|List|\[\[/);
  });

  it("takes no more at once than it can answer", () => {
    const many = storedAddOn(newer, { status: { registrations: Array.from({ length: 1000 }, () => ({})) } });
    expect(
      converted(
        asked(
          older,
          Array.from({ length: 19 }, () => many),
        ),
      ),
    ).toHaveLength(19);
    expect(
      failure(
        asked(
          older,
          Array.from({ length: 20 }, () => many),
        ),
      ),
    ).toContain("at once");
    expect(
      failure(
        asked(
          newer,
          Array.from({ length: 20_001 }, () => storedAddOn(older)),
        ),
      ),
    ).toContain("at once");
  });

  it("reads what an API server has stored, without what lies too deep or has a key that is not allowed", () => {
    const status = JSON.parse(
      `{"namespace":"n","__proto__":{"namespace":"x"},"more":${"[".repeat(5000)}${"]".repeat(5000)}}`,
    ) as object;
    const [one, two] = converted(asked(older, [storedAddOn(newer, { status }), storedAddOn(newer)]));
    expect(valueAt(one, "status", "namespace")).toBe("n");
    expect(Object.hasOwn(valueAt(one, "status") as object, "__proto__")).toBe(false);
    expect(JSON.stringify(one).length).toBeLessThan(1000);
    expect(valueAt(two, "metadata", "name")).toBe("search");
  });

  it("answers whatever it is sent with converted objects, a failure or a refusal", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.constantFrom(older, newer), (value, desired) => {
        const part = asked(desired, [
          storedAddOn(older, { spec: value, status: value }),
          storedAddOn(newer, { status: value }),
        ]);
        expect(arrayAt(answeredConversion(part), "response", "convertedObjects").length % 2).toBe(0);
        const whole = answered(asked(desired, value));
        expect(whole === undefined || stringAt(whole, "response", "uid") === "r1").toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
