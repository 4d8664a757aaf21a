import { shellWord } from "../../apimachinery/shell-word.ts";
import type { StatusError } from "../../apimachinery/status.ts";

/** The options of a command line that are texts. */
export interface GivenTexts {
  readonly text: (name: string) => string | undefined;
}

const maxCharacters = 2048;
/** The wording of Kubernetes, which clients may rely on; words that a shell could take otherwise are not taken over. */
const refused =
  /User ".*" cannot ([\w-]+) resource "([\w-]+)(?:\/([\w-]+))?" in API group "([\w.-]*)" (?:in the namespace "([\w-]+)"|at the cluster scope)/;

/** The wording of Kubernetes' admission of decisions on certificate requests and of their certificates. */
const refusedSigner =
  /^(?:.* is forbidden: )?user not permitted to (approve|sign) requests with signerName "([\w.-]+\/[\w.:-]+)"$/;

/**
 * The command that says why the caller was refused, asked of the same server and as the same caller where a command line said which;
 * undefined where it was not authorization that refused.
 */
export function whyHint({ message, details }: StatusError, args?: GivenTexts): string | undefined {
  const toAsk = `To see what is missing: pratique why`;
  const server = args === undefined ? "" : sameServer(args);
  const [, right, signer] = refusedSigner.exec(message.slice(0, maxCharacters)) ?? [];
  if (right !== undefined) return `${toAsk} ${right} signers.certificates.k8s.io/${signer}${server}`;
  const [, verb, resource, subresource, group = "", namespace] = refused.exec(message.slice(0, maxCharacters)) ?? [];
  if (verb === undefined || resource === undefined) return undefined;
  const name = details?.name ?? "";
  const what = `${resource}${group === "" ? "" : `.${group}`}${/^[\w.:-]+$/.test(name) ? `/${name}` : ""}`;
  const part = subresource === undefined ? "" : ` --subresource=${subresource}`;
  const place = namespace === undefined ? "" : ` -n ${namespace}`;
  return `${toAsk} ${verb} ${what}${part}${place}${server}`;
}

function sameServer(args: GivenTexts): string {
  const given = ["kubeconfig", "context"].map((name) => ({ name, value: args.text(name) }));
  return given.map(({ name, value }) => (value === undefined ? "" : ` --${name} ${shellWord(value)}`)).join("");
}
