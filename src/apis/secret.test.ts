import { describe, expect, test } from "vitest";

import type { FieldError } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { secrets } from "./secret.ts";
import { tableFor } from "../serializer/table.ts";

const context = { user: { username: "u", groups: [] }, now: 0 };

function secret(fields: object): ApiObject {
  return { apiVersion: "v1", kind: "Secret", metadata: { name: "a", namespace: "n" }, ...fields };
}

function said(errors: readonly FieldError[] | undefined): readonly string[] {
  return (errors ?? []).map((error) => `${error.path}: ${error.message}`);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

describe("writing a secret", () => {
  test("gives it type Opaque and folds stringData into data, where it wins", () => {
    const made = secrets.prepareForCreate?.(
      secret({ data: { a: base64("old"), b: base64("kept") }, stringData: { a: "new ü", __proto__: "p" } }),
      context,
    );
    expect(made?.["type"]).toBe("Opaque");
    expect(made).not.toHaveProperty("stringData");
    expect(made?.["data"]).toStrictEqual({ a: base64("new ü"), b: base64("kept") });
  });

  test("folds a key __proto__ as a key, not as a prototype", () => {
    const stringData: unknown = JSON.parse('{"__proto__": "p"}');
    const data = secrets.prepareForCreate?.(secret({ stringData }), context)["data"];
    expect(JSON.stringify(data)).toBe(`{"__proto__":"${base64("p")}"}`);
  });

  test("folds stringData on an update too", () => {
    const next = secrets.prepareForUpdate?.(secret({ type: "x", stringData: { a: "1" } }), secret({}), context);
    expect(next).toMatchObject({ type: "x", data: { a: base64("1") } });
  });
});

describe("a secret", () => {
  const cases: Readonly<Record<string, { readonly fields: object; readonly errors: readonly string[] }>> = {
    "of any type may be empty": { fields: { type: "example.com/mine" }, errors: [] },
    "accepts a bootstrap token of nonsense, as Kubernetes does": {
      fields: { type: "bootstrap.kubernetes.io/token", data: { "token-id": base64("?") } },
      errors: [],
    },
    "refuses a key that climbs": {
      fields: { data: { "..": "" } },
      errors: ["data[..]: Invalid value: \"..\": must not be '..'"],
    },
    "refuses a key that starts with two dots": {
      fields: { data: { "..a": "" } },
      errors: ["data[..a]: Invalid value: \"..a\": must not start with '..'"],
    },
    "refuses a key with a slash": {
      fields: { data: { "a/b": "" } },
      errors: [
        "data[a/b]: Invalid value: \"a/b\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
      ],
    },
    "accepts 1 MiB": { fields: { data: { a: base64("x".repeat(1024 * 1024)) } }, errors: [] },
    "refuses one byte more than 1 MiB": {
      fields: { data: { a: base64("x".repeat(1024 * 1024)), b: base64("x") } },
      errors: ["data: Too long: may not be more than 1048576 bytes"],
    },
    "of type service-account-token needs the account's name": {
      fields: { type: "kubernetes.io/service-account-token" },
      errors: ["metadata.annotations[kubernetes.io/service-account.name]: Required value"],
    },
    "of type dockercfg needs its key": {
      fields: { type: "kubernetes.io/dockercfg" },
      errors: ["data[.dockercfg]: Required value"],
    },
    "of type dockerconfigjson needs its key": {
      fields: { type: "kubernetes.io/dockerconfigjson", data: {} },
      errors: ["data[.dockerconfigjson]: Required value"],
    },
    "of type dockerconfigjson needs JSON, and says so without quoting it": {
      fields: { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64("hunter2") } },
      errors: ['data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": must be a JSON object'],
    },
    "of type dockerconfigjson is accepted with JSON": {
      fields: { type: "kubernetes.io/dockerconfigjson", data: { ".dockerconfigjson": base64('{"auths":{}}') } },
      errors: [],
    },
    "of type basic-auth needs a username or a password": {
      fields: { type: "kubernetes.io/basic-auth" },
      errors: ["data[username]: Required value", "data[password]: Required value"],
    },
    "of type basic-auth is accepted with an empty password": {
      fields: { type: "kubernetes.io/basic-auth", data: { password: "" } },
      errors: [],
    },
    "of type ssh-auth needs a key that is not empty": {
      fields: { type: "kubernetes.io/ssh-auth", data: { "ssh-privatekey": "" } },
      errors: ["data[ssh-privatekey]: Required value"],
    },
    "of type tls needs both halves": {
      fields: { type: "kubernetes.io/tls", data: { "tls.crt": "" } },
      errors: ["data[tls.key]: Required value"],
    },
    "of a type named like something inherited is of no known type": { fields: { type: "__proto__" }, errors: [] },
  };
  test.each(Object.entries(cases))("%s", (_title, { fields, errors }) => {
    expect(said(secrets.validate?.(secret(fields)))).toStrictEqual(errors);
  });
});

describe("updating a secret", () => {
  const frozen = secret({ type: "Opaque", immutable: true, data: { a: "MQ==" } });

  test("refuses another type", () => {
    expect(said(secrets.validateUpdate?.(secret({ type: "b" }), secret({ type: "a" })))).toStrictEqual([
      'type: Invalid value: "b": field is immutable',
    ]);
  });

  test("refuses other data and a thaw once it is immutable", () => {
    const next = secret({ type: "Opaque", immutable: false, data: { a: "Mg==" } });
    expect(said(secrets.validateUpdate?.(next, frozen))).toStrictEqual([
      "immutable: Forbidden: field is immutable when `immutable` is set",
      "data: Forbidden: field is immutable when `immutable` is set",
    ]);
  });

  test("accepts other labels once it is immutable", () => {
    const next = { ...frozen, metadata: { ...frozen.metadata, labels: { a: "b" } } };
    expect(secrets.validateUpdate?.(next, frozen)).toStrictEqual([]);
  });
});

test("shows type, number of keys and age, never data", () => {
  const table = tableFor(secrets, [secret({ type: "Opaque", data: { a: "MQ==", b: "Mg==" } })], { now: 0 });
  expect(table.rows[0]?.cells).toStrictEqual(["a", "Opaque", 2, "<unknown>"]);
});

test("is selected by type", () => {
  expect(secrets.selectableFields?.["type"]?.(secret({ type: "x" }))).toBe("x");
});
