import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { BundleError, readBundle } from "./bundle-file.ts";

const wasm = Buffer.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]);
const other = Buffer.concat([wasm, Buffer.from("other")]);

interface Entry {
  readonly name: string;
  readonly content: Buffer | string;
  readonly type?: string;
  readonly size?: string;
}

function entryOf({ name, content, type = "0", size }: Entry): Buffer {
  const body = Buffer.from(content);
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write(size ?? body.length.toString(8).padStart(11, "0"), 124);
  header.write("        ", 148);
  header.write(type, 156);
  header.write("ustar\0", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return Buffer.concat([header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]);
}

const tarOf = (...entries: readonly Entry[]): Buffer => Buffer.concat([...entries.map(entryOf), Buffer.alloc(1024)]);
const bundleOf = (...entries: readonly Entry[]): Buffer => gzipSync(tarOf(...entries));
const policy = { name: "/policy.wasm", content: wasm };

describe("a bundle", () => {
  test("is the module with the documents of all data.json, each where its folder is", async () => {
    const bytes = bundleOf(
      { name: "/data.json", content: '{"a":{"b":1},"c":[1]}' },
      { name: "/a/data.json", content: '{"d":{"e":2}}' },
      { name: "/x/y/data.json", content: '{"z":3}' },
      { name: "/x", content: "", type: "5" },
      { name: "/k8s.rego", content: "package k8s" },
      policy,
    );
    expect(await readBundle(bytes, "k8s/allow")).toEqual({
      wasm,
      data: { a: { b: 1, d: { e: 2 } }, c: [1], x: { y: { z: 3 } } },
    });
  });

  test("may be a module alone", async () => {
    expect(await readBundle(wasm, "k8s/allow")).toEqual({ wasm, data: {} });
  });

  test("with several modules is the one that its manifest names for the entry point", async () => {
    const listed = {
      wasm: [
        { entrypoint: "k8s/allow", module: "/other.wasm" },
        { entrypoint: "x", module: "/gone" },
      ],
    };
    const bytes = bundleOf(
      policy,
      { name: "/other.wasm", content: other },
      { name: "/.manifest", content: JSON.stringify(listed) },
    );
    expect((await readBundle(bytes, "k8s/allow")).wasm).toEqual(other);
    expect((await readBundle(bytes, "k8s/deny")).wasm).toEqual(wasm);
    await expect(readBundle(bytes, "x")).rejects.toThrow("holds no policy.wasm");
  });

  const damaged = tarOf(policy);
  damaged[0] = 0x21;
  test.each<[string, Buffer, string]>([
    ["text", Buffer.from("package k8s"), "neither a .tar.gz nor a .wasm"],
    ["a gzip that is cut", bundleOf(policy).subarray(0, 40), "is no gzip"],
    ["an archive that is cut", gzipSync(tarOf(policy).subarray(0, 514)), "ends early"],
    ["an archive without an end", gzipSync(tarOf(policy).subarray(0, 1024)), "ends early"],
    ["an archive whose sum is wrong", gzipSync(damaged), "damaged"],
    ["a file that says to be endless", bundleOf({ ...policy, size: "77777777777" }), "ends early"],
    ["a size that is none", bundleOf({ ...policy, size: "-1" }), "damaged"],
    ["a name in a record of its own", bundleOf({ name: "x", content: "path=y", type: "x" }, policy), "longer than 255"],
    ["no module", bundleOf({ name: "/data.json", content: "{}" }), "holds no policy.wasm"],
    ["a module that is none", bundleOf({ name: "/policy.wasm", content: "wasm" }), "is no WebAssembly"],
    ["data that is no JSON", bundleOf(policy, { name: "/data.json", content: "{" }), "data.json: not JSON"],
    ["data that is no object", bundleOf(policy, { name: "/data.json", content: "[]" }), "must be an object"],
    ["data in YAML", bundleOf(policy, { name: "/a/data.yaml", content: "a: 1" }), "data.json only"],
    ["a prototype", bundleOf(policy, { name: "/data.json", content: '{"__proto__":{"x":1}}' }), "__proto__"],
    [
      "data that collides",
      bundleOf(policy, { name: "/a/data.json", content: '{"b":1}' }, { name: "/data.json", content: '{"a":{"b":2}}' }),
      "collides",
    ],
    [
      "data that nests without end",
      bundleOf(policy, { name: "/data.json", content: `{"a":${"[".repeat(5000)}${"]".repeat(5000)}}` }),
      "nested too deeply",
    ],
    ["a bomb", gzipSync(Buffer.alloc(40 * 1024 * 1024)), "holds more than"],
  ])("that is %s is refused", async (_what, bytes, said) => {
    await expect(readBundle(bytes, "k8s/allow")).rejects.toThrow(said);
  });

  test("of any bytes is read or refused", async () => {
    const tar = tarOf({ name: "/data.json", content: '{"a":1}' }, policy);
    const flipped = fc.tuple(fc.nat(tar.length - 1), fc.nat(255)).map(([at, byte]) => {
      const copy = Buffer.from(tar);
      copy[at] = byte;
      return gzipSync(copy, { level: 1 });
    });
    const anything = fc.uint8Array({ maxLength: 600 }).map((bytes) => gzipSync(bytes, { level: 1 }));
    await fc.assert(
      fc.asyncProperty(fc.oneof(flipped, anything), async (bytes) => {
        const read = await readBundle(bytes, "k8s/allow").catch((error: unknown) => error);
        expect(read instanceof BundleError || (read as { wasm: Buffer }).wasm.length > 0).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});
