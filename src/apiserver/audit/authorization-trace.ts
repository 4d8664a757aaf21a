import type { TraceStep } from "../../authorization/chain.ts";
import type { ExplainedGrant, PolicyObject } from "../../authorization/explained-grant.ts";

/** The annotation of an audit event under which a decision's trace stands. */
export const traceAnnotation = "authorization.pratique.dev/trace";

/** The longest text of one authorizer that is recorded, in characters, and the longest trace. */
const maxTextCharacters = 256;
const maxTraceCharacters = 4096;

/**
 * A decision's trace as JSON for the audit log: who was asked, in order, with verdict, reason, error and time, and the grant that
 * allowed it. At most about 4,000 characters: where it would be more, verdicts alone are kept, of the last authorizers if need be.
 */
export function traceText(trace: readonly TraceStep[]): string {
  const whole = JSON.stringify(trace.map(recorded));
  if (whole.length <= maxTraceCharacters) return whole;
  const verdicts = trace.map(({ name, verdict }) => ({ name: cut(name), verdict }));
  for (let from = 0; ; from += 1) {
    const text = JSON.stringify(verdicts.slice(from));
    if (text.length <= maxTraceCharacters) return text;
  }
}

function recorded({ name, type, verdict, reason, error, note, grant, ms }: TraceStep): object {
  return {
    name,
    ...(type === undefined || type === name ? {} : { type }),
    verdict,
    ...(reason === "" ? {} : { reason: cut(reason) }),
    ...(error === undefined ? {} : { error: cut(error) }),
    ...(note === undefined ? {} : { note }),
    ...(grant === undefined ? {} : grantText(grant)),
    ...(ms === undefined ? {} : { ms: Math.round(ms * 100) / 100 }),
  };
}

function grantText({ binding, role, rule }: ExplainedGrant): object {
  return { binding: named(binding), role: named(role), ...(rule === undefined ? {} : { rule: cut(rule) }) };
}

function named({ kind, namespace, name }: PolicyObject): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}

function cut(text: string): string {
  return text.length > maxTextCharacters ? `${text.slice(0, maxTextCharacters)}…` : text;
}
