import type { Decision, NamedAuthorizer, Attributes } from "./authorizer.ts";
import { mastersGroup } from "../apimachinery/user.ts";

/** Allows every request: mode AlwaysAllow. For trials only. */
export const alwaysAllow: NamedAuthorizer = {
  name: "AlwaysAllow",
  authorize: async function alwaysAllow(): Promise<Decision> {
    return { verdict: "allow", reason: "" };
  },
  explain: () => ({ note: "everybody with a credential may do everything" }),
};

/** Has no opinion on any request, so that later members decide: mode AlwaysDeny. Source: apiserver authorizerfactory. */
export const alwaysDeny: NamedAuthorizer = {
  name: "AlwaysDeny",
  authorize: async function alwaysDeny(): Promise<Decision> {
    return { verdict: "noOpinion", reason: "Everything is forbidden." };
  },
};

const allow: Decision = { verdict: "allow", reason: "" };
const noOpinion: Decision = { verdict: "noOpinion", reason: "" };

/**
 * Allows every request of the group `system:masters`. It runs before every configured mode, so that a broken
 * policy can always be repaired. Compares exactly. Source: apiserver authorizerfactory NewPrivilegedGroups.
 */
export const masters: NamedAuthorizer = {
  name: "Masters",
  type: "Masters",
  authorize: async function masters(attributes: Attributes): Promise<Decision> {
    return attributes.user.groups.includes(mastersGroup) ? allow : noOpinion;
  },
  explain: (decision) => (decision === allow ? { note: `of the group ${mastersGroup}, which may do everything` } : {}),
};
