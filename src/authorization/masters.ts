import { mastersGroup } from "../apimachinery/user.ts";
import type { Attributes, Decision, NamedAuthorizer } from "./authorizer.ts";

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
