import { Server as NetServer, type AddressInfo } from "node:net";
import { constants } from "node:os";
import { afterEach, describe, expect, it } from "vitest";
import type { LogEntry } from "../apimachinery/log-entry.ts";
import { serveHealth, type HealthListener } from "./health-listener.ts";

let listener: HealthListener | undefined;

afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

const status = async (path: string, method = "GET"): Promise<number> =>
  (await fetch(`http://127.0.0.1:${listener?.port}${path}`, { method })).status;

describe("health over plain HTTP", () => {
  it("is served nowhere without an address", async () => {
    expect(await serveHealth(undefined, { isReady: () => true, log: () => undefined })).toBeUndefined();
  });

  it("says whether it lives and whether it is ready", async () => {
    let ready = false;
    listener = await serveHealth("127.0.0.1:0", { isReady: () => ready, log: () => undefined });
    expect([await status("/livez"), await status("/readyz"), await status("/healthz")]).toEqual([200, 503, 200]);
    ready = true;
    expect([await status("/readyz"), await status("/other"), await status("/readyz", "POST")]).toEqual([200, 404, 405]);
  });

  it("names the option where the address is in use", async () => {
    listener = await serveHealth("127.0.0.1:0", { isReady: () => true, log: () => undefined });
    const again = serveHealth(`127.0.0.1:${listener?.port}`, { isReady: () => true, log: () => undefined });
    await expect(again).rejects.toMatchObject({
      code: "failed",
      message: `--health-address: 127.0.0.1:${listener?.port} is in use by another program: end that program, or choose another port`,
    });
  });

  it("goes on, and logs it, when the system lets it accept no connection", async () => {
    const entries: LogEntry[] = [];
    listener = await serveHealth("127.0.0.1:0", { isReady: () => true, log: (entry) => void entries.push(entry) });
    const { _getActiveHandles: handles } = process as unknown as { readonly _getActiveHandles: () => unknown[] };
    const [acceptor] = handles().filter(
      (handle) => handle instanceof NetServer && (handle.address() as AddressInfo | null)?.port === listener?.port,
    ) as unknown as readonly { readonly _handle: { readonly onconnection: (status: number) => void } }[];
    const { _handle: handle } = acceptor ?? {};
    handle?.onconnection(-constants.errno.EMFILE);
    expect(entries).toMatchObject([{ level: "error", reason: "AcceptFailed" }]);
    expect(await status("/livez")).toBe(200);
  });

  it.each(["8080", "host:", "host:70000", "a:b:1", "[::1]"])("takes no address %s", async (address) => {
    await expect(serveHealth(address, { isReady: () => true, log: () => undefined })).rejects.toMatchObject({
      code: "usage",
    });
  });
});
