import { hasCondition, csrView, type CsrView } from "../../controllers/certificates/csr-view.ts";
import { userRevokedReason } from "../../controllers/certificates/manual-approval.ts";
import type { ApiObject } from "../../apimachinery/object.ts";
import { nodeReturningAs } from "../../apimachinery/expired-credential.ts";
import { bootstrapUserPrefix, mastersGroup, nodesGroup, nodeUserPrefix } from "../../apimachinery/user.ts";
import { CsrError, parseCsr, type ParsedCsr } from "../../pki/csr.ts";
import { keyFingerprint } from "../../pki/keys.ts";
import { signerChecks } from "../../pki/signers.ts";
import { notApprovedCondition, returningCondition, waitingText } from "../../apis/csr-conditions.ts";
import { nameInUseOf, type NameMark } from "./name-marks.ts";

/** What an approver needs to know of a request. Texts are as the requester chose them: escape them before they reach a terminal. */
export interface CsrReview {
  readonly name: string;
  /** RFC 3339, or empty. */
  readonly created: string;
  /** The requester that the server recorded. */
  readonly requestor: string;
  readonly groups: readonly string[];
  /** The id of the requester's bootstrap token. */
  readonly tokenId: string | undefined;
  /** The description of the token, where its Secret may be read and has one. */
  readonly tokenDescription?: string;
  readonly signer: string;
  readonly usages: readonly string[];
  /** Absent when the request cannot be read. */
  readonly subject?: { readonly commonName: string; readonly organizations: readonly string[] };
  /** Each with its kind: `DNS:a`, `IP:10.0.0.1`. */
  readonly sans: readonly string[];
  readonly key?: string;
  /** `SHA256:<base64>` of the public key. */
  readonly fingerprint?: string;
  /** The requested lifetime in seconds; absent: the signer decides. */
  readonly durationSeconds: number | undefined;
  /** For a machine with an expired certificate: its history, and what it waits for, from the hub's condition. */
  readonly returning: string | undefined;
  /** Why it is not approved automatically, from its conditions: reason and message. Absent where a mark or `returning` has it. */
  readonly waitsFor: string | undefined;
  /** Why the requested name needs a second look; their sentences are among the warnings. */
  readonly nameMarks: readonly NameMark[];
  /** Sentences about contents that need care, quoting them as they are; empty when there are none. */
  readonly warnings: readonly string[];
}

/** Whether no approver has decided on the request, and nothing has failed. */
export function isUndecided(object: ApiObject): boolean {
  const view = csrView(object);
  return !(["Approved", "Denied", "Failed"] as const).some((type) => hasCondition(view, type));
}

/**
 * Reads a request with any contents; a PEM that cannot be parsed becomes a warning, not an error. `nameMarks` are those among other
 * requests, default the one that the hub has written on this one.
 */
export function reviewCsr(object: ApiObject, nameMarks?: readonly NameMark[]): CsrReview {
  const view = csrView(object);
  const marks = nameMarks ?? [nameInUseOf(view)].filter((one) => one !== undefined);
  const { username, groups } = view.requester;
  const read = readRequest(view);
  const common = {
    name: object.metadata.name ?? "",
    created: object.metadata.creationTimestamp ?? "",
    requestor: username,
    groups,
    tokenId: username.startsWith(bootstrapUserPrefix) ? username.slice(bootstrapUserPrefix.length) : undefined,
    signer: view.signerName,
    usages: view.usages,
    durationSeconds: view.expirationSeconds,
    returning: returningIn(view),
    waitsFor: waitingIn(view),
    nameMarks: marks,
  };
  if (typeof read === "string") return { ...common, sans: [], warnings: [`the request cannot be read: ${read}`] };
  return {
    ...common,
    subject: read.subject,
    sans: sansOf(read),
    key: read.keyKind,
    fingerprint: keyFingerprint(read.spki),
    warnings: [...marks.map(({ message }) => message), ...rules.flatMap((rule) => rule(read, view))],
  };
}

/** Only a hub creates such a user, and only its controller and approvers write conditions. */
function returningIn({ requester, conditions }: CsrView): string | undefined {
  const node = nodeReturningAs(requester);
  const { message = "" } = conditions.find(({ type }) => type === returningCondition) ?? {};
  return node === undefined ? undefined : message || `${node} comes back`;
}

function waitingIn(view: CsrView): string | undefined {
  const isExplained = nameInUseOf(view) !== undefined || nodeReturningAs(view.requester) !== undefined;
  return isExplained ? undefined : waitingText(view.conditions);
}

function readRequest(view: CsrView): ParsedCsr | string {
  try {
    return parseCsr(view.request);
  } catch (error) {
    if (error instanceof CsrError) return error.message;
    throw error;
  }
}

function sansOf({ sans }: ParsedCsr): readonly string[] {
  return [
    ...sans.dns.map((name) => `DNS:${name}`),
    ...sans.ip.map((address) => `IP:${address}`),
    ...sans.email.map((address) => `email:${address}`),
    ...sans.uri.map((uri) => `URI:${uri}`),
  ];
}

/** One kind of content that needs care; the sentences describe its effect. */
type Rule = (csr: ParsedCsr, view: CsrView) => readonly string[];

const rules: readonly Rule[] = [
  ({ subject }, { conditions }) =>
    conditions.some(({ type, reason }) => type === notApprovedCondition && reason === userRevokedReason)
      ? [
          `asks for a certificate of ${quoted(subject.commonName)}, which was revoked: while it is, an approval ends in the condition Failed`,
        ]
      : [],

  // Every request with this group is authorized.
  ({ subject }) =>
    subject.organizations.includes(mastersGroup) ? [`asks for the group ${mastersGroup}, which may do everything`] : [],

  ({ subject }) =>
    subject.commonName.startsWith("system:") && !subject.commonName.startsWith(nodeUserPrefix)
      ? [`asks to be ${quoted(subject.commonName)}, a user of the system itself`]
      : [],

  ({ subject }) =>
    subject.organizations
      .filter((group) => group.startsWith("system:") && group !== nodesGroup && group !== mastersGroup)
      .map((group) => `asks for the group ${quoted(group)}, a group of the system itself`),

  ({ asksForCa }, { usages }) =>
    asksForCa || usages.includes("cert sign") || usages.includes("crl sign")
      ? ["asks for a CA: a certificate that could sign others"]
      : [],

  ({ sans }) => {
    const wildcards = sans.dns.filter((name) => name.includes("*"));
    return wildcards.length === 0 ? [] : [`asks for wildcard names: ${wildcards.slice(0, 5).map(quoted).join(", ")}`];
  },

  ({ subject }, { signerName, requester }) =>
    signerName === "kubernetes.io/kubelet-serving" && requester.username !== subject.commonName
      ? [
          `asks for a serving certificate of ${quoted(subject.commonName)} in the name of another, ${quoted(requester.username)}`,
        ]
      : [],

  ({ subject }, { requester }) =>
    requester.username.startsWith(nodeUserPrefix) &&
    subject.commonName.startsWith(nodeUserPrefix) &&
    requester.username !== subject.commonName
      ? [`a node, ${quoted(requester.username)}, asks to be another, ${quoted(subject.commonName)}`]
      : [],

  ({ subject }) =>
    [subject.commonName, ...subject.organizations]
      .filter((text) => /[^ -~]|^ | $| {2}/.test(text))
      .map((text) => `the name ${quoted(text)} holds characters that look like others, or like none`),

  (csr, { signerName, usages }) => {
    const problem = signerChecks.get(signerName)?.(csr, usages);
    return problem === undefined ? [] : [`its signer will refuse it: ${problem}`];
  },
];

function quoted(text: string): string {
  return `"${text}"`;
}
