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
});
