import type { Attributes, SelectorRequirement } from "./authorizer.ts";

/** The spec of a SubjectAccessReview of version v1 for the attributes; empty fields are left out. */
export interface AskedSpec {
  readonly resourceAttributes?: Readonly<Record<string, string | Selector>>;
  readonly nonResourceAttributes?: { readonly path: string; readonly verb: string };
  readonly user: string;
  readonly groups?: readonly string[];
  readonly extra?: Readonly<Record<string, readonly string[]>>;
  readonly uid?: string;
}

interface Selector {
  readonly requirements: readonly SelectorRequirement[];
}

/** What the hub sends to an external authorizer about a request. Source: apiserver plugin/pkg/authorizer/webhook. */
export function accessReviewSpec(attributes: Attributes): AskedSpec {
  const { user, path, verb } = attributes;
  return {
    ...(path === undefined
      ? { resourceAttributes: resourceAttributes(attributes) }
      : { nonResourceAttributes: { path, verb } }),
    user: user.username,
    ...(user.groups.length === 0 ? {} : { groups: user.groups }),
    ...(user.extra === undefined || Object.keys(user.extra).length === 0 ? {} : { extra: user.extra }),
    ...(user.uid === undefined || user.uid === "" ? {} : { uid: user.uid }),
  };
}

function resourceAttributes(attributes: Attributes): Readonly<Record<string, string | Selector>> {
  const { namespace, verb, group, version, resource, subresource, name, fieldSelector, labelSelector } = attributes;
  const texts = Object.entries({ namespace, verb, group, version, resource, subresource, name });
  return {
    ...Object.fromEntries(texts.filter(([, text]) => text !== "")),
    ...selector("fieldSelector", fieldSelector),
    ...selector("labelSelector", labelSelector),
  };
}

function selector(
  field: string,
  requirements: readonly SelectorRequirement[] | undefined,
): Readonly<Record<string, Selector>> {
  return requirements === undefined || requirements.length === 0 ? {} : { [field]: { requirements } };
}
