import { createHash } from "node:crypto";
import type { Client } from "../../client/client.ts";
import { csrView } from "../../controllers/certificates/csr-view.ts";
import { certificateSigningRequests } from "../../controllers/kinds.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { returningMs } from "../../apimachinery/expired-credential.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { parseCertificate } from "../../pki/parse-certificate.ts";
import { decodePem } from "../../pki/pem.ts";
import {
  credentialRevocations,
  type CredentialRevocation,
  type RevocationTarget,
  revocationName,
} from "../../apis/credential-revocation.ts";
import { lockOutAnnotation, revocationIndex, type Credential, credentialOf } from "../../apis/revocation-index.ts";
import { CliError, type ExitName } from "../cli-error.ts";
import type { Args, Run } from "../command.ts";
import { decide } from "../access/decide.ts";
import { failureOf, writeFailure } from "../failure.ts";
import type { Io } from "../io.ts";
import { printable, writeLine } from "../printable.ts";
import { removeGrants, unknownTarget } from "./target-objects.ts";
import { isAboutCredentials, namedTargets, targetText, untilText, type NamedTarget } from "./revoke-target.ts";
import { withServer, type ServerAccess } from "../server-access.ts";
import { ignoreReasons } from "../../client/api-errors.ts";
import { selfSubjectReviews, type SelfSubjectReview } from "../../apis/token-review.ts";
import type { UserInfo } from "../../apimachinery/user.ts";

/** Revokes access requests or credentials. A failure does not stop the others; the first failure is the exit code. */
export const revoke: Run = async (args, io) => {
  if (!isAboutCredentials(args)) return decide("Revoked", args, io);
  const targets = namedTargets(args);
  const until = args.text("until");
  const expiresAt = until === undefined ? undefined : untilText(until, io.clock.now());
  return withServer(args, io, async (server) => {
    const own = await ownCredential(server);
    let exit: ExitName = "ok";
    for (const named of targets) {
      try {
        await revokeOne(named, { args, io, server, own, expiresAt });
      } catch (error) {
        const failure = failureOf(error, args);
        writeFailure(io, failure);
        if (exit === "ok") exit = failure.exit;
      }
    }
    return exit;
  });
};

interface Revoking {
  readonly args: Args;
  readonly io: Io;
  readonly server: ServerAccess;
  /** The credential of this command itself. */
  readonly own: Credential;
  readonly expiresAt: string | undefined;
}

/** The target of a revocation, and the expiry of the last credential that it covers, where that is known. */
interface Resolved {
  readonly shown: string;
  readonly target: RevocationTarget;
  readonly ends?: string;
}

async function revokeOne(named: NamedTarget, revoking: Revoking): Promise<void> {
  const { args, io, server, own } = revoking;
  const dryRun = args.on("dry-run");
  const { shown, target, ends } = await resolved(named, server.client);
  const expiresAt = revoking.expiresAt ?? ends;
  const reason = args.text("reason");
  const spec = {
    ...target,
    ...(reason === undefined ? {} : { reason }),
    ...(expiresAt === undefined ? {} : { expiresAt }),
  };
  const isOwn = covers(target, own, io.clock.now());
  if (isOwn && !args.on("force")) throw lockedOut(shown);
  const stored = await storedRevocation(spec, { client: server.client, dryRun, isOwn });
  const removesGrants = args.on("remove-grants");
  if (stored !== "no such kind") {
    printResult(io, { shown, ...stored, dryRun });
    if (stored.isNew) await warnOfUnknown(target, revoking);
  } else if (removesGrants) {
    io.stderr.write("note: this cluster has no CredentialRevocation; only what gives rights is removed\n");
  } else throw noSuchKind();
  if (removesGrants) await removeGrants(target, { client: server.client, io, dryRun });
}

async function warnOfUnknown(target: RevocationTarget, { io, server }: Revoking): Promise<void> {
  const unknown = await unknownTarget(target, server.client);
  if (unknown !== undefined) writeLine(io.stderr, `warning: ${unknown}; is the name right?`);
}

function covers(target: RevocationTarget, own: Credential, now: number): boolean {
  const alone = revocationIndex();
  alone.put({ apiVersion: "", kind: "", metadata: { name: "own" }, spec: target });
  return alone.find(own, now) !== undefined;
}

function lockedOut(shown: string): CliError {
  return new CliError("refused", `${shown} is what this command itself came in with; nothing was revoked`, [
    "You would be locked out in the same moment. Use another credential, or add --force if that is meant.",
    "On the hub's own machine a restart writes a new admin.kubeconfig; its user cannot be revoked, its certificates can.",
  ]);
}

function noSuchKind(): CliError {
  return new CliError("notFound", "this cluster has no CredentialRevocation, so nothing would refuse what is revoked", [
    "Install it with: pratique manifests | kubectl apply -f -",
    "It has effect where pratique authorizer --revocations is the first authorizer.",
    "--remove-grants takes rights away without it: bindings, token Secrets, the account itself.",
  ]);
}

/** A day more than the certificate has, for hubs and authorizers with other clocks. */
const marginMs = 86_400_000;

async function resolved(named: NamedTarget, client: Client): Promise<Resolved> {
  if (named.kind === "credential") return named;
  const { name } = named;
  const { certificate } = csrView(await client.get(certificateSigningRequests, { name }));
  const leaf = certificate === "" ? undefined : decodePem(certificate)[0];
  if (leaf === undefined) {
    throw new CliError(
      "conflict",
      `certificate request "${name}" was answered with no certificate; pratique deny turns it away`,
    );
  }
  const fingerprint = createHash("sha256").update(leaf.bytes).digest("hex");
  const target = { fingerprint };
  // A machine may recover with an expired certificate: a revoked one stays revoked until recovery is no longer possible.
  const ends = rfc3339(parseCertificate(leaf.bytes).notAfter + returningMs + marginMs);
  return { shown: targetText(target), target, ends };
}

interface Stored {
  readonly revocation: CredentialRevocation;
  readonly isNew: boolean;
  /** The previous end of the existing revocation. */
  readonly endedAt?: string | undefined;
}

async function storedRevocation(
  spec: CredentialRevocation["spec"],
  { client, dryRun, isOwn }: { readonly client: Client; readonly dryRun: boolean; readonly isOwn: boolean },
): Promise<Stored | "no such kind"> {
  const { reason: _reason, expiresAt: _end, ...target } = spec;
  const name = revocationName(target);
  const { group, version, kind } = credentialRevocations;
  const annotations = isOwn ? { annotations: { [lockOutAnnotation]: "accepted" } } : {};
  const object = { apiVersion: `${group}/${version}`, kind, metadata: { name, ...annotations }, spec };
  try {
    return { revocation: await client.create(credentialRevocations, object, { dryRun }), isNew: true };
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.reason === "NotFound") return "no such kind";
    if (error.reason !== "AlreadyExists") throw error;
  }
  // Of the same name, hence of the same target: the last end and reason apply.
  const patch = { spec: { ...spec, expiresAt: spec.expiresAt ?? null } };
  const before = await storedBefore(name, client);
  const revocation = await client.patch<CredentialRevocation>(credentialRevocations, { name }, patch, { dryRun });
  return { revocation, isNew: false, endedAt: before?.spec.expiresAt };
}

/** The existing revocation for comparison; a caller with no right to read it gets a shorter result. */
async function storedBefore(name: string, client: Client): Promise<CredentialRevocation | undefined> {
  return client.get<CredentialRevocation>(credentialRevocations, { name }).catch((error: unknown) => {
    if (error instanceof StatusError) return undefined;
    throw error;
  });
}

function printResult(io: Io, result: Stored & { readonly shown: string; readonly dryRun: boolean }): void {
  const { revocation, isNew, endedAt, shown, dryRun } = result;
  const { expiresAt } = revocation.spec;
  const unended = isNew || endedAt === undefined ? "" : ", now without an end";
  const end = expiresAt === undefined ? unended : ` until ${expiresAt}`;
  const what = printable(`${shown} ${isNew ? "revoked" : "is revoked already; it stays so"}${end}`);
  io.stdout.write(`${what}${dryRun ? " (dry run)" : ""}\n`);
  if (!dryRun)
    writeLine(io.stderr, `to undo it: kubectl delete credentialrevocation ${revocation.metadata.name ?? ""}`);
  if (revocation.status?.enforced === true) return;
  writeLine(
    io.stderr,
    "note: this API does not refuse it by itself: that does pratique authorizer --revocations, where it is the first authorizer. Open watches go on until they end there; --remove-grants takes rights away as well.",
  );
}

/** The caller's own credential, from the server's SelfSubjectReview and the certificate of the kubeconfig. */
async function ownCredential({ client, config }: ServerAccess): Promise<Credential> {
  const seen = credentialOf(await whoAmI(client));
  const leaf = config.clientCertPem === undefined ? undefined : decodePem(config.clientCertPem)[0];
  if (leaf === undefined) return seen;
  const { serialNumber, rawIssuer } = parseCertificate(leaf.bytes);
  const id = `X509SHA256=${createHash("sha256").update(leaf.bytes).digest("hex")}`;
  return {
    ...seen,
    ids: [...seen.ids, id],
    serialNumber,
    issuer: createHash("sha256").update(rawIssuer).digest("hex"),
  };
}

/** Servers before 1.28 do not report it; an unknown user is none. */
async function whoAmI(client: Client): Promise<UserInfo> {
  const { group, version, kind } = selfSubjectReviews;
  const review = { apiVersion: `${group}/${version}`, kind, metadata: {} };
  const answer = client.create<SelfSubjectReview>(selfSubjectReviews, review);
  const { status } = (await ignoreReasons(answer, "NotFound", "Forbidden")) ?? {};
  return { username: "", groups: [], ...status?.userInfo };
}
