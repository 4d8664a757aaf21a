import type { ApiObject } from "../../apimachinery/object.ts";
import {
  serviceAccountNameAnnotation,
  serviceAccountTokenSecretType,
  serviceAccountUidAnnotation,
} from "../../apis/secret.ts";

/** What is to be done about a Secret that asks for a token. */
export type TokenSecretDecision =
  /** It asks for none, or has all it can get. */
  | { readonly kind: "leave" }
  /** The account that it is for is gone, and so must it be. */
  | { readonly kind: "delete" }
  /** It lacks something; `token` says whether a token is to be made. */
  | { readonly kind: "fill"; readonly token: boolean };

/** The name of the account that a Secret wants a token of; undefined for Secrets of other types. */
export function wantedAccount(secret: ApiObject): string | undefined {
  if (secret["type"] !== serviceAccountTokenSecretType) return undefined;
  const name = secret.metadata.annotations?.[serviceAccountNameAnnotation] ?? "";
  return name === "" ? undefined : name;
}

/** Whether the account is the one that the Secret speaks of: of that name, and of that uid where it names one. */
export function isAccountOf(secret: ApiObject, account: ApiObject | undefined): account is ApiObject {
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
export function filledTokenSecret(
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
