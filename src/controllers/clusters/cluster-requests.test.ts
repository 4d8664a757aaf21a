import { describe, expect, it } from "vitest";
import { csrObject, type AskedCsr } from "../../../test/kits/csr-object.ts";
import { rfc3339 } from "../../apimachinery/clock.ts";
import { agentsOn, withAgents } from "./managed-cluster-policy.ts";
import { supersededRequests } from "./cluster-requests.ts";

const now = Date.UTC(2026, 10, 21);
const minute = 60_000;

const request = (name: string, ageMs: number, part: AskedCsr = {}): ReturnType<typeof csrObject> =>
  csrObject({ name, created: rfc3339(now - ageMs), ...part });
const denied = { conditions: [{ type: "Denied", status: "True" }] };

describe("requests of a cluster that nobody waits for", () => {
  it("go before their agent would ask no more, the oldest first", () => {
    const many = Array.from({ length: 12 }, (_one, index) => request(`r${index}`, index * 1000));
    const { names } = supersededRequests(many, now);
    expect(names).toEqual(["r11", "r10", "r9", "r8", "r7", "r6"]);
  });

  it("go in the order in which they came where they came within one second", () => {
    const many = ["e", "b", "h", "a", "g", "c", "f", "d"].map((name) => request(name, 0));
    expect(supersededRequests(many, now).names).toEqual(["e", "b"]);
  });

  it("stay while there are few, however old", () => {
    expect(supersededRequests([request("a", 60 * minute), request("b", 50 * minute)], now).names).toEqual([]);
  });

  it("go ten minutes after they were decided, when their agent has seen it", () => {
    const [old, young] = [request("old", 10 * minute, denied), request("young", 9 * minute, denied)];
    expect(supersededRequests([old, young], now)).toEqual({ names: ["old"], againMs: minute });
  });

  it("are never the newest of somebody: who asks more often takes nobody's place", () => {
    const one = request("patient", 60 * minute, { username: "system:bootstrap:aaaaaa" });
    const flood = Array.from({ length: 30 }, (_one, index) => request(`f${index}`, index * 1000, { username: "eve" }));
    const { names } = supersededRequests([one, ...flood], now);
    expect(names).toHaveLength(25);
    expect(names).not.toContain("patient");
  });

  it("are decided ones before those that wait", () => {
    const waiting = Array.from({ length: 6 }, (_one, index) => request(`w${index}`, (index + 5) * 1000));
    const { names } = supersededRequests([...waiting, request("decided", 1000, denied), request("new", 0)], now);
    expect(names[0]).toBe("decided");
  });
});

describe("the record of a cluster's agents", () => {
  const recorded = (text: string | undefined): ReturnType<typeof agentsOn> =>
    agentsOn({
      apiVersion: "",
      kind: "",
      metadata: { annotations: text === undefined ? {} : { "registration.pratique.dev/agents": text } },
    });

  it("keeps the latest end of each, and forgets those that have ended", () => {
    const known = recorded(withAgents(new Map([["gone", now - 1]]), new Map([["a", now + 1000]]), now));
    expect([...known]).toEqual([["a", now + 1000]]);
    const longer = recorded(withAgents(known, new Map([["a", now + 5000]]), now));
    expect([...longer]).toEqual([["a", now + 5000]]);
    expect(withAgents(longer, new Map([["a", now + 2000]]), now)).toBeUndefined();
  });

  it.each([undefined, "", "no JSON", "[1]", "null", '{"a":1}', '{"a":"never"}'])(
    "is empty where it says %s",
    (text) => {
      expect(recorded(text).size).toBe(0);
    },
  );

  it("holds nothing that no certificate could have: times that cannot be written, names that no user has", () => {
    const long = "a".repeat(2000);
    const ends = { a: "+275760-09-13T00:00:00.000Z", "": "2099-01-01T00:00:00Z", "b:c": "2099-01-01T00:00:00Z" };
    expect(recorded(JSON.stringify({ ...ends, [long]: "2099-01-01T00:00:00Z" })).size).toBe(0);
  });

  it("is bounded when it is read, too", () => {
    const many = Object.fromEntries(
      Array.from({ length: 9000 }, (_one, index) => [`a${index}`, "2099-01-01T00:00:00Z"]),
    );
    expect(recorded(JSON.stringify(many)).size).toBe(32);
  });

  it("is bounded", () => {
    const issued = new Map(Array.from({ length: 100 }, (_one, index) => [`a${index}`, now + 1 + index] as const));
    expect(recorded(withAgents(new Map(), issued, now)).size).toBe(32);
  });
});
