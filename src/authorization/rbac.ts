import { quoted } from "../apimachinery/quoted.ts";
import {
  aggregateErrors,
  type Attributes,
  type Authorizer,
  type Decision,
  type NamedAuthorizer,
} from "./authorizer.ts";
import { explainedGrant } from "./explained-grant.ts";
import { scopeOf, type RbacIndex } from "./rbac-index.ts";
import { accountNamespace, type Grant } from "./subject-table.ts";

const nothing: Decision = { verdict: "noOpinion", reason: "" };

/** Allows what the bindings of the index permit, and has no opinion on the rest. Source: plugin/pkg/auth/authorizer/rbac. */
export function rbac(index: RbacIndex, pace: RbacPace = {}): Authorizer {
  return rbacAuthorizer(index, pace).authorize;
}

/** How long searches of many rules yield to the event loop. */
export interface RbacPace {
  /** Resolves when the next part of a search for this user may run; parts follow each other at once where it is absent. */
  readonly turn?: ((username: string) => Promise<void>) | undefined;
  /** How many rules a part looks at; default 50,000, which take about two milliseconds. */
  readonly rulesOfPart?: number;
}

/** `rbac(index)` as a member of a chain that can name the binding, the role and the rule behind a permission. */
export function rbacAuthorizer(index: RbacIndex, { turn, rulesOfPart = 50_000 }: RbacPace = {}): NamedAuthorizer {
  // A grant's sentence never changes, and the index creates new grants when a binding changes.
  const sentences = new WeakMap<Grant, Decision>();
  const grants = new WeakMap<Decision, Grant>();
  const searched = async (attributes: Attributes): Promise<Grant | undefined> => {
    const search = index.searchAllowing(attributes, rulesOfPart);
    for (;;) {
      await turn?.(attributes.user.username);
      const part = search.next();
      if (part.done === true) return part.value;
    }
  };
  return {
    name: "RBAC",
    authorize: async function rbac(attributes) {
      const first = index.firstAllowing(attributes, rulesOfPart);
      const grant = first === "tooManyRules" ? await searched(attributes) : first;
      if (grant === undefined) return refused(index, attributes);
      const known = sentences.get(grant);
      if (known !== undefined) return known;
      const decision: Decision = { verdict: "allow", reason: allowedBy(grant) };
      sentences.set(grant, decision);
      grants.set(decision, grant);
      return decision;
    },
    explain: (decision, attributes) => {
      const grant = grants.get(decision);
      return grant === undefined ? {} : { grant: explainedGrant(grant, attributes) };
    },
  };
}

function refused(index: RbacIndex, attributes: Attributes): Decision {
  if (index.missingRoles() === 0) return nothing;
  const missing = index
    .grantsFor(attributes.user, scopeOf(attributes))
    .filter((grant) => grant.role.rules === undefined)
    .map((grant) => grant.role.missing);
  return missing.length === 0 ? nothing : { verdict: "noOpinion", reason: `RBAC: ${aggregateErrors(missing)}` };
}

function allowedBy(grant: Grant): string {
  const { kind, name, namespace, roleRef, subject } = grant;
  const binding = quoted(kind === "RoleBinding" ? `${name}/${namespace}` : name);
  const account = `${subject.name}/${accountNamespace(grant)}`;
  const who = quoted(subject.kind === "ServiceAccount" ? account : subject.name);
  const role = `${roleRef.kind} ${quoted(roleRef.name)}`;
  return `RBAC: allowed by ${kind} ${binding} of ${role} to ${subject.kind} ${who}`;
}
