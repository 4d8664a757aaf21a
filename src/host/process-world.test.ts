import { mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { PluginEnd, PluginRun } from "../client/exec-credentials.ts";
import { writeExecutable } from "../../test/kits/executable.ts";
import { pluginProcesses, type PluginProcessOptions } from "./process-world.ts";

let folder: string;
let shown: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "plugin-"));
});

afterAll(() => rm(folder, { recursive: true, force: true }));

function script(name: string, text: string, mode = 0o755): string {
  const path = join(folder, name);
  writeExecutable(path, `#!/bin/sh\n${text}\n`, mode);
  return path;
}

async function end(run: Partial<PluginRun>, options: Partial<PluginProcessOptions> = {}): Promise<PluginEnd> {
  shown = "";
  const host = pluginProcesses({
    env: { PATH: `${folder}:/usr/bin:/bin`, INHERITED: "yes" },
    noTerminal: () => "there is none",
    stderr: (text) => void (shown += text),
    timeoutMs: 60_000,
    ...options,
  });
  return host.run({ command: "", args: [], env: {}, isInteractive: false, ...run });
}

describe("a credential plugin", () => {
  it("runs with its arguments, the environment and its own above it; its standard error is shown", async () => {
    const command = script("tell", 'echo "$1|$2|$INHERITED|$OWN"; echo look >&2');
    expect(await end({ command, args: ["a b", "$HOME"], env: { OWN: "own" } })).toEqual({
      kind: "ended",
      code: 0,
      output: "a b|$HOME|yes|own\n",
    });
    expect(shown).toBe("look\n");
  });

  it("has no standard input that it could wait for", async () => {
    const command = script("ask", 'read line; echo "got $line"');
    expect(await end({ command })).toMatchObject({ output: "got \n" });
  });

  it("is found in PATH by its name, but never in the folder where the process stands", async () => {
    script("by-name", "echo found");
    expect(await end({ command: "by-name" })).toMatchObject({ output: "found\n" });
    const env = { PATH: ".::relative" };
    expect(await end({ command: "package.json" }, { env })).toEqual({ kind: "missing" });
  });

  it("is missing when it is not there, is a folder, or is none that may be run and found by name", async () => {
    script("closed", "echo no", 0o644);
    expect(await end({ command: "no-such-program" })).toEqual({ kind: "missing" });
    expect(await end({ command: join(folder, "no-such") })).toEqual({ kind: "missing" });
    expect(await end({ command: folder })).toEqual({ kind: "missing" });
    expect(await end({ command: "closed" })).toEqual({ kind: "missing" });
  });

  it("that may not be run says so without a code of the system", async () => {
    const command = script("shut", "echo no", 0o644);
    expect(await end({ command })).toEqual({
      kind: "failed",
      why: `cannot be run: this account may not run ${command}: make it executable (chmod +x), or check who owns it`,
    });
  });

  it("that is being written says so", async () => {
    const command = script("new", "echo no");
    const writer = await open(command, "r+");
    try {
      expect(await end({ command })).toEqual({
        kind: "failed",
        why: `cannot be run: the program ${command} is being written: try again when it is complete`,
      });
    } finally {
      await writer.close();
    }
  });

  it("that fails is known by its code", async () => {
    expect(await end({ command: script("fail", "echo part; exit 7") })).toEqual({
      kind: "ended",
      code: 7,
      output: "part\n",
    });
  });

  it("that hangs is ended with SIGTERM", async () => {
    const command = script("hang", "exec sleep 600");
    // SIGKILL would come after the end of this test.
    expect(await end({ command }, { timeoutMs: 50, graceMs: 600_000 })).toEqual({
      kind: "failed",
      why: "did not end within 1 s and was stopped: run it by hand to see what it waits for",
    });
  });

  it("that does not end by that is killed", async () => {
    const command = script("stay", "trap '' TERM; while :; do sleep 0.05; done");
    expect(await end({ command }, { timeoutMs: 100, graceMs: 100 })).toMatchObject({ kind: "failed" });
  });

  it("that writes without an end is stopped", async () => {
    expect(await end({ command: script("flood", "exec yes") })).toEqual({
      kind: "failed",
      why: "wrote more than 1 MiB and was stopped",
    });
  });
});
