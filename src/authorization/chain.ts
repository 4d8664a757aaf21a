import {
  aggregateErrors,
  type Attributes,
  type Authorizer,
  type Decision,
  type NamedAuthorizer,
  type StepDetail,
  type Verdict,
} from "./authorizer.ts";

/** The decision of one member of a chain; `ms` is the time it took where the chain has a clock. */
export interface TraceStep extends StepDetail {
  readonly name: string;
  /** The mode that the member implements, where it is known. */
  readonly type?: string;
  readonly verdict: Verdict;
  readonly reason: string;
  readonly error?: string;
  readonly ms?: number;
}

/** The decision of a chain. `by` names the member that allowed or denied; it is absent when no member did. */
export interface ChainDecision extends Decision {
  readonly by?: string;
  readonly trace?: readonly TraceStep[];
}

/** An authorizer that calls others in order. */
export interface AuthorizerChain {
  /** Never rejects. With `trace` the result contains the decisions of all members that were called, in order. */
  readonly decide: (attributes: Attributes, options?: { readonly trace?: boolean }) => Promise<ChainDecision>;
  /** `decide` as a plain authorizer. */
  readonly authorize: Authorizer;
  /** The members' names in the order of the calls. */
  readonly names: readonly string[];
}

/**
 * The first allow or deny ends the chain. Otherwise the verdict is noOpinion, with the members' reasons joined by newlines
 * and their errors aggregated; the caller must treat noOpinion as denied. A member that throws counts as noOpinion with
 * that error. `now`, in milliseconds, serves only the times in a trace. Source: apiserver pkg/authorization/union.
 */
export function firstDecision(
  members: readonly NamedAuthorizer[],
  options: { readonly now?: () => number } = {},
): AuthorizerChain {
  const decide: AuthorizerChain["decide"] = (attributes, wanted) =>
    wanted?.trace === true ? traced(members, attributes, options.now) : untraced(members, attributes);
  return { decide, authorize: (attributes) => decide(attributes), names: members.map((member) => member.name) };
}

async function untraced(members: readonly NamedAuthorizer[], attributes: Attributes): Promise<ChainDecision> {
  // Most decisions end without any reason or error to collect, so the lists are made on demand.
  let reasons: string[] | undefined;
  let errors: string[] | undefined;
  for (const member of members) {
    let decision: Decision;
    try {
      decision = await member.authorize(attributes);
    } catch (error) {
      decision = failed(error);
    }
    if (isFinal(decision)) return decidedBy(member, decision);
    if (decision.reason !== "") (reasons ??= []).push(decision.reason);
    if (decision.error !== undefined) (errors ??= []).push(decision.error);
  }
  return undecided(reasons ?? [], errors ?? []);
}

async function traced(
  members: readonly NamedAuthorizer[],
  attributes: Attributes,
  now: (() => number) | undefined,
): Promise<ChainDecision> {
  const trace: TraceStep[] = [];
  for (const member of members) {
    const start = now?.() ?? 0;
    const decision = await answered(member, attributes);
    trace.push({
      name: member.name,
      ...(member.type === undefined ? {} : { type: member.type }),
      verdict: isFinal(decision) ? decision.verdict : "noOpinion",
      reason: decision.reason,
      ...(decision.error === undefined ? {} : { error: decision.error }),
      ...member.explain?.(decision, attributes),
      ...(now === undefined ? {} : { ms: now() - start }),
    });
    if (isFinal(decision)) return { ...decidedBy(member, decision), trace };
  }
  const reasons = trace.map((step) => step.reason).filter((reason) => reason !== "");
  const errors = trace.map((step) => step.error).filter((error) => error !== undefined);
  return { ...undecided(reasons, errors), trace };
}

async function answered(member: NamedAuthorizer, attributes: Attributes): Promise<Decision> {
  try {
    return await member.authorize(attributes);
  } catch (error) {
    return failed(error);
  }
}

function failed(error: unknown): Decision {
  return { verdict: "noOpinion", reason: "", error: error instanceof Error ? error.message : String(error) };
}

function decidedBy(member: NamedAuthorizer, { verdict, reason, error }: Decision): ChainDecision {
  return error === undefined ? { verdict, reason, by: member.name } : { verdict, reason, error, by: member.name };
}

function isFinal(decision: Decision): boolean {
  return decision.verdict === "allow" || decision.verdict === "deny";
}

function undecided(reasons: readonly string[], errors: readonly string[]): Decision {
  const reason = reasons.join("\n");
  return errors.length === 0
    ? { verdict: "noOpinion", reason }
    : { verdict: "noOpinion", reason, error: aggregateErrors(errors) };
}
