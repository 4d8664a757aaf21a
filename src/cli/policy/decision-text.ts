import type { ChainDecision, TraceStep } from "../../authorization/chain.ts";
import type { Attributes } from "../../authorization/authorizer.ts";

/** The authorizer that decided, and its reason, for a table; of a decision with its trace. The reason is empty where the authorizer returned none. */
export function verdictText({ reason, error, by, trace = [] }: ChainDecision): {
  readonly by: string;
  readonly why: string;
} {
  if (by !== undefined) return { by, why: reasonsOf({ reason, error }).join("; ") };
  const reasons = trace.flatMap((step) => reasonsOf(step).map((text) => withName(step.name, text)));
  const asked = trace.map(({ name }) => name).filter((name) => name !== "Masters");
  return { by: "nobody", why: reasons.length > 0 ? reasons.join("; ") : `no opinion of ${asked.join(", ")}` };
}

function reasonsOf({
  reason,
  error,
}: {
  readonly reason: string;
  readonly error?: string | undefined;
}): readonly string[] {
  return [reason, error === undefined ? "" : `error: ${error}`].filter((text) => text !== "");
}

/** Reasons of RBAC begin with its name. */
function withName(name: TraceStep["name"], text: string): string {
  return text.startsWith(`${name}: `) ? text : `${name}: ${text}`;
}

/** A request in kubectl's form: `patch pods/status web -n default`, or a verb and a path. */
export function requestText(asked: Omit<Attributes, "user" | "version">): string {
  const { verb, path, group, resource, subresource, name, namespace, fieldSelector = [] } = asked;
  if (path !== undefined) return `${verb} ${path}`;
  const kind = `${resource}${group === "" ? "" : `.${group}`}${subresource === "" ? "" : `/${subresource}`}`;
  const fields = fieldSelector.map(({ key, values }) => ` --field-selector ${key}=${values.join(",")}`).join("");
  return `${verb} ${kind}${name === "" ? "" : ` ${name}`}${namespace === "" ? "" : ` -n ${namespace}`}${fields}`;
}
