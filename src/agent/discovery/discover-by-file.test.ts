import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { refuse, startFakeHub, testCa, type FakeHub } from "../../../test/kits/fake-hub.ts";
import { startConnectProxy } from "../../../test/kits/proxies.ts";
import { failureOf, joinBench, testToken, type JoinBench } from "../../../test/kits/join-bench.ts";
import { bootstrapKubeconfig } from "../../client/build-kubeconfig.ts";
import { clusterInfoKubeconfig } from "../../trust/cluster-info.ts";
import { formatToken } from "../../trust/token.ts";
import { discoveryConfig } from "./discovery-file.ts";
import type { JoinError } from "../../credentials/join-error.ts";
import type { Joined } from "../join/join-options.ts";

const token = formatToken(testToken);
let hub: FakeHub;
let bench: JoinBench;
let location: string;

beforeEach(async () => {
  hub = await startFakeHub({ tokens: [testToken], auto: true });
  bench = await joinBench();
  location = join(bench.dir, "discovery.yaml");
});

afterEach(async () => {
  await hub.close();
  await bench.remove();
});

const withToken = (): string => bootstrapKubeconfig({ server: hub.url, ca: { pem: hub.ca.pem }, token });
const withoutUser = (): string => clusterInfoKubeconfig({ server: hub.url, caPem: hub.ca.pem });
const isRead = (path: string): boolean => path.includes("/configmaps/cluster-info?timeout=10s");

async function byFile(text: string, given?: string): Promise<Joined> {
  await writeFile(location, text);
  return bench.join(hub, { discovery: { kind: "file", location, token: given } });
}

async function failing(text: string, given?: string): Promise<JoinError> {
  await writeFile(location, text);
  return bench.failure(hub, { discovery: { kind: "file", location, token: given } });
}

describe("discovery by file", () => {
  test("uses the credentials in the file for all it asks", async () => {
    expect((await byFile(withToken())).server).toBe(hub.url);
    expect(hub.seen.filter((request) => isRead(request.path))).toHaveLength(1);
    for (const request of hub.seen) expect(request.authorization).toBe(`Bearer ${token}`);
    expect(bench.events).toContainEqual({ kind: "verified", server: hub.url, caPins: [hub.ca.pin], by: "file" });
    await hub.idle();
  });

  test("reads anonymously where the file has no credentials, and joins with the token", async () => {
    expect((await byFile(withoutUser(), token)).outcome).toBe("joined");
    expect(hub.seen.find((request) => isRead(request.path))?.authorization).toBeUndefined();
    expect(hub.seen.find((request) => request.method === "POST")?.authorization).toBe(`Bearer ${token}`);
  });

  test("takes a hub that answers 403 as it is", async () => {
    hub.intercept = (request, response) => {
      if (!isRead(request.url ?? "")) return false;
      refuse(response, 403, "Forbidden", "no");
      return true;
    };
    expect((await byFile(withToken())).outcome).toBe("joined");
    expect(hub.seen.filter((request) => isRead(request.path))).toHaveLength(1);
  });

  test("keeps the server of the file when cluster-info names another", async () => {
    hub.publish({ server: "https://other.example:6443" });
    expect((await byFile(withToken())).server).toBe(hub.url);
    expect(bench.events).toContainEqual({
      kind: "server-differs",
      used: hub.url,
      other: "https://other.example:6443",
    });
  });

  test("sends nothing to a server whose certificate is not from the CA in the file", async () => {
    const stranger = testCa("stranger").pem;
    const error = await failing(bootstrapKubeconfig({ server: hub.url, ca: { pem: stranger }, token }));
    expect(error.code).toBe("tls-mismatch");
    expect(hub.seen).toEqual([]);
  });

  test("trusts the roots of the system alone where neither file nor hub gives a CA", async () => {
    const error = await failing(withToken().replace(/certificate-authority-data: .*/, "namespace: x"));
    expect(error.code).toBe("tls-mismatch");
    expect(hub.seen).toEqual([]);
  });

  test("already-joined is told for the same CA, and refused for another", async () => {
    await byFile(withToken());
    expect((await byFile(withToken())).outcome).toBe("already-joined");
    const other = await startFakeHub({ tokens: [testToken], auto: true });
    try {
      const error = await failing(bootstrapKubeconfig({ server: other.url, ca: { pem: other.ca.pem }, token }));
      expect(error.code).toBe("already-joined");
      expect(other.seen.filter((request) => request.method === "POST")).toEqual([]);
    } finally {
      await other.close();
    }
  });

  test("unauthorized: credentials in the file that the hub does not know", async () => {
    hub.tokens = [];
    const error = await failing(withToken());
    expect(error.code).toBe("unauthorized");
    expect(error.message).not.toContain(testToken.secret);
  });

  test("no-cluster-info and unusable ones are tried again, then told", async () => {
    hub.data = { kubeconfig: "hello" };
    expect((await failing(withToken())).code).toBe("bad-cluster-info");
    hub.data = undefined;
    expect((await failing(withToken())).code).toBe("no-cluster-info");
    expect(hub.seen.length).toBeGreaterThan(10);
  });

  test.each([
    ["no credentials and no token", withoutUserText, "holds no credentials: give a bootstrap token as well"],
    ["no YAML", () => "a: [", "discovery.yaml: "],
    ["no clusters", () => "kind: Config\n", "current-context is not set"],
    ["a plugin of no version", () => withToken().replace(/token: .*/, "exec: {command: evil}"), "exec.apiVersion"],
    [
      "insecure-skip-tls-verify",
      () => withToken().replace(/certificate-authority-data: .*/, "insecure-skip-tls-verify: true"),
      "credentials would go to an unverified server",
    ],
    ["http", () => withToken().replace("https://", "http://"), "must be a URL that begins with https://"],
    [
      "a CA that is none",
      () =>
        withToken().replace(
          /certificate-authority-data: .*/,
          `certificate-authority-data: ${Buffer.from("x").toString("base64")}`,
        ),
      "holds no PEM block CERTIFICATE",
    ],
  ])("bad-discovery-file: one with %s, and the hub hears nothing", async (_, text, said) => {
    const error = await failing(text());
    expect(error.code).toBe("bad-discovery-file");
    expect(error.message).toContain(said);
    expect(error.message).not.toContain(testToken.secret);
    expect(hub.seen).toEqual([]);
  });

  function withoutUserText(): string {
    return withoutUser();
  }

  test("bad-discovery-file: one that is not there", async () => {
    const error = await bench.failure(hub, { discovery: { kind: "file", location: "/nowhere/x.yaml" } });
    expect(error).toMatchObject({
      code: "bad-discovery-file",
      message: "/nowhere/x.yaml does not exist: check the path",
      causeCode: "ENOENT",
    });
  });

  test("bad-token-format: a token beside the file is checked first", async () => {
    expect((await failing(withoutUser(), "nonsense")).code).toBe("bad-token-format");
  });

  test("a URL is read with the roots of the system, which do not know this hub", async () => {
    const error = await bench.failure(hub, { discovery: { kind: "file", location: `${hub.url}/discovery.yaml` } });
    expect(error.code).toBe("tls-mismatch");
    expect(hub.seen).toEqual([]);
  });

  test.each(["http://hub/discovery.yaml", "https://a:b@hub/discovery.yaml", "ftp://hub/x"])(
    "bad-discovery-file: %s is no place for it",
    async (url) => {
      const error = await bench.failure(hub, { discovery: { kind: "file", location: url } });
      expect(error.code).toBe("bad-discovery-file");
      expect(error.message).toBe("a discovery file comes from a path or an https URL without a user or password");
    },
  );
});

describe("a file that a discovery file names", () => {
  const naming = (): string => withToken().replace(/token: .*/, "tokenFile: secret.txt");

  test("is read beside a local one", async () => {
    await writeFile(join(bench.dir, "secret.txt"), token);
    expect((await byFile(naming())).outcome).toBe("joined");
  });

  test("is refused, unread, when the discovery file came from the network", async () => {
    await writeFile(join(bench.dir, "secret.txt"), token);
    const shown = join(bench.dir, "discovery.yaml");
    const error = await failureOf(discoveryConfig(naming(), { shown, files: "refuse" }));
    expect(error.code).toBe("bad-discovery-file");
    expect(error.message).toContain("secret.txt; a downloaded kubeconfig must hold all data itself");
    expect((await discoveryConfig(naming(), { shown, files: "read" })).token).toBe(token);
  });
});

describe("a program that a discovery file names", () => {
  const version = "client.authentication.k8s.io/v1";
  const naming = (command: string): string =>
    withToken().replace(
      /token: .*/,
      `exec: {apiVersion: ${version}, command: ${command}, interactiveMode: Never, provideClusterInfo: true}`,
    );
  const script = async (text: string): Promise<string> => {
    const path = join(bench.dir, "get-token");
    await writeFile(path, `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    return path;
  };

  test("gives the credential for all that is asked, once", async () => {
    const answer = JSON.stringify({ kind: "ExecCredential", apiVersion: version, status: { token } });
    await script(`echo "$KUBERNETES_EXEC_INFO" >> ${join(bench.dir, "runs")}; echo '${answer}'`);
    expect((await byFile(naming("./get-token"))).outcome).toBe("joined");
    for (const request of hub.seen) expect(request.authorization).toBe(`Bearer ${token}`);
    const runs = (await readFile(join(bench.dir, "runs"), "utf8")).trim().split("\n");
    expect(runs).toHaveLength(1);
    expect(JSON.parse(runs[0] ?? "")).toMatchObject({ spec: { cluster: { server: hub.url } } });
  });

  test("bad-discovery-file: it fails, and the hub hears nothing", async () => {
    const error = await failing(naming(await script("exit 3")));
    expect(error.code).toBe("bad-discovery-file");
    expect(error.message).toContain("failed with exit code 3");
    expect(hub.seen).toEqual([]);
  });

  test("is refused, and not run, when the discovery file came from the network", async () => {
    const ran = join(bench.dir, "ran");
    const text = naming(await script(`touch ${ran}`));
    const shown = "https://files.test/discovery";
    const error = await failureOf(discoveryConfig(text, { shown, files: "refuse" }));
    expect(error.message).toBe(
      `${shown} names a program of this machine (exec); a downloaded kubeconfig must hold all data itself`,
    );
    expect(existsSync(ran)).toBe(false);
  });
});

describe("the way to the hub in a discovery file", () => {
  test("is taken to join, and named in the kubeconfig of the node", async () => {
    const proxy = await startConnectProxy({ to: Number(new URL(hub.url).port) });
    try {
      const text = withToken()
        .replace(hub.url, "https://hub.invalid:6443")
        .replace(
          "server:",
          `proxy-url: http://127.0.0.1:${proxy.port}\n      tls-server-name: 127.0.0.1\n      server:`,
        );
      const { kubeconfig } = await byFile(text);
      expect(new Set(proxy.asked)).toEqual(new Set(["hub.invalid:6443"]));
      const written = await readFile(kubeconfig, "utf8");
      expect(written).toContain(`proxy-url: http://127.0.0.1:${proxy.port}\n`);
      expect(written).toContain("tls-server-name: 127.0.0.1\n");
    } finally {
      await proxy.close();
    }
  });
});

describe("a bootstrap kubeconfig", () => {
  test("is enough: nobody is asked for cluster-info", async () => {
    await writeFile(location, withToken());
    const joined = await bench.join(hub, { discovery: { kind: "bootstrap-kubeconfig", path: location } });
    expect(joined.outcome).toBe("joined");
    expect(hub.seen.some((request) => isRead(request.path))).toBe(false);
  });

  test("bad-discovery-file: it needs credentials and a CA", async () => {
    const discovery = { kind: "bootstrap-kubeconfig", path: location } as const;
    await writeFile(location, withoutUser());
    expect((await bench.failure(hub, { discovery })).message).toContain("a bootstrap kubeconfig needs a token");
    await writeFile(location, withToken().replace(/certificate-authority-data: .*/, "namespace: x"));
    const error = await bench.failure(hub, { discovery });
    expect(error.code).toBe("bad-discovery-file");
    expect(error.message).toContain("holds no certificate-authority-data");
    expect(hub.seen).toEqual([]);
  });

  test("unauthorized: names the file, not its token", async () => {
    await writeFile(location, withToken());
    hub.tokens = [];
    const error = await bench.failure(hub, { discovery: { kind: "bootstrap-kubeconfig", path: location } });
    expect(error.code).toBe("unauthorized");
    expect(error.message).toContain(`the hub refuses the credentials in ${location} (Unauthorized)`);
    expect(error.message).not.toContain(testToken.secret);
  });
});
