import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { afterEach, expect, test, it } from "vitest";
import { discardBody, readBody, requestLimits } from "./body.ts";
import type { Incoming } from "../http-types.ts";
import { type RequestInfo, requestInfo } from "../request-info.ts";

let server: Server | undefined;

afterEach(async () => {
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
});

async function serve(handle: (request: Incoming) => void): Promise<Socket> {
  server = createServer((request) => handle(request)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  return socket;
}

/** Sends chunks of one byte until the other side hangs up; resolves to how many it took. */
async function sendCrumbs(socket: Socket, maximum: number): Promise<number> {
  let sent = 0;
  while (sent < maximum && !socket.destroyed) {
    socket.write("1\r\nx\r\n".repeat(100));
    sent += 100;
    await new Promise((resolve) => setImmediate(resolve));
  }
  return sent;
}

test("a body in chunks of one byte is refused after the first few hundred, and its connection is cut", async () => {
  let refusal: unknown;
  const socket = await serve((request) => {
    readBody(request, { timeoutMs: 60_000 }).catch((error: unknown) => {
      refusal = error;
    });
  });
  const closed = once(socket, "close");
  expect(await sendCrumbs(socket, 1_000_000)).toBeLessThan(1_000_000);
  await closed;
  expect(String(refusal)).toContain("too many small chunks");
});

test("a body that is not read is not taken without end", async () => {
  const socket = await serve((request) => discardBody(request));
  const closed = once(socket, "close");
  expect(await sendCrumbs(socket, 1_000_000)).toBeLessThan(1_000_000);
  await closed;
});

test("a body in ordinary chunks is whole, however many they are", async () => {
  const read = new Promise<Buffer>((resolve, reject) => {
    void serve((request) => void readBody(request, { timeoutMs: 60_000 }).then(resolve, reject)).then((socket) => {
      for (let index = 0; index < 2000; index += 1) socket.write(`200\r\n${String(index % 10).repeat(512)}\r\n`);
      socket.end("0\r\n\r\n");
    });
  });
  const body = await read;
  expect(body.length).toBe(2000 * 512);
  expect(body.toString()).toBe(Array.from({ length: 2000 }, (_, index) => String(index % 10).repeat(512)).join(""));
});

const signedIn = ["system:authenticated"];
const kibibyte = 1024;

function limitsOf(
  method: string,
  path: string,
  {
    groups = signedIn,
    mediaType = "application/json",
  }: { readonly groups?: readonly string[]; readonly mediaType?: string } = {},
): readonly [kibibytes: number, values: number] {
  const query = new URLSearchParams();
  const info = requestInfo(method, path, query) as RequestInfo;
  const { maxBytes, maxValues } = requestLimits(info, {
    user: { username: "u", uid: "", groups, extra: {} },
    mediaType,
  });
  return [maxBytes / kibibyte, maxValues];
}

const configMaps = "/api/v1/namespaces/default/configmaps";

it.each([
  [
    "a machine without a credential",
    "POST",
    "/apis/access.pratique.dev/v1alpha1/accessrequests",
    { groups: ["system:unauthenticated"] },
    [32, 1000],
  ],
  ["a sender of no group at all", "POST", configMaps, { groups: [] }, [32, 1000]],
  [
    "a machine with a bootstrap token",
    "POST",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests",
    { groups: ["system:bootstrappers", ...signedIn] },
    [64, 1000],
  ],
  [
    "a group whose name begins like that of bootstrap tokens",
    "POST",
    configMaps,
    { groups: ["system:bootstrappers:x", ...signedIn] },
    [3072, 20_000],
  ],
  ["a review", "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {}, [128, 5000]],
  ["a TokenReview", "POST", "/apis/authentication.k8s.io/v1/tokenreviews", {}, [128, 5000]],
  ["a delete", "DELETE", `${configMaps}/a`, {}, [64, 1000]],
  ["a JSON patch", "PATCH", `${configMaps}/a`, { mediaType: "application/json-patch+json" }, [3072, 50_000]],
  [
    "a JSON patch without a credential",
    "PATCH",
    `${configMaps}/a`,
    { groups: [], mediaType: "application/json-patch+json" },
    [32, 1000],
  ],
  ["a CustomResourceDefinition", "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", {}, [3072, 65_536]],
  ["a Pod", "POST", "/api/v1/namespaces/default/pods", {}, [3072, 5000]],
  ["anything else", "POST", configMaps, {}, [3072, 20_000]],
] as const)("%s has its limits", (...[, method, path, sender, limits]) => {
  expect(limitsOf(method, path, sender)).toEqual(limits);
});
