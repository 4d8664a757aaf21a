import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { servingNamesOf, servingWish, usableAddresses } from "./serving-names.ts";

describe("the addresses of a machine to serve under", () => {
  test("are those that others can reach, once each, in one order", () => {
    const all = ["10.0.0.7", "127.0.0.1", "::1", "169.254.3.4", "fe80::1", "2001:DB8::0:1", "10.0.0.7", "224.0.0.1"];
    expect(usableAddresses([...all, "ff02::1", "0.0.0.0", "::ffff:10.0.0.7", "fe80::1%eth0", "x"])).toEqual([
      "10.0.0.7",
      "2001:db8::1",
    ]);
  });

  test("are at most 32, however many there are", () => {
    const many = Array.from({ length: 100 }, (_, at) => `10.0.1.${at}`);
    expect(usableAddresses(many)).toHaveLength(32);
  });

  test("never hold one of this machine alone or of one link", () => {
    fc.assert(
      fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => {
        for (const one of usableAddresses([text])) expect(one).not.toMatch(/^(127\.|169\.254\.|fe[89ab]|::1?$)/);
      }),
    );
  });

  test("change with the machine, and ask for nothing where there is none", () => {
    let now: readonly string[] = [];
    const names = servingNamesOf({ names: [], addresses: [] }, () => now);
    expect(names()).toBeUndefined();
    now = ["10.0.0.8"];
    expect(names()).toEqual({ dns: [], ip: ["10.0.0.8"] });
  });

  test("give way to those that were given", () => {
    const names = servingNamesOf({ names: ["n.example"], addresses: [] }, () => ["10.0.0.8"]);
    expect(names()).toEqual({ dns: ["n.example"], ip: [] });
  });
});

describe("names and addresses of a command line", () => {
  test("are taken in one form, once each", () => {
    expect(servingWish({ names: ["a.example", "a.example"], addresses: ["2001:DB8:0::1", "10.0.0.1"] })).toEqual({
      names: ["a.example"],
      addresses: ["2001:db8::1", "10.0.0.1"],
    });
  });

  test.each([
    [["A.example"], []],
    [["*.example"], []],
    [[""], []],
    [[], ["10.0.0"]],
    [[], ["fe80::1%eth0"]],
    [[], ["a.example"]],
    [[], ["127.0.0.1"]],
    [[], ["::1"]],
    [[], ["169.254.1.1"]],
    [Array.from({ length: 33 }, (_, at) => `n${at}`), []],
  ])("are refused where they are none: %j %j", (names, addresses) => {
    expect(() => servingWish({ names, addresses })).toThrow(expect.objectContaining({ code: "bad-node-name" }));
  });
});
