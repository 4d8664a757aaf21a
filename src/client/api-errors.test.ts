import { describe, expect, test } from "vitest";
import type { ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { createOrGet, getOrUndefined, hasReason, ignoreReasons, retryOnConflict } from "./api-errors.ts";
import type { Client, ResourceRef } from "./client.ts";

const things: ResourceRef = { group: "", version: "v1", plural: "things", kind: "Thing", scope: "Namespaced" };
const thing = { apiVersion: "v1", kind: "Thing", metadata: { namespace: "home", name: "a" } };

function refused(reason: "NotFound" | "Conflict" | "AlreadyExists" | "Forbidden"): Promise<never> {
  return Promise.reject(new StatusError(reason, "no"));
}

describe("reasons", () => {
  test("a code counts where the reason is not known, as in apimachinery", () => {
    const without = (code: number): StatusError => new StatusError("", "no", { code });
    expect(hasReason(without(404), "NotFound")).toBe(true);
    expect(hasReason(without(409), "Conflict")).toBe(true);
    expect(hasReason(without(409), "AlreadyExists")).toBe(false);
    expect(hasReason(new StatusError("Expired", "no", { code: 404 }), "NotFound")).toBe(false);
    expect(hasReason(without(500), "NotFound", "Conflict", "Forbidden")).toBe(false);
    expect(hasReason(new Error("no"), "NotFound")).toBe(false);
  });

  test("only the named ones are ignored", async () => {
    expect(await ignoreReasons(refused("NotFound"), "NotFound", "Forbidden")).toBeUndefined();
    expect(await ignoreReasons(Promise.resolve(7), "NotFound")).toBe(7);
    await expect(ignoreReasons(refused("Conflict"), "NotFound")).rejects.toMatchObject({ reason: "Conflict" });
  });
});

describe("getOrUndefined", () => {
  test("gives undefined for what is not there, and throws what is forbidden", async () => {
    const get = (): Promise<never> => refused("NotFound");
    expect(await getOrUndefined({ get }, things, { name: "a" })).toBeUndefined();
    await expect(getOrUndefined({ get: () => refused("Forbidden") }, things, { name: "a" })).rejects.toMatchObject({
      reason: "Forbidden",
    });
  });
});

describe("createOrGet", () => {
  test("says whether it created the object, and gets the one that is there by its key", async () => {
    const stored: ApiObject = { ...thing, metadata: { ...thing.metadata, uid: "1" } };
    const keys: unknown[] = [];
    const get = (async (_: ResourceRef, key: unknown) => (keys.push(key), stored)) as Client["get"];
    const create = (async () => stored) as unknown as Client["create"];
    expect(await createOrGet({ create, get }, things, thing)).toEqual({ object: stored, created: true });
    expect(keys).toEqual([]);
    const taken = { create: () => refused("AlreadyExists"), get };
    expect(await createOrGet(taken, things, thing)).toEqual({ object: stored, created: false });
    expect(keys).toEqual([{ namespace: "home", name: "a" }]);
  });
});

describe("retryOnConflict", () => {
  test("runs again while another was faster, and gives the first result", async () => {
    const seen: number[] = [];
    const result = await retryOnConflict(async (attempt) => {
      seen.push(attempt);
      return attempt < 3 ? refused("Conflict") : "written";
    });
    expect([result, seen]).toEqual(["written", [1, 2, 3]]);
  });

  test("ends after five tries, or as many as are given", async () => {
    for (const tries of [undefined, 2]) {
      let runs = 0;
      const run = (): Promise<never> => ((runs += 1), refused("Conflict"));
      await expect(retryOnConflict(run, tries === undefined ? {} : { tries })).rejects.toMatchObject({
        reason: "Conflict",
      });
      expect(runs).toBe(tries ?? 5);
    }
  });

  test("throws other errors at once", async () => {
    let runs = 0;
    await expect(retryOnConflict(() => ((runs += 1), refused("NotFound")))).rejects.toMatchObject({
      reason: "NotFound",
    });
    expect(runs).toBe(1);
  });

  test("pauses before each further try", async () => {
    const paused: unknown[] = [];
    const isRace = (error: unknown): boolean => hasReason(error, "NotFound");
    const run = retryOnConflict(() => refused("NotFound"), {
      tries: 3,
      isRace,
      pause: async (error) => paused.push(error),
    });
    await expect(run).rejects.toMatchObject({ reason: "NotFound" });
    expect(paused).toHaveLength(2);
  });
});
