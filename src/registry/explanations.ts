import type { Attributes } from "../authorization/authorizer.ts";
import type { AuthorizerChain, ChainDecision, TraceStep } from "../authorization/chain.ts";
import { isMistyped, likelyMeant } from "../authorization/did-you-mean.ts";
import { nearestOwnRights, unboundRoles } from "../authorization/suggest-bindings.ts";
import type { RbacIndex } from "../authorization/rbac-index.ts";
import { smallestAbacPolicy, smallestRight } from "../authorization/minimal-rule.ts";
import type { AccessExplanationStatus } from "../apis/access-explanation.ts";
import type { SubjectAccessReviewStatus } from "../apis/access-review.ts";
import type { Resource } from "../apis/resource.ts";

/** What explanations look at besides the chain. */
export interface ExplainingParts {
  readonly index: RbacIndex;
  /** Whether an authorizer of that mode is in the chain now. */
  readonly uses: (mode: string) => boolean;
  /** The resources served now. */
  readonly resources: () => readonly Resource[];
  /** Resolves when the next part of large work of this user may run. */
  readonly turn: (username: string) => Promise<void>;
}

/** A question, with what of it could not be read. */
export interface Asked {
  readonly attributes: Attributes;
  readonly problems: readonly string[];
}

/** How far an explanation may go: of the subject's own rights only, or of all roles and bindings. */
export type Extent = "own rights" | "everybody's rights";

/** The longest reason or error of one authorizer that is told, in characters. */
const maxTextCharacters = 2048;

/**
 * Explains decisions of the chain from the chain's own trace. With `own rights` nothing is told that the subject could not find out
 * from reviews of itself: neither how webhooks are called nor how fast they are, and no role that it does not hold.
 */
export function explanation(
  parts: ExplainingParts & { readonly chain: AuthorizerChain },
): (asked: Asked, extent: Extent, asker: string) => Promise<AccessExplanationStatus> {
  return async ({ attributes, problems }, extent, asker) => {
    const decision = await parts.chain.decide(attributes, { trace: true });
    const trace = decision.trace ?? [];
    const grant = trace.find((step) => step.grant !== undefined)?.grant;
    const common = {
      ...decisionStatus(decision, problems),
      authorizers: trace.map((step) => stepOf(step, extent)),
      ...(grant === undefined ? {} : { grant }),
    };
    if (decision.verdict === "allow") return common;
    const nearest = await nearestOf(parts, { attributes, extent, asker });
    const { commands, notes } = remedy(parts, attributes, decision);
    // kubectl refuses to make a role for what no server has, and nobody wants one for a slip of the fingers.
    if (nearest.some(isMistyped)) return { ...common, nearest, toAllow: [] };
    return {
      ...common,
      nearest,
      toAllow: commands,
      ...(notes.length === 0 ? {} : { notes }),
    };
  };
}

/** The part of an answer that reviews of Kubernetes have. */
export function decisionStatus(decision: ChainDecision, problems: readonly string[]): SubjectAccessReviewStatus {
  const errors = [...(decision.error === undefined ? [] : [decision.error]), ...problems];
  return {
    allowed: decision.verdict === "allow",
    ...(decision.verdict === "deny" ? { denied: true } : {}),
    ...(decision.reason === "" ? {} : { reason: decision.reason }),
    ...(errors.length === 0 ? {} : { evaluationError: errors.join("; ") }),
  };
}

type Step = NonNullable<AccessExplanationStatus["authorizers"]>[number];

function stepOf({ name, type = name, verdict, reason, error, note, ms }: TraceStep, extent: Extent): Step {
  const reported = {
    type,
    verdict,
    ...(reason === "" ? {} : { reason: cut(reason) }),
    ...(error === undefined ? {} : { error: cut(error) }),
  };
  if (extent === "own rights") return { name: type, ...reported };
  return {
    name,
    ...reported,
    ...(note === undefined ? {} : { note }),
    ...(ms === undefined ? {} : { ms: Math.round(ms * 1000) / 1000 }),
  };
}

/** Each look through roles and bindings is a part of its own. */
async function nearestOf(
  { index, uses, resources, turn }: ExplainingParts,
  asked: { readonly attributes: Attributes; readonly extent: Extent; readonly asker: string },
): Promise<NonNullable<AccessExplanationStatus["nearest"]>> {
  const { attributes, extent, asker } = asked;
  await turn(asker);
  const own = uses("RBAC") ? nearestOwnRights(index, attributes) : [];
  if (extent === "own rights") return own;
  const kinds = resources().map((resource) => ({ ...resource, subresources: Object.keys(resource.subresources) }));
  await turn(asker);
  return [...likelyMeant(attributes, kinds), ...own, ...(uses("RBAC") ? unboundRoles(index, attributes) : [])];
}

/** What would have to be added, as far as adding something can help. */
function remedy(
  { uses }: ExplainingParts,
  attributes: Attributes,
  { verdict, trace = [] }: ChainDecision,
): { readonly commands: readonly string[]; readonly notes: readonly string[] } {
  if (verdict === "deny" && !trace.slice(0, -1).some(({ type }) => type === "RBAC" || type === "ABAC")) {
    return { commands: [], notes: ["An authorizer forbids it before RBAC is asked: no role can allow it."] };
  }
  if (uses("RBAC")) return smallestRight(attributes);
  if (uses("ABAC")) return smallestAbacPolicy(attributes);
  return { commands: [], notes: ["No mode is on in which rights could be added here: RBAC or ABAC."] };
}

function cut(text: string): string {
  return text.length > maxTextCharacters ? `${text.slice(0, maxTextCharacters)}…` : text;
}
