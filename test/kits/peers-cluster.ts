import { randomBytes } from "node:crypto";
import { tokenSecret } from "../../src/trust/token-secret.ts";
import { formatToken, generateToken } from "../../src/trust/token.ts";
import type { Condition } from "../../src/apimachinery/object.ts";
import { parseCsr } from "../../src/pki/csr.ts";
import type { Kubectl } from "./kubectl.ts";
import { eventually } from "./peers-process.ts";

/** A certificate request as kubectl shows it. */
export interface ShownRequest {
  readonly name: string;
  /** The common name that it asks for. */
  readonly commonName: string;
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status?: { readonly certificate?: string; readonly conditions?: readonly Condition[] };
}

interface RequestList {
  readonly items: readonly {
    readonly metadata: { readonly name: string };
    readonly spec: Readonly<Record<string, unknown>> & { readonly request: string };
    readonly status?: ShownRequest["status"];
  }[];
}

/** Makes a bootstrap token that lives for an hour, and gives its text. */
export async function tokenOn(kubectl: Kubectl): Promise<string> {
  const token = generateToken((size) => randomBytes(size));
  const secret = tokenSecret({ token, now: Date.now(), ttlSeconds: 3600 });
  await kubectl.with({ input: JSON.stringify(secret) }).ok("create", "-f", "-");
  return formatToken(token);
}

/** All certificate requests. */
export async function requests(kubectl: Kubectl): Promise<readonly ShownRequest[]> {
  const { items } = (await kubectl.json("get", "csr")) as unknown as RequestList;
  return items.map(({ metadata, spec, status }) => ({
    name: metadata.name,
    commonName: parseCsr(Buffer.from(spec.request, "base64")).subject.commonName ?? "",
    spec,
    ...(status === undefined ? {} : { status }),
  }));
}

/** The request for the client certificate of a node, once it is there. */
export async function requestOf(kubectl: Kubectl, node: string): Promise<ShownRequest> {
  return eventually(`the certificate request of ${node}`, async () =>
    (await requests(kubectl)).find(({ commonName }) => commonName === `system:node:${node}`),
  );
}

/** Who the owner of a kubeconfig is, to the server. */
export async function whoami(kubectl: Kubectl): Promise<unknown> {
  const review = await kubectl.json("auth", "whoami");
  return (review["status"] as { readonly userInfo: unknown }).userInfo;
}
