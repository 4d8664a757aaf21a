import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe } from "vitest";
import { peerFolder } from "./peers.ts";
import { reportSkip } from "./report-skip.ts";

/** The OPA that tests run against ours. */
const version = "v1.22.0";
const installMs = 15 * 60_000;

/**
 * A group of tests that need the program `opa`, which is installed by the Go toolchain where it is absent: the first time takes minutes.
 * Where that cannot be done the whole group is skipped with one line. To be awaited at the top of a file.
 */
export async function opaSuite(title: string, body: (opa: string) => void): Promise<void> {
  const made = await opaProgram();
  if ("missing" in made) reportSkip(title, made.missing, "go");
  const run = "path" in made ? describe : describe.skip;
  run(title, () => {
    body("path" in made ? made.path : "opa");
  });
}

/** The folder with the sources of the same OPA, its published cases among them, or why there is none. */
export async function opaSources(): Promise<{ readonly path: string } | { readonly missing: string }> {
  const listed = await run("go", ["mod", "download", "-json", `github.com/open-policy-agent/opa@${version}`], {});
  if (listed.code !== 0) return { missing: whyNot(listed) };
  const { Dir = "" } = JSON.parse(listed.out) as { readonly Dir?: string };
  return { path: Dir };
}

async function opaProgram(): Promise<{ readonly path: string } | { readonly missing: string }> {
  const folder = peerFolder();
  const path = join(folder, `opa-${version}`, "opa");
  if (existsSync(path)) return { path };
  await mkdir(folder, { recursive: true });
  // One at a time: test files run side by side, and each would compile the whole.
  const install = ["go", "install", `github.com/open-policy-agent/opa@${version}`];
  const done = await run("flock", [join(folder, "opa.lock"), ...install], { GOBIN: join(folder, `opa-${version}`) });
  return existsSync(path) && done.code === 0 ? { path } : { missing: whyNot(done) };
}

interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

function run(command: string, args: readonly string[], env: Readonly<Record<string, string>>): Promise<Ran> {
  return new Promise((resolve) => {
    const child = spawn(command, [...args], {
      env: { ...process.env, GOFLAGS: "-modcacherw", CGO_ENABLED: "0", ...env },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: installMs,
    });
    let [out, err] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (out += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (err += chunk));
    child.once("error", (error) => resolve({ code: -1, out, err: error.message }));
    child.once("close", (code) => resolve({ code: code ?? -1, out, err }));
  });
}

function whyNot({ err }: Ran): string {
  return `opa ${version} cannot be installed by go: ${err.trim().split("\n").at(-1) ?? ""}`;
}
