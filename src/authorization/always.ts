import type { Decision, NamedAuthorizer, Attributes } from "./authorizer.ts";
import { mastersGroup } from "../apimachinery/user.ts";

/** Allows everybody everything: mode AlwaysAllow. For trials only. */
export const alwaysAllow: NamedAuthorizer = {
  name: "AlwaysAllow",
  authorize: async function alwaysAllow(): Promise<Decision> {
    return { verdict: "allow", reason: "" };
  },
  explain: () => ({ note: "everybody with a credential may do everything" }),
};

/** Allows nothing by itself, and lets later members speak: mode AlwaysDeny. Source: apiserver authorizerfactory. */
export const alwaysDeny: NamedAuthorizer = {
  name: "AlwaysDeny",
  authorize: async function alwaysDeny(): Promise<Decision> {
    return { verdict: "noOpinion", reason: "Everything is forbidden." };
  },
};

const allow: Decision = { verdict: "allow", reason: "" };
const noOpinion: Decision = { verdict: "noOpinion", reason: "" };

/**
 * Allows members of the group `system:masters` everything. It stands before every configured mode, so that a broken
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
