import { describe, expect, it } from "vitest";
import { storable } from "./storable.ts";

const configMap = (size: number): Parameters<typeof storable>[0] => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "a" },
  data: { text: "x".repeat(size) },
});

describe("an object to be stored", () => {
  it("is taken with as much as a request may bring", () => {
    expect(storable(configMap(3 * 1024 * 1024)).length).toBeGreaterThan(3 * 1024 * 1024);
  });

  it("is refused once it has grown beyond that, in words for the client", () => {
    expect(() => storable(configMap(5 * 1024 * 1024))).toThrow(
      expect.objectContaining({ reason: "RequestEntityTooLarge", code: 413 }) as Error,
    );
  });

  it("holds as many JSON values as its kind may have, keys and fields that are undefined not counted, and none more", () => {
    const holding = (kind: string, values: number): Parameters<typeof storable>[0] => ({
      apiVersion: "v1",
      kind,
      // With these four fields, the object, the metadata and its name there are eight besides the numbers.
      metadata: { name: "a" },
      data: {
        text: "x".repeat(16 * 1024),
        none: undefined,
        numbers: Array.from({ length: values - 8 }, (_, index) => index),
      },
    });
    for (const [kind, most] of [
      ["ConfigMap", 65_536],
      ["CustomResourceDefinition", 131_072],
    ] as const) {
      expect(JSON.parse(String(storable(holding(kind, most))))).toMatchObject({ kind });
      expect(() => storable(holding(kind, most + 1))).toThrow(
        expect.objectContaining({
          message: expect.stringContaining(`more than ${most} JSON values`) as string,
        }) as Error,
      );
    }
  });
});
