/** The operation that the system rejected. */
export type SystemOperation = "connect" | "read" | "write" | "listen" | "start";

/** An operation, and its target as displayed: an address, a path or a program. */
export interface FailedOperation {
  readonly operation: SystemOperation;
  readonly at: string;
}

/** The error, with `$` for the address or path, and the next step. */
type Row = readonly [what: string, next: string];
type Rows = Readonly<Record<string, Row>>;

const otherServer = "check the address and the port";
const noName: Row = ["the name of $ cannot be resolved", "check its spelling and the DNS of this machine"];
const foreign: Row = ["$ does not speak HTTPS as a Kubernetes API does", otherServer];
const untrusted: Row = [
  "the certificate of $ is not signed by the CA that is trusted",
  "check the address and the certificate authority: another server answers there, or the connection is intercepted; nothing was sent",
];
const noAccount = "use the account that owns it, or sudo";
const tooManyFiles: Row = ["this process has too many files open for $", "raise its limit (ulimit -n)"];
const diskFails: Row = ["the disk fails at $", "see the log of the system"];
const loop: Row = ["$ is reached over too many symbolic links", "check the links"];
const tooLong: Row = ["the path $ is too long", "give a shorter one"];

const connecting: Rows = rowsOf({
  ECONNREFUSED: ["nothing listens at $", "check that the server runs, and the address and the port"],
  "ENOTFOUND EAI_NODATA EAI_NONAME EAI_FAIL": noName,
  EAI_AGAIN: ["the DNS of this machine gives no answer for $", "try again, or check /etc/resolv.conf"],
  "ETIMEDOUT TIMEOUT EHOSTDOWN": ["$ does not answer", "check the address, and the firewalls on the way"],
  "EHOSTUNREACH ENETUNREACH": ["there is no route to $", "check the address and the network of this machine"],
  ENETDOWN: ["the network of this machine is down, so $ cannot be reached", "check its interfaces"],
  EADDRNOTAVAIL: ["this machine has no address or port left to reach $ from", "check its network, or try again later"],
  EINVAL: ["$ is no address that can be connected to", otherServer],
  "ECONNRESET ECONNABORTED EPIPE ERR_STREAM_PREMATURE_CLOSE ERR_STREAM_DESTROYED": [
    "$ closed the connection before it answered",
    "check that the server runs, and the address and the port",
  ],
  "EACCES EPERM": ["this account may not connect to $", "check the firewall and the security policy of this machine"],
  "EMFILE ENFILE": tooManyFiles,
  "EPROTO INVALID_REPLY": foreign,
  "SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT INVALID_CA INVALID_PURPOSE PATH_LENGTH_EXCEEDED CERT_SIGNATURE_FAILURE":
    untrusted,
  CERT_HAS_EXPIRED: ["the certificate of $ has expired", "compare the clocks of both machines, or renew it"],
  CERT_NOT_YET_VALID: ["the certificate of $ is not valid yet", "compare the clocks of both machines"],
  "ERR_TLS_CERT_ALTNAME_INVALID HOSTNAME_MISMATCH": [
    "the certificate of $ is not valid for that name",
    "use a name that it has, or set tls-server-name in the kubeconfig",
  ],
});

/** A table whose keys are codes, those of one row separated by spaces. */
function rowsOf(table: Rows): Rows {
  return Object.fromEntries(
    Object.entries(table).flatMap(([codes, row]) => codes.split(" ").map((code) => [code, row])),
  );
}

/** Codes of TLS and HTTP have common prefixes. */
const connectingFamilies: readonly (readonly [prefix: string, row: Row])[] = [
  ["UNABLE_TO_", untrusted],
  ["CERT_", untrusted],
  ["ERR_OSSL_", ["the client certificate and its key cannot be used for $", "check both in the kubeconfig"]],
  ["ERR_SSL_", foreign],
  ["ERR_TLS_", foreign],
  ["HPE_", foreign],
];

const reading: Rows = rowsOf({
  ENOENT: ["$ does not exist", "check the path"],
  ENOTDIR: ["$ does not exist, since a part of its path is no folder", "check the path"],
  "EACCES EPERM": ["this account may not read $", noAccount],
  EISDIR: ["$ is a folder, not a file", "give the path of a file"],
  ELOOP: loop,
  ENAMETOOLONG: tooLong,
  "EMFILE ENFILE": tooManyFiles,
  EIO: diskFails,
  ESTALE: ["the file system of $ was mounted again", "try again"],
  ENXIO: ["$ is no file that can be read", "give the path of a file"],
  ERR_INVALID_ARG_VALUE: ["$ is no path", "check it"],
  Z_BUF_ERROR: ["the compressed file $ is cut off", "take a copy that is whole"],
  Z_DATA_ERROR: ["the compressed file $ is damaged", "take a copy that is whole"],
  ERR_FS_FILE_TOO_LARGE: ["$ is too large", "check the path"],
});

const writing: Rows = rowsOf({
  ENOENT: ["the folder of $ does not exist", "make it, or check the path"],
  ENOTDIR: ["a part of the path $ is no folder", "check the path"],
  "EACCES EPERM": ["this account may not write $", noAccount],
  EROFS: ["$ is on a file system that is read-only", "mount it for writing, or give another path"],
  ENOSPC: ["there is no room left on the disk for $", "free some, then run the same command again"],
  EDQUOT: [
    "the quota of this account is used up, so $ cannot be written",
    "free some room, then run the same command again",
  ],
  EFBIG: ["$ would be larger than the file system allows", "check the path"],
  EISDIR: ["$ is a folder, not a file", "give the path of a file"],
  EEXIST: ["$ exists already", "remove it, or give another path"],
  ENOTEMPTY: ["the folder $ is not empty", "remove it, or give another path"],
  EBUSY: ["$ is in use", "end the program that uses it"],
  EXDEV: ["$ is on another file system", "give a path on the same one"],
  ELOOP: loop,
  ENAMETOOLONG: tooLong,
  "EMFILE ENFILE": tooManyFiles,
  EIO: diskFails,
  ERR_INVALID_ARG_VALUE: ["$ is no path", "check it"],
});

const listening: Rows = rowsOf({
  EADDRINUSE: ["$ is in use by another program", "end that program, or choose another port"],
  EADDRNOTAVAIL: ["no interface of this machine has the address $", "choose one of its addresses, or 0.0.0.0 for all"],
  EACCES: ["this account may not listen at $", "choose a port above 1023, or run as root or with CAP_NET_BIND_SERVICE"],
  EPERM: ["this account may not listen at $", "check the security policy of this machine"],
  EAFNOSUPPORT: ["this machine does not speak the kind of address of $", "choose an IPv4 address"],
  ENOTFOUND: noName,
  EAI_AGAIN: connecting["EAI_AGAIN"] ?? noName,
  EINVAL: ["$ is no address that can be listened at", "check the address and the port"],
  "EMFILE ENFILE": tooManyFiles,
  ERR_SOCKET_BAD_PORT: ["$ has no port between 0 and 65535", "check the port"],
});

const starting: Rows = rowsOf({
  ENOENT: ["the program $ does not exist, or its interpreter", "install it, or check its path and PATH"],
  ENOTDIR: ["the program $ does not exist", "install it, or check its path and PATH"],
  EACCES: ["this account may not run $", "make it executable (chmod +x), or check who owns it"],
  EPERM: ["this account may not run $", "check who owns it, and the security policy of this machine"],
  ETXTBSY: ["the program $ is being written", "try again when it is complete"],
  ENOEXEC: ["$ is no program for this machine", "install one for this kind of processor"],
  E2BIG: ["the arguments and environment of $ are too long", "shorten them"],
  "EMFILE ENFILE": tooManyFiles,
  EAGAIN: ["the system starts no more processes for $", "end some, or raise the limit (ulimit -u)"],
  ENOMEM: ["there is not enough memory to start $", "end other programs"],
});

const tables: Readonly<Record<SystemOperation, Rows>> = {
  connect: connecting,
  read: reading,
  write: writing,
  listen: listening,
  start: starting,
};

const verbs: Readonly<Record<SystemOperation, string>> = {
  connect: "$ cannot be reached",
  read: "$ cannot be read",
  write: "$ cannot be written",
  listen: "it is not possible to listen at $",
  start: "$ cannot be started",
};

/** A sentence without a code: the error, and the next step. */
export interface SystemErrorWords {
  /** Names the address or path. */
  readonly what: string;
  readonly next: string;
}

/** The meaning of an error of the operating system, of DNS or of TLS for an operation. Unknown codes are shown by their description. */
export function systemErrorWords(error: unknown, { operation, at }: FailedOperation): SystemErrorWords {
  const code = systemErrorCode(error) ?? "";
  const rows = tables[operation];
  const family = operation === "connect" ? connectingFamilies.find(([prefix]) => code.startsWith(prefix)) : undefined;
  const row = Object.hasOwn(rows, code) ? rows[code] : family?.[1];
  const put = (text: string): string => text.replace("$", () => at);
  if (row !== undefined) return { what: put(row[0]), next: row[1] };
  const description = descriptionOf(error, code);
  return {
    what: `${put(verbs[operation])}${description === "" ? "" : `: ${description}`}`,
    next: "see the log of the system",
  };
}

/** `systemErrorWords` as one text. */
export function systemErrorText(error: unknown, operation: FailedOperation): string {
  const { what, next } = systemErrorWords(error, operation);
  return `${what}: ${next}`;
}

/** The code of an error of the system, DNS or TLS. */
export function systemErrorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What Node adds to a code: `EIO: i/o error, read '/x'` is an i/o error. */
function descriptionOf(error: unknown, code: string): string {
  const message = error instanceof Error ? error.message : "";
  const withoutCode = message.startsWith(`${code}: `) ? message.slice(code.length + 2) : message;
  const plain = withoutCode.replace(/, [a-z]+( '.*')?( -> '.*')?$/s, "");
  return code !== "" && plain.includes(code) ? "" : plain;
}
