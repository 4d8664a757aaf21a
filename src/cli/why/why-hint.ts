import type { StatusError } from "../../core/status.ts";

const longest = 2048;
/** The wording of Kubernetes, which clients may rely on; words that a shell could take otherwise are not taken over. */
const refused =
  /User ".*" cannot ([\w-]+) resource "([\w-]+)(?:\/([\w-]+))?" in API group "([\w.-]*)" (?:in the namespace "([\w-]+)"|at the cluster scope)/;

/** The command that says why the caller was refused, or undefined where it was not authorization that refused. */
export function whyHint({ message, details }: StatusError): string | undefined {
  const [, verb, resource, subresource, group = "", namespace] = refused.exec(message.slice(0, longest)) ?? [];
  if (verb === undefined || resource === undefined) return undefined;
  const name = details?.name ?? "";
  const what = `${resource}${group === "" ? "" : `.${group}`}${/^[\w.:-]+$/.test(name) ? `/${name}` : ""}`;
  const part = subresource === undefined ? "" : ` --subresource=${subresource}`;
  const place = namespace === undefined ? "" : ` -n ${namespace}`;
  return `To see what is missing: pratique why ${verb} ${what}${part}${place}`;
}
