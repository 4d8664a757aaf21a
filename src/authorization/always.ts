import type { Decision, NamedAuthorizer } from "./authorizer.ts";

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
