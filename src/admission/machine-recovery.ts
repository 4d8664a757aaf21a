import { invalidObject } from "../apimachinery/field-error.ts";
import type { ApiObject } from "../apimachinery/object.ts";
import { nodeReturningAs } from "../apimachinery/expired-credential.ts";
import { forbidden, StatusError } from "../apimachinery/status.ts";
import { isClientKubelet, type CsrFacts } from "../pki/signers.ts";
import { stringAt, stringsAt } from "../apis/json-fields.ts";
import { modestErrors } from "./access-requests.ts";
import type { AdmissionPlugin } from "./admission.ts";

export interface ReturningMachinesOptions {
  /** What a request for a certificate says, in PEM. @throws when it cannot be read */
  readonly factsOf: (pem: Uint8Array) => CsrFacts;
  /** How many requests of this user are undecided. */
  readonly undecided: (username: string) => number;
}

const maxUndecided = 2;

/**
 * Limits whoever comes back with an expired certificate to what it comes for: a few small requests for the next client certificate of
 * the very node that the expired one names. Authorization has refused everything else.
 */
export function returningMachines(options: ReturningMachinesOptions): AdmissionPlugin {
  return {
    name: "PratiqueReturning",
    concerns: ({ group, plural }) => group === "certificates.k8s.io" && plural === "certificatesigningrequests",
    validate: async (request) => {
      const { user, operation, subresource, object, resource, name } = request;
      const node = nodeReturningAs(user);
      if (node === undefined || object === undefined) return;
      if (operation !== "CREATE" || subresource !== "")
        throw forbidden(resource, name, "spec is immutable; create a new request");
      // Nobody who only comes back puts much into the store, or keeps anybody from removing it.
      const errors = modestErrors(object, "labels are put on by those who decide");
      if (errors.length > 0) throw invalidObject(resource, name, errors);
      const why = notOwn(object, node, options);
      if (why !== undefined) throw forbidden(resource, name, why);
      if (options.undecided(user.username) < maxUndecided) return;
      throw new StatusError("TooManyRequests", `${maxUndecided} requests of ${node} wait for a decision already`, {
        details: { retryAfterSeconds: 60 },
      });
    },
  };
}

/** Why this is not the request of that node for its client certificate. */
function notOwn(object: ApiObject, node: string, { factsOf }: ReturningMachinesOptions): string | undefined {
  let facts: CsrFacts;
  try {
    facts = factsOf(Buffer.from(stringAt(object, "spec", "request"), "base64"));
  } catch {
    return "unable to parse csr: not a request for a certificate in PEM";
  }
  if (facts.subject.commonName !== node) return `can only create a node CSR with CN=${node}`;
  return isClientKubelet(stringAt(object, "spec", "signerName"), facts, stringsAt(object, "spec", "usages"))
    ? undefined
    : "with an expired certificate one can only ask for the next client certificate of the node";
}
