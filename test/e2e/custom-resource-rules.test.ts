import { beforeAll, describe, expect, it } from "vitest";
import { putChanged, type ApiClient } from "../kits/api-client.ts";
import { definition, establish, version } from "../kits/definitions.ts";
import { hubForFile } from "../kits/hub-for-file.ts";

const { api, post } = await hubForFile();

const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const rules = (...given: readonly object[]): object => ({ "x-kubernetes-validations": given });
const text = (extra: object = {}): object => ({ type: "string", maxLength: 100, ...extra });

/** A definition of gates, whose spec has these properties and rules. */
function gates(properties: object, ...given: readonly object[]): ReturnType<typeof definition> {
  const spec = { type: "object", properties, ...rules(...given) };
  const openAPIV3Schema = {
    type: "object",
    properties: { spec, status: { type: "object", properties: { phase: text(rules({ rule: "self != 'Bad'" })) } } },
  };
  return definition({
    plural: "gates",
    kind: "Gate",
    versions: [version({ schema: { openAPIV3Schema }, subresources: { status: {} } })],
  });
}

const list = "/apis/example.com/v1/namespaces/default/gates";
const gate = (name: string, spec: object, extra: object = {}): object => ({
  apiVersion: "example.com/v1",
  kind: "Gate",
  metadata: { name },
  spec,
  ...extra,
});
const merge = "application/merge-patch+json";

describe("a custom resource with rules", () => {
  beforeAll(() =>
    establish(
      api,
      gates(
        {
          min: { type: "integer" },
          max: { type: "integer" },
          owner: text(rules({ rule: "self == oldSelf", message: "owner is fixed" })),
          memory: text(rules({ rule: "isQuantity(self)", reason: "FieldValueRequired", message: "no quantity" })),
          cidr: text(rules({ rule: "isCIDR(self) && !cidr(self).containsIP('127.0.0.1')" })),
          hosts: {
            type: "array",
            maxItems: 10,
            "x-kubernetes-list-type": "set",
            items: text(rules({ rule: "!format.dns1123Label().validate(self).hasValue()" })),
          },
          loose: text(),
        },
        {
          rule: "!has(self.min) || !has(self.max) || self.min <= self.max",
          messageExpression: "'min ' + string(self.min) + ' must not exceed ' + string(self.max)",
          fieldPath: ".min",
        },
      ),
    ),
  );

  it("is stored when they hold", async () => {
    const spec = { min: 1, max: 2, owner: "a", memory: "1.5Gi", cidr: "10.0.0.0/8", hosts: ["a", "b"] };
    expect((await post(list, gate("good", spec))).status).toBe(201);
  });

  it("is refused with the place and the words of those that fail", async () => {
    const spec = { min: 3, max: 2, memory: "much", cidr: "127.0.0.0/8", hosts: ["a", "B"] };
    const reply = await post(list, gate("bad", spec));
    expect(reply.status).toBe(422);
    const { reason, details } = reply.json() as { reason: string; details: { causes: readonly object[] } };
    expect(reason).toBe("Invalid");
    expect(details.causes).toEqual([
      {
        reason: "FieldValueInvalid",
        message: "Invalid value: min 3 must not exceed 2",
        field: "spec.min",
      },
      { reason: "FieldValueRequired", message: "Required value: no quantity", field: "spec.memory" },
      {
        reason: "FieldValueInvalid",
        message: `Invalid value: "127.0.0.0/8": failed rule: isCIDR(self) && !cidr(self).containsIP('127.0.0.1')`,
        field: "spec.cidr",
      },
      {
        reason: "FieldValueInvalid",
        message: `Invalid value: "B": failed rule: !format.dns1123Label().validate(self).hasValue()`,
        field: "spec.hosts[1]",
      },
    ]);
  });

  it("cannot change against a transition rule, by PUT or PATCH", async () => {
    await post(list, gate("fixed", { owner: "a" }));
    const change = await api(`${list}/fixed`, { method: "PATCH", type: merge, body: { spec: { owner: "b" } } });
    expect([change.status, change.json()["message"]]).toEqual([
      422,
      'Gate.example.com "fixed" is invalid: spec.owner: Invalid value: "b": owner is fixed',
    ]);
    const other = await api(`${list}/fixed`, { method: "PATCH", type: merge, body: { spec: { loose: "x" } } });
    expect(other.status).toBe(200);
  });

  it("is not held up by what its schema finds wrong before", async () => {
    const reply = await post(list, gate("typed", { min: "x", memory: "much" }));
    expect(reply.json()["message"]).toContain(
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    );
  });

  it("has its status held against rules where that is written", async () => {
    await post(list, gate("state", {}));
    const patch = (phase: string): ReturnType<ApiClient> =>
      api(`${list}/state/status`, { method: "PATCH", type: merge, body: { status: { phase } } });
    expect((await patch("Good")).status).toBe(200);
    const refused = await patch("Bad");
    expect([refused.status, refused.json()["message"]]).toEqual([
      422,
      `Gate.example.com "state" is invalid: status.phase: Invalid value: "Bad": failed rule: self != 'Bad'`,
    ]);
  });

  it("keeps what rules that came later find wrong, until that is changed", async () => {
    await post(list, gate("old", { loose: "Loud", min: 1 }));
    const rule = `"x-kubernetes-validations":[{"rule":"self == self.lowerAscii()"}]`;
    const change = (crd: object): object =>
      JSON.parse(JSON.stringify(crd).replace('"loose":{', `"loose":{${rule},`)) as object;
    expect((await putChanged(api, `${definitions}/gates.example.com`, { change })).status).toBe(200);
    const patched = (spec: object): ReturnType<ApiClient> =>
      api(`${list}/old`, { method: "PATCH", type: merge, body: { spec } });
    await expect.poll(async () => (await post(list, gate("probe", { loose: "Loud" }))).status).toBe(422);
    expect((await patched({ min: 2 })).status).toBe(200);
    expect((await patched({ loose: "Louder" })).status).toBe(422);
    expect((await patched({ loose: "quiet" })).status).toBe(200);
  });
});

describe("a definition whose rules are wrong", () => {
  it.each([
    [{ rule: "self.nope == 1" }, "rule", "compilation failed: ERROR: <input>:1:5: undefined field 'nope'"],
    [{ rule: "1 + 1" }, "rule", "cel expression must evaluate to a bool"],
    [
      { rule: "self.list.all(x, self.list.all(y, x == y))" },
      "rule",
      "Forbidden: estimated rule cost exceeds budget by factor of more than 100x",
    ],
    [{ rule: "true", messageExpression: "1" }, "messageExpression", "messageExpression must evaluate to a string"],
    [{ rule: "true", reason: "Nope" }, "reason", 'Unsupported value: "Nope"'],
    [{ rule: "true", optionalOldSelf: true }, "optionalOldSelf", "may not be set if oldSelf is not used in rule"],
  ])("%j is refused", async (rule, field, message) => {
    const reply = await api(definitions, {
      method: "POST",
      body: gates({ list: { type: "array", items: { type: "string" } } }, rule),
    });
    expect(reply.status).toBe(422);
    const path = `spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].${field}`;
    expect(reply.json()["message"]).toContain(`${path}: `);
    expect(reply.json()["message"]).toContain(message);
  });
});
