import { describe, expect, test } from "vitest";
import type { ApiList, ApiObject } from "../apimachinery/object.ts";
import { StatusError } from "../apimachinery/status.ts";
import { ConnectionError } from "./client.ts";
import { listPages, type ListPage } from "./remote-verbs.ts";

const names = ["a", "b", "c", "d", "e"];

function page(from: number, to: number, resourceVersion: string): ApiList {
  const items = names
    .slice(from, to)
    .map((name) => ({ apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace: "n" } }));
  const rest = to < names.length ? { continue: String(to), remainingItemCount: names.length - to } : {};
  return { apiVersion: "v1", kind: "ConfigMapList", metadata: { resourceVersion, ...rest }, items };
}

/** A server that gives at most two objects a page, and notes what it was asked. */
function server(answer: ListPage<ApiObject>): {
  readonly list: ListPage<ApiObject>;
  readonly asked: readonly unknown[];
} {
  const asked: unknown[] = [];
  return {
    asked,
    list: (options) => {
      asked.push(options);
      return answer(options);
    },
  };
}

function expired(): StatusError {
  return new StatusError("Expired", "the snapshot is gone");
}

function namesIn(list: ApiList): readonly (string | undefined)[] {
  return list.items.map(({ metadata }) => metadata.name);
}

describe("listPages", () => {
  test("a list of pages is at the version of its first page, after which nothing is missed", async () => {
    const { list, asked } = server(async ({ continue: from = "0" }) =>
      page(Number(from), Number(from) + 2, `${7 + Number(from)}`),
    );
    const whole = await listPages(list);
    expect(namesIn(whole)).toEqual(names);
    expect(whole.metadata).toEqual({ resourceVersion: "7" });
    expect(asked).toEqual([{ limit: 500 }, { limit: 500, continue: "2" }, { limit: 500, continue: "4" }]);
  });

  test("an expired snapshot after the first page gives way to one list without pages", async () => {
    const { list, asked } = server(async ({ limit, continue: from }) => {
      if (from !== undefined) throw expired();
      return limit === undefined ? page(0, names.length, "9") : page(0, 2, "7");
    });
    const whole = await listPages(list);
    expect(namesIn(whole)).toEqual(names);
    expect(whole.metadata.resourceVersion).toBe("9");
    expect(asked).toEqual([{ limit: 500 }, { limit: 500, continue: "2" }, {}]);
  });

  test.each([
    ["a first page", (): boolean => true, 1],
    [
      "the list without pages",
      ({ limit, continue: from }: Parameters<ListPage<ApiObject>>[0]) => from !== undefined || limit === undefined,
      3,
    ],
  ])("%s that is Expired is asked for no second time", async (_, isExpired, calls) => {
    const { list, asked } = server(async (options) => {
      if (isExpired(options)) throw expired();
      return page(0, 2, "7");
    });
    await expect(listPages(list)).rejects.toMatchObject({ reason: "Expired" });
    expect(asked).toHaveLength(calls);
  });

  test("a page that is too large is asked for with fewer objects, down to one", async () => {
    const { list, asked } = server(async () => {
      throw new ConnectionError("REPLY_TOO_LARGE", "the reply exceeds 1 byte");
    });
    await expect(listPages(list)).rejects.toMatchObject({ code: "REPLY_TOO_LARGE" });
    expect(asked).toEqual([{ limit: 500 }, { limit: 62 }, { limit: 7 }, { limit: 1 }]);
  });

  test.each<readonly [string, (from: string | undefined) => string, number]>([
    ["the token that was sent", () => "same", 2],
    ["two tokens in turn", (from) => (from === "a" ? "b" : "a"), 101],
    ["a new token each time", (from = "0") => String(Number(from) + 1), 101],
  ])("a server that gives %s with pages without objects is refused", async (_, nextOf, calls) => {
    const { list, asked } = server(async ({ continue: from }) => {
      if (asked.length > 500) throw new StatusError("InternalError", "asked without end");
      return { ...page(0, 0, "7"), metadata: { resourceVersion: "7", continue: nextOf(from) } };
    });
    await expect(listPages(list)).rejects.toMatchObject({
      name: "ConnectionError",
      code: "INVALID_REPLY",
      message: expect.stringContaining("the server"),
    });
    expect(asked).toHaveLength(calls);
  });

  test("a page with the token that was sent is refused though it has objects", async () => {
    const { list, asked } = server(async () => {
      if (asked.length > 500) throw new StatusError("InternalError", "asked without end");
      return { ...page(0, 2, "7"), metadata: { resourceVersion: "7", continue: "same" } };
    });
    await expect(listPages(list)).rejects.toMatchObject({ code: "INVALID_REPLY" });
    expect(asked).toHaveLength(2);
  });
});
