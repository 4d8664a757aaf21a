import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { atOnce } from "../../../test/kits/at-once.ts";
import { gnosticDocument as gnosticInSteps } from "./gnostic.ts";

const gnosticDocument = atOnce(gnosticInSteps);

/** A small document, and the bytes that gnostic itself makes of it with its extensions as JSON. */
const sample = JSON.parse(readFileSync(new URL("testdata/openapi-gnostic.json", import.meta.url), "utf8")) as {
  readonly document: Readonly<Record<string, unknown>>;
  readonly protobuf: string;
};

describe("the protobuf form of Swagger", () => {
  it("is the one that gnostic writes", () => {
    expect(Buffer.from(gnosticDocument(sample.document)).toString("base64")).toBe(sample.protobuf);
  });

  it("of an empty document is empty", () => {
    expect(gnosticDocument({})).toHaveLength(0);
  });
});
