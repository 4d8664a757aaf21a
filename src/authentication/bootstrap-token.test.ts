import { describe, expect, it } from "vitest";
import { tokenSecret } from "../trust/token-secret.ts";
import { anonymous, authenticate, withAuthenticatedGroup } from "./authenticated.ts";
import { bearer } from "./bearer.ts";
import { bootstrapTokens } from "./bootstrap-token.ts";

const token = { id: "abcdef", secret: "0123456789abcdef" };
const start = Date.UTC(2026, 10, 21);
const secret = tokenSecret({ token, now: start, ttlSeconds: 60 });

describe("bootstrapTokens", () => {
  it("authenticates until the token expires", async () => {
    let now = start;
    const judge = bootstrapTokens(
      (id) => (id === "abcdef" ? secret : undefined),
      () => now,
    );
    await expect(judge("abcdef.0123456789abcdef")).resolves.toEqual({
      kind: "authenticated",
      user: {
        username: "system:bootstrap:abcdef",
        groups: ["system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"],
      },
      until: start + 60_000,
      credential: { username: "system:bootstrap:abcdef", ids: [], secret: "kube-system/bootstrap-token-abcdef" },
    });
    now = start + 60_000;
    await expect(judge("abcdef.0123456789abcdef")).resolves.toEqual({ kind: "absent" });
  });

  it("looks nothing up for text that is no token", async () => {
    const asked: string[] = [];
    const judge = bootstrapTokens(
      (id) => {
        asked.push(id);
        return undefined;
      },
      () => start,
    );
    await judge("../../abcdef.0123456789abcdef");
    await judge("ABCDEF.0123456789abcdef");
    await judge("zzzzzz.0123456789abcdef");
    expect(asked).toEqual(["zzzzzz"]);
  });

  it("passes on that the look-up is down", async () => {
    const judge = bootstrapTokens(
      () => Promise.reject(new TypeError("down")),
      () => start,
    );
    await expect(judge("abcdef.0123456789abcdef")).rejects.toThrow("down");
  });
});

describe("a bad token is never anonymous", () => {
  const hub = authenticate(
    withAuthenticatedGroup(
      bearer(
        { audiences: ["api"] },
        bootstrapTokens(
          (id) => (id === "abcdef" ? secret : undefined),
          () => start,
        ),
      ),
    ),
    { allowAnonymous: () => true },
  );
  const ask = (authorization: string | undefined) => hub({ authorization, peerCertificates: [] });

  it.each([
    "Bearer abcdef.0123456789abcdee",
    "Bearer zzzzzz.0123456789abcdef",
    "Bearer abcdef.0123456789abcdef\u0000",
    "Bearer abcdef.0123456789abcdef,",
    "Bearer ABCDEF.0123456789ABCDEF",
    "Bearer \u0000",
    "Bearer null",
    `Bearer ${"a".repeat(100_000)}`,
  ])("%j is rejected, with one and the same reason", async (header) => {
    await expect(ask(header)).resolves.toEqual({ kind: "rejected", reason: "invalid bearer token" });
  });

  it("while no token at all is anonymous, and a good one somebody", async () => {
    await expect(ask(undefined)).resolves.toEqual({ kind: "authenticated", user: anonymous });
    await expect(ask("Bearer abcdef.0123456789abcdef")).resolves.toMatchObject({
      user: {
        username: "system:bootstrap:abcdef",
        groups: [expect.any(String), expect.any(String), "system:authenticated"],
      },
    });
  });
});
