import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TLSSocket } from "node:tls";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { startAuthorizer, testCa, type Posted, type TestAuthorizer } from "../kits/authorizer.ts";
import { openTls, send } from "../kits/wire.ts";

// `pratique authorizer` is attacked: by those who ask it, and by what a policy does with what they ask.

const policy = `package k8s

default allow := false

allow if "admin" in input.spec.groups

loop if {
	some a in numbers.range(1, 100000)
	some b in numbers.range(1, 100000)
	a + b == 0
}

grow := [concat("", [input.spec.user | some i in numbers.range(1, 100000)]) | some j in numbers.range(1, 100000)]

bomb if regex.match("^(a+)+$", input.spec.user)

pattern if regex.match(input.spec.user, "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!")

deep if walk(input, [_, "secret-of-the-policy"])

wrong := "secret-of-the-policy"

conflict := x if some x in ["secret-of-the-policy", input.spec.user]

echo := {"allow": false, "reason": input.spec.user}
`;
const ten = "[1,2,3,4,5,6,7,8,9,10]";
const dear = "abcdefgh".split("").reduce((body, name) => `${ten}.all(${name}, ${body})`, "request.user != ''");
const cel = (expression: string): string =>
  JSON.stringify({
    apiVersion: "pratique.dev/v1alpha1",
    kind: "CelPolicy",
    rules: [
      { name: "secret-of-the-policy", expression, decision: "Deny" },
      { name: "all", expression: "true", decision: "Allow" },
    ],
  });

let dir: string;
let rego: string;
const running: TestAuthorizer[] = [];

async function start(...words: readonly string[]): Promise<TestAuthorizer> {
  const started = await startAuthorizer(...words);
  running.push(started);
  return started;
}

const resourceAttributes = { verb: "list", resource: "pods", namespace: "default" };
const spec = (user: string, ...groups: string[]): object => ({ user, groups, resourceAttributes });
const review = (value: unknown): unknown => ({
  apiVersion: "authorization.k8s.io/v1",
  kind: "SubjectAccessReview",
  spec: value,
});
const isRefused = ({ status, text }: Posted): boolean =>
  status >= 400 && status < 500 && !text.includes(dir) && !text.includes("secret-of-the-policy");

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "pratique-attack-"));
  rego = join(dir, "k8s.rego");
  await writeFile(rego, policy);
});

afterEach(async () => {
  await Promise.all(running.splice(0).map((each) => each.close()));
});

afterAll(() => rm(dir, { recursive: true, force: true }));

describe("somebody who asks", () => {
  const deep = `${'{"a":'.repeat(3000)}1${"}".repeat(3000)}`;
  const hostile: Readonly<Record<string, unknown>> = {
    "with nothing": "",
    "with what is no JSON": "allow",
    "with half of it": '{"apiVersion":"authorization.k8s.io/v1"',
    "with a list": [],
    "with null": null,
    "with another kind": { ...(review(spec("u", "admin")) as object), kind: "SelfSubjectAccessReview" },
    "with another version": { ...(review(spec("u", "admin")) as object), apiVersion: "authorization.k8s.io/v2" },
    "with a version that is inherited": '{"__proto__":{"apiVersion":"authorization.k8s.io/v1"}}',
    "with a prototype in the spec": `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"__proto__":{"groups":["admin"]},"user":"u","resourceAttributes":{}}}`,
    "with a prototype deep inside": `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u","groups":["admin"],"resourceAttributes":{"verb":"get"},"extra":{"a":[{"__proto__":1}]}}}`,
    "about nobody": review({ groups: [], resourceAttributes }),
    "about nothing": review({ user: "u", groups: ["admin"] }),
    "about a resource and a path at once": review({
      ...spec("u", "admin"),
      nonResourceAttributes: { path: "/livez", verb: "get" },
    }),
    "with groups that are a text": review({ user: "u", groups: "admin", resourceAttributes }),
    "with groups in groups": review({ user: "u", groups: [["admin"]], resourceAttributes }),
    "with a user that is an object": review({ user: { name: "u" }, groups: ["admin"], resourceAttributes }),
    "with attributes that are a text": review({ user: "u", groups: ["admin"], resourceAttributes: "pods" }),
    "with a spec that is a list": review([spec("u", "admin")]),
    "ever deeper": deep,
    "ever deeper in the spec": `{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"u","groups":["admin"],"resourceAttributes":{"verb":"get"},"x":${deep}}}`,
    "with four megabytes": Buffer.alloc(4 << 20, 0x20),
  };
  let asked: TestAuthorizer;

  beforeAll(async () => {
    asked = await startAuthorizer(`--policy=${rego}`);
  });

  afterAll(() => asked.close());

  test.each(Object.keys(hostile))("%s gets no decision", async (what) => {
    expect(isRefused(await asked.post(hostile[what]))).toBe(true);
    expect(await asked.ask(spec("u", "admin"))).toEqual({ allowed: true });
  });

  test("elsewhere, or in another way, gets no decision", async () => {
    for (const path of ["/", "/authorize/", "//authorize", "/Authorize", "/authorize/../authorize", "/authorize%2f"])
      expect((await asked.post(review(spec("u", "admin")), { path })).status).toBe(404);
    expect((await asked.get("/authorize")).status).toBe(405);
  });

  test("in v1beta1 with the groups of v1 has none", async () => {
    expect(await asked.ask(spec("u", "admin"), { version: "v1beta1" })).toEqual({ allowed: false });
    expect(
      await asked.ask({ user: "u", group: ["admin"], groups: ["dev"], resourceAttributes }, { version: "v1beta1" }),
    ).toEqual({ allowed: true });
  });

  test("as somebody else than the review says is nobody: no header counts", async () => {
    const headers = [
      ["Content-Type", "application/json"],
      ["Impersonate-User", "root"],
      ["Impersonate-Group", "admin"],
      ["X-Remote-User", "root"],
      ["X-Remote-Group", "admin"],
      ["Authorization", "Bearer admin"],
    ] as const;
    const body = JSON.stringify(review(spec("u", "dev")));
    const reply = await send(asked, { method: "POST", path: "/authorize", headers, body });
    expect([reply.status, (JSON.parse(reply.text) as { status: object }).status]).toEqual([200, { allowed: false }]);
  });

  test("a byte at a time, on many connections, keeps nobody else from being answered", async () => {
    const sockets = await Promise.all(
      Array.from({ length: 100 }, async (): Promise<TLSSocket> => openTls(asked, "http/1.1")),
    );
    for (const socket of sockets)
      socket.write("POST /authorize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{");
    for (let turn = 0; turn < 5; turn += 1) expect(await asked.ask(spec("u", "admin"))).toEqual({ allowed: true });
    await Promise.all(
      sockets.map(async (socket) => {
        const closed = once(socket, "close");
        socket.destroy();
        await closed;
      }),
    );
    await vi.waitFor(async () => {
      expect((await asked.get("/metrics")).text).toContain("pratique_authorizer_evaluations_in_progress 0");
    }, 45_000);
  });

  test("learns of a hundred names in the metrics no more than how many were asked about", async () => {
    for (let index = 0; index < 100; index += 1) await asked.ask(spec(`name-${index}`, `group-${index}`));
    const { text } = await asked.get("/metrics");
    expect(text).toMatch(/pratique_authorizer_decisions_total\{decision="no_opinion"\} \d+/);
    expect(text).not.toMatch(/name-|group-|pods/);
    expect(text.split("\n").length).toBeLessThan(60);
  });
});

describe("somebody without the right certificate", () => {
  test("gets no decision, no metrics, and no place for a body", async () => {
    const [ours, theirs] = [testCa(), testCa()];
    const file = join(dir, "clients.crt");
    await writeFile(file, ours.pem);
    const { ask, post, get, port, caPem, kubeconfig } = await start(`--policy=${rego}`, `--client-ca-file=${file}`);
    const body = review(spec("u", "admin"));
    for (const client of [undefined, theirs.issue("client auth"), ours.issue("server auth")]) {
      const options = client === undefined ? {} : { client };
      const reply = await post(body, options);
      expect([reply.status, reply.text]).toEqual([401, expect.not.stringContaining("allowed") as string]);
      expect((await get("/metrics", options)).status).toBe(401);
      expect((await get("/livez", options)).status).toBe(200);
    }
    const head = "POST /authorize HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    const sockets = await Promise.all(
      Array.from({ length: 260 }, async (): Promise<TLSSocket> => openTls({ port, caPem }, "http/1.1")),
    );
    for (const socket of sockets) socket.write(head);
    const client = ours.issue("client auth");
    expect(await ask(spec("u", "admin"), { client })).toEqual({ allowed: true });
    expect((await get("/metrics", { client })).status).toBe(200);
    for (const socket of sockets) socket.destroy();
    expect(kubeconfig).toContain("client-certificate");
  });
});

describe("a policy", () => {
  // The clock of the process, as policies have a limit of time as well as of steps.
  const failed = { allowed: false, denied: true, reason: "the policy could not be evaluated" };

  test.each([
    ["loops", "loop", "u"],
    ["grows", "grow", "x".repeat(1000)],
    ["answers with something else", "wrong", "u"],
    ["contradicts itself", "conflict", "u"],
  ])("that %s denies, and says nothing of itself", async (_what, rule, user) => {
    const { ask, log } = await start(`--policy=${rego}`, `--query=data.k8s.${rule}`);
    const status = await ask(spec(user));
    expect(status).toMatchObject(failed);
    expect(JSON.stringify(status)).not.toMatch(/k8s|rego|secret-of-the-policy/);
    expect(JSON.stringify(status)).not.toContain(dir);
    expect(log()).toContain("reason=PolicyFailed");
  });

  test("with patterns that explode elsewhere is answered at once", async () => {
    const { ask } = await start(`--policy=${rego}`, "--query=data.k8s.bomb");
    expect(await ask(spec(`${"a".repeat(50_000)}!`))).toEqual({ allowed: false });
    const pattern = await start(`--policy=${rego}`, "--query=data.k8s.pattern");
    expect(await pattern.ask(spec("^(a|aa)+$"))).toEqual({ allowed: false });
    expect((await pattern.ask(spec(`${"(".repeat(5000)}a${"){1,1000}".repeat(5000)}`))).allowed).toBe(false);
  });

  test("that walks what it is given ends, however large that is", async () => {
    const { ask } = await start(`--policy=${rego}`, "--query=data.k8s.deep");
    const groups = Array.from({ length: 20_000 }, (_, index) => `group-${index}`);
    expect((await ask(spec("u", ...groups))).allowed).toBe(false);
  });

  test("that repeats a name of a megabyte does not repeat all of it", async () => {
    const { ask } = await start(`--policy=${rego}`, "--query=data.k8s.echo");
    expect((await ask(spec("x".repeat(1 << 20)))).reason).toHaveLength(4096);
  });

  test.each([
    ["costs too much", dear],
    ["fails", "request.nonResourceAttributes.path == '/x'"],
    ["fails by its pattern", "'x'.matches(request.user)"],
  ])("in CEL that %s denies, whatever comes after, and says nothing of itself", async (_what, expression) => {
    const file = join(dir, "policy.yaml");
    await writeFile(file, cel(expression));
    const { ask, log } = await start(`--cel=${file}`);
    const status = await ask(spec("("));
    expect(status).toMatchObject(failed);
    expect(JSON.stringify(status)).not.toContain("secret-of-the-policy");
    expect(log()).toContain("secret-of-the-policy");
  });

  test("in CEL is told of a path or a resource, never of both", async () => {
    const file = join(dir, "paths.cel");
    await writeFile(file, "has(request.nonResourceAttributes) && !has(request.resourceAttributes)");
    const { ask, post } = await start(`--cel=${file}`);
    const nonResourceAttributes = { path: "/livez", verb: "get" };
    expect(await ask({ user: "u", nonResourceAttributes })).toEqual({ allowed: true });
    expect(await ask(spec("u"))).toEqual({ allowed: false });
    expect((await post(review({ ...spec("u"), nonResourceAttributes }))).status).toBe(400);
  });
});

test("an OPA that is not there, or not who it should be, denies", async () => {
  const { ask, log } = await start("--opa-url=http://127.0.0.1:9/");
  expect(await ask(spec("u", "admin"))).toMatchObject({ allowed: false, denied: true });
  expect(log()).toContain("OPA cannot be asked");
});
