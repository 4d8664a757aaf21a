import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import { describe, expect, test } from "vitest";

const source = resolve(import.meta.dirname, "..");
// Type imports vanish; what stays is loaded with the file.
const loading = /^(?:import|export) (?:(?!type\b)(?:[^"'\n]*?|\{[^}]*\}) ?from )?"([^"]+)"/gm;
const later = /\bimport\("([^"]+)"\)/g;

/** Every file and package that is loaded with `file`, and what its files load later. */
function loadedWith(file: string): { readonly now: readonly string[]; readonly later: readonly string[] } {
  const now = new Set([file]);
  const lazily = new Set<string>();
  for (const one of now) {
    if (!one.endsWith(".ts")) continue;
    const text = readFileSync(resolve(source, one), "utf8");
    const target = (name: string): string =>
      name.startsWith(".") ? relative(source, resolve(source, dirname(one), name)) : name;
    for (const [, name = ""] of text.matchAll(loading)) now.add(target(name));
    for (const [, name = ""] of text.matchAll(later)) lazily.add(target(name));
  }
  return { now: [...now], later: [...lazily] };
}

function rooms(files: readonly string[]): readonly string[] {
  const local = files.filter((file) => file.endsWith(".ts")).map((file) => file.slice(0, file.indexOf("/")));
  return [...new Set(local)].sort();
}

function packages(files: readonly string[]): readonly string[] {
  return files.filter((file) => !file.endsWith(".ts") && !file.startsWith("node:")).sort();
}

describe("what is loaded", () => {
  test("with the first file of the program is nothing that a Node below the floor does not know", () => {
    expect(loadedWith("cli/main.ts")).toEqual({
      now: ["cli/main.ts", "../supported-node.mjs"],
      later: ["cli/process-io.ts"],
    });
  });

  test("with the program itself is the tables and little more: no package, no hub, no cryptography of ours", () => {
    const { now, later: lazily } = loadedWith("cli/process-io.ts");
    expect(packages(now)).toEqual([]);
    expect(rooms(now)).toEqual(["apimachinery", "cli", "client", "host"]);
    expect(now.filter((file) => !file.startsWith("cli/") && file.endsWith(".ts")).sort()).toEqual([
      "apimachinery/duration.ts",
      "apimachinery/error-text.ts",
      "apimachinery/hub-error.ts",
      "apimachinery/log-entry.ts",
      "apimachinery/nearest.ts",
      "apimachinery/option-error.ts",
      "apimachinery/quoted.ts",
      "apimachinery/reasons.ts",
      "apimachinery/shell-word.ts",
      "apimachinery/status.ts",
      "apimachinery/truncate.ts",
      "client/api-errors.ts",
      "client/client.ts",
      "client/paths.ts",
      "host/system-clock.ts",
    ]);
    // Had the patterns found nothing, all this would hold too.
    expect(lazily).toContain("server/hub.ts");
    expect(lazily).toContain("cli/agent/run-join.ts");
    expect(now.length).toBeGreaterThan(15);
  });

  test("with `join` is never the hub, its store or its metrics", () => {
    const files = ["cli/process-io.ts", "cli/agent/run-join.ts", "agent/join/join.ts"].flatMap(
      (file) => loadedWith(file).now,
    );
    for (const room of [
      "server",
      "storage",
      "registry",
      "apiserver",
      "controllers",
      "admission",
      "authorization",
      "operator",
    ]) {
      expect(rooms(files)).not.toContain(room);
    }
    for (const name of ["lmdb", "prom-client", "protobufjs"]) expect(packages(files)).not.toContain(name);
  });
});
