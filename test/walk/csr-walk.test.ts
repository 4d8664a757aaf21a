import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiClient, type ApiClient } from "../kits/api-client.ts";
import { bootstrapSecret } from "../kits/bootstrap-secret.ts";
import { csrObject } from "../kits/csr-object.ts";
import { startTestHub, type TestHub } from "../kits/hub.ts";
import { traceOf, type RequestTrace } from "./request-trace.ts";

const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
const attempts = Array.from({ length: 20 }, (_, index) => `walked-${index}`);

let hub: TestHub;
let admin: ApiClient;
let name: string;
let trace: RequestTrace;

beforeAll(async () => {
  hub = await startTestHub();
  admin = apiClient(hub);
  const secrets = "/api/v1/namespaces/kube-system/secrets";
  await admin(secrets, { method: "POST", body: bootstrapSecret("abcdef") });
  for (name of attempts) {
    await writesEnd();
    trace = await traceOf(() => createRequest());
    // A commit that the hub's own writes have begun carries the record as well, and then that write's context does.
    if (trace.isStored) break;
  }
});

afterAll(async () => {
  admin.close();
  await hub.close();
});

/** Waits until the hub has written nothing of its own between ten reads of the store's revision. */
async function writesEnd(): Promise<void> {
  let [revision, unchanged] = ["", 0];
  while (unchanged < 10) {
    const list = (await admin(`${path}?limit=1`)).json() as { metadata: { resourceVersion: string } };
    unchanged = list.metadata.resourceVersion === revision ? unchanged + 1 : 0;
    revision = list.metadata.resourceVersion;
  }
}

/** Creates a request on a connection of its own. */
async function createRequest(): Promise<void> {
  const joiner = apiClient(hub, { token: "abcdef.0123456789abcdef" });
  const { apiVersion, kind, spec } = csrObject();
  const { request, signerName, usages } = spec as Readonly<Record<string, unknown>>;
  const body = { apiVersion, kind, metadata: { name }, spec: { request, signerName, usages } };
  await joiner(path, { method: "POST", body });
  joiner.close();
}

/** The first cells of the table in docs/architecture.md. */
function describedPath(): readonly string[] {
  const page = readFileSync(resolve(import.meta.dirname, "../../docs/architecture.md"), "utf8");
  const [, table = ""] = page.split(/<!-- path of a CSR: (?:begin|end) -->/);
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, file = ""]) => file);
}

test("a trace follows a CertificateSigningRequest from its socket to the byte in the file of the store", async () => {
  expect((await admin(`${path}/${name}`)).status).toBe(200);
  expect(trace.isStored).toBe(true);
  expect(readFileSync(resolve(hub.dataDir, "store", "data.mdb")).includes(name)).toBe(true);
  expect(trace.members).toEqual(
    expect.arrayContaining(["authentication/x509.ts", "authorization/node.ts", "admission/certificate-signers.ts"]),
  );
});

test("its path is the one that docs/architecture.md describes, file by file", () => {
  expect(trace.files).toEqual(describedPath());
});

test("its path has at most 25 files", () => {
  expect(trace.files.length).toBeLessThanOrEqual(25);
});
