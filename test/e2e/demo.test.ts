import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { build } from "esbuild";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { bundleOptions } from "../../bundle-options.mjs";
import { ofThisTest, spawnProcess, type PeerProcess } from "../kits/peers-process.ts";

const root = resolve(import.meta.dirname, "../..");
const names = ["access-request", "join", "tls-bootstrap", "cluster", "authorization"];

/** What the demo needs of a checkout, with the program built from the sources as they are. */
let checkout: string;

beforeAll(async () => {
  checkout = await mkdtemp(join(tmpdir(), "pratique-checkout-"));
  await build({ absWorkingDir: root, outdir: join(checkout, "dist/bin"), ...bundleOptions("0.0.0-test") });
  for (const folder of ["demo", "examples"]) await cp(join(root, folder), join(checkout, folder), { recursive: true });
  for (const file of ["package.json", "check-node.mjs", "supported-node.mjs"]) {
    await cp(join(root, file), join(checkout, file));
  }
  await symlink(join(root, "node_modules"), join(checkout, "node_modules"));
});

afterAll(() => rm(checkout, { recursive: true, force: true }));

interface Demo extends PeerProcess {
  /** Where it has its temporary folders. */
  readonly temporary: string;
}

/** Starts the demo as `npm run demo` does, without kubectl. */
async function demo(...words: readonly string[]): Promise<Demo> {
  const temporary = await mkdtemp(join(tmpdir(), "pratique-demos-"));
  onTestFinished(() => rm(temporary, { recursive: true, force: true }));
  const env = { PATH: "", PEERS_DIR: temporary, TMPDIR: temporary };
  const args = [join(checkout, "demo/demo.mjs"), ...words];
  return { ...ofThisTest(spawnProcess(process.execPath, args, { home: checkout, env })), temporary };
}

test("--help lists the demos, and README.md names them all", async () => {
  const { code, printed } = await (await demo("--help")).done;
  expect(code).toBe(0);
  expect([...printed.matchAll(/^ {2}([\w-]+) {2,}\S/gm)].map(([, name]) => name)).toEqual(names);
  const readme = await readFile(join(root, "README.md"), "utf8");
  expect(names.filter((name) => !readme.includes(`npm run demo -- ${name}`))).toEqual([]);
});

test("a name that no demo has is refused with the list, before anything runs", async () => {
  const { done, temporary } = await demo("join", "sing");
  const { code, printed } = await done;
  expect(code).toBe(2);
  expect(printed).toContain('there is no demo "sing"');
  expect(names.filter((name) => !printed.includes(`  ${name} `))).toEqual([]);
  expect(await readdir(temporary)).toEqual([]);
});

test("one demo runs to its end without kubectl, and leaves nothing behind", async () => {
  const { done, temporary } = await demo("access-request");
  const { code, printed } = await done;
  expect(printed).toMatch(/\n✓ access-request +[\d.]+ s\n/);
  expect(code).toBe(0);
  expect(await readdir(temporary)).toEqual([]);
}, 180_000);

test("a step that gives something else fails its demo, which says what differed, and the next demo runs", async () => {
  const file = join(checkout, "demo/access-request.mjs");
  const text = await readFile(file, "utf8");
  const changed = text.replace('"apple bird cloud door eagle farm"], 4', '"apple bird cloud door eagle farm"], 0');
  expect(changed).not.toBe(text);
  await writeFile(file, changed);
  onTestFinished(() => writeFile(file, text));
  const { done, temporary } = await demo("access-request", "tls-bootstrap");
  const { code, printed } = await done;
  expect(printed).toMatch(/^✗ access-request: exit code of `pratique approve .*`: expected 0, got 4$/m);
  expect(printed).toMatch(/\n✗ access-request +[\d.]+ s\n✓ tls-bootstrap +[\d.]+ s\n$/);
  expect(code).toBe(1);
  expect(await readdir(temporary)).toEqual([]);
}, 180_000);

test.each(["SIGINT", "SIGTERM"] as const)("after %s no process and no file is left", async (signal) => {
  const { until, pid, done, temporary } = await demo("join");
  const [, port] = await until(/address +https:\/\/127\.0\.0\.1:(\d+)/);
  await until(/\$ pratique token create/);
  expect(await isOpen(Number(port))).toBe(true);
  process.kill(pid, signal);
  const { code, printed } = await done;
  expect(code).toBe(130);
  expect(printed).not.toContain("✗");
  expect(await readdir(temporary)).toEqual([]);
  expect(await isOpen(Number(port))).toBe(false);
});

function isOpen(port: number): Promise<boolean> {
  return new Promise((answered) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      answered(true);
    });
    socket.on("error", () => answered(false));
  });
}
