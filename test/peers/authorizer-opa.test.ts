import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { startAuthorizer, testCa, type TestAuthorizer } from "../kits/authorizer.ts";
import { freePort } from "../kits/peers-kube.ts";
import { opaSuite } from "../kits/peers-opa.ts";
import { eventually, ofThisTest, spawnProcess } from "../kits/peers-process.ts";

// Policies that a real OPA compiles or evaluates, behind `pratique authorizer`.

const policy = `package k8s

default allow := false

permissions := {
	"admin": {"create", "list", "delete", "update"},
	"conf": {"list"},
}

allow if {
	some group in input.spec.groups
	input.spec.resourceAttributes.verb in permissions[group]
}

decision := {"allow": true, "reason": sprintf("%s is of %s", [input.spec.user, data.teams.ops])} if allow

decision := {"deny": true, "reason": "frozen"} if input.spec.resourceAttributes.namespace == "frozen"

wrong := 7

conflict := 1 if input.spec.user == "ann"

conflict := 2 if input.spec.user == "ann"

slow if {
	input.spec.user == "slow"
	some a in numbers.range(1, 4000)
	some b in numbers.range(1, 4000)
	some c in numbers.range(1, 4000)
	a + b + c == 1
}

slow if input.spec.user == "quick"

large if {
	input.spec.user == "large"
	count([concat("", [sprintf("%d", [a]), input.spec.user]) | some a in numbers.range(1, 3000000)]) == 1
}

large if input.spec.user == "small"
`;
const outside = `package outside

allow if http.send({"method": "GET", "url": "https://127.0.0.1/"}).status_code == 200
`;
const entryPoints = ["allow", "decision", "wrong", "conflict", "slow", "large"];
const list = (user: string, ...groups: string[]): object => ({
  user,
  groups,
  resourceAttributes: { verb: "list", resource: "pods", namespace: "default" },
});

function isListening(port: number): Promise<true | undefined> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(undefined));
  });
}

await opaSuite("pratique authorizer with a real OPA", (opa) => {
  let dir: string;
  let bundle: string;
  let running: TestAuthorizer | undefined;

  const start = async (...words: readonly string[]): Promise<TestAuthorizer> => {
    running = await startAuthorizer(...words);
    return running;
  };
  const run = async (...args: readonly string[]): Promise<void> => {
    await promisify(execFile)(opa, args, { cwd: dir });
  };
  const build = async (out: string, source: string, ...more: readonly string[]): Promise<string> => {
    const file = join(dir, out);
    await run("build", "-t", "wasm", ...more, "-o", `${file}.new`, source);
    await rename(`${file}.new`, file);
    return file;
  };

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "pratique-opa-"));
    await mkdir(join(dir, "policy", "teams"), { recursive: true });
    await writeFile(join(dir, "policy", "k8s.rego"), policy);
    await writeFile(join(dir, "policy", "teams", "data.json"), '{"ops":"the ops team"}');
    await writeFile(join(dir, "outside.rego"), outside);
    bundle = await build("bundle.tar.gz", "policy", ...entryPoints.flatMap((name) => ["-e", `k8s/${name}`]));
  }, 240_000);

  afterEach(async () => {
    await running?.close();
    running = undefined;
  });

  afterAll(() => rm(dir, { recursive: true, force: true }));

  describe("a compiled bundle", () => {
    test("decides as its source does, in 200 random reviews", async () => {
      const compiled = await start(`--bundle=${bundle}`);
      const source = await startAuthorizer(`--policy=${join(dir, "policy", "k8s.rego")}`);
      const pick = <T>(of: readonly T[]): T => of[randomInt(of.length)] as T;
      const verdicts = new Set<boolean>();
      for (let turn = 0; turn < 200; turn += 1) {
        const groups = ["admin", "conf", "dev", "ä\u0000 ☃"].filter(() => randomInt(3) === 0);
        const verb = pick(["create", "list", "delete", "update", "watch", ""]);
        const spec = { user: "u", groups, resourceAttributes: { verb, resource: "pods" } };
        const expected = await source.ask(spec);
        expect([spec, await compiled.ask(spec)]).toEqual([spec, expected]);
        verdicts.add(expected.allowed);
      }
      await source.close();
      expect(verdicts.size).toBe(2);
    });

    test("sees the documents that were built in, and gives reasons", async () => {
      const { ask } = await start(`--bundle=${bundle}`, "--query=data.k8s.decision");
      expect(await ask(list("ann", "conf"))).toEqual({ allowed: true, reason: "ann is of the ops team" });
      expect(await ask(list("bob"))).toEqual({ allowed: false });
      const frozen = { user: "bob", resourceAttributes: { verb: "get", namespace: "frozen" } };
      expect(await ask(frozen)).toEqual({ allowed: false, denied: true, reason: "frozen" });
    });

    test("that fails, or says something else than a decision, denies, and the next question is answered", async () => {
      const { ask, log } = await start(`--bundle=${bundle}`, "--query=k8s/conflict");
      expect(await ask(list("ann"))).toMatchObject({ allowed: false, denied: true });
      expect(log()).toContain("conflict");
      expect(await ask(list("bob"))).toEqual({ allowed: false });
      await running?.close();
      const wrong = await start(`--bundle=${bundle}`, "--query=k8s/wrong");
      expect(await wrong.ask(list("bob"))).toMatchObject({ allowed: false, denied: true });
    });

    test("that runs on is ended after a second, and the next question is answered", async () => {
      const { ask, clock } = await start(`--bundle=${bundle}`, "--query=k8s/slow");
      const idle = clock.sleeping();
      const slow = ask(list("slow"));
      await vi.waitFor(() => expect(clock.sleeping()).toBe(idle + 1), 45_000);
      const waiting = ask(list("quick"));
      await clock.advance(1000);
      expect(await slow).toMatchObject({ allowed: false, denied: true });
      expect(await waiting).toEqual({ allowed: true });
      expect(running?.log()).toContain("takes longer, or more memory, than it may");
    });

    test("that fills its memory has failed, and the next question is answered", async () => {
      const { ask, clock } = await start(`--bundle=${bundle}`, "--query=k8s/large");
      const idle = clock.sleeping();
      // Of the whole process, other tests with it: a bundle may fill 4 GiB where nothing keeps it from that.
      const before = process.memoryUsage().rss;
      // The clock stands still: no time-out ends it.
      expect(await ask(list("large"))).toMatchObject({ allowed: false, denied: true });
      expect(process.memoryUsage().rss - before).toBeLessThan(1024 * 1024 * 1024);
      expect(await ask(list("small"))).toEqual({ allowed: true });
      expect(clock.sleeping()).toBe(idle);
    });

    test("is taken up anew while questions come, none of which is lost, and the last good one is kept", async () => {
      const file = await build("changing.tar.gz", "policy", "-e", "k8s/allow");
      const { ask, reload } = await start(`--bundle=${file}`);
      const answers: boolean[] = [];
      let isDone = false;
      // Also where something fails before: nobody else would get a turn any more.
      onTestFinished(() => void (isDone = true));
      const load = Array.from({ length: 8 }, async () => {
        while (!isDone) answers.push((await ask(list("ann", "conf"))).allowed);
      });
      await writeFile(file, "neither one nor the other");
      await reload(/reason=ReloadFailed/);
      await vi.waitFor(() => expect(answers.length).toBeGreaterThan(20), 45_000);
      expect(new Set(answers)).toEqual(new Set([true]));
      const other = join(dir, "other.rego");
      await writeFile(other, "package k8s\n\nallow if 'late' in input.spec.groups\n".replaceAll("'", '"'));
      await build("changing.tar.gz", other, "-e", "k8s/allow");
      await reload(/reason=Reloaded/);
      expect([(await ask(list("ann", "conf"))).allowed, (await ask(list("ann", "late"))).allowed]).toEqual([
        false,
        true,
      ]);
      isDone = true;
      await Promise.all(load);
    });

    test("that needs functions which are not there, or has no such entry point, is refused at the start", async () => {
      const needy = await build("needy.tar.gz", "outside.rego", "-e", "outside/allow");
      await expect(start(`--bundle=${needy}`, "--query=outside/allow")).rejects.toThrow(
        /it calls functions that are not there: http\.send/,
      );
      await expect(start(`--bundle=${bundle}`, "--query=k8s/other")).rejects.toThrow(
        /no entry point k8s\/other; there are: k8s\/allow, k8s\/conflict/,
      );
    });
  });

  describe("an OPA server", () => {
    const serve = async (
      ...words: readonly string[]
    ): Promise<{ readonly url: string; readonly stop: () => unknown }> => {
      const port = await freePort();
      const tls = words.includes("--tls-cert-file=opa.crt");
      const args = ["run", "--server", "--addr", `127.0.0.1:${port}`, "--log-level", "info", ...words];
      const server = ofThisTest(spawnProcess(opa, [...args, "policy"], { home: dir }));
      await server.until(/Initializing server/);
      await eventually("OPA to listen", () => isListening(port));
      return { url: `${tls ? "https" : "http"}://127.0.0.1:${port}`, stop: () => server.stop() };
    };

    test("decides, and the id of its decision is passed on", async () => {
      const { url } = await serve("--set", "decision_logs.console=true");
      const { ask, log } = await start(`--opa-url=${url}`, "--query=data.k8s.decision", "--log-level=debug");
      const { allowed, reason = "" } = await ask(list("ann", "conf"));
      expect([allowed, reason]).toEqual([
        true,
        expect.stringMatching(/^ann is of the ops team \(OPA decision [\da-f-]{36}\)$/),
      ]);
      const [, id = "?"] = /OPA decision ([\da-f-]+)/.exec(reason) ?? [];
      expect(log()).toContain(id);
    });

    test("without a value for it has no opinion, and a value that is no decision denies", async () => {
      const { url } = await serve();
      const { ask } = await start(`--opa-url=${url}`, "--query=data.k8s.nothing");
      expect(await ask(list("ann", "conf"))).toEqual({ allowed: false });
      await running?.close();
      const wrong = await start(`--opa-url=${url}`, "--query=data.k8s.wrong");
      expect(await wrong.ask(list("ann"))).toMatchObject({ allowed: false, denied: true });
      await wrong.close();
      const conflict = await start(`--opa-url=${url}`, "--query=data.k8s.conflict");
      expect(await conflict.ask(list("ann"))).toMatchObject({ allowed: false, denied: true });
      expect(conflict.log()).toContain("OPA answered with status 500");
    });

    test("over TLS, with a token", async () => {
      const ca = testCa();
      const pair = ca.issue("server auth");
      const files = { "opa.crt": pair.certPem, "opa.key": pair.keyPem, "ca.crt": ca.pem, "other.crt": testCa().pem };
      for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
      await writeFile(join(dir, "token"), "s3cret\n");
      await writeFile(join(dir, "wrong-token"), "guess\n");
      await mkdir(join(dir, "authz"), { recursive: true });
      await writeFile(
        join(dir, "authz", "authz.rego"),
        'package system.authz\n\ndefault allow := false\n\nallow if input.identity == "s3cret"\n',
      );
      const { url, stop } = await serve(
        "--tls-cert-file=opa.crt",
        "--tls-private-key-file=opa.key",
        "--authentication=token",
        "--authorization=basic",
        "authz",
      );
      const options = [`--opa-url=${url}`, `--opa-ca-file=${join(dir, "ca.crt")}`];
      const trusted = await start(...options, `--opa-token-file=${join(dir, "token")}`);
      expect(await trusted.ask(list("ann", "conf"))).toEqual({ allowed: true });
      await writeFile(join(dir, "token"), "changed\n");
      await trusted.reload(/reason=Reloaded/);
      expect(await trusted.ask(list("ann", "conf"))).toMatchObject({ denied: true });
      expect(trusted.log()).toContain("OPA answered with status 401");
      await trusted.close();
      const stranger = await start(`--opa-url=${url}`, `--opa-ca-file=${join(dir, "other.crt")}`);
      expect(await stranger.ask(list("ann", "conf"))).toMatchObject({ denied: true });
      await stranger.close();
      const unreachable = await start(...options);
      await stop();
      expect(await unreachable.ask(list("ann", "conf"))).toMatchObject({ denied: true });
      expect(unreachable.log()).toContain("OPA cannot be asked: ECONNREFUSED");
    });
  });
});
