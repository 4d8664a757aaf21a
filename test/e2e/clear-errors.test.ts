import { existsSync } from "node:fs";
import { chmod, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { kubeconfigText } from "../kits/fake-io.ts";
import { startEchoApi, type EchoApi } from "../kits/echo-api.ts";
import { pratiqueProgram } from "../kits/peers-pratique.ts";
import { spawnProcess } from "../kits/peers-process.ts";
import { programRun } from "../kits/program-run.ts";
import { reportSkip } from "../kits/report-skip.ts";

/** Of util-linux: runs a command without capabilities, so that root reads what file modes let it read, as any account does. */
const setpriv = "/usr/bin/setpriv";
const isRoot = process.getuid?.() === 0;
const isBoundless = isRoot && !existsSync(setpriv);
if (isBoundless) reportSkip("in a file that this account may not read", `${setpriv} is absent`, "debian");

let api: EchoApi;
let other: EchoApi;
let dir: string;

beforeAll(async () => {
  [api, other, dir] = [await startEchoApi(), await startEchoApi(), await mkdtemp(join(tmpdir(), "clear-errors-"))];
});

afterAll(async () => {
  await api.close();
  await other.close();
  await rm(dir, { recursive: true, force: true });
});

async function kubeconfig(server: string, caPem = api.caPem): Promise<string> {
  const file = join(dir, "config");
  await writeFile(file, kubeconfigText(server, caPem), { mode: 0o600 });
  return file;
}

async function told(...words: readonly string[]): Promise<readonly [number, string]> {
  const run = programRun(words);
  const code = await run.done;
  // What a person must never have to look up.
  expect(run.err()).not.toMatch(/\b(E[A-Z]{4,}|ERR_[A-Z_]+|SELF_SIGNED\w*|UNABLE_TO\w*|self-signed certificate)\b/);
  // A hub logs that it is new before it listens.
  const [line = ""] = run
    .err()
    .split("\n")
    .filter((each) => !/^\S+Z INFO /.test(each));
  return [code, line];
}

describe("a command that meets an error of the system says what is wrong, where, and what to do", () => {
  it("at a port where nothing listens", async () => {
    // A port that was free a moment ago may belong to another test by now; nothing listens at this one.
    const server = "https://127.0.0.1:1";
    expect(await told("token", "list", "--kubeconfig", await kubeconfig(server))).toEqual([
      3,
      `error: nothing listens at ${server}: check that the server runs, and the address and the port`,
    ]);
  });

  it("at a name that does not exist", async () => {
    const [code, line] = await told("token", "list", "--kubeconfig", await kubeconfig("https://no-such-host.invalid"));
    expect([code, line]).toEqual([3, expect.stringMatching(/no-such-host\.invalid.*DNS|DNS.*no-such-host\.invalid/)]);
  });

  it("at a server that another CA has signed", async () => {
    const server = `https://127.0.0.1:${api.port}`;
    expect(await told("token", "list", "--kubeconfig", await kubeconfig(server, other.caPem))).toEqual([
      3,
      expect.stringContaining(
        `the certificate of ${server} is not signed by the CA that is trusted: check the address`,
      ),
    ]);
  });

  it("at a server whose certificate is for another name", async () => {
    const server = `https://localhost:${api.port}`;
    expect(await told("token", "list", "--kubeconfig", await kubeconfig(server))).toEqual([
      3,
      expect.stringContaining(`the certificate of ${server} is not valid for that name: use a name that it has`),
    ]);
  });

  it("in a kubeconfig that names a file that is not there", async () => {
    const file = await kubeconfig("https://hub.test");
    const text = (await readFile(file, "utf8")).replace(/token: \w+/, "tokenFile: none");
    await writeFile(file, text);
    expect(await told("token", "list", "--kubeconfig", file)).toEqual([
      2,
      `error: ${file}: users["u"].tokenFile: ${join(dir, "none")} does not exist: check the path`,
    ]);
  });

  it.skipIf(isBoundless)("in a file that this account may not read", async () => {
    const file = await kubeconfig("https://hub.test");
    await chmod(file, 0);
    const program = await pratiqueProgram();
    const words = ["token", "list", "--kubeconfig", file];
    const capabilities = "-dac_override,-dac_read_search";
    const [path, args] = isRoot
      ? [setpriv, [`--bounding-set=${capabilities}`, `--inh-caps=${capabilities}`, program.executable, ...words]]
      : [program.executable, words];
    const { code, printed } = await spawnProcess(path, args, { home: dir }).done;
    await chmod(file, 0o600);
    await program.remove();
    expect([code, printed.split("\n")[0]]).toEqual([
      2,
      `error: this account may not read the kubeconfig ${file}: use the account that owns it, or sudo`,
    ]);
  });

  it("in a folder that is given for a file", async () => {
    expect(await told("token", "list", "--kubeconfig", dir)).toEqual([
      2,
      `error: the kubeconfig ${dir} is a folder, not a file: give the path of a file`,
    ]);
  });

  it("at a port that is in use", async () => {
    const words = ["hub", "--data-dir", join(dir, "hub"), "--bind-address", "127.0.0.1"];
    expect(await told(...words, "--secure-port", String(api.port))).toEqual([
      expect.any(Number),
      expect.stringContaining(`127.0.0.1:${api.port} is in use; choose another --secure-port`),
    ]);
  });
});
