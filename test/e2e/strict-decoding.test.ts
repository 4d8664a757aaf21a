import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const maps = "/api/v1/namespaces/default/configmaps";
const cannot = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: ';
const head = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n";

let hub: TestHub;
let api: ApiClient;

beforeAll(async () => {
  hub = await startTestHub();
  api = apiClient(hub);
  await api(maps, { method: "POST", body: { metadata: { name: "stored" }, data: { a: "1" } } });
});

afterAll(async () => {
  api.close();
  await hub.close();
});

interface Outcome {
  readonly refusal: unknown;
  readonly warnings: readonly string[];
  readonly ignored: number;
}

/** What becomes of a body under Strict, Warn and Ignore. */
async function outcomes(method: string, path: string, sent: { type: string; body: string }): Promise<Outcome> {
  const under = (fieldValidation: string): ReturnType<ApiClient> =>
    api(`${path}?dryRun=All&fieldValidation=${fieldValidation}`, { method, ...sent });
  const [strict, warned, ignored] = [await under("Strict"), await under("Warn"), await under("Ignore")];
  const warnings = String(warned.headers["warning"] ?? "").matchAll(/299 - "((?:[^"\\]|\\.)*)"/g);
  expect(ignored.headers["warning"]).toBeUndefined();
  expect([warned.status, ignored.status]).toEqual([ignored.status, warned.status]);
  return {
    refusal: strict.json()["message"],
    warnings: Array.from(warnings, ([, text = ""]) => text.replaceAll(/\\(.)/g, "$1")),
    ignored: ignored.status,
  };
}

describe("strict decoding of YAML", () => {
  it.each([
    ["at the root", `${head}data:\n  a: "1"\ndata:\n  b: "2"\n`, ['line 8: key "data" already set in map']],
    [
      "in a map",
      `${head}data:\n  a: "1"\n  a: "2"\n  a: "3"\n`,
      ['line 7: key "a" already set in map', 'line 8: key "a" already set in map'],
    ],
    [
      "that is JSON",
      '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},"data":{"a":"1",\n"a":"2"}}',
      ['line 2: key "a" already set in map'],
    ],
  ])("names the line and the key of what occurs twice: %s", async (_title, body, lines) => {
    expect(await outcomes("POST", maps, { type: "application/yaml", body })).toEqual({
      refusal: `${cannot}yaml: unmarshal errors:\n${lines.map((line) => `  ${line}`).join("\n")}`,
      warnings: lines,
      ignored: 201,
    });
  });

  it("names unknown fields after those that occur twice, for an update too", async () => {
    const body = 'metadata:\n  name: stored\nfoo: 1\ndata:\n  a: "1"\n  a: "2"\n';
    expect(await outcomes("PUT", `${maps}/stored`, { type: "application/yaml", body })).toEqual({
      refusal: `${cannot}yaml: unmarshal errors:\n  line 6: key "a" already set in map, unknown field "foo"`,
      warnings: ['line 6: key "a" already set in map', 'unknown field "foo"'],
      ignored: 200,
    });
  });
});

describe("strict decoding of JSON", () => {
  it("names fields in the order of the text, and nothing inside an unknown one", async () => {
    const owner = '{"apiVersion":"v1","kind":"Pod","name":"a","name":"b","uid":"u","zz":1}';
    const body = `{"metadata":{"name":"x","ownerReferences":[${owner}],"nope":{"b":1,"b":2}},"data":{"a":"1","a":"2"}}`;
    const faults = [
      'duplicate field "metadata.ownerReferences[0].name"',
      'unknown field "metadata.ownerReferences[0].zz"',
      'unknown field "metadata.nope"',
      'duplicate field "data.a"',
    ];
    expect(await outcomes("POST", maps, { type: "application/json", body })).toEqual({
      refusal: `${cannot}${faults.join(", ")}`,
      warnings: faults,
      ignored: 201,
    });
  });

  it("names the faults of a patch before those of what it makes", async () => {
    const merge = { type: "application/merge-patch+json", body: '{"data":{"b":"1","b":"2"},"zz":1}' };
    const merged = ['duplicate field "data.b"', 'unknown field "zz"'];
    expect(await outcomes("PATCH", `${maps}/stored`, merge)).toMatchObject({
      refusal: expect.stringContaining(`strict decoding error: ${merged.join(", ")}`) as unknown,
      warnings: merged,
    });
    const operations =
      '[{"op":"add","op":"add","path":"/data/b","value":"1","foo":1},{"op":"add","path":"/zz","value":{"a":1}}]';
    const patched = ['json patch duplicate field "[0].op"', 'json patch unknown field "[0].foo"', 'unknown field "zz"'];
    expect(
      await outcomes("PATCH", `${maps}/stored`, { type: "application/json-patch+json", body: operations }),
    ).toMatchObject({
      refusal: expect.stringContaining(`strict decoding error: ${patched.join(", ")}`) as unknown,
      warnings: patched,
    });
  });
});
