import * as fc from "fast-check";
import type { ClientHttp2Session } from "node:http2";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { builtinResources } from "../../src/apis/builtin.ts";
import { encodeProtobuf } from "../../src/serializer/protobuf/protobuf.ts";
import { apiVersionOf, type ApiObject } from "../../src/apimachinery/object.ts";
import type { Resource } from "../../src/apis/resource.ts";
import { openHttp2, protocols, send, sendHttp2, type Dial, type WireReply } from "../kits/wire.ts";
import { answer, refusal } from "./verdict.ts";
import { call, startAttackedHub, type AttackedHub } from "./attacked-hub.ts";
import { checkHubAfterEach } from "./check-hub-after-each.ts";

let hub: AttackedHub;
let session: ClientHttp2Session;
const configMaps = "/api/v1/namespaces/default/configmaps";
const runs = { numRuns: 200, seed: 20261121 } as const;

beforeAll(async () => {
  hub = await startAttackedHub();
  session = await openHttp2(hub.target, hub.admin);
  const target = { metadata: { name: "target", labels: { a: "b" } }, data: { a: "1", b: "2" } };
  await call(hub, hub.admin, { path: configMaps, body: target });
});
afterAll(async () => {
  session.destroy();
  await hub.close();
});
checkHubAfterEach(() => hub);

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly type?: string;
  readonly body: string | Buffer;
  readonly headers?: readonly (readonly [string, string])[];
}

function post({
  method = "POST",
  path = configMaps,
  type = "application/json",
  body,
  headers = [],
}: Sent): Promise<WireReply> {
  return sendHttp2(session, { method, path, body, headers: [["content-type", type], ...headers] });
}

const nested = (open: string, close: string, times: number, inner = "1"): string =>
  open.repeat(times) + inner + close.repeat(times);
const megabyte = 1024 * 1024;

describe("JSON", () => {
  const inData = (text: string): string => `{"metadata":{"name":"x"},"data":${text}}`;
  const hostile: Readonly<Record<string, string | Buffer>> = {
    nothing: "",
    "a blank": " ",
    "an array": "[]",
    null: "null",
    "a number": "1",
    text: '"x"',
    "half an object": '{"metadata":{"name":"x"',
    "two objects": '{"metadata":{"name":"x"}}{}',
    "a comment": '{"metadata":{"name":"x"}/* */}',
    "a comma too many": '{"metadata":{"name":"x"},}',
    "single quotes": "{'metadata':{}}",
    "a BOM": Buffer.from('\ufeff{"metadata":{"name":"x"}}'),
    "UTF-16": Buffer.from('{"metadata":{"name":"x"}}', "utf16le"),
    "bytes that are not UTF-8": Buffer.concat([
      Buffer.from('{"metadata":{"name":"x"},"data":{"a":"'),
      Buffer.from([0xff, 0xc0, 0x80]),
      Buffer.from('"}}'),
    ]),
    "half a character in UTF-8": Buffer.concat([
      Buffer.from('{"metadata":{"name":"x"},"data":{"a":"'),
      Buffer.from([0xed, 0xa0, 0x80]),
      Buffer.from('"}}'),
    ]),
    NULs: Buffer.alloc(1000),
    "a NUL in a name": '{"metadata":{"name":"x\\u0000"}}',
    "half a character in a name": '{"metadata":{"name":"x\\ud800"}}',
    "arrays a million deep": inData(nested("[", "]", megabyte)),
    "arrays a million deep that do not end": "[".repeat(3 * megabyte),
    "objects half a million deep": inData(nested('{"a":', "}", megabyte / 2)),
    "objects 200 deep in a label": `{"metadata":{"name":"x","labels":${nested('{"a":', "}", 200)}}}`,
    "__proto__ as a key of data": inData('{"__proto__":"1"}'),
    "__proto__ as an object": inData('{"__proto__":{"polluted":"1"}}'),
    "__proto__ at the top": '{"metadata":{"name":"x"},"__proto__":{"polluted":true}}',
    "__proto__ in metadata": '{"metadata":{"name":"x","__proto__":{"polluted":true}}}',
    "__proto__ as a label": '{"metadata":{"name":"x","labels":{"__proto__":"a"}}}',
    "__proto__ in escapes": '{"metadata":{"name":"x"},"data":{"\\u005f_proto__":"1"}}',
    "a list for an object": '{"metadata":[]}',
    "a number for a text": '{"metadata":{"name":5}}',
    "a text for a map": inData('"x"'),
    "a number in a map of texts": inData('{"a":1}'),
    "an object in a map of texts": inData('{"a":{}}'),
    "a number beyond all numbers": `{"metadata":{"name":"x","generation":1e999}}`,
    "a whole number of a thousand digits": `{"metadata":{"name":"x","generation":${"9".repeat(1000)}}}`,
    "a wrong kind": '{"kind":"Secret","metadata":{"name":"x"}}',
    "a kind that is an object": '{"kind":{},"metadata":{"name":"x"}}',
    "a wrong version": '{"apiVersion":"v2","metadata":{"name":"x"}}',
    "another namespace": '{"metadata":{"name":"x","namespace":"kube-system"}}',
    "a name of ten thousand letters": `{"metadata":{"name":"${"x".repeat(10_000)}"}}`,
    "a name of a megabyte": `{"metadata":{"name":"${"x".repeat(megabyte)}"}}`,
    "a generateName of a megabyte": `{"metadata":{"generateName":"${"X".repeat(megabyte)}"}}`,
    "a hundred thousand bad labels": `{"metadata":{"name":"x","labels":{${Array.from({ length: 100_000 }, (_, index) => `"-${index}":"-"`).join(",")}}}}`,
    "a hundred thousand bad keys": inData(
      `{${Array.from({ length: 100_000 }, (_, index) => `"/${index}":"-"`).join(",")}}`,
    ),
    "annotations of a megabyte": `{"metadata":{"name":"x","annotations":{"a":"${"x".repeat(megabyte)}"}}}`,
    "data of two megabytes": inData(`{"a":"${"x".repeat(2 * megabyte)}"}`),
    "a hundred thousand owners": `{"metadata":{"name":"x","ownerReferences":[${Array.from({ length: 30_000 }, () => `{"controller":true}`).join(",")}]}}`,
    "a hundred thousand finalizers": `{"metadata":{"name":"x","finalizers":[${Array.from({ length: 100_000 }, () => `"x"`).join(",")}]}}`,
    gzip: gzipSync('{"metadata":{"name":"x"}}'),
  };

  test.each(Object.keys(hostile))("with %s is refused", async (name) => {
    expect(refusal(await post({ body: hostile[name] ?? "" }))).toBe("refused");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test.each(["constructor", "prototype", "toString", "hasOwnProperty", "valueOf"])(
    "with the key %s is an object like any other",
    async (key) => {
      const path = `${configMaps}?dryRun=All`;
      const reply = await post({
        path,
        body: `{"metadata":{"name":"x","labels":{"${key}":"a"}},"data":{"${key}":"b"}}`,
      });
      expect(JSON.parse(reply.text)).toMatchObject({ metadata: { labels: { [key]: "a" } }, data: { [key]: "b" } });
      expect(refusal(await post({ path, body: `{"metadata":{"name":"x"},"data":{"${key}":{"a":"b"}}}` }))).toBe(
        "refused",
      );
      const strict = await post({
        path: `${path}&fieldValidation=Strict`,
        body: `{"metadata":{"name":"x"},"${key}":{"a":"b"}}`,
      });
      expect(strict.status).toBe(400);
    },
  );

  test("with a key twice takes the last, warns, and is refused under Strict", async () => {
    const body = '{"metadata":{"name":"x"},"data":{"a":"1","a":"2"},"metadata":{"name":"y"}}';
    const reply = await post({ path: `${configMaps}?dryRun=All`, body });
    expect(JSON.parse(reply.text)).toMatchObject({ metadata: { name: "y" }, data: { a: "2" } });
    expect(reply.headers.get("warning")).toContain("duplicate field");
    expect(refusal(await post({ path: `${configMaps}?dryRun=All&fieldValidation=Strict`, body }))).toBe("refused");
  });

  test("with unknown fields of any name answers, with warnings that are headers still", async () => {
    const names = ["a\\nb", "a\\r\\nX-Evil: 1", "ключ", "\\u0000", '\\"', "a".repeat(10_000), "\\ud800", "ÿ"];
    for (const name of names) {
      const reply = await post({ path: `${configMaps}?dryRun=All`, body: `{"metadata":{"name":"x"},"${name}":1}` });
      expect([name.slice(0, 20), reply.status, reply.headers.has("x-evil")]).toEqual([name.slice(0, 20), 201, false]);
    }
    const many = Array.from({ length: 15_000 }, (_, index) => `"unknown${index}":1`).join(",");
    const reply = await post({ path: `${configMaps}?dryRun=All`, body: `{"metadata":{"name":"x"},${many}}` });
    expect(reply.status).toBe(201);
    expect(
      refusal(await post({ path: `${configMaps}?fieldValidation=Strict`, body: `{"metadata":{"name":"x"},${many}}` })),
    ).toBe("refused");
  });

  test("of more values than any object needs is refused before it is parsed, whatever it is written in", async () => {
    const many = Array.from({ length: 25_000 }, (_, index) => `"k${index}":"v"`).join(",");
    const reply = await post({ path: configMaps, body: `{"metadata":{"name":"x"},"data":{${many}}}` });
    expect([reply.status, reply.text]).toEqual([413, expect.stringContaining("20000 JSON values") as unknown]);
  });
});

describe("other bodies", () => {
  test.each(protocols)("of 3 MiB and a byte over %s are refused with 413", async (over) => {
    const body = Buffer.alloc(3 * megabyte + 1, 0x20);
    const reply = await send(
      hub.target,
      { method: "POST", path: configMaps, headers: [["Content-Type", "application/json"]], body },
      { ...hub.admin, over },
    );
    expect(reply.status).toBe(413);
    expect(refusal(reply)).toBe("refused");
  });

  const dials: Readonly<Record<string, () => Dial>> = {
    anonymous: () => ({}),
    machine: () => hub.as("machine", "system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"),
    user: () => hub.as("user"),
    operator: () => hub.admin,
  };
  test.each<readonly [who: string, method: string, path: string, type: string, kibibytes: number]>([
    ["anonymous", "POST", "/apis/access.pratique.dev/v1alpha1/accessrequests", "application/json", 32],
    ["anonymous", "POST", "/apis/access.pratique.dev/v1alpha1/accessrequests", "application/yaml", 32],
    ["machine", "POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests", "application/json", 64],
    ["user", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", 128],
    ["operator", "DELETE", `${configMaps}/target`, "application/json", 64],
  ])("that %s announces for %s %s as %s are refused beyond %i KiB before any of them is read", async (...row) => {
    const [who, method, path, type, kibibytes] = row;
    const length = String(kibibytes * 1024 + 1);
    // None of what is announced is sent: only what was known before can be answered.
    const headers = [["content-type", type] as const, ["content-length", length] as const];
    const reply = await send(hub.target, { method, path, headers }, dials[who]?.());
    expect(reply.status).toBe(413);
    const { reason, message } = JSON.parse(reply.text) as { readonly reason: string; readonly message: string };
    expect([reason, message]).toEqual([
      "RequestEntityTooLarge",
      expect.stringContaining(`limit is ${kibibytes * 1024}`),
    ]);
  });

  test("of 3 MiB in one text are refused for what they are", async () => {
    const body = `{"metadata":{"name":"x"},"data":{"a":"${"x".repeat(3 * megabyte - 60)}"}}`;
    expect((await post({ body })).status).toBe(422);
  });

  test.each([
    "text/plain",
    "application/xml",
    "application/cbor",
    "multipart/form-data",
    "application/json-patch+json",
    "constructor",
    "__proto__",
    "x".repeat(4000),
    "application/jsonx",
    "application/vnd.kubernetes.protobuf;stream=watch;x",
  ])("of type %s are refused", async (type) => {
    expect(refusal(await post({ type, body: '{"metadata":{"name":"x"}}' }))).toBe("refused");
  });

  test("that say they are compressed are refused", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * megabyte));
    for (const encoding of ["gzip", "deflate", "br", "gzip, gzip"]) {
      expect(refusal(await post({ body: bomb, headers: [["content-encoding", encoding]] }))).toBe("refused");
    }
  });

  const aliases = [
    "a: &a [x,x,x,x,x,x,x,x,x]",
    ..."bcdefghij"
      .split("")
      .map(
        (letter, index) =>
          `${letter}: &${letter} [${Array.from({ length: 9 }, () => `*${"abcdefghi"[index]}`).join(",")}]`,
      ),
  ].join("\n");
  const yaml: Readonly<Record<string, string>> = {
    "an alias bomb": `metadata: {name: x}\ndata:\n${aliases.replaceAll(/^/gm, "  ")}`,
    "an alias of itself": "metadata: &a {name: x, labels: *a}",
    "a merge key": "metadata: {name: x}\nbase: &b {a: b}\ndata: {<<: *b}",
    "a tag of Python": "metadata: {name: !!python/object/apply:os.system [id]}",
    "a tag of binary": "metadata: {name: x}\ndata: {a: !!binary aGVsbG8=, b: !!set {x}}",
    "two documents": "metadata: {name: x}\n---\nmetadata: {name: y}\n",
    "a directive": "%YAML 9.9\n---\nmetadata: {name: x}\ndata: [",
    "a list for a key": "metadata: {name: x}\ndata: {? [a, b] : c}",
    __proto__: "metadata: {name: x}\n__proto__: {polluted: 1}\ndata: {__proto__: x}",
    "lists a hundred thousand deep": `metadata: {name: x}\ndata: ${nested("[", "]", 100_000)}`,
    "maps a hundred thousand deep": `metadata: {name: x}\ndata: ${nested("{a: ", "}", 100_000)}`,
    "dashes a hundred thousand deep": `metadata: {name: x}\ndata:\n  ${"- ".repeat(100_000)}x`,
    "question marks a hundred thousand deep": `data:\n  ${"? ".repeat(100_000)}x`,
    "anchors a hundred thousand": `metadata: {name: x}\ndata: ${Array.from({ length: 100_000 }, (_, index) => `&a${index} `).join("")}x`,
    "a text without end": `metadata: {name: "x`,
    tabs: "metadata:\n\tname: x",
    "control characters": "metadata: {name: x}\ndata: {a: \u0001\u0002}\n\u0007: [",
    "a number for a name": "metadata: {name: 5}",
    nothing: "",
    text: "hello",
    "a list": "- a\n- b\n",
  };

  test.each(Object.keys(yaml))("of YAML with %s are refused", async (name) => {
    expect(refusal(await post({ type: "application/yaml", body: yaml[name] ?? "" }))).toBe("refused");
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("of YAML with a key twice take the last, as those of JSON do, and are refused under Strict", async () => {
    const sent = { type: "application/yaml", body: "metadata: {name: x}\ndata: {a: b}\ndata: {c: d}\n" };
    const reply = await post({ path: `${configMaps}?dryRun=All`, ...sent });
    expect(JSON.parse(reply.text)).toMatchObject({ data: { c: "d" } });
    expect(reply.headers.get("warning")).toBe('299 - "line 3: key \\"data\\" already set in map"');
    expect((await post({ path: `${configMaps}?dryRun=All&fieldValidation=Strict`, ...sent })).status).toBe(400);
  });

  test("of YAML with tags that would be code elsewhere are plain", async () => {
    const body = "metadata: {name: x}\ndata: !evil {a: !!js/function 'function () {}'}";
    const reply = await post({ path: `${configMaps}?dryRun=All`, type: "application/yaml", body });
    expect(JSON.parse(reply.text)).toMatchObject({ data: { a: "function () {}" } });
  });

  test("of YAML with any change to the text are answered", async () => {
    const good =
      "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: x\n  labels: {a: b}\ndata:\n  k: |\n    text\n  l: 'x'\n";
    const piece = fc.constantFrom(
      "&a ",
      "*a",
      "!!",
      "? ",
      "- ",
      ": ",
      "{",
      "}",
      "[",
      "]",
      "|\n",
      ">\n",
      "%",
      "@",
      "\t",
      "#",
      "---\n",
      "...\n",
      "'",
      '"',
      "\\",
      "\0",
      "<<: ",
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: good.length }), piece), { minLength: 1, maxLength: 5 }),
        async (changes) => {
          const body = changes.reduce((text, [at, inserted]) => text.slice(0, at) + inserted + text.slice(at), good);
          expect(answer(await post({ path: `${configMaps}?dryRun=All`, type: "application/yaml", body }))).toBe(
            "answered",
          );
        },
      ),
      runs,
    );
  });
});

/** The first object of each kind that can be created, as good as empty. */
const creatable = builtinResources.filter(({ verbs }) => verbs.includes("create"));
const placeOf = ({ group, version, scope, plural }: Resource): string =>
  `/${group === "" ? "api" : "apis"}/${apiVersionOf(group, version)}${scope === "Namespaced" ? "/namespaces/default" : ""}/${plural}`;

describe("any kind", () => {
  test("answers to any JSON", async () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    const member = fc.constantFrom(
      "metadata",
      "spec",
      "status",
      "data",
      "rules",
      "subjects",
      "roleRef",
      "type",
      "kind",
      "apiVersion",
      "involvedObject",
      "containers",
    );
    const inner = fc.constantFrom(
      "name",
      "namespace",
      "labels",
      "annotations",
      "finalizers",
      "ownerReferences",
      "usages",
      "request",
      "signerName",
      "groups",
      "extra",
      "user",
      "token",
      "resourceAttributes",
      "nonResourceAttributes",
      "containers",
      "renewTime",
      "podCIDR",
      "taints",
    );
    const body = fc.dictionary(member, fc.oneof(value, fc.dictionary(inner, value)));
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...creatable), body, async (resource, object) => {
        const metadata = typeof object["metadata"] === "object" ? object["metadata"] : { name: "x" };
        expect(
          answer(
            await post({ path: `${placeOf(resource)}?dryRun=All`, body: JSON.stringify({ ...object, metadata }) }),
          ),
        ).toBe("answered");
      }),
      { ...runs, numRuns: 600 },
    );
  });

  test("answers to any protobuf after the right magic", async () => {
    const magic = Buffer.from("k8s\0");
    const field = (number: number, payload: Uint8Array): Buffer => {
      const size: number[] = [];
      let left = payload.length;
      for (; left >= 128; left >>>= 7) size.push((left & 0x7f) | 0x80);
      return Buffer.concat([Buffer.of((number << 3) | 2, ...size, left), payload]);
    };
    const envelope = (resource: Resource, raw: Uint8Array): Buffer =>
      Buffer.concat([
        magic,
        field(
          1,
          Buffer.concat([
            field(1, Buffer.from(apiVersionOf(resource.group, resource.version))),
            field(2, Buffer.from(resource.kind)),
          ]),
        ),
        field(2, raw),
      ]);
    const bytes = fc.uint8Array({ maxLength: 300 });
    const type = "application/vnd.kubernetes.protobuf";
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...creatable), bytes, bytes, async (resource, raw, rest) => {
        const path = `${placeOf(resource)}?dryRun=All`;
        expect(answer(await post({ path, type, body: envelope(resource, raw) }))).toBe("answered");
        // A right beginning, so that the rubbish is found in the middle.
        expect(
          answer(
            await post({
              path,
              type,
              body: envelope(resource, Buffer.concat([field(1, field(1, Buffer.from("x"))), raw])),
            }),
          ),
        ).toBe("answered");
        expect(answer(await post({ path, type, body: Buffer.concat([magic, rest]) }))).toBe("answered");
        expect(refusal(await post({ path, type, body: Buffer.from(rest) }))).toBe("refused");
      }),
      runs,
    );
  });

  test("answers to any change to good protobuf", async () => {
    const object: ApiObject = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "x", labels: { a: "b" } },
      data: { key: "value" },
    };
    const resource = builtinResources.find(({ kind }) => kind === "ConfigMap") as Resource;
    const good = Buffer.from(encodeProtobuf(object, resource.schema));
    const path = `${configMaps}?dryRun=All`;
    const type = "application/vnd.kubernetes.protobuf";
    expect((await post({ path, type, body: good })).status).toBe(201);
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat({ max: good.length - 1 }), fc.integer({ min: 1, max: 255 })), {
          minLength: 1,
          maxLength: 4,
        }),
        fc.nat({ max: good.length }),
        async (changes, cut) => {
          const changed = Buffer.from(good);
          for (const [at, by] of changes) changed[at] = (changed[at] ?? 0) ^ by;
          expect(answer(await post({ path, type, body: changed }))).toBe("answered");
          expect(answer(await post({ path, type, body: good.subarray(0, cut) }))).toBe("answered");
        },
      ),
      runs,
    );
  });

  test("refuses protobuf that says it is longer, deeper or other than it is", async () => {
    const type = "application/vnd.kubernetes.protobuf";
    const deep = (times: number): Buffer => {
      let inner = Buffer.alloc(0);
      for (let level = 0; level < times; level += 1) {
        const size: number[] = [];
        let left = inner.length;
        for (; left >= 128; left >>>= 7) size.push((left & 0x7f) | 0x80);
        inner = Buffer.concat([Buffer.of(0x12, ...size, left), inner]);
      }
      return Buffer.concat([Buffer.from("k8s\0"), inner]);
    };
    for (const body of [
      Buffer.from("k8s\0"),
      Buffer.from("k8s"),
      Buffer.from("k8s\x01"),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.from([0x12, 0xff, 0xff, 0xff, 0xff, 0x0f])]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(megabyte, 0xff)]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(megabyte, 0x0b)]),
      Buffer.concat([Buffer.from("k8s\0"), Buffer.alloc(megabyte, 0x80)]),
      deep(2000),
    ]) {
      expect(refusal(await post({ type, body }))).toBe("refused");
    }
  });

  test("refuses DeleteOptions that are none, and deletes nothing", async () => {
    const path = `${configMaps}/target`;
    for (const body of [
      "[]",
      "1",
      "{",
      '{"kind":"Pod"}',
      '{"propagationPolicy":"Sideways"}',
      '{"gracePeriodSeconds":"x"}',
      '{"preconditions":{"uid":5}}',
      '{"preconditions":{"uid":"x"}}',
      '{"preconditions":{"resourceVersion":"1"}}',
      '{"dryRun":["Some"]}',
      '{"orphanDependents":true,"propagationPolicy":"Orphan"}',
      nested('{"a":', "}", 100_000),
      '{"preconditions":null,"__proto__":{"uid":"x"}}',
    ]) {
      expect(refusal(await post({ method: "DELETE", path, body }))).toBe("refused");
    }
    for (const query of [
      "gracePeriodSeconds=x",
      "propagationPolicy=x",
      "dryRun=x",
      "dryRun=All&dryRun=None",
      "orphanDependents=true&propagationPolicy=Orphan",
    ]) {
      expect(refusal(await sendHttp2(session, { method: "DELETE", path: `${path}?${query}` }))).toBe("refused");
    }
    expect((await sendHttp2(session, { path })).status).toBe(200);
  });
});
