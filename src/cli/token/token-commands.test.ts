import { describe, expect, test } from "vitest";
import { secrets } from "../../controllers/kinds.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { type CertificateAuthority, createCa } from "../../pki/ca.ts";
import { generatePrivateKey } from "../../pki/keys.ts";
import { readTokenSecret, type TokenFacts, tokenSecret } from "../../trust/token-secret.ts";
import { type MemoryApi, memoryApi } from "../../../test/kits/memory-api.ts";
import { type FakeClock, fakeClock } from "../../../test/kits/fake-clock.ts";
import { type FakeIo, fakeIo, type FakeIoOptions, kubeconfigText, runLine } from "../../../test/kits/fake-io.ts";

const now = Date.UTC(2026, 10, 21);
function ca(commonName: string, serial: number): CertificateAuthority {
  const random = (size: number): Uint8Array => new Uint8Array(size).fill(serial);
  return createCa({ commonName, key: generatePrivateKey(), now, years: 10, random });
}
const authority = ca("a", 1);
const other = ca("b", 2);

interface World {
  readonly api: MemoryApi;
  readonly io: FakeIo;
  readonly clock: FakeClock;
}

function world(options: FakeIoOptions & { readonly kubeconfig?: string } = {}): World {
  const clock = fakeClock(now);
  const api = memoryApi({ clock });
  const { kubeconfig = kubeconfigText("https://hub.example:6443", authority.pem), ...rest } = options;
  const io = fakeIo({ clock, client: api.client, files: { "/home/ada/.kube/config": kubeconfig }, ...rest });
  return { api, io, clock };
}

async function run(line: string, { io }: World): Promise<string> {
  expect(await runLine(line, io)).toBe(0);
  return io.out();
}

/** What the first Secret says. */
function factsOf({ api }: World): TokenFacts {
  const [secret] = api.all(secrets);
  if (secret === undefined) throw new TypeError("there is no Secret");
  return readTokenSecret(secret);
}

const given = "abcdef.0123456789abcdef";

describe("pratique token create", () => {
  test("creates the Secret that kubeadm would create, and prints the token", async () => {
    const here = world();
    expect(await run("token create", here)).toBe("012345.6789abcdefghijkl\n");
    const [secret] = here.api.all(secrets);
    expect(secret?.metadata.name).toBe("bootstrap-token-012345");
    expect(secret?.metadata.namespace).toBe("kube-system");
    expect(factsOf(here)).toMatchObject({
      type: "bootstrap.kubernetes.io/token",
      id: "012345",
      secret: "6789abcdefghijkl",
      expiration: "2026-11-22T00:00:00Z",
      usages: ["signing", "authentication"],
      groups: ["system:bootstrappers:kubeadm:default-node-token"],
      description: "",
    });
  });

  test("takes the token, its life, usages, groups and description", async () => {
    const here = world();
    const line = `token create ${given} --ttl 0 --usages authentication --groups system:bootstrappers:a,system:bootstrappers:b --description rack-7`;
    expect(await run(line, here)).toBe(`${given}\n`);
    expect(factsOf(here)).toMatchObject({
      expiration: "",
      usages: ["authentication"],
      groups: ["system:bootstrappers:a", "system:bootstrappers:b"],
      description: "rack-7",
    });
  });

  test("reads the token from standard input", async () => {
    expect(await run("token create -", world({ stdin: `${given}\n` }))).toBe(`${given}\n`);
  });

  test("prints the join command with server and pin of the kubeconfig", async () => {
    expect(await run(`token create ${given} --print-join-command`, world())).toBe(
      `pratique join hub.example:6443 --token ${given} --discovery-token-ca-cert-hash ${authority.pin}\n`,
    );
  });

  test("prints one pin for each certificate of the CA", async () => {
    const kubeconfig = kubeconfigText("https://hub.example", `${authority.pem}${other.pem}${authority.pem}`);
    expect(await run(`token create ${given} --print-join-command`, world({ kubeconfig }))).toBe(
      `pratique join hub.example:443 --token ${given} --discovery-token-ca-cert-hash ${authority.pin} --discovery-token-ca-cert-hash ${other.pin}\n`,
    );
  });

  test("prints the URL of a server that lies below a path, and brackets around IPv6", async () => {
    const below = kubeconfigText("https://proxy.example/clusters/a", authority.pem);
    expect(await run(`token create ${given} --print-join-command`, world({ kubeconfig: below }))).toContain(
      "pratique join https://proxy.example/clusters/a --token",
    );
    const six = kubeconfigText("https://[fd00::1]:6443", authority.pem);
    expect(await run(`token create ${given} --print-join-command`, world({ kubeconfig: six }))).toContain(
      "pratique join '[fd00::1]:6443' --token",
    );
  });

  test.each(["127.0.0.1", "localhost", "[::1]"])("warns that %s leads other machines nowhere", async (host) => {
    const here = world({ kubeconfig: kubeconfigText(`https://${host}:6443`, authority.pem) });
    await run(`token create ${given} --print-join-command`, here);
    expect(here.io.err()).toBe(
      `warning: ${host} leads other machines to themselves; start the hub with --bind-address and --tls-san to make it reachable\n`,
    );
  });

  test("refuses a token whose id is taken, with code 7, and leaves the other alone", async () => {
    const here = world();
    await run(`token create ${given}`, here);
    expect(await runLine("token create abcdef.zzzzzzzzzzzzzzzz", here.io)).toBe(7);
    expect(here.io.err()).toBe('error: a token with id "abcdef" already exists\n');
    expect(factsOf(here).secret).toBe("0123456789abcdef");
  });

  const refusals: Readonly<Record<string, string>> = {
    "token create abc":
      "error: the bootstrap token is not of the form <id>.<secret>: 6 and 16 characters of a-z and 0-9, lower case\n",
    "token create --usages signing --groups system:bootstrappers:a":
      "error: a token may have groups only with the usage authentication\n",
    "token create --groups system:masters":
      'error: "system:masters" is not a group for a token: it must begin with system:bootstrappers: and end in a letter or digit, with a-z, 0-9, : and - between\n',
    "token create --usages signin":
      "error: --usages signin: must be one of signing, authentication\nSee 'pratique token create --help'.\n",
    "token create --ttl 1ms":
      "error: --ttl must be 1s or more, or 0 for a token that never expires\nSee 'pratique token create --help'.\n",
    "token create --usages signing --print-join-command":
      "error: --print-join-command needs a token with the usages signing,authentication\nSee 'pratique token create --help'.\n",
  };
  test.each(Object.entries(refusals))("`%s` is refused with code 2 and creates nothing", async (line, text) => {
    const here = world();
    expect(await runLine(line, here.io)).toBe(2);
    expect(here.io.err()).toBe(text);
    expect(here.api.all(secrets)).toEqual([]);
  });

  test("creates nothing where the kubeconfig names no CA for the join command", async () => {
    const here = world({ kubeconfig: kubeconfigText("https://hub.example:6443") });
    expect(await runLine("token create --print-join-command", here.io)).toBe(2);
    expect(here.io.err()).toContain("error: the kubeconfig has no certificate-authority, so there is no pin");
    expect(here.api.all(secrets)).toEqual([]);
  });

  test("tells a missing right with code 4", async () => {
    const here = world();
    here.api.failNext("create", secrets, new StatusError("Forbidden", 'secrets is forbidden: User "x" cannot create'));
    expect(await runLine("token create", here.io)).toBe(4);
    expect(here.io.err()).toBe('error: secrets is forbidden: User "x" cannot create\n');
    expect(here.io.out()).toBe("");
  });
});

describe("pratique token list", () => {
  async function filled(): Promise<World> {
    const here = world();
    const tokens = [
      { token: { id: "aaaaaa", secret: "0123456789abcdef" }, ttlSeconds: 5400, description: "rack\u001b[31m 7" },
      { token: { id: "bbbbbb", secret: "0123456789abcdef" }, ttlSeconds: 0, usages: ["signing"] },
      { token: { id: "cccccc", secret: "0123456789abcdef" }, ttlSeconds: 60 },
    ];
    for (const one of tokens) await here.api.client.create(secrets, tokenSecret({ now, ...one }));
    await here.api.client.create(secrets, {
      ...tokenSecret({ now, token: { id: "dddddd", secret: "0123456789abcdef" } }),
      data: {},
    });
    await here.api.client.create(secrets, {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "bootstrap-token-eeeeee", namespace: "kube-system" },
      type: "Opaque",
    });
    await here.clock.advance(61_500);
    return here;
  }

  test("prints the columns of kubeadm, escaped, and passes over Secrets that hold no token", async () => {
    const here = await filled();
    expect(await run("token list", here)).toBe(
      `TOKEN                     TTL         EXPIRES                USAGES                   DESCRIPTION        EXTRA GROUPS
aaaaaa.0123456789abcdef   1h28m58s    2026-11-21T01:30:00Z   signing,authentication   rack\\u{1b}[31m 7   system:bootstrappers:kubeadm:default-node-token
bbbbbb.0123456789abcdef   <forever>   <never>                signing                  <none>             <none>
cccccc.0123456789abcdef   <expired>   2026-11-21T00:01:00Z   signing,authentication   <none>             system:bootstrappers:kubeadm:default-node-token
`,
    );
    expect(here.io.err()).toBe('warning: the Secret "bootstrap-token-dddddd" is of a token\'s type and holds none\n');
  });

  test("prints JSON", async () => {
    const list: unknown = JSON.parse(await run("token list -o json", await filled()));
    expect(list).toHaveLength(3);
    expect(list).toContainEqual({ token: "bbbbbb.0123456789abcdef", usages: ["signing"], groups: [] });
    expect(list).toContainEqual({
      token: "aaaaaa.0123456789abcdef",
      description: "rack\u001b[31m 7",
      expires: rfc3339(now + 5_400_000),
      usages: ["signing", "authentication"],
      groups: ["system:bootstrappers:kubeadm:default-node-token"],
    });
  });

  test("prints headings alone, and an empty list, where there are none", async () => {
    expect(await run("token list", world())).toBe("TOKEN   TTL   EXPIRES   USAGES   DESCRIPTION   EXTRA GROUPS\n");
    expect(await run("token list -o json", world())).toBe("[]\n");
    expect(await run("token list -o yaml", world())).toBe("[]\n");
  });
});

describe("pratique token delete", () => {
  test("deletes by id and by token, each once", async () => {
    const here = world();
    await run("token create aaaaaa.0123456789abcdef", here);
    await run("token create bbbbbb.0123456789abcdef", here);
    const before = here.io.out().length;
    const out = await run("token delete aaaaaa bbbbbb.0123456789abcdef aaaaaa", here);
    expect(out.slice(before)).toBe('bootstrap token "aaaaaa" deleted\nbootstrap token "bbbbbb" deleted\n');
    expect(here.api.all(secrets)).toEqual([]);
  });

  test("deletes nothing where one of the names is none", async () => {
    const here = world();
    await run(`token create ${given}`, here);
    expect(await runLine("token delete abcdef ABCDEF", here.io)).toBe(2);
    expect(here.io.err()).toBe("error: neither a token id (6 characters of a-z and 0-9) nor a full token was given\n");
    expect(here.api.all(secrets)).toHaveLength(1);
  });

  test("tells with code 6 that there is no such token, and deletes the others", async () => {
    const here = world();
    await run("token create aaaaaa.0123456789abcdef", here);
    expect(await runLine("token delete abcdef aaaaaa", here.io)).toBe(6);
    expect(here.io.err()).toBe('error: bootstrap token "abcdef" not found\n');
    expect(here.io.out()).toContain('bootstrap token "aaaaaa" deleted\n');
    expect(here.api.all(secrets)).toEqual([]);
  });
});

test("pratique token generate prints a token and talks to no server", async () => {
  const here = world();
  expect(await run("token generate", here)).toBe("012345.6789abcdefghijkl\n");
  expect(here.io.connections).toEqual([]);
});
