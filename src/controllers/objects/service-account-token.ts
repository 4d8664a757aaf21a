import type { ApiObject, ObjectKey } from "../../apimachinery/object.ts";
import {
  serviceAccountNameAnnotation,
  serviceAccountTokenSecretType,
  serviceAccountUidAnnotation,
} from "../../apis/secret.ts";
import { getOrUndefined, hasReason } from "../../client/api-errors.ts";
import { done, type Controller, type Outcome, referenceTo, type Report } from "../controller.ts";
import { secrets, serviceAccounts } from "../kinds.ts";
import type { Selection, SharedInformers } from "../shared-informers.ts";

const serviceAccount = "service-account-token-controller";

/** The Secrets that request a token. */
const tokenSecrets: Selection = { resource: secrets, fieldSelector: `type=${serviceAccountTokenSecretType}` };

/** An immutable Secret gets no token. */
function withoutToken(secret: ApiObject, why: string): Outcome {
  const message = `no token can be written into the Secret, create another one: ${why}`;
  const because: Report = { reason: "ReconcileFailed", about: referenceTo(secrets, secret), message };
  return { kind: "blocked", because, again: "woken" };
}

/** The account of a token, and the Secret for it. */
export interface TokenSecretOrder {
  readonly namespace: string;
  readonly secret: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

export interface ServiceAccountTokenOptions {
  readonly informers: SharedInformers;
  /** The CA that users of the token must trust. */
  readonly caPem: string;
  /** Creates a token that does not expire. */
  readonly mint: (order: TokenSecretOrder) => Promise<string>;
}

/**
 * Writes a token to each Secret of type kubernetes.io/service-account-token, and removes those whose account is gone. Nothing else
 * creates such Secrets: tokens without expiry are only for users who request one. Source: Kubernetes tokens_controller.
 */
export function serviceAccountToken(options: ServiceAccountTokenOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const wanting = reader(tokenSecrets);
  const accounts = reader({ resource: serviceAccounts });

  /** The account from the server where the informer cache has no matching one: it may be newer than the cache. */
  async function accountFor(secret: ApiObject, key: ObjectKey): Promise<ApiObject | undefined> {
    const seen = accounts.get(key);
    return isAccountOf(secret, seen) ? seen : getOrUndefined(client, serviceAccounts, key);
  }

  async function write(secret: ApiObject, key: ObjectKey, account: ApiObject | undefined): Promise<void> {
    const { caPem } = options;
    const decision = decideTokenSecret(secret, account, caPem);
    const { uid = "", namespace = "", name = "" } = secret.metadata;
    if (decision.kind === "delete") return client.delete(secrets, key, { preconditions: { uid } });
    if (decision.kind === "leave" || account === undefined) return;
    const owner = { name: account.metadata.name ?? "", uid: account.metadata.uid ?? "" };
    const token = decision.token ? await options.mint({ namespace, secret: name, serviceAccount: owner }) : undefined;
    await client.update(secrets, filledTokenSecret(secret, { uid: owner.uid, caPem, token }));
  }

  async function reconcile(key: ObjectKey): Promise<Outcome> {
    const secret = wanting.get(key);
    const name = secret === undefined ? undefined : wantedAccount(secret);
    if (secret === undefined || name === undefined) return done;
    const account = await accountFor(secret, { ...key, name });
    try {
      await write(secret, key, account);
    } catch (error) {
      if (hasReason(error, "Invalid")) return withoutToken(secret, error.message);
      if (!hasReason(error, "NotFound", "Conflict")) throw error;
    }
    return done;
  }

  return {
    name: "service-account-token",
    serviceAccount,
    watches: [
      tokenSecrets,
      {
        resource: serviceAccounts,
        keys: ({ metadata: { namespace = "", name = "" } }) =>
          wanting
            .list()
            .filter((secret) => secret.metadata.namespace === namespace && wantedAccount(secret) === name)
            .map((secret) => ({ namespace, name: secret.metadata.name ?? "" })),
      },
    ],
    concurrency: 4,
    reconcile,
  };
}

/** The next step for a Secret that requests a token. */
type TokenSecretDecision =
  /** It requests none, or has everything. */
  | { readonly kind: "leave" }
  /** Its account is gone: delete it. */
  | { readonly kind: "delete" }
  /** It is incomplete; `token` is whether to create a token. */
  | { readonly kind: "fill"; readonly token: boolean };

/** The name of the account whose token a Secret requests; undefined for Secrets of other types. */
function wantedAccount(secret: ApiObject): string | undefined {
  if (secret["type"] !== serviceAccountTokenSecretType) return undefined;
  const name = secret.metadata.annotations?.[serviceAccountNameAnnotation] ?? "";
  return name === "" ? undefined : name;
}

/** Whether the account is the one that the Secret names: by name, and by uid where the Secret has one. */
function isAccountOf(secret: ApiObject, account: ApiObject | undefined): account is ApiObject {
  const uid = secret.metadata.annotations?.[serviceAccountUidAnnotation] ?? "";
  return account !== undefined && (uid === "" || uid === account.metadata.uid);
}

/**
 * The next step for a Secret; `account` is the current ServiceAccount of the requested name. An existing token is kept, even one written
 * by a client: it is useless unless the hub signed it. @see kubernetes pkg/controller/serviceaccount/tokens_controller.go
 */
export function decideTokenSecret(
  secret: ApiObject,
  account: ApiObject | undefined,
  caPem: string,
): TokenSecretDecision {
  if (wantedAccount(secret) === undefined || secret.metadata.deletionTimestamp !== undefined) return { kind: "leave" };
  if (!isAccountOf(secret, account)) return { kind: "delete" };
  const data = dataOf(secret);
  const token = textOf(data["token"]) === "";
  const named = secret.metadata.annotations?.[serviceAccountUidAnnotation] === account.metadata.uid;
  const whole = !token && named && textOf(data["ca.crt"]) === caPem && textOf(data["namespace"]) !== "";
  return whole || account.metadata.deletionTimestamp !== undefined ? { kind: "leave" } : { kind: "fill", token };
}

/** The Secret with everything that its mounts expect; `token` is undefined where it keeps the present one. */
function filledTokenSecret(
  secret: ApiObject,
  { uid, caPem, token }: { readonly uid: string; readonly caPem: string; readonly token: string | undefined },
): ApiObject {
  const { metadata } = secret;
  return {
    ...secret,
    metadata: { ...metadata, annotations: { ...metadata.annotations, [serviceAccountUidAnnotation]: uid } },
    data: {
      ...dataOf(secret),
      "ca.crt": base64(caPem),
      namespace: base64(metadata.namespace ?? ""),
      ...(token === undefined ? {} : { token: base64(token) }),
    },
  };
}

function dataOf(secret: ApiObject): Readonly<Record<string, unknown>> {
  return (secret["data"] ?? {}) as Readonly<Record<string, unknown>>;
}

function textOf(value: unknown): string {
  return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : "";
}

function base64(text: string): string {
  return Buffer.from(text, "utf8").toString("base64");
}
