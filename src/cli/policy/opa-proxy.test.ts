import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { startJsonService, type JsonService } from "../../../test/kits/json-service.ts";
import { startConnectProxy, type TestProxy } from "../../../test/kits/proxies.ts";
import { parseArguments } from "../parse-arguments.ts";
import { processIo } from "../process-io.ts";
import { authorizerCommand } from "./policy-commands.ts";
import type { DecidingPolicy, Judgement } from "../../policy-server/deciding-policy.ts";
import { opaServer } from "../../policy-server/opa-server.ts";
import { policySource } from "./policy-flags.ts";
import { openPolicy } from "../../policy-server/policy-source.ts";

let dir: string;
let opa: JsonService;
let proxy: TestProxy;
const policies: DecidingPolicy[] = [];

beforeEach(async () => {
  opa = await startJsonService(() => ({ body: { result: true } }), ["opa.invalid"]);
  dir = await mkdtemp(join(tmpdir(), "pratique-opa-"));
  await writeFile(join(dir, "ca.crt"), opa.caPem);
  proxy = await startConnectProxy({ to: Number(new URL(opa.url).port), wants: "user:secret" });
});

afterEach(async () => {
  for (const policy of policies.splice(0)) policy.close();
  await proxy.close();
  await opa.close();
  await rm(dir, { recursive: true, force: true });
});

async function ask(env: Readonly<Record<string, string>>): Promise<Judgement> {
  const words = ["--opa-url", "https://opa.invalid:8181", "--opa-ca-file", join(dir, "ca.crt")];
  const line = parseArguments(authorizerCommand, words);
  if (line.kind !== "args") throw new TypeError("these words ask for no help");
  const io = { ...processIo(), env, clock: fakeClock() };
  const policy = await openPolicy({ ...policySource(line.args), world: { ...io, log: () => undefined } });
  policies.push(policy);
  return policy.ask({});
}

describe("an OPA server beyond a proxy", () => {
  test("is asked through HTTPS_PROXY, which sees no more than its address", async () => {
    expect(await ask({ HTTPS_PROXY: `http://user:secret@127.0.0.1:${proxy.port}` })).toEqual({ json: "true" });
    expect(proxy.asked).toEqual(["user:secret@opa.invalid:8181"]);
  });

  test("is asked directly where NO_PROXY lists it", async () => {
    const env = { HTTPS_PROXY: `http://user:secret@127.0.0.1:${proxy.port}`, NO_PROXY: "opa.invalid" };
    expect(await ask(env)).toMatchObject({ away: "unreachable" });
    expect(proxy.asked).toEqual([]);
  });

  test("cannot be asked where the proxy refuses, which is told without its password", async () => {
    const judgement = await ask({ HTTPS_PROXY: `http://user:wrong@127.0.0.1:${proxy.port}` });
    expect(judgement).toMatchObject({ away: "unreachable", error: expect.stringContaining("proxy") as string });
    expect(JSON.stringify(judgement)).not.toContain("wrong");
    expect(opa.seen).toEqual([]);
  });

  test("is refused at the start where HTTPS_PROXY is none", async () => {
    await expect(ask({ HTTPS_PROXY: "ftp://user:secret@proxy.example" })).rejects.toMatchObject({
      code: "usage",
      message: expect.stringMatching(/^--opa-url, through HTTPS_PROXY: (?!.*secret)/) as string,
    });
  });

  test("leaves no connection to a proxy that gives no answer, once it is asked no more", async () => {
    const silent = createServer().listen(0, "127.0.0.1");
    await once(silent, "listening");
    const { port } = silent.address() as AddressInfo;
    const clock = fakeClock();
    const server = opaServer({
      url: new URL("https://opa.invalid:8181"),
      path: ["a"],
      timeoutMs: 1000,
      caPem: undefined,
      token: undefined,
      proxyUrl: `http://127.0.0.1:${port}`,
      clock,
    });
    const connected = once(silent, "connection") as Promise<[Socket]>;
    const asked = server.ask({});
    const [socket] = await connected;
    const closed = new Promise<void>((resolve) => {
      socket
        .resume()
        .on("error", () => undefined)
        .once("close", () => resolve());
    });
    await clock.advance(1000);
    expect(await asked).toMatchObject({ away: "timedOut" });
    server.retire();
    await closed;
    silent.close();
    // A proxy that is silent for 30 seconds is given up in any case.
  }, 15_000);
});
