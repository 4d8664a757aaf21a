import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { replaceFile, textIfThere } from "../../host/private-files.ts";
import {
  clusterBootstrapAccount as account,
  clusterBootstrapGroup,
} from "../../authorization/bootstrap-policy/registration-roles.ts";
import { bootstrapKubeconfig } from "../../client/build-kubeconfig.ts";
import type { Client } from "../../client/client.ts";
import { nodePatternProblem } from "../../controllers/certificates/node-name-claims.ts";
import { type SubjectAccessReview, selfSubjectAccessReviews } from "../../apis/access-review.ts";
import { clusterGroup } from "../../apis/managed-cluster.ts";
import { secrets, serviceAccounts } from "../../controllers/kinds.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { humanDuration } from "../../apimachinery/duration.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { shellWord } from "../../apimachinery/shell-word.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { bootstrapUserPrefix, serviceAccountUser } from "../../apimachinery/user.ts";
import { formatToken, generateToken } from "../../trust/token.ts";
import { tokenSecret } from "../../trust/token-secret.ts";
import { withClusters } from "./cluster-access.ts";
import { CliError, usageError } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import type { Io } from "../io.ts";
import type { ServerAccess } from "../server-access.ts";
import { warnOfLoopback } from "../token/run-token.ts";
import { waitFor } from "../wait-for.ts";
import { systemErrorText } from "../../apimachinery/system-error.ts";
import { writeLine } from "../printable.ts";

/** The bootstrap credential of a spoke. */
interface Bootstrap {
  readonly user: string;
  readonly token: string;
  readonly ttlMs: number;
  /** In milliseconds since the epoch. */
  readonly until: number;
  /** How it is revoked before it expires. */
  readonly takeBack: string;
}

/** Creates an identity that may only register a cluster, tests it, and writes the spoke's kubeconfig, readable by its owner only. */
export const clusterToken: Run = async (args, io) => {
  const file = args.text("bootstrap-kubeconfig") ?? "";
  const path = file === "-" ? undefined : resolve(io.cwd, file);
  const clusters = args.list("clusters");
  for (const pattern of clusters) {
    const problem = nodePatternProblem(pattern);
    if (problem !== undefined) throw usageError(`--clusters ${JSON.stringify(pattern)}: ${problem}`);
  }
  const ttlMs = lifetime(args);
  if (path !== undefined) await requirePlace(path, { file, force: args.on("force") });
  return withClusters(args, io, async (server) => {
    const caPem = server.config.caPem;
    if (caPem === undefined) {
      throw usageError("your kubeconfig names no CA (certificate-authority), and a spoke needs one", [
        "Give --kubeconfig with the admin kubeconfig of the hub.",
      ]);
    }
    const address = args.text("server") ?? server.config.server;
    checkAddress(address, io);
    const made = await (args.text("identity") === "service-account"
      ? ofAccount(server, ttlMs)
      : ofToken(server, { ttlMs, io, clusters }));
    const text = bootstrapKubeconfig({ server: address, ca: { pem: caPem }, token: made.token });
    if (path === undefined) io.stdout.write(text);
    else await replaceFile(path, text);
    await tried(made, server, io);
    printResult(made, { file, clusters }, io);
  });
};

/** Checked before anything is created on the hub, where an unused identity would stay. @throws CliError */
async function requirePlace(
  path: string,
  { file, force }: { readonly file: string; readonly force: boolean },
): Promise<void> {
  try {
    await access(dirname(path), constants.W_OK);
    if (force || (await textIfThere(path)) === undefined) return;
  } catch (error) {
    const why = systemErrorText(error, { operation: "write", at: file });
    throw usageError(`--bootstrap-kubeconfig: ${why}; nothing was made`);
  }
  throw new CliError("conflict", `${file} exists; --force replaces it`);
}

function lifetime(args: Args): number {
  const ms = args.number("ttl") ?? 0;
  const least = args.text("identity") === "service-account" ? 600_000 : 60_000;
  if (ms < least) throw usageError(`--ttl must be ${humanDuration(least)} or more`);
  return Math.floor(ms / 1000) * 1000;
}

function checkAddress(address: string, io: Io): void {
  if (!URL.canParse(address) || new URL(address).protocol !== "https:") {
    throw usageError(`--server ${JSON.stringify(address)} must be a URL that begins with https://`);
  }
  warnOfLoopback(address, "give --server with an address that spokes reach", io);
}

async function ofToken(
  { client }: ServerAccess,
  { ttlMs, io, clusters }: Pick<Bootstrap, "ttlMs"> & { readonly io: Io; readonly clusters: readonly string[] },
): Promise<Bootstrap> {
  const token = generateToken(io.random);
  const now = io.clock.now();
  const of = clusters.length === 0 ? "" : ` ${clusters.join(", ")}`;
  const secret = tokenSecret({
    token,
    now,
    ttlSeconds: ttlMs / 1000,
    usages: ["authentication"],
    groups: [clusterBootstrapGroup],
    description: `managed clusters${of}`,
  });
  await client.create(secrets, secret);
  return {
    user: `${bootstrapUserPrefix}${token.id}`,
    token: formatToken(token),
    ttlMs,
    until: now + ttlMs,
    takeBack: `pratique token delete ${token.id}`,
  };
}

/** A TokenRequest for OCM's bootstrap account; such a token cannot be revoked alone. */
async function ofAccount({ client }: ServerAccess, ttlMs: number): Promise<Bootstrap> {
  const { namespace, name } = account;
  const request = {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenRequest",
    metadata: { namespace, name },
    spec: { expirationSeconds: ttlMs / 1000 },
  };
  const { spec, status } = await client.create<IssuedToken>(serviceAccounts, request, { subresource: "token" });
  const { token = "", expirationTimestamp = "" } = status ?? {};
  return {
    user: serviceAccountUser(namespace, name).username,
    token,
    // The server may have shortened it.
    ttlMs: spec === undefined ? ttlMs : spec.expirationSeconds * 1000,
    until: Date.parse(expirationTimestamp),
    takeBack: `pratique revoke serviceaccount/${namespace}/${name}, which takes back all that were ever given`,
  };
}

interface IssuedToken extends ApiObject {
  readonly spec?: { readonly expirationSeconds: number };
  readonly status?: { readonly token?: string; readonly expirationTimestamp?: string };
}

/** The requests of an agent before it has a certificate. */
const needed = [
  { group: clusterGroup, resource: "managedclusters" },
  { group: "certificates.k8s.io", resource: "certificatesigningrequests" },
].flatMap((rest) => ["create", "get", "list", "watch"].map((verb) => ({ ...rest, verb })));

/** The right in words, where the server does not grant it. */
async function lackedRight(client: Client, resourceAttributes: (typeof needed)[number]): Promise<string | undefined> {
  const { group, version, kind } = selfSubjectAccessReviews;
  const review = { apiVersion: `${group}/${version}`, kind, metadata: {}, spec: { resourceAttributes } };
  const { status } = await client.create<SubjectAccessReview>(selfSubjectAccessReviews, review);
  return status?.allowed === true ? undefined : `${resourceAttributes.verb} ${resourceAttributes.resource}`;
}

/** Checks on the hub, with the spoke's identity, whether it is authenticated and has its rights. @throws CliError */
async function tried({ token, takeBack }: Bootstrap, { config }: ServerAccess, io: Io): Promise<void> {
  const { server, caPem, tlsServerName, insecureSkipTlsVerify } = config;
  const client = await io.connect({
    context: "bootstrap",
    namespace: "default",
    server,
    insecureSkipTlsVerify,
    ...(caPem === undefined ? {} : { caPem }),
    ...(tlsServerName === undefined ? {} : { tlsServerName }),
    token,
  });
  try {
    const lacking = await waitFor({
      io,
      timeoutMs: 10_000,
      about: "the new token",
      hints: [
        "Does the server take bootstrap tokens (--enable-bootstrap-token-auth)? Else: --identity service-account",
      ],
      look: async () => {
        try {
          const answers = needed.map((attributes) => lackedRight(client, attributes));
          return { found: (await Promise.all(answers)).filter((right) => right !== undefined) };
        } catch (error) {
          if (error instanceof StatusError && error.code === 401) return { missing: "the server to know it" };
          throw error;
        }
      },
    });
    if (lacking.length === 0) return;
    throw new CliError("failed", `the new identity may not do what a cluster joins with: ${lacking.join(", ")}`, [
      "Is the role open-cluster-management:bootstrap bound there? pratique manifests --managed-clusters | kubectl apply -f -",
      `To have it gone: ${takeBack}`,
    ]);
  } finally {
    client.close();
  }
}

/** On standard error where the kubeconfig itself goes to standard output. */
function printResult(
  made: Bootstrap,
  { file, clusters }: { readonly file: string; readonly clusters: readonly string[] },
  io: Io,
): void {
  const { user, until, takeBack } = made;
  const out = file === "-" ? io.stderr : io.stdout;
  const shown = file === "-" ? "FILE" : shellWord(file);
  const [name = "NAME", ...more] = clusters.filter((one) => !one.includes("*"));
  const cluster = more.length === 0 ? name : "NAME";
  const lines = [
    ...(file === "-"
      ? []
      : [
          `Wrote ${file}, readable by you only. It holds a secret: take it to the spoke by a way that others do not see.`,
        ]),
    `It is ${user}, for ${humanDuration(made.ttlMs)}, until ${rfc3339(until)}.`,
    "It may request that clusters join, in any name, and see those requests. It accepts no cluster.",
    `On the spoke:    pratique cluster join --bootstrap-kubeconfig ${shown} --cluster-name ${cluster}`,
    `Then on the hub: pratique pending, and pratique cluster accept ${cluster}`,
    `To revoke it: ${takeBack}`,
    ...(clusters.length === 0
      ? []
      : [
          `To let it join ${clusters.join(", ")} without a person, and nothing else, put this under autoApproval in the file of --registration-config:`,
          `  - user: ${user}`,
          `    clusters: [${clusters.map((one) => JSON.stringify(one)).join(", ")}]`,
        ]),
  ];
  for (const line of lines) writeLine(out, line);
}
