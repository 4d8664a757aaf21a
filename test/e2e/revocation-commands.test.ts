import { execFile } from "node:child_process";
import { createHash, X509Certificate } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { createRemoteJWKSet, customFetch, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { commands } from "../../src/cli/commands.ts";
import { processIo } from "../../src/cli/process-io.ts";
import { runProgram } from "../../src/cli/program.ts";
import { authorityIn, clientOf } from "../attack/attacked-hub.ts";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { csrObject } from "../kits/csr-object.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";

const run = promisify(execFile);
const group = "/apis/access.pratique.dev/v1alpha1";
const requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";

let hub: TestHub;
let admin: ApiClient;

beforeAll(async () => {
  hub = await startTestHub({ users: { ann: ["system:masters"], ben: [] } });
  admin = apiClient(hub);
});
afterAll(async () => {
  admin.close();
  await hub.close();
});

const process = processIo();

async function pratique(who: string, line: string): Promise<{ code: number; out: string; err: string }> {
  const written = { out: "", err: "" };
  const kubeconfig = who === "admin" ? hub.kubeconfig : await hub.kubeconfigOf(who);
  const io = {
    ...process,
    env: { KUBECONFIG: kubeconfig },
    stdout: { write: (text: string) => void (written.out += text), isTty: false },
    stderr: { write: (text: string) => void (written.err += text), isTty: false },
  };
  return { code: await runProgram(commands, line.split(" "), io), ...written };
}

/** A certificate of a node, issued through the API by `name`'s request. */
async function issued(name: string, node: string): Promise<string> {
  await admin(requests, { method: "POST", body: csrObject({ name, commonName: `system:node:${node}` }) });
  expect((await pratique("admin", `approve csr/${name}`)).code).toBe(0);
  for (;;) {
    const { status } = (await admin(`${requests}/${name}`)).object() as { status?: { certificate?: string } };
    if (status?.certificate !== undefined) return Buffer.from(status.certificate, "base64").toString();
  }
}

describe("pratique revoke", () => {
  it("writes one revocation for each target, however often, and says until when", async () => {
    const first = await pratique("admin", "revoke node/n1 user/zoe --reason stolen --until 2099-01-01T00:00:00Z");
    expect(first).toEqual({
      code: 0,
      out: "user/system:node:n1 revoked until 2099-01-01T00:00:00Z\nuser/zoe revoked until 2099-01-01T00:00:00Z\n",
      err: expect.stringMatching(
        /^to undo it: kubectl delete credentialrevocation user-[0-9a-f]{32}\nwarning: there is no Node "n1", and no record of a certificate for it; is the name right\?\nto undo it: kubectl delete credentialrevocation user-[0-9a-f]{32}\n$/,
      ),
    });
    const again = await pratique("admin", "revoke user/zoe");
    expect(again).toMatchObject({ code: 0, out: "user/zoe is revoked already; it stays so, now without an end\n" });
    expect((await pratique("admin", "revoke user/zoe")).out).toBe("user/zoe is revoked already; it stays so\n");
    const found = (await admin(`${group}/credentialrevocations`)).items().map(({ spec }) => spec);
    expect(found).toContainEqual({ user: "zoe", reason: "stolen" });
    expect(found).toHaveLength(2);
  });

  it("prints the line that undoes it, but not where nothing was written", async () => {
    expect((await pratique("admin", "revoke user/yan --dry-run")).err).not.toContain("to undo it");
    const { err } = await pratique("admin", "revoke user/yan");
    const [, name = ""] = /^to undo it: kubectl delete credentialrevocation (\S+)$/m.exec(err) ?? [];
    const path = `${group}/credentialrevocations/${name}`;
    expect((await admin(path)).object()).toMatchObject({ spec: { user: "yan" } });
    expect((await admin(path, { method: "DELETE" })).status).toBe(200);
  });

  it("takes the certificate of a request by its fingerprint, until nobody can come back with it either", async () => {
    const pem = await issued("of-n2", "n2");
    const { code, out } = await pratique("admin", "revoke csr/of-n2");
    expect(code).toBe(0);
    const certificate = new X509Certificate(pem);
    const end = new Date(Date.parse(certificate.validTo) + 401 * 86_400_000).toISOString().replace(".000", "");
    const fingerprint = createHash("sha256").update(certificate.raw).digest("hex");
    expect(out).toBe(`certificate X509SHA256=${fingerprint} revoked until ${end}\n`);
    const missing = await pratique("admin", "revoke csr/none");
    expect(missing.code).toBe(6);
  });

  it("asks whether a name is right that nobody has heard of, and is silent about one that is known", async () => {
    await expect.poll(async () => (await admin(`${group}/issuedcredentials/client.node.n2`)).status).toBe(200);
    const { code, err } = await pratique(
      "admin",
      "revoke node/n8 sa/default/nobody secret/default/none bootstraptoken/zzzzzz --dry-run",
    );
    expect(code).toBe(0);
    expect(err.match(/^warning: .*is the name right\?$/gm)).toEqual([
      'warning: there is no Node "n8", and no record of a certificate for it; is the name right?',
      "warning: there is no ServiceAccount default/nobody; is the name right?",
      "warning: there is no Secret default/none; is the name right?",
      "warning: there is no bootstrap token zzzzzz; is the name right?",
    ]);
    expect(await pratique("admin", "revoke node/n2 sa/default/default --dry-run")).toMatchObject({ code: 0, err: "" });
  });

  it("does not lock out whoever revokes, unless that is meant, and never the operator", async () => {
    const own = await pratique("ann", "revoke user/ann");
    expect(own.code).toBe(4);
    expect(own.err).toContain("user/ann is what this command itself came in with; nothing was revoked");
    const key = new X509Certificate(certificateIn(await readText(hub.kubeconfig)));
    const serial = await pratique("admin", `revoke --serial ${key.serialNumber}`);
    expect(serial.err).toContain("is what this command itself came in with");
    const operator = await pratique("ann", "revoke user/kubernetes-admin");
    expect(operator.code).toBe(4);
    expect(operator.err).toContain("the hub makes a certificate for");
    // Without the command, the server says so.
    const direct = await apiClient(hub, { token: hub.token("ann") })(`${group}/credentialrevocations`, {
      method: "POST",
      body: { metadata: { name: "self" }, spec: { user: "ann" } },
    });
    expect(direct.status).toBe(403);
    expect(direct.text).toContain("you would be locked out");
    expect((await pratique("ann", "revoke user/ann --force")).out).toBe("user/ann revoked\n");
    expect((await pratique("ann", "revocations list")).code).toBe(4);
  });

  it("needs the right to", async () => {
    const refused = await pratique("ben", "revoke user/zed");
    expect(refused.code).toBe(4);
    expect(refused.err).toContain('cannot create resource "credentialrevocations"');
  });

  it("removes what gives rights, where that is asked for", async () => {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "view" };
    const account = { kind: "ServiceAccount", namespace: "default", name: "robot" };
    const other = { kind: "User", apiGroup: roleRef.apiGroup, name: "other" };
    const post = (path: string, body: object): Promise<unknown> => admin(path, { method: "POST", body });
    await post("/api/v1/namespaces/default/serviceaccounts", { metadata: { name: "robot" } });
    await post(`${rbac}/clusterrolebindings`, { metadata: { name: "both" }, roleRef, subjects: [account, other] });
    const place = `${rbac}/namespaces/default/rolebindings`;
    await post(place, { metadata: { name: "alone" }, roleRef, subjects: [account] });
    const dry = await pratique("admin", "revoke sa/default/robot --remove-grants --dry-run");
    const did = await pratique("admin", "revoke sa/default/robot --remove-grants");
    expect(did.out).toBe(
      "user/system:serviceaccount:default:robot revoked\nclusterrolebinding/both no longer names it\nrolebinding/default/alone deleted\nserviceaccount/default/robot deleted\n",
    );
    expect(dry.out).toBe(did.out.replaceAll("\n", " (dry run)\n"));
    const { subjects } = (await admin(`${rbac}/clusterrolebindings/both`)).object() as { subjects?: unknown };
    expect(subjects).toEqual([other]);
  });
});

describe("the signed lists", () => {
  it("are a JWS that the published keys verify, and no token of anybody", async () => {
    const { out } = await pratique("admin", "revocations export");
    const keys = createRemoteJWKSet(new URL(`${hub.url}/openid/v1/jwks`), {
      [customFetch]: async () => new Response((await admin("/openid/v1/jwks")).text),
    });
    const { payload, protectedHeader } = await jwtVerify(out.trim(), keys, { audience: "pratique-revocations" });
    expect(protectedHeader.typ).toBe("pratique-revocations+jwt");
    expect((payload.exp ?? 0) - (payload.iat ?? 0)).toBe(86_400);
    expect(payload["revocations"]).toContainEqual(expect.objectContaining({ user: "zoe" }));
    expect(out).not.toContain("stolen");
    expect((await apiClient(hub, { token: out.trim() })("/version")).status).toBe(401);
  });

  it("are a CRL that OpenSSL verifies, with the certificates whose number is known", async () => {
    const pem = await issued("of-n3", "n3");
    await pratique("admin", "revoke --serial 0A:0B");
    expect((await pratique("admin", "revoke csr/of-n3")).code).toBe(0);
    const number = new X509Certificate(pem).serialNumber;
    const file = join(hub.dir, "list.pem");
    await expect
      .poll(async () => {
        await writeFile(file, (await pratique("admin", "revocations export --format crl")).out);
        const args = ["crl", "-in", file, "-CAfile", join(hub.dataDir, "pki", "ca.crt"), "-noout", "-text"];
        const { stdout, stderr } = await run("openssl", args);
        return stdout + stderr;
      })
      .toContain(number);
    const { out } = await pratique("admin", "revocations export --format crl");
    await writeFile(file, out);
    const args = ["crl", "-in", file, "-CAfile", join(hub.dataDir, "pki", "ca.crt"), "-noout", "-text"];
    const { stdout, stderr } = await run("openssl", args);
    expect(stderr).toContain("verify OK");
    expect(stdout).toContain("Serial Number: 0A0B");
  });

  it("are not for everybody", async () => {
    expect((await pratique("ben", "revocations export")).code).toBe(4);
    expect((await apiClient(hub, "anonymous")("/revocations/crl")).status).toBe(403);
  });
});

describe("pratique credentials", () => {
  it("counts renewals, and knows who was seen", async () => {
    await issued("of-n5", "n5");
    const { cert = "", key = "" } = clientOf(await authorityIn(hub.dataDir), {
      commonName: "system:node:n5",
      organizations: ["system:nodes"],
    });
    const node = apiClient(hub, { certPem: cert, keyPem: key });
    expect((await node("/api/v1/nodes/n5")).status).toBe(404);
    node.close();
    await issued("of-n5-again", "n5");
    await expect
      .poll(async () => (await pratique("admin", "credentials")).out)
      .toMatch(/^ +system:node:n5 +client +active +in 36\dd +\d+s ago +by itself \(certificate-controller\) +2$/m);
    await admin(`${group}/issuedcredentials/client.node.n5`, { method: "DELETE" });
  });

  it("lists what was issued to whom, by whom approved, and when it was seen", async () => {
    await issued("of-n4", "n4");
    await expect.poll(async () => (await pratique("admin", "credentials")).out).toContain("system:node:n4");
    const { out } = await pratique("admin", "credentials");
    expect(out).toMatch(/^ +IDENTITY +PURPOSE +STATE +EXPIRES +LAST SEEN +APPROVED BY +ISSUED$/m);
    expect(out).toMatch(
      /^ +system:node:n4 +client +active +in 36\dd +never +by itself \(certificate-controller\) +1$/m,
    );
    expect(out).toMatch(/^ +system:node:n2 +client +revoked /m);
    const json = JSON.parse((await pratique("admin", "credentials list -o json")).out) as readonly object[];
    expect(json).toContainEqual(expect.objectContaining({ username: "system:node:n4", state: "active", count: 1 }));
    await expect
      .poll(async () => (await admin("/metrics")).text)
      .toContain('pratique_issued_credentials{purpose="Client",state="active"} 1\n');
    expect((await admin("/metrics")).text).toContain(
      'pratique_issued_credentials{purpose="Client",state="revoked"} 2\n',
    );
  });
});

describe("a request of whoever was revoked after it had asked", () => {
  // One that nobody approves by itself.
  const signerName = "kubernetes.io/kube-apiserver-client";

  async function isNotSigned(name: string): Promise<void> {
    await pratique("admin", `approve csr/${name}`);
    await expect.poll(async () => (await admin(`${requests}/${name}`)).text).toContain("RequesterRevoked");
    expect((await admin(`${requests}/${name}`)).text).not.toContain('"certificate":');
  }

  it.each(["fingerprint", "user"])("is not signed: revoked by %s", async (by) => {
    const [user, name] = [`system:node:queued-${by}`, `renewal-${by}`];
    const { cert = "", key = "" } = clientOf(await authorityIn(hub.dataDir), {
      commonName: user,
      organizations: ["system:nodes"],
    });
    const client = apiClient(hub, { certPem: cert, keyPem: key });
    const body = csrObject({ name, commonName: user, signerName });
    expect((await client(requests, { method: "POST", body })).status).toBe(201);
    client.close();
    const fingerprint = new X509Certificate(cert).fingerprint256;
    const line = by === "user" ? `user/${user}` : `--fingerprint ${fingerprint}`;
    expect((await pratique("admin", `revoke ${line}`)).code).toBe(0);
    await isNotSigned(name);
  });

  it("is not signed: revoked by a serial number that the record of the certificate tells", async () => {
    const node = "queued-serial";
    const certificate = new X509Certificate(await issued("of-serial", node));
    const fingerprint = createHash("sha256").update(certificate.raw).digest("hex");
    // Nobody but the machine has its key: the request is stored as if it had come in with that certificate.
    const headers = {
      "Impersonate-User": `system:node:${node}`,
      "Impersonate-Group": "system:nodes",
      "Impersonate-Extra-authentication.kubernetes.io%2Fcredential-id": `X509SHA256=${fingerprint}`,
    };
    const body = csrObject({ name: "renewal-serial", commonName: `system:node:${node}`, signerName });
    expect((await admin(requests, { method: "POST", body, headers })).status).toBe(201);
    await expect.poll(async () => (await pratique("admin", "credentials")).out).toContain(node);
    expect((await pratique("admin", `revoke --serial ${certificate.serialNumber}`)).code).toBe(0);
    await isNotSigned("renewal-serial");
  });
});

async function readText(path: string): Promise<string> {
  return Buffer.from(await process.readFile(path)).toString();
}

function certificateIn(kubeconfig: string): Buffer {
  return Buffer.from(/client-certificate-data: (\S+)/.exec(kubeconfig)?.[1] ?? "", "base64");
}
