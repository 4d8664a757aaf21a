import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeExecutable } from "../kits/executable.ts";
import { startEchoApi, type EchoApi } from "../kits/echo-api.ts";
import { pratiqueProgram, type PratiqueProgram } from "../kits/peers-pratique.ts";
import { reportSkip } from "../kits/report-skip.ts";

/** Of util-linux: runs a command at a terminal of its own. */
const script = "/usr/bin/script";
const absent = !existsSync(script);
if (absent) reportSkip("a credential plugin with interactiveMode Always", `${script} is absent`, "debian");

let program: PratiqueProgram;
let api: EchoApi;
let dir: string;
let kubeconfig: string;

beforeAll(async () => {
  [program, api, dir] = [await pratiqueProgram(), await startEchoApi(), await mkdtemp(join(tmpdir(), "plugin-"))];
  kubeconfig = join(dir, "config");
  const answer = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"`;
  const text = `#!/bin/sh
printf 'name: ' >&2
read name
printf '%s' "$KUBERNETES_EXEC_INFO" > ${join(dir, "info")}
printf '%s%s"}}' '${answer}' "$name"
`;
  writeExecutable(join(dir, "ask"), text);
  const cluster = {
    server: `https://127.0.0.1:${api.port}`,
    "certificate-authority-data": Buffer.from(api.caPem).toString("base64"),
  };
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: "./ask", interactiveMode: "Always" };
  const config = {
    "current-context": "x",
    clusters: [{ name: "c", cluster }],
    users: [{ name: "u", user: { exec } }],
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
  };
  await writeFile(kubeconfig, JSON.stringify(config), { mode: 0o600 });
});

afterAll(async () => {
  await api.close();
  await program.remove();
  await rm(dir, { recursive: true, force: true });
});

describe.skipIf(absent)("a credential plugin with interactiveMode Always", () => {
  it("asks at the terminal of the command, and its answer is the credential", async () => {
    const line = `${program.executable} version --kubeconfig ${kubeconfig}`;
    const child = spawn(script, ["-qec", line, "/dev/null"], { env: { PATH: process.env["PATH"] ?? "", HOME: dir } });
    let shown = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      shown += chunk;
      if (shown.endsWith("name: ")) child.stdin.write("ann\n");
    });
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(shown).toContain("Server Version: v1.36.0");
    expect([code, api.seen]).toEqual([0, [["authorization: Bearer ann"]]]);
    expect(JSON.parse(await readFile(join(dir, "info"), "utf8"))).toMatchObject({ spec: { interactive: true } });
  });

  it("fails without a terminal, and is not run", async () => {
    const child = spawn(program.executable, ["version", "--kubeconfig", kubeconfig], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    let shown = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (shown += chunk));
    const code = await new Promise((resolve) => child.once("close", resolve));
    expect(code).not.toBe(0);
    expect(shown).toContain("must be run in a terminal (interactiveMode Always)");
  });
});
