import { ignoreReasons } from "../../client/api-errors.ts";
import type { Client, ResourceRef } from "../../client/client.ts";
import { csrView, hasCondition } from "../../controllers/certificates/csr-view.ts";
import {
  certificateSigningRequests,
  clusterRoleBindings,
  roleBindings,
  secrets,
  serviceAccounts,
  nodes,
} from "../../controllers/kinds.ts";
import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import { bootstrapUserPrefix, nodeUserPrefix } from "../../apimachinery/user.ts";
import type { RevocationTarget } from "../../apis/credential-revocation.ts";
import { tokenSecretName, tokenSecretNamespace } from "../../trust/token-secret.ts";
import type { Io } from "../io.ts";
import { printable, writeLine } from "../printable.ts";
import { recordName } from "../../controllers/credentials/credential-record.ts";
import { StatusError } from "../../apimachinery/status.ts";
import { issuedCredentials } from "../../apis/issued-credential.ts";

interface Removing {
  readonly client: Client;
  readonly io: Io;
  readonly dryRun: boolean;
}

interface Subject {
  readonly kind: string;
  readonly name: string;
  readonly namespace?: string;
}

const accountUser = /^system:serviceaccount:([^:]+):([^:]+)$/;

/**
 * Deletes the grants of a revoked identity, on any Kubernetes: its subjects in bindings, its pending certificate requests, and the
 * account or Secret of its tokens. Rights by a group stay. Ignores what is already deleted. @throws StatusError
 */
export async function removeGrants(target: RevocationTarget, removing: Removing): Promise<void> {
  const { user: named, bootstrapTokenID, secret } = target;
  if (bootstrapTokenID !== undefined) {
    const key = { namespace: tokenSecretNamespace, name: tokenSecretName(bootstrapTokenID) };
    await remove(secrets, key, removing);
  }
  if (secret !== undefined) await remove(secrets, secret, removing);
  const user = named ?? (bootstrapTokenID === undefined ? undefined : `${bootstrapUserPrefix}${bootstrapTokenID}`);
  if (user !== undefined) return removeUser(user, removing);
  if (secret !== undefined) return;
  writeLine(
    removing.io.stderr,
    "note: nothing stands on one certificate or token alone; name its user to remove its grants",
  );
}

async function removeUser(user: string, removing: Removing): Promise<void> {
  for (const resource of [clusterRoleBindings, roleBindings]) await removeFrom(resource, user, removing);
  await removeWaiting(user, removing);
  const [, namespace, name] = accountUser.exec(user) ?? [];
  if (namespace === undefined || name === undefined) return;
  // The Secrets first: after the account is deleted, a controller removes them only later.
  const { items } = await removing.client.list(secrets, {
    namespace,
    fieldSelector: "type=kubernetes.io/service-account-token",
  });
  for (const { metadata } of items) {
    if (metadata.annotations?.["kubernetes.io/service-account.name"] !== name) continue;
    await remove(secrets, { namespace, name: metadata.name ?? "" }, removing);
  }
  await remove(serviceAccounts, { namespace, name }, removing);
}

function isSubject({ kind, name, namespace }: Subject, user: string): boolean {
  return kind === "ServiceAccount"
    ? `system:serviceaccount:${namespace}:${name}` === user
    : kind === "User" && name === user;
}

async function removeFrom(resource: ResourceRef, user: string, removing: Removing): Promise<void> {
  const { items } = await removing.client.list<ApiObject & { readonly subjects?: readonly Subject[] }>(resource);
  for (const { metadata, subjects = [] } of items) {
    const left = subjects.filter((subject) => !isSubject(subject, user));
    if (left.length === subjects.length) continue;
    const { namespace, name = "", uid, resourceVersion } = metadata;
    const key = namespace === undefined ? { name } : { namespace, name };
    if (left.length === 0) await remove(resource, key, removing);
    else {
      // With its version: a subject that was added meanwhile must not be lost.
      const patch = { metadata: { uid, resourceVersion }, subjects: left };
      await removing.client.patch(resource, key, patch, { dryRun: removing.dryRun });
      report(removing, nameOf(resource, key), "no longer names it");
    }
  }
}

async function removeWaiting(user: string, removing: Removing): Promise<void> {
  const { items } = await removing.client.list(certificateSigningRequests);
  for (const object of items) {
    const csr = csrView(object);
    if (csr.requester.username !== user || csr.certificate !== "" || hasCondition(csr, "Denied")) continue;
    await remove(certificateSigningRequests, { name: object.metadata.name ?? "" }, removing);
  }
}

async function remove(resource: ResourceRef, key: ObjectKey, removing: Removing): Promise<void> {
  const { client, dryRun } = removing;
  const removal = dryRun ? client.get(resource, key) : client.delete(resource, key);
  const isThere = await ignoreReasons(
    removal.then(() => true),
    "NotFound",
  );
  if (isThere === true) report(removing, nameOf(resource, key), "deleted");
}

function nameOf({ kind }: ResourceRef, { namespace, name }: ObjectKey): string {
  return `${kind.toLowerCase()}/${namespace === undefined ? name : `${namespace}/${name}`}`;
}

function report({ io, dryRun }: Removing, object: string, what: string): void {
  io.stdout.write(`${printable(`${object} ${what}`)}${dryRun ? " (dry run)" : ""}\n`);
}

interface Sought {
  readonly resource: ResourceRef;
  readonly name: string;
  readonly namespace?: string;
}

/**
 * A sentence about a target that does not exist, whose name may be mistyped; undefined where it exists, where that may not be read, and
 * for users and certificates, of which no list is complete.
 */
export async function unknownTarget(target: RevocationTarget, client: Client): Promise<string | undefined> {
  const sought = soughtFor(target);
  if (sought === undefined) return undefined;
  const found = await Promise.all(sought.places.map((place) => isThere(place, client)));
  return found.includes("yes") || found.includes("unseen") ? undefined : sought.sentence;
}

function soughtFor(target: RevocationTarget): { places: readonly Sought[]; sentence: string } | undefined {
  const { user = "", secret, bootstrapTokenID } = target;
  if (user.startsWith(nodeUserPrefix)) {
    const name = user.slice(nodeUserPrefix.length);
    const record = recordName({ username: user, purpose: "Client" });
    const places = [
      { resource: nodes, name },
      { resource: issuedCredentials, name: record },
    ];
    return { places, sentence: `there is no Node ${JSON.stringify(name)}, and no record of a certificate for it` };
  }
  const [, namespace, account] = accountUser.exec(user) ?? [];
  if (namespace !== undefined && account !== undefined) {
    const sentence = `there is no ServiceAccount ${namespace}/${account}`;
    return { places: [{ resource: serviceAccounts, namespace, name: account }], sentence };
  }
  if (secret !== undefined) {
    const sentence = `there is no Secret ${secret.namespace}/${secret.name}`;
    return { places: [{ resource: secrets, ...secret }], sentence };
  }
  if (bootstrapTokenID === undefined) return undefined;
  const place = { resource: secrets, namespace: "kube-system", name: tokenSecretName(bootstrapTokenID) };
  return { places: [place], sentence: `there is no bootstrap token ${bootstrapTokenID}` };
}

async function isThere({ resource, ...key }: Sought, client: Client): Promise<"yes" | "no" | "unseen"> {
  try {
    await client.get(resource, key);
    return "yes";
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return error.code === 404 ? "no" : "unseen";
  }
}
