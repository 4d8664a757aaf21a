import type { Incoming } from "../http-types.ts";

/** What a kubelet needs of a request for another protocol; credentials, cookies and impersonation stay here. */
const upgradeNames: readonly string[] = [
  "sec-websocket-key",
  "sec-websocket-version",
  "sec-websocket-extensions",
  "sec-websocket-protocol",
  "x-stream-protocol-version",
];
const listed: ReadonlySet<string> = new Set(["sec-websocket-protocol", "x-stream-protocol-version"]);
/** A browser sends its token as a protocol of this prefix. Source: apiserver pkg/authentication/request/websocket. */
const tokenProtocol = "base64url.bearer.authorization.k8s.io.";

/** The headers with which a kubelet is asked for the protocol that the client wants. */
export function upgradeHeaders(request: Incoming): Readonly<Record<string, string | readonly string[]>> {
  const found: Record<string, string | readonly string[]> = {
    connection: "Upgrade",
    upgrade: request.headers["upgrade"] ?? "",
  };
  for (const name of upgradeNames) {
    const values = valuesOf(request, name);
    if (values.length > 0) found[name] = name === "sec-websocket-protocol" ? values.join(", ") : values;
  }
  return found;
}

/** The headers of a request that a kubelet answers in HTTP. */
export function requestHeaders(request: Incoming): Readonly<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const name of ["accept", "content-type"]) {
    const value = request.headers[name];
    if (typeof value === "string") found[name] = value;
  }
  return found;
}

/** Each occurrence of a header, lists taken apart: SPDY clients repeat the versions that they speak. */
function valuesOf({ rawHeaders }: Incoming, wanted: string): readonly string[] {
  const values: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1] ?? "";
    if (rawHeaders[index]?.toLowerCase() !== wanted) continue;
    values.push(...(listed.has(wanted) ? value.split(",").map((one) => one.trim()) : [value]));
  }
  return values.filter((value) => value !== "" && !value.startsWith(tokenProtocol));
}
