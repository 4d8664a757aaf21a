import { type FieldError, invalid, required, tooLong } from "../apimachinery/field-error.ts";
import { dnsLabelProblems, dnsSubdomainProblems } from "../apimachinery/names.ts";
import { utf8Length } from "../apimachinery/utf8.ts";
import { fieldErrors } from "./field-rules.ts";

/** A domain, a slash, and `<namespace>.<name>`: 253 + 1 + 63 + 1 + 253 bytes. */
const maxSignerNameBytes = 571;
const maxDomainBytes = 253;

/**
 * Errors of the name of a signer, which is `<domain>/<path>`: a domain of two labels or more, and a path of DNS
 * subdomains joined by dots. Source: pkg/apis/certificates/validation ValidateCertificateSigningRequestSignerName.
 */
export function validateSignerName(path: string, signerName: string): readonly FieldError[] {
  if (signerName === "") return [required(path)];
  const [domain, rest, ...more] = signerName.split("/");
  if (domain === undefined || rest === undefined || more.length > 0) {
    const why = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [invalid(path, signerName, why)];
  }
  const labels = domain.split(".");
  return fieldErrors(
    utf8Length(domain) > maxDomainBytes && tooLong(path, maxDomainBytes),
    firstBad(path, domain, dnsLabelProblems),
    labels.length < 2 && invalid(path, domain, "should be a domain with at least two segments separated by dots"),
    firstBad(path, rest, dnsSubdomainProblems),
    utf8Length(signerName) > maxSignerNameBytes && tooLong(path, maxSignerNameBytes),
  );
}

/** The errors of the first piece between dots that has any; the others would only repeat them. */
function firstBad(
  path: string,
  segment: string,
  problems: (piece: string) => readonly string[],
): readonly FieldError[] {
  for (const piece of segment.split(".")) {
    const found = problems(piece);
    if (found.length > 0) {
      return found.map((why) => invalid(path, segment, `validating label ${JSON.stringify(piece)}: ${why}`));
    }
  }
  return [];
}
