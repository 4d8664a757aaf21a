import { forbidden, StatusError } from "../apimachinery/status.ts";
import { quoted } from "../apimachinery/quoted.ts";
import type { Attributes } from "./authorizer.ts";

const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };

/**
 * The 403 for a request that no authorizer allowed, worded as Kubernetes words it. `reason` is the chain's and may be empty.
 * The sentence about the request is HTML-escaped (`& < >`), the reason is not.
 * Source: apiserver endpoints/handlers/responsewriters Forbidden.
 */
export function forbiddenRequest(attributes: Attributes, reason: string): StatusError {
  const sentence = refusedSentence(attributes).replaceAll(/[&<>]/g, (character) => escapes[character] ?? character);
  const why = reason === "" ? sentence : `${sentence}: ${reason}`;
  if (attributes.path !== undefined) return new StatusError("Forbidden", `forbidden: ${why}`, { details: {} });
  return forbidden({ group: attributes.group, plural: attributes.resource }, attributes.name, why);
}

/** `User "u" cannot get resource "pods/log" in API group "" in the namespace "n"`, unescaped. */
export function refusedSentence(attributes: Attributes): string {
  const { user, verb, path, resource, subresource, group, namespace } = attributes;
  const who = `User ${quoted(user.username)} cannot ${verb}`;
  if (path !== undefined) return `${who} path ${quoted(path)}`;
  const what = quoted(subresource === "" ? resource : `${resource}/${subresource}`);
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quoted(namespace)}`;
  return `${who} resource ${what} in API group ${quoted(group)} ${where}`;
}
