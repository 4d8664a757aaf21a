import { describe, expect, it } from "vitest";
import { fieldsSchema, listSchema, readConfigurationFile, type ConfigurationKind } from "./configuration-file.ts";

const text = { type: "string" } as const;
const portConfiguration: ConfigurationKind = {
  kind: "Port",
  apiVersions: ["port.example/v1", "port.example/v1beta1"],
  schema: fieldsSchema({ apiVersion: text, kind: text, berths: listSchema(fieldsSchema({ name: text })) }),
};
const head = { apiVersion: "port.example/v1beta1", kind: "Port" };

const said = (value: unknown): readonly string[] =>
  readConfigurationFile(value, portConfiguration).errors.map(({ path, message }) => `${path}: ${message}`);

describe("a configuration file", () => {
  it("of a known version is read", () => {
    const value = { ...head, berths: [{ name: "a" }] };
    expect(readConfigurationFile(value, portConfiguration)).toEqual({ object: value, errors: [] });
  });

  it.each([
    ["nothing", null, "Invalid value"],
    ["of no version", { kind: "Port" }, 'apiVersion: Unsupported value: ""'],
    ["of another kind", { ...head, kind: "Ship" }, 'kind: Unsupported value: "Ship"'],
    [
      "with an unknown field",
      { ...head, berths: [{ name: "a", depth: 1 }] },
      "berths[0].depth: Forbidden: unknown field",
    ],
    ["with a field of another type", { ...head, berths: "a" }, "berths: Invalid value"],
    ["with a kind that is no text", { ...head, kind: {} }, "kind: Invalid value"],
  ])("%s is refused, with its place", (_what, value, words) => {
    expect(said(value).join("\n")).toContain(words);
  });

  it("tells every fault of its head and of unknown fields at once", () => {
    expect(said({ a: 1, b: 2 })).toHaveLength(4);
  });
});
