import { generateKeyPairSync } from "node:crypto";
import { request as httpsRequest } from "node:https";
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/host/system-clock.ts";
import { sshPublicKeyOf } from "../../src/pki/ssh-public-key.ts";
import { startAccessStage, type AccessStage } from "../kits/access-stage.ts";
import type { TestHub } from "../kits/hub.ts";

const thiefText = sshPublicKeyOf(generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey).text;

/** One request from another loopback address, as from another machine. */
function askFrom(
  hub: TestHub,
  localAddress: string,
  name: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const body = JSON.stringify({ metadata: { name }, spec: { pubKey: thiefText } });
  return new Promise((resolve, reject) => {
    const asking = httpsRequest(
      `${hub.url}/apis/access.pratique.dev/v1alpha1/accessrequests`,
      {
        method: "POST",
        ca: hub.ca,
        localAddress,
        agent: false,
        headers: { "content-type": "application/json", ...headers },
      },
      (reply) => {
        reply.resume();
        reply.on("end", () => resolve(reply.statusCode ?? 0));
      },
    );
    asking.on("error", reject);
    asking.end(body);
  });
}

/** Announces a body and sends none of it: what is answered was decided before a body is read. */
function askWithoutBody(hub: TestHub, path: string): Promise<number> {
  const headers = { "content-type": "application/json", "content-length": "1000" };
  return new Promise((resolve, reject) => {
    const asking = httpsRequest(`${hub.url}${path}`, { method: "POST", ca: hub.ca, agent: false, headers }, (reply) => {
      resolve(reply.statusCode ?? 0);
      asking.destroy();
    });
    asking.on("error", reject);
    asking.flushHeaders();
  });
}

describe("a flood of requests", () => {
  async function on(
    accessRequests: { readonly perAddress: number; readonly inAll: number; readonly pending: number },
    act: (flooded: AccessStage) => Promise<void>,
  ): Promise<void> {
    // Its time stands still: no place fills again meanwhile, however long the machine takes.
    const now = Date.now();
    const flooded = await startAccessStage({ accessRequests, clock: { ...systemClock, now: () => now } });
    try {
      await act(flooded);
    } finally {
      await flooded.close();
    }
  }

  it("from one address leaves the door open for others, and says when to come back", async () => {
    await on({ perAddress: 3, inAll: 6, pending: 100 }, async ({ hub, ask, decide, person }) => {
      const replies = [];
      for (const index of [1, 2, 3, 4, 5]) replies.push(await ask(`flood-${index}`));
      expect(replies.map(({ status }) => status)).toEqual([201, 201, 201, 429, 429]);
      expect(replies.at(-1)?.headers["retry-after"]).toBeDefined();
      // What the client says of its address counts for nothing.
      expect(await askFrom(hub, "127.0.0.1", "spoofed", { "x-forwarded-for": "10.0.0.9" })).toBe(429);
      expect(await askFrom(hub, "127.0.0.2", "other-1")).toBe(201);
      expect((await decide("other-1", { accepted: true }, person("ada"))).status).toBe(200);
      // And in all there are limits too.
      expect([await askFrom(hub, "127.0.0.3", "other-2"), await askFrom(hub, "127.0.0.4", "other-3")]).toEqual([
        201, 201,
      ]);
      expect(await askFrom(hub, "127.0.0.5", "other-4")).toBe(429);
    });
  });

  it("is counted whatever becomes of it: what is malformed or invalid takes a turn, and no body is read without one", async () => {
    await on({ perAddress: 3, inAll: 100, pending: 100 }, async ({ hub, requests, ask, nobody }) => {
      const bodies = ["{", "[]", { metadata: { name: "invalid" }, spec: {} }];
      const replies = [];
      for (const body of bodies) replies.push((await nobody(requests, { method: "POST", body })).status);
      expect(replies).toEqual([400, 400, 422]);
      expect((await ask("after-those")).status).toBe(429);
      expect(await askWithoutBody(hub, requests)).toBe(429);
    });
  });

  it("fills a quarter of the places that wait for people, and is refused until a person decides", async () => {
    await on({ perAddress: 100, inAll: 100, pending: 8 }, async ({ hub, ask, decide }) => {
      const replies = [];
      for (const index of [1, 2, 3]) replies.push((await ask(`wait-${index}`)).status);
      expect(replies).toEqual([201, 201, 429]);
      for (const host of [2, 3, 4]) {
        expect(await askFrom(hub, `127.0.0.${host}`, `wait-${host}-a`)).toBe(201);
        expect(await askFrom(hub, `127.0.0.${host}`, `wait-${host}-b`)).toBe(201);
      }
      expect(await askFrom(hub, "127.0.0.5", "late")).toBe(429);
      await decide("wait-1", { denied: true });
      expect(await askFrom(hub, "127.0.0.5", "late")).toBe(201);
    });
  });
});
