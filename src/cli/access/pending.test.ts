import { describe, expect, test } from "vitest";
import { certificateSigningRequests as csrs, secrets } from "../../controllers/kinds.ts";
import type { ResourceRef } from "../../client/client.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { tokenSecret } from "../../trust/token-secret.ts";
import { type AskedCsr, csrObject } from "../../../test/kits/csr-object.ts";
import { accessRequests } from "../../apis/access-request.ts";
import { managedClusters } from "../../apis/managed-cluster.ts";
import { type MemoryApi, memoryApi } from "../../../test/kits/memory-api.ts";
import { fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, type FakeIoOptions, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";
import { pendingRow } from "./pending-text.ts";
import { reviewCsr } from "./csr-review.ts";

const now = Date.UTC(2026, 10, 21, 0, 5);

interface World {
  readonly api: MemoryApi;
  readonly io: FakeIo;
}

async function world(requests: readonly AskedCsr[], options: FakeIoOptions = {}): Promise<World> {
  const clock = fakeClock(now);
  const api = memoryApi({ clock });
  for (const request of requests) await api.given(csrs, csrObject(request));
  const files = { "/home/ada/.kube/config": kubeconfigText() };
  return { api, io: fakeIo({ clock, client: api.client, files, ...options }) };
}

async function run(line: string, { io }: World): Promise<string> {
  expect(await runLine(line, io)).toBe(0);
  expect(io.err()).toBe("");
  return io.out();
}

/** The key differs in each run. */
function withoutKeys(text: string): string {
  return text.replaceAll(/SHA256:[A-Za-z0-9+/]{43}/g, "SHA256:(key)");
}

describe("pratique pending", () => {
  test("lists the undecided requests, the oldest first, with the token's description", async () => {
    const here = await world([
      { name: "young", created: "2026-11-21T00:04:30Z", username: "system:node:m1", expirationSeconds: 3600 },
      { name: "old", created: "2026-11-21T00:00:00Z" },
      { name: "done", conditions: [{ type: "Approved", status: "True" }] },
      { name: "refused", conditions: [{ type: "Denied", status: "True", lastTransitionTime: "2026-11-19T00:00:00Z" }] },
    ]);
    await here.api.client.create(
      secrets,
      tokenSecret({ token: { id: "abcdef", secret: "0123456789abcdef" }, now, description: "rack 7" }),
    );
    expect(withoutKeys(await run("pending", here))).toBe(
      `   NAME        AGE   REQUESTOR                          SIGNER                          SUBJECT                            SANS     KEY    FINGERPRINT                                          DURATION
   csr/old     5m    system:bootstrap:abcdef (rack 7)   kube-apiserver-client-kubelet   CN=system:node:m1,O=system:nodes   <none>   p256   SHA256:(key)   <none>
   csr/young   30s   system:node:m1                     kube-apiserver-client-kubelet   CN=system:node:m1,O=system:nodes   <none>   p256   SHA256:(key)   60m
`,
    );
  });

  test("marks names that two keys ask for, in every form", async () => {
    const two = [
      { name: "a", key: generatePrivateKey() },
      { name: "b", key: generatePrivateKey() },
    ];
    const message = 'the name "system:node:m1" is asked for with another key at the same time: csr/b';
    const out = await run("pending", await world(two));
    expect(out).toMatch(/^! {3}csr\/a /m);
    expect(out).toContain(`  csr/a\n    ${message}\n`);
    expect(await run("pending -o wide", await world(two))).toMatch(/NAME MARKS\n! {3}csr\/a .* NameContested\n/);
    const [first] = JSON.parse(await run("pending -o json", await world(two))) as readonly object[];
    expect(first).toMatchObject({ name: "a", nameMarks: [{ reason: "NameContested", message }], warnings: [message] });
    expect(await run("pending -o yaml", await world(two))).toContain("reason: NameContested");
  });

  describe("with a credential that may see little", () => {
    async function limited(...kinds: readonly ResourceRef[]): Promise<World> {
      const here = await world([]);
      for (const kind of kinds) here.api.failNext("list", kind, new StatusError("Forbidden", `no ${kind.plural}`));
      return here;
    }
    const note = "note: access requests are not visible with this credential: no accessrequests\n";

    test("says of which kinds it cannot tell that nothing waits", async () => {
      const here = await limited(accessRequests);
      expect(await runLine("pending", here.io)).toBe(0);
      expect(here.io.out()).toBe(
        "no pending certificate requests; access requests are not visible with this credential\n",
      );
      expect(here.io.err()).toBe(note);
    });

    test("says so for clusters as well, where the API serves them or will not say", async () => {
      const here = await limited(accessRequests, managedClusters);
      const discovery = "/apis/cluster.open-cluster-management.io/v1";
      const io = fakeIo({
        clock: fakeClock(now),
        client: here.api.client,
        files: { "/home/ada/.kube/config": kubeconfigText() },
        replies: { [discovery]: { status: 403, body: "" } },
      });
      expect(await runLine("pending", io)).toBe(0);
      expect(io.out()).toBe(
        "no pending certificate requests; access requests and clusters are not visible with this credential\n",
      );
    });

    test.each(["json", "yaml"])("as %s the result stays whole, and the note is on standard error", async (form) => {
      const here = await limited(accessRequests);
      expect(await runLine(`pending -o ${form}`, here.io)).toBe(0);
      expect([here.io.out(), here.io.err()]).toEqual(["[]\n", note]);
    });

    test("is refused where it may see nothing", async () => {
      const here = await limited(accessRequests, csrs);
      expect(await runLine("pending", here.io)).toBe(4);
      expect(here.io.err()).toContain("error: no certificatesigningrequests");
    });
  });

  test("marks contents that need care, and says below what they are", async () => {
    const here = await world([
      { name: "good" },
      {
        name: "bad",
        username: "eve",
        organizations: ["system:masters"],
        signerName: "kubernetes.io/kube-apiserver-client",
      },
    ]);
    const [, bad = "", good = "", ...rest] = (await run("pending", here)).split("\n");
    expect(good).toMatch(/^ {4}csr\/good/);
    expect(bad).toMatch(/^! {3}csr\/bad /);
    expect(rest).toEqual([
      "",
      "! These need care before an approver approves them:",
      "  csr/bad",
      "    asks for the group system:masters, which may do everything",
      "",
    ]);
  });

  test("colours what needs care on a terminal, and only there", async () => {
    const requests = [{ name: "bad", organizations: ["system:masters"] }, { name: "good" }];
    const coloured = await run("pending", await world(requests, { tty: true }));
    expect(coloured.split("\n").filter((line) => line.includes("\u001b[31m"))).toHaveLength(2);
    const plain = await run("pending", await world(requests, { tty: true, env: { NO_COLOR: "1" } }));
    expect(plain).not.toContain("\u001b");
  });

  test("lets nothing that a requester chose reach the terminal or begin a line", async () => {
    const hostile = "\u001b[2J\u202e\r\n\u009b31m\u200b";
    const here = await world([
      { name: "own-names", commonName: "system:node:m\u202e1\u200b", organizations: ["o\u2066"] },
    ]);
    // As an API may list it that validates less.
    const worst = { name: `n${hostile}`, username: `u${hostile}`, signerName: `example.com/s${hostile}` };
    await here.api.putInStore(csrs, csrObject(worst));
    const out = await run("pending", here);
    expect(out.replaceAll("\n", "")).toMatch(/^[ -~…]*$/);
    expect(out.split("\n")).toHaveLength(10);
    expect(out).toContain("csr/n\\u{1b}[2J\\u{202e}\\u{d}\\u{a}\\u{9b}31m\\u{200b}");
    expect(out).toContain("CN=system:node:m\\u{202e}1\\u{200b}");
    for (const format of ["json", "yaml"]) {
      const text = await run(`pending -o ${format}`, await world([{ username: `u${hostile}` }]));
      expect(text.replaceAll("\n", "")).toMatch(/^[ -~]*$/);
    }
  });

  test("prints JSON with the sentences", async () => {
    const list: unknown = JSON.parse(await run("pending -o json", await world([{ username: "system:node:m2" }])));
    expect(list).toMatchObject([
      { name: "r", warnings: ['a node, "system:node:m2", asks to be another, "system:node:m1"'] },
    ]);
  });

  test("says that nothing waits", async () => {
    expect(await run("pending", await world([]))).toBe("No request waits for a decision.\n");
    expect(await run("pending -o json", await world([]))).toBe("[]\n");
  });

  test.each([
    ["may not be read", new StatusError("Forbidden", "no")],
    ["is gone", new StatusError("NotFound", "no")],
  ])("goes on without the description of a token that %s", async (_title, error) => {
    const here = await world([{}]);
    here.api.failNext("get", secrets, error);
    expect(await run("pending", here)).toContain("   system:bootstrap:abcdef   ");
  });

  test.each(["Forbidden", "NotFound"] as const)(
    "ends with code 4 where requests may not be read, and access is %s",
    async (accessReason) => {
      const here = await world([{}]);
      here.api.failNext("list", csrs, new StatusError("Forbidden", "certificatesigningrequests is forbidden"));
      here.api.failNext("list", accessRequests, new StatusError(accessReason, "accessrequests is out of sight"));
      expect(await runLine("pending", here.io)).toBe(4);
      expect(here.io.err()).toBe("error: certificatesigningrequests is forbidden\n");
    },
  );
});

describe("the cells of a request", () => {
  const cell = (asked: AskedCsr, column: number): string | undefined =>
    pendingRow(reviewCsr(csrObject(asked)), now)[column];

  test("are cut where a requester makes them long", () => {
    const dnsNames = Array.from({ length: 200 }, (_, at) => `host-${at}.example.com`);
    expect(cell({ dnsNames }, 6)).toMatch(/^DNS:host-0\.example\.com,.{49}…$/);
  });

  test("quote a part of the subject that could be taken for several", () => {
    expect(cell({ commonName: "a,O=system:masters", organizations: ["b c"] }, 5)).toBe(
      'CN="a,O=system:masters",O="b c"',
    );
  });

  test("say what is unknown of a request that cannot be read", () => {
    const row = pendingRow(reviewCsr(csrObject({ request: "nonsense" })), now);
    expect(row).toEqual([
      "!",
      "csr/r",
      "5m",
      "system:bootstrap:abcdef",
      "kube-apiserver-client-kubelet",
      "<unreadable>",
      "<none>",
      "<unknown>",
      "<unknown>",
      "<none>",
    ]);
  });

  test("keep the domain of another's signer", () => {
    expect(cell({ signerName: "example.com/kubernetes.io" }, 4)).toBe("example.com/kubernetes.io");
  });
});
