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

/** The Secrets that ask for a token. */
const tokenSecrets: Selection = { resource: secrets, fieldSelector: `type=${serviceAccountTokenSecretType}` };

/** A Secret that may not be changed any more stays without a token. */
function withoutToken(secret: ApiObject, why: string): Outcome {
  const message = `no token can be written into the Secret, create another one: ${why}`;
  const because: Report = { reason: "ReconcileFailed", about: referenceTo(secrets, secret), message };
  return { kind: "blocked", because, again: "woken" };
}

/** Whom a token is to speak for, and the Secret that will hold it. */
export interface TokenSecretOrder {
  readonly namespace: string;
  readonly secret: string;
  readonly serviceAccount: { readonly name: string; readonly uid: string };
}

export interface ServiceAccountTokenOptions {
  readonly informers: SharedInformers;
  /** The CA that whoever uses the token must trust. */
  readonly caPem: string;
  /** Makes a token that does not end by itself. */
  readonly mint: (order: TokenSecretOrder) => Promise<string>;
}

/**
 * Puts a token into each Secret of type kubernetes.io/service-account-token, and removes those whose account is gone. Nothing else
 * makes such Secrets: tokens that do not end are for those only who ask for one. Source: Kubernetes tokens_controller.
 */
export function serviceAccountToken(options: ServiceAccountTokenOptions): Controller {
  const { client, reader } = options.informers.as(serviceAccount);
  const wanting = reader(tokenSecrets);
  const accounts = reader({ resource: serviceAccounts });

  /** The account as the server has it now where the view has none that fits: it may be younger than the view. */
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

/** What is to be done about a Secret that asks for a token. */
type TokenSecretDecision =
  /** It asks for none, or has all it can get. */
  | { readonly kind: "leave" }
  /** The account that it is for is gone, and so must it be. */
  | { readonly kind: "delete" }
  /** It lacks something; `token` says whether a token is to be made. */
  | { readonly kind: "fill"; readonly token: boolean };

/** The name of the account that a Secret wants a token of; undefined for Secrets of other types. */
function wantedAccount(secret: ApiObject): string | undefined {
  if (secret["type"] !== serviceAccountTokenSecretType) return undefined;
  const name = secret.metadata.annotations?.[serviceAccountNameAnnotation] ?? "";
  return name === "" ? undefined : name;
}

/** Whether the account is the one that the Secret speaks of: of that name, and of that uid where it names one. */
function isAccountOf(secret: ApiObject, account: ApiObject | undefined): account is ApiObject {
  const uid = secret.metadata.annotations?.[serviceAccountUidAnnotation] ?? "";
  return account !== undefined && (uid === "" || uid === account.metadata.uid);
}

/**
 * Decides about a Secret; `account` is the present ServiceAccount of the name that it wants. A token that is there stays, whoever put
 * it there: it is worth nothing unless the hub signed it.
 * @see kubernetes pkg/controller/serviceaccount/tokens_controller.go
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

/** The Secret with everything that whoever mounts it expects; `token` is undefined where it keeps the one it has. */
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
