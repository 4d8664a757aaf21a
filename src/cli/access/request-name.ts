import { CliError } from "../cli-error.ts";

/** The two kinds of requests that people decide on, as their names are printed. */
export type RequestKind = "csr" | "accessrequest";

/** A request by its kind and name. */
export interface RequestName {
  readonly kind: RequestKind;
  readonly name: string;
}

const kindNames: Readonly<Record<RequestKind, readonly string[]>> = {
  csr: [
    "csr",
    "certificatesigningrequest",
    "certificatesigningrequests",
    "certificatesigningrequest.certificates.k8s.io",
    "certificatesigningrequests.certificates.k8s.io",
  ],
  accessrequest: [
    "accessrequest",
    "accessrequests",
    "areq",
    "accessrequest.access.pratique.dev",
    "accessrequests.access.pratique.dev",
  ],
};

/** The kind that a word names, in any case and as kubectl would take it; undefined for any other word. */
export function requestKind(word: string): RequestKind | undefined {
  const plain = word.toLowerCase();
  return (["csr", "accessrequest"] as const).find((kind) => kindNames[kind].includes(plain));
}

/** Reads `KIND/NAME`, or `NAME` alone, which is of the kind `bare`. @throws CliError usage */
export function requestName(operand: string, bare: RequestKind): RequestName {
  const slash = operand.indexOf("/");
  const name = operand.slice(slash + 1);
  const kind = slash === -1 ? bare : requestKind(operand.slice(0, slash));
  if (kind === undefined) {
    throw new CliError("usage", `"${operand}" is no request: write csr/NAME or accessrequest/NAME`);
  }
  const isKindAlone = slash === -1 && requestKind(name) !== undefined;
  if (isKindAlone || name === "" || name.includes("/") || name === "." || name === "..") {
    throw new CliError("usage", `"${operand}" names no request: write ${requestKind(operand) ?? kind}/NAME`);
  }
  return { kind, name };
}
