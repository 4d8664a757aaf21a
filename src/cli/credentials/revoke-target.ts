import { DurationError, parseDuration } from "../../apimachinery/duration.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { nodeUserPrefix } from "../../apimachinery/user.ts";
import type { RevocationTarget } from "../../apis/credential-revocation.ts";
import { isTokenId } from "../../trust/token.ts";
import type { Args } from "../command.ts";
import { requestKind } from "../access/decide.ts";
import { usageError } from "../cli-error.ts";

/** A target of a revocation from the command line. */
export type NamedTarget =
  | { readonly kind: "credential"; readonly shown: string; readonly target: RevocationTarget }
  /** The certificate that a certificate request was issued. */
  | { readonly kind: "csr"; readonly name: string };

const options = ["user", "fingerprint", "serial", "token"] as const;

/** Whether the command line names credentials, and not access requests. @throws CliError usage where it names both */
export function isAboutCredentials(args: Args): boolean {
  const isMany = args.on("all") || args.text("selector") !== undefined;
  const named = options.filter((option) => args.text(option) !== undefined);
  const others = isMany ? [] : args.operands.filter((operand) => !isAccessRequest(operand));
  const isAny = named.length + others.length > 0;
  if (isAny && (isMany || others.length < args.operands.length)) {
    throw usageError("revoke access requests and credentials by commands of their own");
  }
  if (args.text("issuer") !== undefined && args.text("serial") === undefined) {
    throw usageError("--issuer belongs to --serial");
  }
  if (!isAny) checkStray(args);
  return isAny;
}

/** @throws CliError usage for an option of credential revocations */
function checkStray(args: Args): void {
  const stray =
    ["until", "namespace"].find((option) => args.text(option) !== undefined) ??
    ["force", "remove-grants"].find((option) => args.on(option));
  if (stray !== undefined) throw usageError(`--${stray} belongs to the revocation of credentials`);
}

/** All targets of the command line. @throws CliError usage */
export function namedTargets(args: Args): readonly NamedTarget[] {
  return [
    ...args.operands.map((operand) => ofOperand(operand, args.text("namespace"))),
    ...given(args, "user", (user) => ({ user })),
    ...given(args, "fingerprint", (text) => ({ fingerprint: digest(text, "--fingerprint") })),
    ...given(args, "serial", (text) => ({ certificate: certificate(text, args.text("issuer")) })),
    ...given(args, "token", ofToken),
  ];
}

function given(
  args: Args,
  option: (typeof options)[number],
  read: (text: string) => RevocationTarget,
): readonly NamedTarget[] {
  const text = args.text(option);
  if (text === undefined) return [];
  if (text === "") throw usageError(`--${option} is empty`);
  const target = read(text);
  return [{ kind: "credential", shown: targetText(target), target }];
}

function isAccessRequest(operand: string): boolean {
  const slash = operand.indexOf("/");
  return slash === -1 || requestKind(operand.slice(0, slash)) === "accessrequest";
}

/** The kinds of KIND/NAME, or KIND/NAMESPACE/NAME. */
interface TargetKind {
  readonly words: readonly [string, ...string[]];
  readonly isNamespaced?: true;
  readonly read: (name: string, namespace: string) => RevocationTarget;
}

const targetKinds: readonly TargetKind[] = [
  { words: ["node", "nodes", "no"], read: (name) => ({ user: `${nodeUserPrefix}${name}` }) },
  { words: ["user"], read: (user) => ({ user }) },
  {
    words: ["serviceaccount", "serviceaccounts", "sa"],
    isNamespaced: true,
    read: (name, namespace) => ({ user: `system:serviceaccount:${namespace}:${name}` }),
  },
  { words: ["secret", "secrets"], isNamespaced: true, read: (name, namespace) => ({ secret: { namespace, name } }) },
  { words: ["bootstraptoken", "bootstraptokens"], read: (id) => ({ bootstrapTokenID: tokenId(id) }) },
];

function ofOperand(operand: string, namespace: string | undefined): NamedTarget {
  const [word = "", ...rest] = operand.split("/");
  const kind = targetKinds.find(({ words }) => words.includes(word.toLowerCase()));
  const isKnown = kind !== undefined || requestKind(word) === "csr";
  const max = kind?.isNamespaced === true ? 2 : 1;
  if (!isKnown || rest.length > max || rest.includes("")) {
    throw usageError(`"${operand}" cannot be revoked: name ${operandForms}`);
  }
  const name = rest.at(-1) ?? "";
  if (kind === undefined) return { kind: "csr", name };
  const target = kind.read(name, namespaceOf(operand, rest, { kind, namespace }));
  return { kind: "credential", shown: targetText(target), target };
}

/** @throws CliError usage */
function namespaceOf(
  operand: string,
  rest: readonly string[],
  { kind, namespace }: { readonly kind: TargetKind; readonly namespace: string | undefined },
): string {
  if (kind.isNamespaced !== true) return "";
  const found = rest.length === 2 ? rest[0] : namespace;
  if (found !== undefined) return found;
  throw usageError(`"${operand}" names no namespace: write ${kind.words[0]}/NAMESPACE/NAME, or add -n NAMESPACE`);
}

/** The forms of an operand. */
const operandForms: string =
  "accessrequest/NAME, csr/NAME, node/NAME, user/NAME, serviceaccount/NAMESPACE/NAME, secret/NAMESPACE/NAME or bootstraptoken/ID";

function tokenId(text: string): string {
  if (isTokenId(text)) return text;
  throw usageError(
    "a bootstrap token is named by its id, the six characters before the point; its secret belongs on no command line",
  );
}

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function ofToken(text: string): RevocationTarget {
  if (text.startsWith("JTI=")) return { credentialID: text };
  if (text.toUpperCase().startsWith("X509SHA256="))
    return { fingerprint: digest(text.slice("X509SHA256=".length), "--token") };
  // The hub and Kubernetes write them in lower case, and compare them byte for byte.
  if (uuid.test(text)) return { credentialID: `JTI=${text.toLowerCase()}` };
  if (text.split(".").length === 3) {
    throw usageError("--token takes the id of a token, never the token: its claim jti, or what whoami shows");
  }
  return { bootstrapTokenID: tokenId(text) };
}

/** In the format of openssl, kubectl and browsers: with colons, in either case, with `SHA256` or `X509SHA256=` before it. */
function digest(text: string, option: string): string {
  const hex = text
    .replace(/^(?:X509)?SHA-?256(?: Fingerprint)?[=:]/i, "")
    .replaceAll(":", "")
    .toLowerCase();
  if (/^[0-9a-f]{64}$/.test(hex)) return hex;
  throw usageError(`${option}: the SHA-256 of the certificate, as 64 hexadecimal digits with or without colons`);
}

function certificate(text: string, issuer: string | undefined): NonNullable<RevocationTarget["certificate"]> {
  const plain = text
    .replace(/^(?:serial=|0x)/i, "")
    .replaceAll(":", "")
    .toLowerCase();
  const even = plain.length % 2 === 0 ? plain : `0${plain}`;
  const serialNumber = even.replace(/^(?:00)+(?=[0-9a-f]{2})/, "");
  if (!/^(?:[0-9a-f]{2}){1,20}$/.test(serialNumber)) {
    throw usageError("--serial: hexadecimal digits with or without colons, as openssl x509 -serial shows them");
  }
  return { serialNumber, ...(issuer === undefined ? {} : { issuer: digest(issuer, "--issuer") }) };
}

/** The end by `--until`, in RFC 3339. @throws CliError usage */
export function untilText(text: string, now: number): string {
  const at = /^\d{4}-\d{2}-\d{2}T/.test(text) ? Date.parse(text) : now + durationOf(text);
  if (Number.isNaN(at)) throw usageError(`--until ${text}: a time such as 2026-12-31T00:00:00Z, or 48h`);
  if (at <= now) throw usageError(`--until ${text} is over already`);
  return rfc3339(at);
}

function durationOf(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    if (error instanceof DurationError) return Number.NaN;
    throw error;
  }
}

/** The target in the form of the command line. */
export function targetText(target: RevocationTarget): string {
  const { user, fingerprint, certificate: numbered, credentialID, bootstrapTokenID, secret } = target;
  if (user !== undefined) return `user/${user}`;
  if (fingerprint !== undefined) return `certificate X509SHA256=${fingerprint}`;
  if (numbered !== undefined) return `certificate with serial number ${numbered.serialNumber}`;
  if (credentialID !== undefined) return `token ${credentialID}`;
  if (bootstrapTokenID !== undefined) return `bootstraptoken/${bootstrapTokenID}`;
  return `secret/${secret?.namespace}/${secret?.name}`;
}
