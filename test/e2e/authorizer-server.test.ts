import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { connect } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { apiClient } from "../kits/api-client.ts";
import { startAuthorizer, testCa, type TestAuthorizer } from "../kits/authorizer.ts";
import { fakeIo, runLine } from "../kits/fake-io.ts";
import { startTestHub } from "../kits/hub.ts";
import { startJsonService } from "../kits/json-service.ts";

const regoFor = (group: string): string => `package k8s\n\nallow if "${group}" in input.spec.groups\n`;
const celFor = (group: string): string => `
apiVersion: pratique.dev/v1alpha1
kind: CelPolicy
rules:
  - name: frozen
    expression: has(request.resourceAttributes) && request.resourceAttributes.namespace == 'frozen'
    decision: Deny
    reason: nothing changes there
  - name: ${group}
    expression: "'${group}' in request.groups"
    decision: Allow
    reason: ${group} may
`;
const kinds = {
  Rego: { option: "policy", file: "k8s.rego", text: regoFor },
  CEL: { option: "cel", file: "k8s.yaml", text: celFor },
} as const;

let dir: string;
let running: TestAuthorizer | undefined;

const resourceAttributes = { verb: "list", resource: "pods", namespace: "default" };
const maps = "/api/v1/namespaces/default/configmaps";

async function start(kind: keyof typeof kinds, ...words: readonly string[]): Promise<TestAuthorizer> {
  const { option, file, text } = kinds[kind];
  await writeFile(join(dir, file), text("dev"));
  running = await startAuthorizer(`--${option}=${join(dir, file)}`, ...words);
  return running;
}

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-server-"));
});

afterEach(async () => {
  await running?.close();
  running = undefined;
});

afterAll(() => rm(dir, { recursive: true, force: true }));

describe("pratique authorizer", () => {
  it("serves with a certificate that says what it is, and tells how it is", async () => {
    const { port, caPem, get, ask } = await start("Rego");
    const socket = connect({ port, host: "127.0.0.1", servername: "localhost", ca: caPem });
    await once(socket, "secureConnect");
    const shown = socket.getPeerX509Certificate();
    socket.destroy();
    expect([shown?.subject, shown?.ca]).toEqual(["CN=pratique-authorizer", false]);
    for (const path of ["/livez", "/healthz", "/readyz"]) expect(await get(path)).toEqual({ status: 200, text: "ok" });
    await ask({ user: "u", groups: ["dev"], resourceAttributes });
    await ask({ user: "u", resourceAttributes });
    const { status, text } = await get("/metrics");
    expect(status).toBe(200);
    expect(text).toContain('pratique_authorizer_decisions_total{decision="allowed"} 1\n');
    expect(text).toContain('pratique_authorizer_decisions_total{decision="no_opinion"} 1\n');
    expect(text).toContain("pratique_authorizer_evaluation_seconds_count 2\n");
  });

  it.each(["Rego", "CEL"] as const)(
    "takes up a changed policy in %s while questions come, none of which is lost, and keeps the last good one",
    async (kind) => {
      const { ask, reload, get } = await start(kind);
      const file = join(dir, kinds[kind].file);
      const answers = { dev: [] as boolean[], ops: [] as boolean[] };
      let isDone = false;
      // Also where something fails before: nobody else would get a turn any more.
      onTestFinished(() => void (isDone = true));
      const load = (["dev", "ops"] as const).flatMap((group) =>
        Array.from({ length: 4 }, async () => {
          while (!isDone) answers[group].push((await ask({ user: "u", groups: [group], resourceAttributes })).allowed);
        }),
      );
      await vi.waitFor(() => expect(answers.ops.length).toBeGreaterThan(10), 45_000);
      await writeFile(file, "neither");
      await reload(/reason=ReloadFailed/);
      const { length } = answers.dev;
      await vi.waitFor(() => expect(answers.dev.length).toBeGreaterThan(length + 10), 45_000);
      expect([new Set(answers.dev), new Set(answers.ops)]).toEqual([new Set([true]), new Set([false])]);
      await writeFile(file, kinds[kind].text("ops"));
      await reload(/reason=Reloaded/);
      const after = answers.ops.length;
      await vi.waitFor(() => expect(answers.ops.length).toBeGreaterThan(after + 10), 45_000);
      isDone = true;
      await Promise.all(load);
      expect([answers.dev.at(-1), answers.ops.at(-1)]).toEqual([false, true]);
      // Nobody was answered by the old one once somebody was by the new one.
      expect(answers.ops.slice(answers.ops.indexOf(true) + 8)).not.toContain(false);
      const { text } = await get("/metrics");
      expect(text).toContain('pratique_authorizer_policy_reloads_total{status="success"} 1\n');
      expect(text).toContain('pratique_authorizer_policy_reloads_total{status="failure"} 1\n');
      expect(text).not.toMatch(/decision="(error|denied)"/);
    },
  );

  it("decides the same in v1 and v1beta1, each with its own name for the groups", async () => {
    const { ask } = await start("CEL");
    const said = { allowed: true, reason: "dev may" };
    expect(await ask({ user: "u", groups: ["dev"], resourceAttributes })).toEqual(said);
    expect(await ask({ user: "u", group: ["dev"], resourceAttributes }, { version: "v1beta1" })).toEqual(said);
    expect(await ask({ user: "u", group: ["dev"], resourceAttributes })).toEqual({ allowed: false });
    const frozen = { ...resourceAttributes, namespace: "frozen" };
    expect(await ask({ user: "u", groups: ["dev"], resourceAttributes: frozen })).toEqual({
      allowed: false,
      denied: true,
      reason: "nothing changes there",
    });
  });
});

describe("pratique authorizer whose clock is wrong for a while", () => {
  const day = 86_400_000;
  const shownBy = async (port: number): Promise<{ readonly from: number; readonly to: number }> => {
    const socket = connect({ port, host: "127.0.0.1", servername: "localhost", rejectUnauthorized: false });
    await once(socket, "secureConnect");
    const shown = socket.getPeerX509Certificate();
    socket.destroy();
    return { from: Date.parse(shown?.validFrom ?? ""), to: Date.parse(shown?.validTo ?? "") };
  };
  /** Asked by a client that takes any certificate: what is tested is what it says of itself. */
  const readyz = (port: number): Promise<string> =>
    new Promise((resolve, reject) => {
      request({ host: "127.0.0.1", port, path: "/readyz", rejectUnauthorized: false, agent: false }, (response) => {
        text(response).then((said) => resolve(`${response.statusCode} ${said}`), reject);
      })
        .once("error", reject)
        .end();
    });

  it("makes its certificate anew within a minute, and is not ready until then", async () => {
    const { port, clock, setAhead } = await start("CEL");
    setAhead(400 * day);
    // Its CA is valid for ten years.
    expect(await readyz(port)).toMatch(/^503 the serving certificate has expired on /);
    await clock.advance(60_000);
    await expect.poll(async () => (await shownBy(port)).to).toBeGreaterThan(clock.now() + 700 * day);
    await expect.poll(() => readyz(port)).toBe("200 ok");
    setAhead(0);
    expect(await readyz(port)).toMatch(/^503 the serving certificate is not valid before /);
    await clock.advance(60_000);
    await expect.poll(async () => (await shownBy(port)).from).toBeLessThan(clock.now());
    await expect.poll(() => readyz(port)).toBe("200 ok");
  });

  it("shows the certificate of --tls-cert-file as it is on disk within a minute, and is not ready with one that has expired", async () => {
    const [certFile, keyFile] = [join(dir, "tls.crt"), join(dir, "tls.key")];
    const put = async (ageMs: number): Promise<void> => {
      const { certPem, keyPem } = testCa(Date.now() - ageMs).issue("server auth");
      await writeFile(certFile, certPem);
      await writeFile(keyFile, keyPem);
    };
    await put(500 * day);
    const { port, clock } = await start("CEL", `--tls-cert-file=${certFile}`, `--tls-private-key-file=${keyFile}`);
    expect(await readyz(port)).toMatch(/^503 the serving certificate has expired on /);
    await put(0);
    await clock.advance(60_000);
    await expect.poll(async () => (await shownBy(port)).to).toBeGreaterThan(Date.now());
    expect(await readyz(port)).toBe("200 ok");
  });
});

describe("pratique authorizer does not start", () => {
  it.each<[string, readonly string[], string]>([
    ["no CA of clients", ["--client-ca-file=FILE"], "no.pem: CA bundle: there is no PEM block"],
    ["a CA of clients that is not there", ["--client-ca-file=nowhere"], "--client-ca-file: nowhere does not exist"],
    [
      "an address of nobody",
      ["--bind-address=no-such-host.invalid"],
      "--bind-address no-such-host.invalid: must be an address of this machine",
    ],
    ["a file for a folder of certificates", ["--cert-dir=FILE"], "no.pem is no folder"],
    [
      "no certificate",
      ["--tls-cert-file=FILE", "--tls-private-key-file=FILE"],
      "no.pem hold no certificate and key in PEM that belong together",
    ],
    [
      "a certificate that is not there",
      ["--tls-cert-file=nowhere", "--tls-private-key-file=FILE"],
      "--tls-cert-file: nowhere does not exist",
    ],
  ])("with %s, and says which option is wrong", async (_what, words, said) => {
    await writeFile(join(dir, "no.pem"), "no PEM");
    const more = words.map((word) => word.replace("FILE", join(dir, "no.pem")));
    await expect(start("Rego", ...more)).rejects.toThrow(said);
  });

  it("on a port that is taken, and says what to do", async () => {
    const { port } = await start("Rego");
    const io = { ...fakeIo({ random: (size) => randomBytes(size) }), readFile: (file: string) => readFile(file) };
    const line = ["authorizer", `--policy=${join(dir, "k8s.rego")}`, `--cert-dir=${join(dir, "again")}`];
    expect(await runLine([...line, `--secure-port=${port}`], io)).toBe(1);
    expect(io.err()).toContain(`127.0.0.1:${port} is in use; choose another --secure-port, or 0 for a free one`);
  });
});

describe("pratique authorizer before an OPA server", () => {
  it("has no opinion where OPA has no value, and says once that the query may be wrong", async () => {
    let result: boolean | undefined;
    const opa = await startJsonService(() => ({ body: result === undefined ? {} : { result } }));
    try {
      await writeFile(join(dir, "opa.crt"), opa.caPem);
      running = await startAuthorizer(`--opa-url=${opa.url}`, `--opa-ca-file=${join(dir, "opa.crt")}`);
      const { ask, log } = running;
      const asked = { user: "ann", resourceAttributes };
      for (const _ of [1, 2, 3]) expect(await ask(asked)).toEqual({ allowed: false });
      expect(log().match(/is --query right/g)).toHaveLength(1);
      expect(log()).toContain("query=k8s.allow");
      result = true;
      expect(await ask(asked)).toEqual({ allowed: true });
    } finally {
      await opa.close();
    }
  });
});

describe("a hub that asks it", () => {
  const hubWith = async (text: string, version: "v1" | "v1beta1"): Promise<readonly [number, number, string]> => {
    const configFile = join(dir, "authorizer.kubeconfig");
    await writeFile(configFile, text);
    const hub = await startTestHub({
      users: { dora: ["dev"], olaf: ["ops"] },
      authorizationModes: ["Webhook"],
      authorizationWebhook: { configFile, version, authorizedMs: 0, unauthorizedMs: 0 },
    });
    const [dora, olaf] = [apiClient(hub, { token: hub.token("dora") }), apiClient(hub, { token: hub.token("olaf") })];
    const [first, second] = [await dora(maps), await olaf(maps)];
    for (const client of [dora, olaf]) client.close();
    await hub.close();
    return [first.status, second.status, second.text];
  };

  it.each(["v1", "v1beta1"] as const)("in %s, by the file that it prints, gets its decisions", async (version) => {
    const { kubeconfig } = await start("CEL");
    const [dev, ops, text] = await hubWith(kubeconfig, version);
    expect([dev, ops]).toEqual([200, 403]);
    expect(text).toContain('configmaps is forbidden: User \\"olaf\\" cannot list resource \\"configmaps\\"');
  });

  it("with a client certificate, where one is wanted, and nothing without", async () => {
    const clients = testCa();
    const files = { "clients.crt": clients.pem, ...Object.fromEntries(Object.entries(clients.issue("client auth"))) };
    for (const [name, text] of Object.entries(files)) await writeFile(join(dir, name), text);
    const { kubeconfig } = await start("Rego", `--client-ca-file=${join(dir, "clients.crt")}`);
    const filled = kubeconfig
      .replace("/path/to/client.crt", join(dir, "certPem"))
      .replace("/path/to/client.key", join(dir, "keyPem"));
    expect(filled).not.toContain("/path/to");
    expect((await hubWith(filled, "v1")).slice(0, 2)).toEqual([200, 403]);
    const without = kubeconfig.replace(/^.*client-(certificate|key): .*\n/gm, "").replace(/user:\s*$/m, "user: {}");
    expect((await hubWith(without, "v1")).slice(0, 2)).toEqual([500, 500]);
  });
});
